/*
 * attend_inputs.h - the arrays that `attend` works on: --q, --k, --v, --x, --scores and --keep.
 */
#ifndef CMD_ATTEND_INPUTS_H
#define CMD_ATTEND_INPUTS_H

#include "array.h"
#include "options.h"

#include "attn.h"

/* Paths, or NULL. */
struct input_args {
    const char *q, *k, *v, *x, *scores, *keep;
};

/* Options that fill a struct input_args. */
extern const struct option_group attend_input_options;

/* The sizes that fit all arrays. */
struct input_sizes {
    int rank;                               /* of q, or of the scores: 2, 3 or 4 */
    size_t n_batch;                         /* 1 unless rank is 4 */
    size_t n_head, n_kv_head;               /* of one batch */
    size_t n_query, n_key, d_head, d_value; /* d_value 0: there are no values */
};

/* Initialize with = {0}; end with _release. */
struct attend_inputs {
    struct array q, k, v, scores; /* those that were given; x is q */
    struct input_sizes sizes;
};

/* Whether the right ones were given. Reports and returns an exit code. */
int attend_inputs_check(const struct input_args *args);

/* Reads them, but for --keep, and finds their sizes. Reports and returns an exit code. */
int attend_inputs_read(const struct input_args *args, struct attend_inputs *inputs);

/* Sets sizes and arrays of ARGS, which borrows them. */
void attend_inputs_fill(const struct attend_inputs *inputs, struct attn_attend_args *args);

/* NaN in all of them. */
size_t attend_inputs_n_nan(const struct attend_inputs *inputs);
bool attend_inputs_are_finite(const struct attend_inputs *inputs);

void attend_inputs_release(struct attend_inputs *inputs);

#endif
