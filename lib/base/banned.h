/*
 * banned.h - functions that no source here may call; the Makefile includes it into every source.
 *
 * Copying without a bound: snprintf, memcpy or struct attn_buffer instead. Numbers without a check:
 * the parsers of base/number.h. strtok keeps hidden state. Only declarations, so that this file
 * never includes a header that a source lacks; a call is a warning, and in a checkout an error.
 */
#ifndef ATTN_BASE_BANNED_H
#define ATTN_BASE_BANNED_H

#define ATTN_BANNED __attribute__((deprecated("banned, see lib/base/banned.h")))

char *strcpy(char *restrict to, const char *restrict from) ATTN_BANNED;
char *strcat(char *restrict to, const char *restrict from) ATTN_BANNED;
char *strncpy(char *restrict to, const char *restrict from, __SIZE_TYPE__ n) ATTN_BANNED;
char *strtok(char *restrict text, const char *restrict separators) ATTN_BANNED;
int sprintf(char *restrict to, const char *restrict format, ...) ATTN_BANNED;
int atoi(const char *text) ATTN_BANNED;
double atof(const char *text) ATTN_BANNED;

#endif
