/* isa.h - the instruction sets of the numeric code. All give the same bits. */
#ifndef ATTN_KERNELS_ISA_H
#define ATTN_KERNELS_ISA_H

#include "base/api.h"

/* In ascending order, without those of other processors. X(name, text) */
#define ATTN_ISA_MAP(X)                                                                            \
    X(BASELINE, 0, "baseline") /* any; fma in software where the processor has none */             \
    X(AVX2, 1, "avx2")         /* AVX2 and FMA */                                                  \
    X(AVX512, 2, "avx512")     /* AVX-512 F, BW, DQ, VL */                                         \
    X(NEON, 3, "neon")         /* any 64-bit ARM */                                                \
    X(RELAXED, 4, "relaxed")   /* WebAssembly, where its relaxed multiply-add rounds once */

enum attn_isa {
#define ATTN_ISA_ENUM(name, number, text) ATTN_ISA_##name = (number),
    ATTN_ISA_MAP(ATTN_ISA_ENUM)
#undef ATTN_ISA_ENUM
        ATTN_ISA_BEST = ATTN_ISA_RELAXED
};

#endif
