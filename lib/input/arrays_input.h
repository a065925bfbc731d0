/* arrays_input.h - the arrays of a request for attention without a model: how they fit together.
 * For the files of this layer. */
#ifndef ATTN_INPUT_ARRAYS_INPUT_H
#define ATTN_INPUT_ARRAYS_INPUT_H

#include "attention/attend.h"
#include "formats/ndarray_internal.h"
#include "input/input.h"

/* The sizes that fit all arrays. */
struct attn_arrays_sizes {
    int rank;                               /* of q, or of the scores: 2, 3 or 4 */
    size_t n_batch;                         /* 1 unless rank is 4 */
    size_t n_head, n_kv_head;               /* of one batch */
    size_t n_query, n_key, d_head, d_value; /* d_value 0: there are no values */
};

/* Whether INPUT gives arrays, and not a sequence. */
bool attn_input_is_arrays(const struct attn_input *input);

/* Finds the sizes. ATTN_INVALID says which two arrays do not fit. */
enum attn_status attn_arrays_fit(const struct attn_input *input, struct attn_arrays_sizes *sizes,
                                 struct attn_error *err);

/* Sets sizes and arrays of ARGS, which borrows them. */
void attn_arrays_fill(const struct attn_input *input, const struct attn_arrays_sizes *sizes,
                      struct attn_attend_args *args);

/* The elements of all arrays that are not finite. -infinity among scores hides a key, as it is
 * meant to, and does not count. */
struct attn_not_finite attn_arrays_not_finite(const struct attn_input *input);

#endif
