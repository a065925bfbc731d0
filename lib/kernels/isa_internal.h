/* isa_internal.h - what isa.h declares for the library alone. */
#ifndef ATTN_KERNELS_ISA_INTERNAL_H
#define ATTN_KERNELS_ISA_INTERNAL_H

#include "kernels/isa.h"

const char *attn_isa_name(enum attn_isa isa);

/* The best instruction set of this processor. */
enum attn_isa attn_isa_detect(void);

#endif
