/*
 * kv.h - the keys and values of one key/value head, as the products read them.
 *
 * Keys are packed: transposed, in panels of 64 positions; engines that look keys up one by one take
 * them as rows. Values are rows padded to the width that the microkernels compute. In bfloat16 both
 * lie in pairs, as the microkernels for it read them.
 *
 *     kv = attn_kv_plan(arena, &shape, n_kv_head, n_state);   // when measuring, and once more
 *     attn_kv_clear(kv, &shape, n_kv_head);
 *     attn_kv_write_values(&kv[g], &shape, &rows);
 */
#ifndef ATTN_ATTENTION_KV_H
#define ATTN_ATTENTION_KV_H

#include "base/memory.h"
#include "kernels/kernels.h"

#include <stdbool.h>
#include <stddef.h>

/* Sizes of one head's attention. */
struct attn_head_shape {
    size_t d_head, d_value;
    size_t n_max; /* the largest number of positions */
    size_t ldq;   /* floats from one query row to the next */
    bool is_bf16; /* the dense engine multiplies values rounded to bfloat16 */
};

/* Keys and values of one key/value head; borrowed. The layout of keys depends on the engine. */
struct attn_kv {
    float *keys;   /* panels [n_max / 64 rounded up][d_head][64], or rows [n_max, d_head] */
    float *values; /* [n_max rounded up to 64][attn_kv_ld_value]; rows not yet written are 0 */
    bool is_bf16;  /* both are rounded and lie in the first part of that, two and two: keys
                      [panels][attn_kv_depth / 2][64][2], values [rows / 2][attn_kv_ld_value][2] */
    float *state;  /* linear attention's sums over the first n_summed keys; NULL for other kinds */
    size_t n_summed; /* keys in the state */
};

/* Floats in the keys and in the values, and from one row of values to the next. */
size_t attn_kv_keys_size(const struct attn_head_shape *shape);
size_t attn_kv_values_size(const struct attn_head_shape *shape);
size_t attn_kv_ld_value(const struct attn_head_shape *shape);

/* Numbers of a query or a key in bfloat16: d_head, or one more where that is odd. */
size_t attn_kv_depth(const struct attn_head_shape *shape);

/* Room for N key/value heads, whose linear attention has states of N_STATE floats; NULL while
 * measuring. The memory is zeroed: no sum may meet old contents. */
struct attn_kv *attn_kv_plan(struct attn_arena *arena, const struct attn_head_shape *shape,
                             size_t n, size_t n_state);
void attn_kv_clear(struct attn_kv *kv, const struct attn_head_shape *shape, size_t n);

/* Sets whether the next rows are rounded. A change discards the rows that were written. */
void attn_kv_set_bf16(struct attn_kv *kv, const struct attn_head_shape *shape, bool is_bf16);

/* Keys and values of positions first .. first+n-1. */
struct attn_kv_rows {
    const float *k, *v; /* [n, d_head] and [n, d_value]; NULL: scores are given; there is no z */
    size_t ldk, ldv;    /* floats from one row to the next */
    size_t first, n;
};
void attn_kv_write_values(const struct attn_kv *kv, const struct attn_head_shape *shape,
                          const struct attn_kv_rows *rows);

/* Keys and values, rounded to bfloat16. SCRATCH has attn_kv_rounding_scratch floats. */
void attn_kv_write_rounded(const struct attn_kv *kv, const struct attn_kernels *kernels,
                           const struct attn_head_shape *shape, const struct attn_kv_rows *rows,
                           float *scratch);
size_t attn_kv_rounding_scratch(const struct attn_head_shape *shape);

/* Sets the values of positions first .. last-1 to 0: old values must not reach later sums. */
void attn_kv_erase(const struct attn_kv *kv, const struct attn_head_shape *shape, size_t first,
                   size_t last);

#endif
