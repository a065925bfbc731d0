/* significance.h - p values of means, and the false discovery rate over many of them. Arithmetic
 * and square roots alone: the same bits on every machine. For the files of this layer. */
#ifndef ATTN_STUDY_SIGNIFICANCE_H
#define ATTN_STUDY_SIGNIFICANCE_H

#include <stddef.h>

/* Returns the probability that |t| of Student's distribution with DF degrees of freedom, 1 or more,
 * is at least that of T. NaN for a T that is NaN. */
double attn_student_tails(double t, size_t df);

/* Replaces the P values [n] by q values: the smallest false discovery rate at which a p value is
 * among the rejected ones (Benjamini and Hochberg 1995). NaN stays NaN and is not counted. ORDER
 * [n] is scratch. */
void attn_false_discovery(double *p, size_t n, double **order);

/* Returns the rank of X among the numbers DRAWN [n] at random, as a share: the permutation p value
 * (1 + number of |drawn| >= |x|) / (1 + n) of Phipson and Smyth 2010. */
double attn_rank_share(const double *drawn, size_t n, double x);

#endif
