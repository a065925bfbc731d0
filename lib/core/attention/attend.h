/*
 * attend.h - attention on arrays: PyTorch's scaled_dot_product_attention, but all intermediate
 * stages are available.
 *
 *     struct attn_attend_args args = ATTN_ATTEND_ARGS_DEFAULT;
 *     args.n_head = args.n_kv_head = 8, args.n_query = args.n_key = 6;
 *     args.d_head = args.d_value = 64, args.q = q, args.k = k, args.v = v;
 *     args.attention.mask = ATTN_MASK_NONE, args.trace = &trace;
 *     attn_attend(&args, &err);  // calls the trace
 *
 * The trace gets the events of one layer, number 0, for the sites of the attention
 * (attn_attention_sites). A batch is passed as more heads: [B, H, T, E] has B*H heads. Head h uses
 * key/value head h / (n_head / n_kv_head).
 */
#pragma once

#include "attention/attention.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "trace/trace.h"

#include <signal.h>

/* Arrays are float32, contiguous, row-major, and borrowed during the call. NaN and infinity are
 * allowed. Finite arrays can give NaN, too: a product beyond 3.4e38 is infinite, and the softmax of
 * a row that contains +infinity is NaN. n_not_finite counts such rows. */
struct attn_attend_args {
    size_t size;              /* of this struct */
    size_t n_head, n_kv_head; /* H, and G, which must divide H */
    size_t n_query, n_key;    /* T and S, >= 1; with a causal mask T <= S, and key j is visible to
                                 query i when j <= i + S - T */
    size_t d_head, d_value;   /* E, Ev */
    const float *q;           /* [H, T, E] */
    const float *k;           /* [G, S, E] */
    const float *v;           /* [G, S, Ev]; NULL: z is not computed */
    /* [H, T, S], used as `qk` instead of products; q and k are NULL then, and d_head is 1. Not for
     * linear and low-rank attention, nor for ATTN_ALGORITHM_BLOCKWISE. */
    const float *scores;
    struct attn_attention attention; /* the attention to compute */
    int random_layer; /* the layer number from which random attention draws keys; in the trace the
                         layer is 0 */
    uint64_t n_drawn; /* how many numbers of dropout's random stream earlier layers have used */
    const struct attn_trace *trace;      /* selects the tensors; only these are computed */
    struct attn_pool *pool;              /* NULL: the caller's thread alone */
    const volatile sig_atomic_t *cancel; /* polled between row blocks; not 0: ATTN_CANCELED */
    enum attn_gemm gemm;                 /* speed only */
    enum attn_isa isa;                   /* the best that may be used; speed only */

    /* If not NULL, receives the number of watched rows that contain NaN or infinity. These are rows
     * of z; if z is not watched, of the pattern; else of qk or of attn_scores, whose masked cells
     * do not count. */
    size_t *n_not_finite;

    /* BF16 rounds q, k, v and the pattern to bfloat16 before they are multiplied, as in a run of a
     * model. It applies to exact attention that is not blockwise, if it is faster on this
     * processor. Scores and all other values are as with F32. */
    enum attn_compute compute;
};

#define ATTN_ATTEND_ARGS_DEFAULT                                                                   \
    ((struct attn_attend_args){.size = sizeof(struct attn_attend_args),                            \
                               .attention = ATTN_ATTENTION_DEFAULT,                                \
                               .isa = ATTN_ISA_BEST})

/* Returns the sizes for the selection of a trace. The result borrows nothing. */
struct attn_dims attn_attend_dims(const struct attn_attend_args *args);

/* Computes the attention. Returns ATTN_INVALID for sizes or options that contradict each other,
 * ATTN_NO_MEMORY, ATTN_CANCELED, or the status of the trace. Memory in addition to the inputs:
 * packed keys and values; the watched matrices of one head, at most 64 MiB at a time; a few rows
 * per thread. */
enum attn_status attn_attend(const struct attn_attend_args *given, struct attn_error *err);
