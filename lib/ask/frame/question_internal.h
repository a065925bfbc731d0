/* question_internal.h - questions, for the frame of procedures. */
#pragma once

#include "frame/item_notes.h"
#include "frame/question.h"
#include "tables/table_order.h"

/* Iterates over the parameters of a question; part and item must be 0 at first. */
struct attn_question_walk {
    const struct attn_question *question;
    size_t part, item;
    const struct attn_param *param;
    size_t offset; /* offset of the parameter's struct in the arguments or in the request */
};

/* Moves to the first or next parameter. Returns false after the last. */
bool attn_question_next(struct attn_question_walk *walk);

/* Like attn_question_check, for arguments and a request that are filled. */
enum attn_status attn_question_check_values(const struct attn_question *question, const void *args,
                                            const struct attn_request *request,
                                            struct attn_error *err);

/* Returns the offset of the struct attn_answer_args, which has the parameter `target`, in the
 * arguments; 0 if there is none. */
size_t attn_question_answer(const struct attn_question *question);

/* Sets `sort` and `n_most` of ORDER from the parameters `sort` and `limit`. Returns false if the
 * question has no such parameters. */
bool attn_question_order(const struct attn_question *question, const void *args,
                         struct attn_table_order *order);

/* Adds to DEFAULTS the keys of items that replace values of ARGS and REQUEST, and the places that
 * ARGS name for items without them. */
void attn_question_defaults(const struct attn_question *question, const void *args,
                            const struct attn_request *request,
                            struct attn_item_defaults *defaults);

/* Clears selection, predictions and outputs of REQUEST. */
void attn_question_choose_nothing(struct attn_request *request);
