/* arrays_input.h - checks that the arrays of a request for attention without a model fit together.
 * For the files of this layer. */
#pragma once

#include "attention/attend.h"
#include "formats/tensor_files_internal.h"
#include "input/input.h"

/* The sizes on which all arrays agree. */
struct attn_arrays_sizes {
    int rank;                               /* 2, 3 or 4: the rank of q or of the scores */
    size_t n_batch;                         /* 1 unless rank is 4 */
    size_t n_head, n_kv_head;               /* of one batch */
    size_t n_query, n_key, d_head, d_value; /* d_value is 0 without values */
};

/* Whether INPUT consists of arrays instead of a sequence. */
bool attn_input_is_arrays(const struct attn_input *input);

/* Reads the sizes from the shapes of the arrays. On ATTN_INVALID, the message names the two arrays
 * that do not fit. */
enum attn_status attn_arrays_fit(const struct attn_input *input, struct attn_arrays_sizes *sizes,
                                 struct attn_error *err);

/* Copies SIZES and the pointers of the arrays of INPUT into ARGS. The arrays are borrowed. */
void attn_arrays_fill(const struct attn_input *input, const struct attn_arrays_sizes *sizes,
                      struct attn_attend_args *args);

/* Counts NaN and infinity in all arrays. -infinity among scores masks a key and does not count. */
struct attn_not_finite attn_arrays_not_finite(const struct attn_input *input);
