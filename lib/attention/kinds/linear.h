/*
 * linear.h - attention in O(n): a softmax replaced by feature maps (Katharopoulos et al.
 * 2006.16236, eq. 5 and 9).
 *
 *     z[i] = phi(q[i]) S / (phi(q[i]) . s)    S = sum phi(k[j]) v[j]^T, s = sum phi(k[j])
 *
 * with phi of the unscaled q and k, and without the division when raw. S and s are the state of one
 * key/value head, which takes keys one after the other in ascending order and serves all queries:
 * causal attention computes row i between keys i and i + 1, other attention after the last key. So
 * one head is one thread's work, and a row is one chain of operations whatever else is computed.
 *
 *     memset(state, 0, ...);                            // no key yet
 *     for (size_t i = 0; i < n; i++) {                  // causal
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
#ifndef ATTN_ATTENTION_KINDS_LINEAR_H
#define ATTN_ATTENTION_KINDS_LINEAR_H

#include "attention/tile.h"
#include "kernels/gemm_internal.h"

struct attn_heads;

/* The parameters that the functions below share; read by any number of threads. */
struct attn_linear_attention {
    const struct attn_kernels *kernels;
    enum attn_feature feature;
    bool is_raw; /* no division */
    size_t d_head, d_value;
};

struct attn_linear_attention attn_linear_attention_make(const struct attn_attention *attention,
                                                        const struct attn_head_shape *shape,
                                                        const struct attn_kernels *kernels);

/* Floats of a key/value head's state: S [d_head, d_value], then s [d_head]. */
size_t attn_linear_attention_state_size(const struct attn_linear_attention *linear);

/* Floats of scratch for each worker: enough for each of the functions below. */
size_t attn_linear_attention_scratch(const struct attn_linear_attention *linear);

/* y [n, d_head] (stride ldy) = phi of x [n, d_head] (stride ldx); y may be x. */
struct attn_feature_rows {
    const float *x;
    size_t ldx, n;
    float *y;
    size_t ldy;
};
void attn_linear_attention_map(const struct attn_linear_attention *linear,
                               const struct attn_feature_rows *rows);

/* Takes the keys k [n, d_head] and values v [n, d_value] of ROWS into STATE, in order. `first` is
 * not used. v NULL: there is no z, and of the state only s grows. */
void attn_linear_attention_add(const struct attn_linear_attention *linear,
                               const struct attn_kv_rows *rows, float *state, float *scratch);

/* z [d_value] of the query q [d_head] over the keys in STATE; z may be NULL. Returns the divisor of
 * the row: phi(q) . s, or 1 if raw. If all features underflow (only exp's can) it is 0, and z is 0,
 * as for a row without visible keys. Features of exp beyond 88.7 overflow to infinity. */
float attn_linear_attention_row(const struct attn_linear_attention *linear, const float *state,
                                const float *q, float *z, float *scratch);

/* The rows of TILE of the matrix that z amounts to, z = pattern v to rounding, where watchers want
 * them: pattern[i, j] = phi(q[i]) . phi(k[j]) / divisors[i], or 0 for a divisor of 0 and where
 * masked. O(n_key d_head) a row. KEYS is phi(k), packed as keys are: [n_key / 64 rounded
 * up][d_head][64]. DIVISORS [n_row] are what attn_linear_attention_row returned. */
void attn_linear_attention_pattern(const struct attn_linear_attention *linear,
                                   const struct attn_gemm_engine *engine,
                                   const struct attn_tile *tile, const float *keys,
                                   const float *divisors, float *scratch);

/* z of all of HEADS that are needed, before any wave; then the watched rows of a tile. */
void attn_linear_attention_run_heads(const struct attn_heads *heads);
void attn_linear_attention_run_tile(const struct attn_heads *heads, const struct attn_tile *tile,
                                    float *scratch);

#endif
