/*
 * number.h - parses numbers, formats them for people, and compares them.
 *
 * Reading is strict: the whole text must be one decimal number without spaces, in range,
 * independent of the locale.
 */
#pragma once

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses [-]digits within MIN..MAX. On failure returns false and does not change *VALUE. */
bool attn_parse_int(const char *text, size_t size, int64_t min, int64_t max, int64_t *value);

/* Parses digits, 0..2^64-1. */
bool attn_parse_uint(const char *text, size_t size, uint64_t *value);

/* Parses JSON's number grammar; only finite values. */
bool attn_parse_double(const char *text, size_t size, double *value);

/* Returns the little-endian number in BYTES [size], at most 8 of them. */
static inline uint64_t attn_little_endian(const unsigned char *bytes, size_t size)
{
    uint64_t number = 0;

    for (size_t i = size; i-- > 0;)
        number = number << 8 | bytes[i];
    return number;
}

/*
 * Compares numbers for qsort, which needs a total order: returns a number below 0 if A comes before
 * B, above 0 if after it, and 0 if they are equal or both NaN. NaN comes last.
 *
 *     return attn_compare_numbers(x->logit, y->logit);     // the smallest first
 *     return attn_compare_numbers(-x->logit, -y->logit);   // the largest first, NaN still last
 */
int attn_compare_numbers(double a, double b);

enum { ATTN_QUANTITY_SIZE = 32 };

/* Each formats NUMBER for people into TEXT, null-terminated, and returns TEXT. */
const char *attn_quantity_count(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1,234,567" */
const char *attn_quantity_bytes(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1.2 MiB" */
const char *attn_quantity_operations(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1.2 M" */
