/* gemm_xsmm_absent.c - built instead of gemm_xsmm.c where there is no libxsmm. */
#include "kernels/gemm_xsmm_internal.h"

bool attn_xsmm_can_start(void)
{
    return false;
}

bool attn_xsmm_start(enum attn_isa limit, bool *lacks_memory)
{
    (void)limit;
    *lacks_memory = false;
    return false;
}

bool attn_xsmm_would_have_bf16(enum attn_isa limit)
{
    (void)limit;
    return false;
}

/* Not called: libxsmm cannot be started. */

bool attn_xsmm_has_bf16(void)
{
    return false;
}

bool attn_xsmm_has_avx512(void)
{
    return false;
}

void attn_xsmm_describe(char text[ATTN_GEMM_LIBRARY_SIZE])
{
    text[0] = '\0';
}

void (*attn_xsmm_find(const struct attn_gemm_shape *shape))(void)
{
    (void)shape;
    return NULL;
}
