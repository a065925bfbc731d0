/* difference_internal.h - declarations of difference.h that only the library uses. */
#ifndef ATTN_ANALYSIS_DIFFERENCE_INTERNAL_H
#define ATTN_ANALYSIS_DIFFERENCE_INTERNAL_H

#include "analysis/difference.h"

/* The columns of a table that hold a difference, and its cells there; NaN is a missing value. */
void attn_difference_columns(struct attn_column columns[ATTN_N_DIFFERENCE]);
void attn_difference_cells(const struct attn_difference *difference,
                           struct attn_cell cells[ATTN_N_DIFFERENCE]);

/* KL(p || q) in nats of the two distributions whose logits these are [n], not yet normalized. */
double attn_logits_kl(const float *exact, const float *other, size_t n);

#endif
