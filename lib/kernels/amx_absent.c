/* amx_absent.c - instead of amx.c where the processor compiled for is no x86-64. */
#include "kernels/amx_internal.h"

const struct attn_tiles *attn_amx_find(void)
{
    return NULL;
}
