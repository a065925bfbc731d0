/*
 * attend.h - attention on arrays: PyTorch's scaled_dot_product_attention, with every stage as a
 * result.
 *
 *     struct attn_attend_args args = ATTN_ATTEND_ARGS_DEFAULT;
 *     args.n_head = args.n_kv_head = 8, args.n_query = args.n_key = 6;
 *     args.d_head = args.d_value = 64, args.q = q, args.k = k, args.v = v;
 *     args.attention.mask = ATTN_MASK_NONE, args.trace = &trace;
 *     attn_attend(&args, &err);                        // the trace is called during this
 *
 * The trace sees one layer, 0, with the sites that the attention gives (attn_attention_sites). A
 * batch is more heads: [B, H, T, E] is B*H heads; head h uses key/value head h / (n_head /
 * n_kv_head).
 */
#ifndef ATTN_ATTENTION_ATTEND_H
#define ATTN_ATTENTION_ATTEND_H

#include "attention/attention.h"
#include "base/pool.h"
#include "kernels/gemm.h"
#include "kernels/isa.h"
#include "trace/trace.h"

#include <signal.h>

/* Arrays are float32, contiguous, row-major, borrowed during the call. NaN and infinity are
 * allowed. Finite arrays can give NaN too: a product beyond 3.4e38 is infinite, and the softmax of
 * a row that holds +infinity is NaN. n_not_finite counts them. */
struct attn_attend_args {
    size_t size;              /* of this struct */
    size_t n_head, n_kv_head; /* H, and G which divides it */
    size_t n_query, n_key;    /* T and S, >= 1; with a causal mask T <= S, and key j is visible to
                                 query i when j <= i + S - T */
    size_t d_head, d_value;   /* E, Ev */
    const float *q;           /* [H, T, E] */
    const float *k;           /* [G, S, E] */
    const float *v;           /* [G, S, Ev]; NULL: there is no z */
    const float *scores;      /* [H, T, S] instead of q and k, which are NULL then: `qk`, and d_head
                                 is 1. Not for linear and low-rank attention, nor
                                 ATTN_ALGORITHM_BLOCKWISE */
    struct attn_attention attention; /* the attention to compute */
    int random_layer; /* whose keys random attention draws; for the trace it is layer 0 all the
                         same */
    uint64_t n_drawn; /* numbers that dropout's stream has given before: to earlier layers */
    const struct attn_trace *trace;      /* selects the tensors; only these are computed */
    struct attn_pool *pool;              /* NULL: the caller's thread alone */
    const volatile sig_atomic_t *cancel; /* polled between row blocks; not 0: ATTN_CANCELED */
    enum attn_gemm gemm;                 /* speed only */
    enum attn_isa isa;                   /* the best that may be used; speed only */

    /* Gets the number of watched rows that hold NaN or infinity; NULL: they are not counted. Rows
     * of z or, if it is not watched, of the pattern, else of qk or attn_scores (whose masked cells
     * do not count). */
    size_t *n_not_finite;

    /* BF16 rounds q, k, v and the pattern to bfloat16 before they are multiplied, in exact
     * attention that is not blockwise, if the processor gains by it, as in a run of a model. Scores
     * and all other values are as in F32. */
    enum attn_compute compute;
};

#define ATTN_ATTEND_ARGS_DEFAULT                                                                   \
    ((struct attn_attend_args){.size = sizeof(struct attn_attend_args),                            \
                               .attention = ATTN_ATTENTION_DEFAULT,                                \
                               .isa = ATTN_ISA_BEST})

/* The sizes for the selection of a trace. Borrows nothing. */
ATTN_API struct attn_dims attn_attend_dims(const struct attn_attend_args *args);

/* Computes. ATTN_INVALID for sizes or parts of the attention that contradict each other,
 * ATTN_NO_MEMORY, ATTN_CANCELED, or the trace's status. Memory, beside the inputs: packed keys and
 * values; the watched matrices of one head, at most 64 MiB at a time; a few rows per thread. */
ATTN_API enum attn_status attn_attend(const struct attn_attend_args *args, struct attn_error *err);

#endif
