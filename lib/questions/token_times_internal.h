/* token_times_internal.h - times of some of the rows of a pattern. */
#ifndef ATTN_QUESTIONS_TOKEN_TIMES_INTERNAL_H
#define ATTN_QUESTIONS_TOKEN_TIMES_INTERNAL_H

#include "questions/token_times.h"

/* Which rows have times, and how weights are smoothed. */
struct attn_times_form {
    size_t first, n; /* the N rows from FIRST on; SIZE_MAX: all rows */
    size_t n_median; /* frames of the median, odd */
};

/* As attn_token_times, by FORM. Weights are standardized over all rows, as openai-whisper does. */
enum attn_status attn_token_times_of(const struct attn_ndarray *weights,
                                     const struct attn_times_form *form, struct attn_table **table,
                                     struct attn_error *err);

#endif
