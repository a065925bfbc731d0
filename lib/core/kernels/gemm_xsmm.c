/*
 * gemm_xsmm.c - the only file that calls libxsmm (1.17).
 *
 * libxsmm is column-major: its kernel computes C (m x n) = A (m x k) B (k x n). In our row-major
 * terms that is c [n, m] = b [n, k] a [k, m], with the weights as its A. So a, b, lda and ldb keep
 * their letters, and nothing is transposed. Two traps: a NULL beta means 1, and the strides of the
 * batch form are in bytes.
 *
 * Three more traps where memory is limited. If libxsmm cannot allocate its registry, it reports no
 * error and crashes at the first look-up: we check the registry. If it cannot map executable
 * memory, it puts code into memory of malloc, which cannot be executed: we give it another malloc.
 * It needs 130 KiB of stack to create a kernel, and the process dies if the stack cannot grow: we
 * grow the stack before we start libxsmm, while there is memory.
 */
#include "kernels/gemm_xsmm_internal.h"

#include <errno.h>
#include <libxsmm.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Memory for the kernels of most models, each 8 to 24 KiB, and for the stack. */
enum { ROOM_FOR_CODE = 4 << 20, STACK_FOR_CODE = 160 << 10 };

/* Maps SIZE bytes of memory that can be written and executed. Returns NULL on failure, with the
 * reason in errno. */
static void *map_code(size_t size)
{
    void *code =
        mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return code != MAP_FAILED ? code : NULL;
}

/* Whether memory can be made writable and executable, and then executable only, as libxsmm does.
 * *LACKS_MEMORY means that this is permitted but that too little memory is left. */
static bool can_execute_new_code(bool *lacks_memory)
{
    void *code = map_code(ROOM_FOR_CODE);
    bool can;

    *lacks_memory = !code && errno == ENOMEM;
    if (!code)
        return false;
    can = mprotect(code, ROOM_FOR_CODE, PROT_READ | PROT_EXEC) == 0;
    munmap(code, ROOM_FOR_CODE);
    return can;
}

/* Grows the stack to the size that libxsmm needs. The system does not shrink it again. */
__attribute__((noinline)) static void grow_stack(void)
{
    volatile char stack[STACK_FOR_CODE];

    for (size_t i = sizeof stack; i > 0; i -= 4096)
        stack[i - 1] = 0;
}

bool attn_xsmm_can_start(void)
{
    bool lacks_memory;

    return attn_isa_detect() >= ATTN_ISA_AVX2 && can_execute_new_code(&lacks_memory);
}

/* Whether libxsmm, after its start, could allocate its registry. */
static bool has_registry(void)
{
    libxsmm_registry_info info = {0};

    /* The status is ignored: it may complain about a kernel that exists. */
    (void)libxsmm_get_registry_info(&info);
    return info.capacity > 0;
}

/* Replacements of malloc and free. libxsmm uses them if it cannot map executable memory, which it
 * does not retry after one failure. The block is preceded by a page that holds the size. */
static void *allocate_code(size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *block = size <= SIZE_MAX - page ? map_code(page + size) : NULL;

    if (!block)
        return NULL;
    memcpy(block, &size, sizeof size);
    return block + page;
}

static void free_code(void *code)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size;

    if (!code)
        return;
    memcpy(&size, (char *)code - page, sizeof size);
    munmap((char *)code - page, page + size);
}

/* Whether start() has completed in this process. Reading the registry's info again would visit
 * every kernel, and every session checks. */
static bool has_started(void)
{
    libxsmm_malloc_function allocator = {0};

    return libxsmm_ninit >= 2 && /* libxsmm's own test: below 2 it has not started */
           libxsmm_get_default_allocator(NULL, &allocator, NULL) == 0 &&
           allocator.function == allocate_code;
}

/* Starts libxsmm if its code can be executed. If it has no registry, a later call tries again. */
static bool start(enum attn_isa limit)
{
    if (has_started())
        return true;
    libxsmm_init();
    if (!has_registry())
        return false;
    libxsmm_set_default_allocator(NULL, (libxsmm_malloc_function){.function = allocate_code},
                                  (libxsmm_free_function){.function = free_code});
    if (limit == ATTN_ISA_AVX2 && libxsmm_get_target_archid() > LIBXSMM_X86_AVX2)
        libxsmm_set_target_archid(LIBXSMM_X86_AVX2);
    return true;
}

struct attn_xsmm attn_xsmm_start(enum attn_isa limit)
{
    struct attn_xsmm xsmm = {0};
    int target;

    if (limit < ATTN_ISA_AVX2 || attn_isa_detect() < ATTN_ISA_AVX2)
        return xsmm;
    if (can_execute_new_code(&xsmm.lacks_memory)) {
        grow_stack();
        xsmm.lacks_memory = !start(limit);
        xsmm.is_started = !xsmm.lacks_memory;
    }
    if (!xsmm.is_started) {
        xsmm.has_bf16 = xsmm.lacks_memory && limit >= ATTN_ISA_AVX512 &&
                        libxsmm_cpuid() >= LIBXSMM_X86_AVX512_CPX;
        return xsmm;
    }
    target = libxsmm_get_target_archid();
    /* Accept targets whose kernels were measured to keep the contract: those with fma, except Xeon
     * Phi. */
    xsmm.is_started = target == LIBXSMM_X86_AVX2 || target >= LIBXSMM_X86_AVX512_CORE;
    /* Where libxsmm emulates bfloat16, bits depend on the number of rows, so instructions for
     * bfloat16 are required. */
    xsmm.has_bf16 = target >= LIBXSMM_X86_AVX512_CPX;
    return xsmm;
}

void (*attn_xsmm_find(const struct attn_gemm_shape *s))(void)
{
    const libxsmm_blasint m = (int)s->m, n = (int)s->n, k = (int)s->k;
    const libxsmm_blasint lda = (int)s->lda, ldb = (int)s->ldb, ldc = (int)s->ldc;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, flags_bf16 = LIBXSMM_GEMM_FLAG_VNNI_A;
    const int prefetch = s->is_ahead ? LIBXSMM_GEMM_PREFETCH_AL2 : LIBXSMM_GEMM_PREFETCH_NONE;
    const float alpha = 1, beta = s->is_continued ? 1 : 0;
    const bool is_batch = s->step_a != 0 || s->step_b != 0;
    const size_t max = INT_MAX;

    if (s->k > max || s->lda > max || s->ldb > max || s->ldc > max ||
        s->step_a > max / sizeof(float) || s->step_b > max / sizeof(float))
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
