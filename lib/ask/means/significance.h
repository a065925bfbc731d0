/* significance.h - p values of means, and the false discovery rate over many of them. Uses only
 * arithmetic and square roots, so results are bit-identical on every machine. Private to
 * lib/questions. */
#pragma once

#include <stddef.h>

/* Returns the two-sided tail probability P(|t'| >= |t|) of Student's distribution with DF >= 1
 * degrees of freedom. NaN if T is NaN. */
double attn_student_tails(double t, size_t df);

/* Replaces the P values [n] by q values: the smallest false discovery rate at which the p value
 * would be rejected (Benjamini and Hochberg 1995). NaN stays NaN and is not counted. ORDER [n] is
 * scratch. */
void attn_false_discovery(double *p, size_t n, double **order);

/* Returns the rank of X among the randomly drawn numbers DRAWN [n], as a share: the permutation p
 * value (1 + number of |drawn| >= |x|) / (1 + n) of Phipson and Smyth 2010. */
double attn_rank_share(const double *drawn, size_t n, double x);
