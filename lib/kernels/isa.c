/* isa.c - names of instruction sets, and which one this processor has. */
#include "kernels/isa_internal.h"

#include <stdbool.h>

const char *attn_isa_name(enum attn_isa isa)
{
    static const char *const names[] = {
#define ISA_NAME(name, number, text) [ATTN_ISA_##name] = (text),
        ATTN_ISA_MAP(ISA_NAME)
#undef ISA_NAME
    };

    return names[isa];
}

#if defined __x86_64__

enum attn_isa attn_isa_detect(void)
{
    bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

    if (has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return ATTN_ISA_AVX512;
    return has_avx2 ? ATTN_ISA_AVX2 : ATTN_ISA_BASELINE;
}

#elif defined __aarch64__

enum attn_isa attn_isa_detect(void)
{
    return ATTN_ISA_NEON; /* part of what Linux programs for it may rely on */
}

#else

enum attn_isa attn_isa_detect(void)
{
    return ATTN_ISA_BASELINE;
}

#endif
