/*
 * isa.h - which instructions the numeric code may use. Results are the same for all of them, bit
 * for bit.
 */
#ifndef ATTN_KERNELS_ISA_H
#define ATTN_KERNELS_ISA_H

#include "base/api.h"

#include <stdbool.h>

/* In ascending order. X(name, text) */
#define ATTN_ISA_MAP(X)                                                                            \
    X(BASELINE, "baseline") /* any x86-64; fma in software where the processor has none */         \
    X(AVX2, "avx2")         /* AVX2 and FMA */                                                     \
    X(AVX512, "avx512")     /* AVX-512 F, BW, DQ, VL */

enum attn_isa {
#define ATTN_ISA_ENUM(name, text) ATTN_ISA_##name,
    ATTN_ISA_MAP(ATTN_ISA_ENUM)
#undef ATTN_ISA_ENUM
        ATTN_ISA_BEST = ATTN_ISA_AVX512
};

/* How matrix products are evaluated. */
enum attn_gemm {
    ATTN_GEMM_AUTO,     /* libxsmm when the work is worth its start, else the portable loop */
    ATTN_GEMM_JIT,      /* libxsmm always */
    ATTN_GEMM_PORTABLE, /* our own loop always */
};

/* In which numbers weights are multiplied. Sums, softmax, norms and residuals are float32 always. */
enum attn_compute {
    ATTN_COMPUTE_F32,
    ATTN_COMPUTE_BF16, /* weights and what they are multiplied by rounded to bfloat16. Results depend
                          on the processor, too, not only on model and prefix */
};

ATTN_API const char *attn_isa_name(enum attn_isa isa);

/* The best instruction set of this processor. */
ATTN_API enum attn_isa attn_isa_detect(void);

enum { ATTN_GEMM_LIBRARY_SIZE = 64 };

/* "libxsmm 1.17, cpx": what the products of GEMM (no AUTO) are made by, and for which processor.
 * Starts libxsmm if that is it. */
ATTN_API void attn_gemm_library(enum attn_gemm gemm, enum attn_isa limit,
                                char text[ATTN_GEMM_LIBRARY_SIZE]);

/* Whether libxsmm can make code here (executable memory may be denied). Does not start libxsmm. */
ATTN_API bool attn_gemm_can_jit(void);

#endif
