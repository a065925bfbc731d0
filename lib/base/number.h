/*
 * number.h - numbers from text, strictly: the whole text must be one decimal number without spaces,
 * in range, and the locale plays no part.
 */
#ifndef ATTN_BASE_NUMBER_H
#define ATTN_BASE_NUMBER_H

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* [-]digits within MIN..MAX. False leaves *value alone. */
bool attn_parse_int(const char *text, size_t size, int64_t min, int64_t max, int64_t *value);

/* Digits only, 0..2^64-1. */
bool attn_parse_uint(const char *text, size_t size, uint64_t *value);

/* JSON's number grammar with an optional leading '+' refused; finite values only. */
bool attn_parse_double(const char *text, size_t size, double *value);

#endif
