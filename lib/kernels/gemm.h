/*
 * gemm.h - which code computes matrix products.
 *
 *     char text[ATTN_GEMM_LIBRARY_SIZE];
 *     attn_gemm_library(ATTN_GEMM_JIT, ATTN_ISA_BEST, text);      // "libxsmm 1.17, cpx"
 */
#ifndef ATTN_KERNELS_GEMM_H
#define ATTN_KERNELS_GEMM_H

#include "base/api.h"
#include "kernels/isa.h"

#include <stdbool.h>

/* How matrix products are evaluated. */
enum attn_gemm {
    ATTN_GEMM_AUTO = 0,     /* libxsmm when the work is worth its start, else the portable loop; in
                               bfloat16 the processor's tiles (AMX) where it has them */
    ATTN_GEMM_JIT = 1,      /* libxsmm always */
    ATTN_GEMM_PORTABLE = 2, /* our own loop always */
};

/* In which numbers weights are multiplied. Sums, softmax, norms and residuals are float32
 * always. */
enum attn_compute {
    ATTN_COMPUTE_F32 = 0,
    /* Weights and what they are multiplied by rounded to bfloat16; so are q, k, v and pattern of
     * exact attention, where the processor gains by it. Results depend on the processor and on enum
     * attn_gemm, too, not only on model and prefix. */
    ATTN_COMPUTE_BF16 = 1,
    ATTN_N_COMPUTE = 2 /* 2 was BF16X3, until 0.3 */
};

enum { ATTN_GEMM_LIBRARY_SIZE = 64 };

#endif
