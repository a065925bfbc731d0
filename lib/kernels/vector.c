/* vector.c - the table of one instruction set. */
#include "kernels/vector.h"

const struct attn_kernels ATTN_FOR_ISA(attn_kernels) = {
#if defined __AVX512F__
    .isa = ATTN_ISA_AVX512,
#elif defined __AVX2__
    .isa = ATTN_ISA_AVX2,
#elif defined __ARM_NEON
    .isa = ATTN_ISA_NEON,
#else
    .isa = ATTN_ISA_BASELINE,
#endif
#define TABLE_ROW(name) .name = ATTN_FOR_ISA(attn_vector_##name),
    ATTN_VECTOR_MAP(TABLE_ROW)
#undef TABLE_ROW
};
