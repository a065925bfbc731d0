/* score_internal.h - the parts of `score`: score.c reads one text, score_items.c many, word_rows.c
 * the words of both. Private to lib/questions/score. */
#pragma once

#include "frame/frame.h"
#include "score/score.h"
#include "stream/token_reader.h"

extern const struct attn_question attn_question_score;

extern const struct attn_procedure attn_score_items, attn_score_words;

/* What they and that of one text have, whose state is a TYPE. */
#define ATTN_SCORE(type)                                                                           \
    .question = &attn_question_score, .state_size = sizeof(type),                                  \
    .sum_size = sizeof(struct attn_score_sum), .makes_runs = true,                                 \
    .items.study = offsetof(struct attn_score_args, study)

/* Checks the model and the input of FRAME, sets its config, and finds the tokenizer, or NULL. */
enum attn_status attn_score_prepare(struct attn_frame *frame,
                                    const struct attn_tokenizer **tokenizer,
                                    struct attn_error *err);

/* Scores the only text of the request of FRAME. FIND gets its result, and FRAME as `user`. */
enum attn_status attn_score_only(struct attn_frame *frame, const struct attn_token_reader *tokens,
                                 attn_answer_fn find, struct attn_error *err);

/* Returns the first token that counts: that of the answer with which a conversation ends, or 0. */
size_t attn_score_first(const struct attn_item_result *result);

/* What is noted about a word without a score. */
#define ATTN_NO_FIRST_SCORE "%s has no score without a start token: `special_tokens bos`"

/* Checks the arguments of all of them. */
enum attn_status attn_score_check(const void *given, struct attn_error *err);
