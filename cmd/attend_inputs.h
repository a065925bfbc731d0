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

/* Rows for the option table of a command whose struct T has a `struct input_args input`. */
#define INPUT_ROWS(T)                                                                              \
    {.name = "q",                                                                                  \
     .argument = "FILE.npy",                                                                       \
     .group = "Input",                                                                             \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(struct T, input.q),                                                        \
     .help = "the queries: [T, E], or [H, T, E] for H heads, or [B, H, T, E] for batches of "      \
             "them; float32, float64 or float16"},                                                 \
        {.name = "k",                                                                              \
         .argument = "FILE.npy",                                                                   \
         .group = "Input",                                                                         \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct T, input.k),                                                    \
         .help = "the keys: any number of them, as wide as the queries; their heads may be fewer " \
                 "than those of the queries, if they divide them"},                                \
        {.name = "v",                                                                              \
         .argument = "FILE.npy",                                                                   \
         .group = "Input",                                                                         \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct T, input.v),                                                    \
         .help = "the values: one for each key, of any width"},                                    \
        {.name = "x",                                                                              \
         .argument = "FILE.npy",                                                                   \
         .group = "Input",                                                                         \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct T, input.x),                                                    \
         .help = "one array for all three"},                                                       \
        {.name = "scores",                                                                         \
         .argument = "FILE.npy",                                                                   \
         .group = "Input",                                                                         \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct T, input.scores),                                               \
         .help = "the scores [T, S], [H, T, S] or [B, H, T, S] in place of queries and keys; "     \
                 "without --v there is no z"},                                                     \
    {                                                                                              \
        .name = "keep", .argument = "FILE.npy", .group = "Input", .kind = OPTION_TEXT,             \
        .offset = offsetof(struct T, input.keep),                                                  \
        .help = "which weights --dropout leaves, 1, and which it drops, 0, in place of its own "   \
                "choice; axes as of the scores"                                                    \
    }

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
