/*
 * sealed_memory.h - a process that may make no memory executable, as under a hardened kernel.
 */
#pragma once

#include <stdbool.h>

/* From here on mmap and mprotect with PROT_EXEC fail with EPERM, for good. False when the kernel
 * does not offer that. */
bool attn_seal_memory(void);
