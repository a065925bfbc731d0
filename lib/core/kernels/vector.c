/* vector.c - the function table of one instruction set. */
#include "kernels/vector.h"
#include "kernels/elementary.h"

const struct attn_kernels ATTN_FOR_ISA(attn_kernels) = {
#if defined __AVX512F__
    .isa = ATTN_ISA_AVX512,
#elif defined __AVX2__
    .isa = ATTN_ISA_AVX2,
#elif defined __ARM_NEON
    .isa = ATTN_ISA_NEON,
#elif defined __wasm_relaxed_simd__
    .isa = ATTN_ISA_RELAXED,
#else
    .isa = ATTN_ISA_BASELINE,
#endif
#define TABLE_ROW(name) .name = ATTN_FOR_ISA(attn_vector_##name),
    ATTN_VECTOR_MAP(TABLE_ROW)
#undef TABLE_ROW
};

#if defined __wasm_relaxed_simd__

/* Computes (1 + e)^2 - (1 + 2 e), which is e^2 if the product is not rounded, and 0 if it is. */
bool attn_vector_is_fused(void)
{
    volatile float a = 1 + 0x1p-12F, c = -(1 + 0x1p-11F);
    volatile double wide_a = 1 + 0x1p-27, wide_c = -(1 + 0x1p-26);
    const vf found = v_fma(v_splat(a), v_splat(a), v_splat(c));
    const vd wide = d_fma(d_splat(wide_a), d_splat(wide_a), d_splat(wide_c));
    bool is_fused = true;

    for (int l = 0; l < LANES; l++)
        is_fused = is_fused && found[l] == 0x1p-24F;
    for (int l = 0; l < HALF; l++)
        is_fused = is_fused && wide[l] == 0x1p-54;
    return is_fused;
}

#endif
