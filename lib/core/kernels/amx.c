#include "kernels/gemm_internal.h"

#include "kernels/amx_loop.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Codes of arch_prctl, from Linux 5.16 on. The headers of Debian 12 lack some of them. */
enum {
    XCOMP_SUPPORTED = 0x1021, /* returns the register state that processor and system can save, in
                                 the bits of XCR0 */
    XCOMP_ASK = 0x1023,       /* requests permission for one kind of state, by its bit number */
    TILE_LAYOUT = 17,
    TILE_DATA = 18,
};

static ATTN_TILE_CODE void multiply(const struct attn_gemm_shape *shape, const uint16_t *a,
                                    const uint16_t *b, float *c, const void *next)
{
    attn_tile_multiply(shape, a, b, c, next);
}

static ATTN_TILE_CODE void release(void)
{
    ATTN_TILE_RELEASE();
}

const struct attn_tiles *attn_amx_find(void)
{
    static const struct attn_tiles tiles = {multiply, release};
    const uint64_t wanted = UINT64_C(1) << TILE_LAYOUT | UINT64_C(1) << TILE_DATA;
    const unsigned bf16 = 1U << 22, tile = 1U << 24;
    unsigned eax, ebx, ecx, edx;
    uint64_t supported = 0;

    /* Asks the system first: it takes 0.1 us, whereas cpuid takes 10 us in a virtual machine. */
    if (syscall(SYS_arch_prctl, XCOMP_SUPPORTED, &supported) != 0 ||
        (supported & wanted) != wanted || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 ||
        !(edx & bf16) || !(edx & tile) || syscall(SYS_arch_prctl, XCOMP_ASK, TILE_DATA) != 0)
        return NULL;
    return &tiles;
}
