/* kind_linear.c - linear attention as it is written and what it gives; linear_attention.c computes
 * it. */
#include "attention/kinds.h"

#include <stddef.h>

const struct attn_kind attn_kind_linear = {
    .summary = "all keys, through phi(q) . phi(k) in place of a softmax",
    .params = {{ATTN_PARAM_FEATURE, "feature", offsetof(struct attn_attention, feature), true},
               {ATTN_PARAM_RAW, "raw", offsetof(struct attn_attention, is_raw), true}},
    .pattern = ATTN_GIVES_ON_DEMAND,
    .no_matrix = "it adds keys up once, for all queries alike",
    .no_dropout = "it computes no weights that could be dropped",
    .no_cosine = "phi takes queries and keys as they are",
    .no_eps = "it divides no scores by sqrt(d_head)",
};
