/* gemm_xsmm_absent.c - built instead of gemm_xsmm.c if libxsmm is missing. */
#include "kernels/gemm_xsmm_internal.h"

bool attn_xsmm_can_start(void)
{
    return false;
}

struct attn_xsmm attn_xsmm_start(enum attn_isa limit)
{
    (void)limit;
    return (struct attn_xsmm){0};
}

/* Never called, because libxsmm cannot be started. */

void (*attn_xsmm_find(const struct attn_gemm_shape *shape))(void)
{
    (void)shape;
    return NULL;
}
