/*
 * order.h - the order of numbers for qsort, which needs a total one: NaN stands last.
 *
 *     return attn_compare_numbers(x->logit, y->logit);     // the smallest first
 *     return attn_compare_numbers(-x->logit, -y->logit);   // the largest first, NaN still last
 */
#ifndef ATTN_BASE_ORDER_H
#define ATTN_BASE_ORDER_H

/* Below 0 when A stands before B, above 0 when after it; 0 when they are equal or both NaN. */
int attn_compare_numbers(double a, double b);

#endif
