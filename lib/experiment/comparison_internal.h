/* comparison_internal.h - what comparison.h declares for the library alone. */
#ifndef ATTN_EXPERIMENT_COMPARISON_INTERNAL_H
#define ATTN_EXPERIMENT_COMPARISON_INTERNAL_H

#include "experiment/comparison.h"

/* LABELS are those of the run. */
struct attn_head_place attn_comparison_place(const struct attn_compared_head *head,
                                             const struct attn_labels *labels);

/* Room for all heads and queries of SELECTION, n_head and the other numbers 0. */
enum attn_status attn_comparison_create(const struct attn_selection *selection,
                                        struct attn_comparison **comparison,
                                        struct attn_error *err);

#endif
