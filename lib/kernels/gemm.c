/*
 * gemm.c - the only file that knows libxsmm (1.17).
 *
 * libxsmm is column-major: its kernel computes C(m x n) = A(m x k) B(k x n), which in our row-major
 * terms is c [n, m] = b [n, k] a [k, m] with the weights as its A. So a, b, lda, ldb keep their
 * letters and nothing is transposed. Traps: a NULL beta means 1; steps of the batch form are in
 * bytes; where executable memory is denied it returns code that cannot be executed instead of NULL.
 */
#include "kernels/gemm_internal.h"

#include <assert.h>
#include <libxsmm.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Multiply-adds from which AUTO starts libxsmm, which takes 4 to 7 ms. Measured on a Zen 5 core in
 * fresh processes with GPT-2's products: 6 to 384 tokens take 6 to 8 ms less without it, 768 as
 * long, 1024 9 ms more.
 */
static const double jit_pays_from = 6e10;

/* Whether memory may be writable and executable, then executable only: what libxsmm does. */
static bool can_execute_new_code(void)
{
    long page = sysconf(_SC_PAGESIZE);
    size_t size = page > 0 ? (size_t)page : 4096;
    void *code =
        mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool can;

    if (code == MAP_FAILED)
        return false;
    can = mprotect(code, size, PROT_READ | PROT_EXEC) == 0;
    munmap(code, size);
    return can;
}

bool attn_gemm_can_jit(void)
{
    return attn_isa_detect() >= ATTN_ISA_AVX2 && can_execute_new_code();
}

/* Targets whose kernels were measured to keep the numeric contract: with fma, and not Xeon Phi. */
static bool is_target_exact(int target)
{
    return target == LIBXSMM_X86_AVX2 || target >= LIBXSMM_X86_AVX512_CORE;
}

/* Targets with instructions for bfloat16: where it emulates them, bits depend on the rows. */
static bool has_bf16(int target)
{
    return target >= LIBXSMM_X86_AVX512_CPX;
}

/* Starts libxsmm, or joins the one that the process has started. False when it is of no use. */
static bool start_libxsmm(enum attn_isa limit)
{
    bool is_first = libxsmm_ninit < 2; /* libxsmm's own test for "not started" */

    libxsmm_init();
    if (is_first && limit == ATTN_ISA_AVX2 && libxsmm_get_target_archid() > LIBXSMM_X86_AVX2)
        libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
    return is_target_exact(libxsmm_get_target_archid());
}

struct attn_gemm_engine attn_gemm_engine_start(enum attn_gemm how, enum attn_isa limit, double work)
{
    struct attn_gemm_engine engine = {.kernels = attn_kernels_find(limit)};
    bool wants_jit = how == ATTN_GEMM_JIT || (how == ATTN_GEMM_AUTO && work >= jit_pays_from);

    if (wants_jit && engine.kernels->isa >= ATTN_ISA_AVX2 && attn_gemm_can_jit())
        engine.is_jit = start_libxsmm(engine.kernels->isa);
    engine.is_jit_bf16 = engine.is_jit && has_bf16(libxsmm_get_target_archid());
    return engine;
}

const char *attn_gemm_engine_name(const struct attn_gemm_engine *engine)
{
    static const char *const portable[] = {
#define PORTABLE_NAME(name, text) "portable " text,
        ATTN_ISA_MAP(PORTABLE_NAME)
#undef PORTABLE_NAME
    };

    if (!engine->is_jit)
        return portable[engine->kernels->isa];
    return libxsmm_get_target_archid() > LIBXSMM_X86_AVX2 ? "jit avx512" : "jit avx2";
}

void attn_gemm_library(enum attn_gemm gemm, enum attn_isa limit, char text[ATTN_GEMM_LIBRARY_SIZE])
{
    const struct attn_gemm_engine engine = attn_gemm_engine_start(gemm, limit, 0);

    if (engine.is_jit)
        snprintf(text, ATTN_GEMM_LIBRARY_SIZE, "libxsmm %d.%d, %s", LIBXSMM_VERSION_MAJOR,
                 LIBXSMM_VERSION_MINOR, libxsmm_get_target_arch());
    else
        snprintf(text, ATTN_GEMM_LIBRARY_SIZE, "the portable loop, %s",
                 attn_isa_name(engine.kernels->isa));
}

static bool fits_libxsmm(const struct attn_gemm_shape *s)
{
    const size_t most = INT_MAX;

    return s->k <= most && s->lda <= most && s->ldb <= most && s->ldc <= most &&
           s->step_a <= most / sizeof(float) && s->step_b <= most / sizeof(float);
}

/* libxsmm's code for a shape that it can take; NULL: it has none. */
static void (*dispatch(const struct attn_gemm_shape *s))(void)
{
    const libxsmm_blasint m = (int)s->m, n = (int)s->n, k = (int)s->k;
    const libxsmm_blasint lda = (int)s->lda, ldb = (int)s->ldb, ldc = (int)s->ldc;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, flags_bf16 = LIBXSMM_GEMM_FLAG_VNNI_A;
    const int prefetch = s->is_ahead ? LIBXSMM_GEMM_PREFETCH_AL2 : LIBXSMM_GEMM_PREFETCH_NONE;
    const float alpha = 1, beta = s->is_continued ? 1 : 0;

    if (s->is_bf16)
        return (void (*)(void))libxsmm_bsmmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta,
                                                    &flags_bf16, &prefetch);
    if (s->step_a == 0 && s->step_b == 0)
        return (void (*)(void))libxsmm_smmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, &flags,
                                                   &prefetch);
    return (void (*)(void))libxsmm_smmdispatch_reducebatch_strd(
        m, n, k, (int)(s->step_a * sizeof(float)), (int)(s->step_b * sizeof(float)), &lda, &ldb,
        &ldc, &alpha, &beta, &flags, NULL);
}

struct attn_gemm_kernel attn_gemm_kernel_find(const struct attn_gemm_engine *engine,
                                              const struct attn_gemm_shape *s)
{
    struct attn_gemm_kernel kernel = {.shape = *s, .kernels = engine->kernels};

    assert(s->m >= 17 && s->m <= 64 && s->n >= 1 && s->n <= 64 && s->k >= 1);
    kernel.is_batch = s->step_a != 0 || s->step_b != 0;
    assert(!kernel.is_batch || (!s->is_ahead && !s->is_bf16));
    if ((s->is_bf16 ? engine->is_jit_bf16 : engine->is_jit) && fits_libxsmm(s))
        kernel.jit = dispatch(s);
    return kernel;
}

void attn_gemm_kernel_run(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                          float *c, size_t count)
{
    unsigned long long n_block = count;

    assert(count >= 1 && (count == 1 || kernel->is_batch) && !kernel->shape.is_ahead);
    if (kernel->is_batch && kernel->jit)
        ((libxsmm_smmfunction_reducebatch_strd)kernel->jit)(a, b, c, &n_block);
    else if (kernel->jit)
        ((libxsmm_smmfunction)kernel->jit)(a, b, c); /* bfloat16 takes its operands alike */
    else if (kernel->shape.is_bf16)
        kernel->kernels->gemm_bf16(&kernel->shape, a, b, c);
    else
        kernel->kernels->gemm(&kernel->shape, a, b, c, count);
}

void attn_gemm_kernel_run_ahead(const struct attn_gemm_kernel *kernel, const void *a, const void *b,
                                float *c, const void *next)
{
    assert(!kernel->is_batch && kernel->shape.is_ahead);
    if (kernel->jit)
        ((libxsmm_smmfunction)kernel->jit)(a, b, c, next, b, c);
    else if (kernel->shape.is_bf16)
        kernel->kernels->gemm_bf16(&kernel->shape, a, b, c);
    else
        kernel->kernels->gemm(&kernel->shape, a, b, c, 1);
}
