/*
 * banned.h - functions that no source may call; the Makefile includes it into every source.
 *
 * Instead: snprintf, memcpy or struct attn_buffer for copies without a bound, the parsers of
 * base/number.h for numbers without a check; strtok keeps hidden state. A call is a warning, in a
 * checkout an error. This file includes nothing, so that a source cannot depend on it.
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
