/* gemm.h - options for the code that computes matrix products. */
#ifndef ATTN_KERNELS_GEMM_H
#define ATTN_KERNELS_GEMM_H

#include "base/api.h"

#include <stdbool.h>

/* X(name, number, text). In ascending order; those of other processors are skipped. */
#define ATTN_ISA_MAP(X)                                                                            \
    X(BASELINE, 0, "baseline") /* any processor; fma is emulated if the processor lacks it */      \
    X(AVX2, 1, "avx2")         /* AVX2 and FMA */                                                  \
    X(AVX512, 2, "avx512")     /* AVX-512 F, BW, DQ, VL */                                         \
    X(NEON, 3, "neon")         /* any 64-bit ARM */                                                \
    X(RELAXED, 4, "relaxed")   /* WebAssembly, if its relaxed multiply-add rounds once */

enum attn_isa {
#define ATTN_ISA_ENUM(name, number, text) ATTN_ISA_##name = (number),
    ATTN_ISA_MAP(ATTN_ISA_ENUM)
#undef ATTN_ISA_ENUM
        ATTN_ISA_BEST = ATTN_ISA_RELAXED
};

/* The code that computes matrix products. */
enum attn_gemm {
    ATTN_GEMM_AUTO = 0, /* libxsmm if there is enough work to pay for its start, else the portable
                           loop; in bfloat16 the processor's tiles (AMX) if it has them */
    ATTN_GEMM_JIT = 1,  /* always libxsmm */
    ATTN_GEMM_PORTABLE = 2, /* always our own loop */
};

/* The number format in which weights are multiplied. Sums, softmax, norms and residuals are always
 * float32. */
enum attn_compute {
    ATTN_COMPUTE_F32 = 0,
    /* Weights and their factors are rounded to bfloat16. In exact attention q, k, v and pattern are
       rounded, too, if that is faster on this processor. Results then depend on the processor and
       on enum attn_gemm, and not only on model and prefix. */
    ATTN_COMPUTE_BF16 = 1,
    ATTN_N_COMPUTE = 2 /* 2 was BF16X3 until version 0.3 */
};

#endif
