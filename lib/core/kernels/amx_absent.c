/* amx_absent.c - replaces amx.c on processors other than x86-64, which have no tiles. */
#include "kernels/gemm_internal.h"

const struct attn_tiles *attn_amx_find(void)
{
    return NULL;
}
