/*
 * near.h - compares arrays of floats and names the worst element.
 */
#pragma once

#include <stddef.h>

/*
 * Fails the current test unless |actual[i] - expected[i]| <= tolerance * max(1, |expected[i]|) for
 * all i; equal infinities are near. Returns the largest difference in units of that bound's right
 * side without the tolerance.
 */
double attn_assert_near(const char *what, const float *actual, const double *expected, size_t n,
                        double tolerance);

/* Fails the current test unless the bytes are the same; names the first element that differs. */
void attn_assert_same_bits(const char *what, const float *actual, const float *expected, size_t n);
