/*
 * libc_macos.h - what the C library of Linux declares and that of macOS does not; the Makefile
 * includes it before every source.
 */
#if !defined ATTN_BASE_LIBC_MACOS_H && !defined __ASSEMBLER__
#define ATTN_BASE_LIBC_MACOS_H

extern char **environ;

#endif
