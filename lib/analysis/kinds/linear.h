/*
 * linear.h - attention in O(n), with feature maps instead of a softmax (Katharopoulos et al.
 * 2006.16236, eq. 5 and 9).
 *
 *     z[i] = phi(q[i]) S / (phi(q[i]) . s)    S = sum phi(k[j]) v[j]^T,  s = sum phi(k[j])
 *
 * phi is applied to unscaled q and k; raw attention omits the division. S and s are the state of
 * one key/value head. It reads keys in ascending order and serves all queries: causal attention
 * computes row i between keys i and i + 1, other attention after the last key. So one head is
 * processed by one thread, and a row is one chain of operations whatever else is computed.
 *
 *     memset(state, 0, ...);            // no key yet
 *     for (size_t i = 0; i < n; i++) {  // causal
 *         const struct attn_kv_rows key = {
 *             .k = k + i * ldk, .ldk = ldk, .v = v + i * ldv, .ldv = ldv, .n = 1};
 *
 *         attn_linear_attention_add(&linear, &key, state, scratch);
 *         divisors[i] =
 *             attn_linear_attention_row(&linear, state, q + i * ldq, z + i * ldz, scratch);
 *     }
 *
 * The equivalent matrix of weights is computed only on demand: attn_linear_attention_pattern.
 */
#pragma once

#include "attention/tile.h"
#include "kernels/gemm_internal.h"

/* The parameters of the functions below. Any number of threads may read it. */
struct attn_linear_attention {
    const struct attn_kernels *kernels;
    enum attn_feature feature;
    bool is_raw; /* no division */
    size_t d_head, d_value;
};

/* Returns the floats in the state of a key/value head: S [d_head, d_value], then s [d_head]. */
size_t attn_linear_attention_state_size(const struct attn_linear_attention *linear);

/* Returns the floats of scratch that each worker needs for any of the functions below. */
size_t attn_linear_attention_scratch(const struct attn_linear_attention *linear);

/* Rows to map: y [n, d_head] (stride ldy) = phi(x [n, d_head] (stride ldx)). y may be x. */
struct attn_feature_rows {
    const float *x;
    size_t ldx, n;
    float *y;
    size_t ldy;
};
void attn_linear_attention_map(const struct attn_linear_attention *linear,
                               const struct attn_feature_rows *rows);

/* Adds the keys k [n, d_head] and values v [n, d_value] of ROWS to STATE, in order. rows->first is
 * not used. If v is NULL, z is not needed, and only s is updated. */
void attn_linear_attention_add(const struct attn_linear_attention *linear,
                               const struct attn_kv_rows *rows, float *state, float *scratch);

/* Computes z [d_value] of the query q [d_head] over the keys in STATE; z may be NULL. Returns the
 * divisor of the row: phi(q) . s, or 1 if raw. If all features underflow, which only those of exp
 * can do, the divisor and z are 0, as for a row without visible keys. Features of exp overflow to
 * infinity beyond 88.7. */
float attn_linear_attention_row(const struct attn_linear_attention *linear, const float *state,
                                const float *q, float *z, float *scratch);

/* Computes the rows of TILE of the matrix for which z = pattern v, up to rounding, and stores them
 * as watched rows: pattern[i, j] = phi(q[i]) . phi(k[j]) / divisors[i]; 0 if the divisor is 0 or
 * the cell is masked. Takes O(n_key d_head) per row. KEYS is phi(k), packed like keys: [n_key / 64
 * rounded up][d_head][64]. DIVISORS [n_row] are the results of attn_linear_attention_row. */
void attn_linear_attention_pattern(const struct attn_linear_attention *linear,
                                   const struct attn_gemm_engine *engine,
                                   const struct attn_tile *tile, const float *keys,
                                   const float *divisors, float *scratch);
