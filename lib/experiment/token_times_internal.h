/* token_times_internal.h - times of some of the rows of a pattern. */
#ifndef ATTN_EXPERIMENT_TOKEN_TIMES_INTERNAL_H
#define ATTN_EXPERIMENT_TOKEN_TIMES_INTERNAL_H

#include "experiment/token_times.h"

/* As attn_token_times, but only the N rows from FIRST on have times; SIZE_MAX: all rows. Weights
 * are standardized over all rows, as openai-whisper does. */
enum attn_status attn_token_times_of(const struct attn_ndarray *weights, size_t first, size_t n,
                                     struct attn_table **table, struct attn_error *err);

#endif
