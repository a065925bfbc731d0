/*
 * lowrank.h - low-rank attention (Wang et al. 2006.04768): replaces the keys and values of S
 * positions by R mixtures, and then computes dense attention.
 *
 *     z = softmax(q (E k)^T scale) (F v)    E, F [R, S], seeded, the same for all layers and heads
 *
 * There is no mask, because each mixture contains all positions.
 *
 *     attn_lowrank_draw(seed, n_rank, n_key, e, f);  // once for a sequence
 *     attn_lowrank_project(&(struct attn_lowrank_args){.map = e, .x = k, ...}, scratch);
 *     attn_lowrank_project(&(struct attn_lowrank_args){.map = f, .x = v, ...}, scratch);
 */
#pragma once

#include "kernels/gemm_internal.h"

#include <stddef.h>
#include <stdint.h>

/*
 * E and F [n_rank, n_key], N(0, 1/R): bit for bit what PyTorch without AVX2 gives for
 *
 *     torch.manual_seed(seed)
 *     E = torch.randn(R, S) / math.sqrt(R)
 *     F = torch.randn(R, S) / math.sqrt(R)
 *
 * (ATEN_CPU_CAPABILITY=default makes any PyTorch one without AVX2, see base/random.h.)
 */
void attn_lowrank_draw(uint64_t seed, size_t n_rank, size_t n_key, float *e, float *f);

/* Maps the keys or values of one head: y = map x. */
struct attn_lowrank_args {
    const struct attn_gemm_engine *engine;
    size_t n_rank, n_key;
    const float *map; /* E or F [n_rank, n_key] */
    const float *x;   /* [n_key, n_col], stride ldx: keys or values of one head */
    size_t ldx, n_col;
    float *y; /* [n_rank, n_col], stride ldy */
    size_t ldy;
};

/* Returns the floats of scratch, aligned to 64 bytes, that each worker needs. */
size_t attn_lowrank_scratch(size_t n_key);

/* Computes y = map x. Each element is one chain over the keys in ascending order. On any thread. */
void attn_lowrank_project(const struct attn_lowrank_args *args, float *scratch);
