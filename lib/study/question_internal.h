/* question_internal.h - questions as the frame of experiments sees them. */
#ifndef ATTN_STUDY_QUESTION_INTERNAL_H
#define ATTN_STUDY_QUESTION_INTERNAL_H

#include "study/question.h"
#include "study/study_internal.h"
#include "tables/table_order.h"

/* The parameters of a question, one after another: part and item are 0 at first. */
struct attn_question_walk {
    const struct attn_question *question;
    size_t part, item;
    const struct attn_param *param;
    size_t offset; /* of its struct in that of its home */
};

/* Moves to the first or next parameter. Returns whether there is one. */
bool attn_question_next(struct attn_question_walk *walk);

/* attn_question_check of arguments and a request that are filled. */
enum attn_status attn_question_check_values(const struct attn_question *question, const void *args,
                                            const struct attn_request *request,
                                            struct attn_error *err);

/* The offset of a struct attn_answer_args in the arguments, that of `target`; 0: none. */
size_t attn_question_answer(const struct attn_question *question);

/* Fills `sort` and `n_most` of ORDER from the parameters `sort` and `limit`, by which the library
 * sorts the table. Returns whether there are any. */
bool attn_question_order(const struct attn_question *question, const void *args,
                         struct attn_table_order *order);

/* Adds to DEFAULTS the keys by which items replace what ARGS and REQUEST have, and the places that
 * ARGS name for items without them. */
void attn_question_defaults(const struct attn_question *question, const void *args,
                            const struct attn_request *request,
                            struct attn_study_defaults *defaults);

#endif
