/*
 * libc_windows.h - functions of the C library of Linux that that of Windows lacks, implemented in
 * libc_windows.c; the Makefile includes it before every source.
 */
#if !defined ATTN_BASE_LIBC_WINDOWS_H && !defined __ASSEMBLER__
#define ATTN_BASE_LIBC_WINDOWS_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define fopen attn_windows_fopen
#define gmtime_r attn_windows_gmtime_r

FILE *attn_windows_fopen(const char *path, const char *mode);
struct tm *attn_windows_gmtime_r(const time_t *time, struct tm *parts);

void *memmem(const void *bytes, size_t size, const void *part, size_t n);
char *realpath(const char *path, char *resolved);
char *strcasestr(const char *text, const char *part);
char *strndup(const char *text, size_t size);
char *strsep(char **rest, const char *separators);

/* Texts of Windows: each is new, or NULL with errno; free it with free. */
wchar_t *attn_windows_wide(const char *text);
char *attn_windows_narrow(const wchar_t *wide);

#endif
