/* kernels.c - which table of functions serves, and the names of the activations. */
#include "kernels/kernels.h"

#include <string.h>

extern const struct attn_kernels attn_kernels_baseline, attn_kernels_avx2, attn_kernels_avx512;

const struct attn_kernels *attn_kernels_find(enum attn_isa limit)
{
    static const struct attn_kernels *const tables[] = {
        [ATTN_ISA_BASELINE] = &attn_kernels_baseline,
        [ATTN_ISA_AVX2] = &attn_kernels_avx2,
        [ATTN_ISA_AVX512] = &attn_kernels_avx512,
    };
    enum attn_isa best = attn_isa_detect();

    return tables[limit < best ? limit : best];
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
    if (strcmp(name, "gelu_pytorch_tanh") == 0)
        return ATTN_ACTIVATION_GELU_NEW;
    if (strcmp(name, "swish") == 0)
        return ATTN_ACTIVATION_SILU;
    for (int i = 0; i < ATTN_N_ACTIVATION; i++)
        if (strcmp(name, activation_names[i]) == 0)
            return (enum attn_activation)i;
    return ATTN_N_ACTIVATION;
}
