/*
 * gemm_xsmm.c - the only file that knows libxsmm (1.17).
 *
 * libxsmm is column-major: its kernel computes C(m x n) = A(m x k) B(k x n), which in our row-major
 * terms is c [n, m] = b [n, k] a [k, m] with the weights as its A. So a, b, lda, ldb keep their
 * letters and nothing is transposed. Traps: a NULL beta means 1; steps of the batch form are in
 * bytes; where executable memory is denied it returns code that cannot be executed instead of NULL.
 */
#include "kernels/gemm_xsmm_internal.h"

#include <libxsmm.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

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

bool attn_xsmm_can_start(void)
{
    return attn_isa_detect() >= ATTN_ISA_AVX2 && can_execute_new_code();
}

/* Targets whose kernels were measured to keep the numeric contract: with fma, and not Xeon Phi. */
static bool is_target_exact(int target)
{
    return target == LIBXSMM_X86_AVX2 || target >= LIBXSMM_X86_AVX512_CORE;
}

bool attn_xsmm_start(enum attn_isa limit)
{
    bool is_first = libxsmm_ninit < 2; /* libxsmm's own test for "not started" */

    if (limit < ATTN_ISA_AVX2 || !attn_xsmm_can_start())
        return false;
    libxsmm_init();
    if (is_first && limit == ATTN_ISA_AVX2 && libxsmm_get_target_archid() > LIBXSMM_X86_AVX2)
        libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
    return is_target_exact(libxsmm_get_target_archid());
}

/* Where libxsmm emulates bfloat16, bits depend on the rows: instructions for it are needed. */
bool attn_xsmm_has_bf16(void)
{
    return libxsmm_get_target_archid() >= LIBXSMM_X86_AVX512_CPX;
}

bool attn_xsmm_has_avx512(void)
{
    return libxsmm_get_target_archid() > LIBXSMM_X86_AVX2;
}

void attn_xsmm_describe(char text[ATTN_GEMM_LIBRARY_SIZE])
{
    snprintf(text, ATTN_GEMM_LIBRARY_SIZE, "libxsmm %d.%d, %s", LIBXSMM_VERSION_MAJOR,
             LIBXSMM_VERSION_MINOR, libxsmm_get_target_arch());
}

static bool fits_libxsmm(const struct attn_gemm_shape *s)
{
    const size_t most = INT_MAX;

    return s->k <= most && s->lda <= most && s->ldb <= most && s->ldc <= most &&
           s->step_a <= most / sizeof(float) && s->step_b <= most / sizeof(float);
}

void (*attn_xsmm_find(const struct attn_gemm_shape *s))(void)
{
    const libxsmm_blasint m = (int)s->m, n = (int)s->n, k = (int)s->k;
    const libxsmm_blasint lda = (int)s->lda, ldb = (int)s->ldb, ldc = (int)s->ldc;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, flags_bf16 = LIBXSMM_GEMM_FLAG_VNNI_A;
    const int prefetch = s->is_ahead ? LIBXSMM_GEMM_PREFETCH_AL2 : LIBXSMM_GEMM_PREFETCH_NONE;
    const float alpha = 1, beta = s->is_continued ? 1 : 0;
    const bool is_batch = s->step_a != 0 || s->step_b != 0;

    if (!fits_libxsmm(s))
        return NULL;
    if (s->is_bf16 && is_batch)
        return (void (*)(void))libxsmm_bsmmdispatch_reducebatch_strd(
            m, n, k, (int)(s->step_a * sizeof(uint16_t)), (int)(s->step_b * sizeof(uint16_t)), &lda,
            &ldb, &ldc, &alpha, &beta, &flags_bf16, NULL);
    if (s->is_bf16)
        return (void (*)(void))libxsmm_bsmmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta,
                                                    &flags_bf16, &prefetch);
    if (!is_batch)
        return (void (*)(void))libxsmm_smmdispatch(m, n, k, &lda, &ldb, &ldc, &alpha, &beta, &flags,
                                                   &prefetch);
    return (void (*)(void))libxsmm_smmdispatch_reducebatch_strd(
        m, n, k, (int)(s->step_a * sizeof(float)), (int)(s->step_b * sizeof(float)), &lda, &ldb,
        &ldc, &alpha, &beta, &flags, NULL);
}
