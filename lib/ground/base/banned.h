/*
 * banned.h - forbids functions that no source may call, and stops compilation on unsupported
 * systems. The Makefile includes it into every source.
 *
 * Instead of unbounded copies use snprintf, memcpy or struct attn_buffer; instead of unchecked
 * conversions use the parsers of base/text/number.h; strtok has hidden state. A call is a warning,
 * in CI an error. This file includes no headers, so that no source can depend on them through it.
 */
#pragma once

/* Checked here, because this file is compiled first. */
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "attn-cli needs a little-endian processor: files have the bytes that memory has"
#endif
#if defined __GNUC__ && !defined __clang__ && __GNUC__ < 10
#error "attn-cli needs gcc 10 or newer, or clang"
#endif

#define ATTN_BANNED __attribute__((deprecated("banned, see lib/ground/base/banned.h")))

char *strcpy(char *restrict to, const char *restrict from) ATTN_BANNED;
char *strcat(char *restrict to, const char *restrict from) ATTN_BANNED;
char *strncpy(char *restrict to, const char *restrict from, __SIZE_TYPE__ n) ATTN_BANNED;
char *strtok(char *restrict text, const char *restrict separators) ATTN_BANNED;
int sprintf(char *restrict to, const char *restrict format, ...) ATTN_BANNED;
int atoi(const char *text) ATTN_BANNED;
double atof(const char *text) ATTN_BANNED;
