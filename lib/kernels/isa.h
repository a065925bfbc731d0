/* isa.h - the instruction sets that the numeric code is compiled for. All give the same bits. */
#ifndef ATTN_KERNELS_ISA_H
#define ATTN_KERNELS_ISA_H

#include "base/api.h"

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

#endif
