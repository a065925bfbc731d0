/*
 * libc_macos.h - what the C library of Linux declares and that of macOS lacks, implemented in
 * system_macos.c; the Makefile includes it before every source.
 */
#if !defined ATTN_BASE_LIBC_MACOS_H && !defined __ASSEMBLER__
#define ATTN_BASE_LIBC_MACOS_H

#include <stddef.h>

extern char **environ;

void *memrchr(const void *bytes, int byte, size_t size);

#endif
