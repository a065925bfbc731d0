/*
 * kv.h - stores the keys and values of one key/value head in the layout that the products read.
 *
 * Keys are packed: transposed, in panels of 64 positions. Engines that look up single keys store
 * them as rows instead. Values are rows, padded to the width that the microkernels compute. In
 * bfloat16 both are interleaved in pairs, as the microkernels need them.
 *
 *     kv = attn_kv_plan(arena, &shape, n_kv_head, n_state);  // when measuring, and once more
 *     attn_kv_clear(kv, &shape, n_kv_head);
 *     attn_kv_write_values(&kv[g], &shape, &rows);
 */
#pragma once

#include "base/memory.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>

/* The sizes of one head's attention. */
struct attn_head_shape {
    size_t d_head, d_value;
    size_t n_max; /* the largest number of positions */
    size_t ldq;   /* floats from one query row to the next */
    bool is_bf16; /* the dense engine multiplies values that are rounded to bfloat16 */
};

/* Keys and values of one key/value head. Borrowed. The layout of the keys depends on the engine. */
struct attn_kv {
    float *keys;   /* panels [n_max / 64 rounded up][d_head][64], or rows [n_max, d_head] */
    float *values; /* [n_max rounded up to 64][attn_kv_ld_value]; rows that are not written yet are
                      0 */
    bool is_bf16;  /* both are rounded to bfloat16, interleaved in pairs, and use the first half of
                      the memory: keys [panels][attn_kv_depth / 2][64][2], values [rows /
                      2][attn_kv_ld_value][2] */
    float *state;  /* sums of linear attention over the first n_summed keys; NULL for other kinds */
    size_t n_summed; /* keys in the state */
};

/* The floats in all keys, in all values, and from one row of values to the next. */
size_t attn_kv_keys_size(const struct attn_head_shape *shape);
size_t attn_kv_values_size(const struct attn_head_shape *shape);
size_t attn_kv_ld_value(const struct attn_head_shape *shape);

/* Returns the numbers in a query or a key in bfloat16: d_head, rounded up to an even number. */
size_t attn_kv_depth(const struct attn_head_shape *shape);

/* Allocates N key/value heads, each with a state of N_STATE floats for linear attention. Returns
 * NULL while measuring. The memory is zeroed, so that no sum reads old contents. */
struct attn_kv *attn_kv_plan(struct attn_arena *arena, const struct attn_head_shape *shape,
                             size_t n, size_t n_state);
void attn_kv_clear(struct attn_kv *kv, const struct attn_head_shape *shape, size_t n);

/* Sets whether the next rows are rounded to bfloat16. A change discards all rows. */
void attn_kv_set_bf16(struct attn_kv *kv, const struct attn_head_shape *shape, bool is_bf16);

/* Keys and values to write at positions first to first+n-1. */
struct attn_kv_rows {
    /* [n, d_head] and [n, d_value]; k is NULL if scores are given, v if z is not needed. */
    const float *k, *v;
    size_t ldk, ldv; /* floats from one row to the next */
    size_t first, n;
};
void attn_kv_write_values(const struct attn_kv *kv, const struct attn_head_shape *shape,
                          const struct attn_kv_rows *rows);

/* Writes keys and values, rounded to bfloat16. SCRATCH has attn_kv_rounding_scratch floats. */
void attn_kv_write_rounded(const struct attn_kv *kv, const struct attn_kernels *kernels,
                           const struct attn_head_shape *shape, const struct attn_kv_rows *rows,
                           float *scratch);
size_t attn_kv_rounding_scratch(const struct attn_head_shape *shape);

/* Sets the values of positions first to last-1 to 0, so that old values cannot reach later sums. */
void attn_kv_erase(const struct attn_kv *kv, const struct attn_head_shape *shape, size_t first,
                   size_t last);
