/*
 * wasi.h - a function of Linux that wasi-libc lacks, implemented in system_wasm.c; `make wasm`
 * includes it before every source.
 */
#if !defined ATTN_BASE_WASI_H && !defined __ASSEMBLER__
#define ATTN_BASE_WASI_H

char *realpath(const char *path, char *resolved);

#endif
