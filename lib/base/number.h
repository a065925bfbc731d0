/*
 * number.h - numbers read from text, written for people, and in order.
 *
 * Reading is strict: the whole text must be one decimal number without spaces, in range, and the
 * locale plays no part.
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

/*
 * The order of numbers for qsort, which needs a total one: below 0 when A stands before B, above 0
 * when after it; 0 when they are equal or both NaN. NaN stands last.
 *
 *     return attn_compare_numbers(x->logit, y->logit);     // the smallest first
 *     return attn_compare_numbers(-x->logit, -y->logit);   // the largest first, NaN still last
 */
int attn_compare_numbers(double a, double b);

enum { ATTN_QUANTITY_SIZE = 32 };

/* Each writes NUMBER into TEXT as people read it, terminated, and returns TEXT. */
const char *attn_quantity_count(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1,234,567" */
const char *attn_quantity_bytes(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1.2 MiB" */
const char *attn_quantity_operations(uint64_t number, char text[ATTN_QUANTITY_SIZE]); /* "1.2 M" */

#endif
