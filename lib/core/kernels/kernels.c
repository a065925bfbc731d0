/* kernels.c - detects the processor's instruction set, finds its table of functions, and maps
 * names. */
#include "kernels/kernels.h"

#include <string.h>

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
#include <cpuid.h>

#include <stdatomic.h>

/* Detects the instruction set by cpuid. __builtin_cpu_supports depends on the compiler's library,
 * and always answers no in zig's. The system must save the registers, too (xgetbv). */
static enum attn_isa detect_by_cpuid(void)
{
    enum { SAVES_256_BITS = 0x06, SAVES_512_BITS = 0xe6 };
    const unsigned avx = bit_OSXSAVE | bit_AVX | bit_FMA | bit_F16C;
    const unsigned avx512 = bit_AVX512F | bit_AVX512BW | bit_AVX512DQ | bit_AVX512VL;
    unsigned eax, ebx, ecx, edx, saved;

    __cpuid(1, eax, ebx, ecx, edx);
    if ((ecx & avx) != avx)
        return ATTN_ISA_BASELINE;
    __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
    __cpuid_count(7, 0, eax, ebx, ecx, edx); /* leaf 7 exists on all processors with FMA */
    if ((saved & SAVES_256_BITS) != SAVES_256_BITS || !(ebx & bit_AVX2))
        return ATTN_ISA_BASELINE;
    return (saved & SAVES_512_BITS) == SAVES_512_BITS && (ebx & avx512) == avx512 ? ATTN_ISA_AVX512
                                                                                  : ATTN_ISA_AVX2;
}

/* The result is kept, because cpuid takes 4 to 40 us in a virtual machine, and each row of
 * attention needs it. It never changes, so this is no state that a caller could observe. */
static atomic_int detected; /* 0: not detected yet, else the instruction set + 1 */

enum attn_isa attn_isa_detect(void)
{
    int isa = atomic_load_explicit(&detected, memory_order_relaxed) - 1;

    if (isa < 0) {
        isa = (int)detect_by_cpuid();
        atomic_store_explicit(&detected, isa + 1, memory_order_relaxed);
    }
    return (enum attn_isa)isa;
}

#elif defined __aarch64__

enum attn_isa attn_isa_detect(void)
{
    return ATTN_ISA_NEON; /* every 64-bit ARM that runs Linux has it */
}

#elif defined __wasm__

extern bool attn_vector_is_fused(void);

enum attn_isa attn_isa_detect(void)
{
    return attn_vector_is_fused() ? ATTN_ISA_RELAXED : ATTN_ISA_BASELINE;
}

#else

enum attn_isa attn_isa_detect(void)
{
    return ATTN_ISA_BASELINE;
}

#endif

extern const struct attn_kernels attn_kernels_baseline, attn_kernels_avx2, attn_kernels_avx512,
    attn_kernels_neon, attn_kernels_relaxed;

const struct attn_kernels *attn_kernels_find(enum attn_isa limit)
{
    static const struct attn_kernels *const tables[] = {
        [ATTN_ISA_BASELINE] = &attn_kernels_baseline,
#if defined __x86_64__
        [ATTN_ISA_AVX2] = &attn_kernels_avx2,
        [ATTN_ISA_AVX512] = &attn_kernels_avx512,
#elif defined __aarch64__
        [ATTN_ISA_NEON] = &attn_kernels_neon,
#elif defined __wasm__
        [ATTN_ISA_RELAXED] = &attn_kernels_relaxed,
#endif
    };
    const enum attn_isa best = attn_isa_detect();
    enum attn_isa isa = limit < best ? limit : best;

    while (!tables[isa]) /* skip tables of other processors, which are NULL */
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
        {"gelu_fast", ATTN_ACTIVATION_GELU_NEW}, /* its sqrt(2/pi) rounds to the same float */
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
