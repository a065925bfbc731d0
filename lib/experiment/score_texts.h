/* score_texts.h - how surprising many texts are to a model, on the average. For score.c. */
#ifndef ATTN_EXPERIMENT_SCORE_TEXTS_H
#define ATTN_EXPERIMENT_SCORE_TEXTS_H

#include "experiment/score.h"

/* attn_score of args->texts. REQUEST has nothing but how to run. Memory does not grow with their
 * number. Errors have a stage. */
enum attn_status attn_score_texts(struct attn_host *host, const struct attn_request *request,
                                  const struct attn_score_args *args, struct attn_table **table,
                                  struct attn_score_sum *sum, struct attn_error *err);

#endif
