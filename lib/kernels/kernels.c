/* kernels.c - which table of functions serves, and the names of the activations. */
#include "kernels/kernels.h"
#include "kernels/isa_internal.h"

#include <string.h>

extern const struct attn_kernels attn_kernels_baseline, attn_kernels_avx2, attn_kernels_avx512,
    attn_kernels_neon;

const struct attn_kernels *attn_kernels_find(enum attn_isa limit)
{
    static const struct attn_kernels *const tables[] = {
        [ATTN_ISA_BASELINE] = &attn_kernels_baseline,
#if defined __x86_64__
        [ATTN_ISA_AVX2] = &attn_kernels_avx2,
        [ATTN_ISA_AVX512] = &attn_kernels_avx512,
#elif defined __aarch64__
        [ATTN_ISA_NEON] = &attn_kernels_neon,
#endif
    };
    const enum attn_isa best = attn_isa_detect();
    enum attn_isa isa = limit < best ? limit : best;

    while (!tables[isa]) /* of another processor */
        isa--;
    return tables[isa];
}

static const char *const activation_names[] = {
#define ACTIVATION_NAME(name, text) text,
    ATTN_ACTIVATION_MAP(ACTIVATION_NAME)
#undef ACTIVATION_NAME
};

const char *attn_activation_name(enum attn_activation activation)
{
    return activation_names[activation];
}

enum attn_activation attn_activation_find(const char *name)
{
    static const struct {
        const char *name;
        enum attn_activation activation;
    } aliases[] = {
        {"gelu_pytorch_tanh", ATTN_ACTIVATION_GELU_NEW},
        {"gelu_python_tanh", ATTN_ACTIVATION_GELU_NEW},
        {"gelu_accurate", ATTN_ACTIVATION_GELU_NEW},
        {"gelu_fast", ATTN_ACTIVATION_GELU_NEW}, /* its sqrt(2/pi) is the same float */
        {"gelu_python", ATTN_ACTIVATION_GELU},
        {"swish", ATTN_ACTIVATION_SILU},
    };

    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(name, aliases[i].name) == 0)
            return aliases[i].activation;
    for (int i = 0; i < ATTN_N_ACTIVATION; i++)
        if (strcmp(name, activation_names[i]) == 0)
            return (enum attn_activation)i;
    return ATTN_N_ACTIVATION;
}
