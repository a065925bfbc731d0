/*
 * attention.h - which attention a layer computes.
 *
 * z = softmax(q k^T / (sqrt(d_head) + eps)) v over the keys that the mask leaves (Vaswani et al.
 * 1706.03762, eq. 1). A query that may look at nothing gets a pattern row of zeros and z = 0.
 */
#ifndef ATTN_ATTENTION_ATTENTION_H
#define ATTN_ATTENTION_ATTENTION_H

#include "base/api.h"

#include <stdbool.h>

/* X(name, text) */
#define ATTN_ATTENTION_KIND_MAP(X) X(FULL, "full") /* every pair that the mask leaves */

enum attn_attention_kind {
#define ATTN_ATTENTION_KIND_ENUM(name, text) ATTN_ATTENTION_##name,
    ATTN_ATTENTION_KIND_MAP(ATTN_ATTENTION_KIND_ENUM)
#undef ATTN_ATTENTION_KIND_ENUM
};

/* Which keys a query may look at. */
enum attn_mask {
    ATTN_MASK_CAUSAL, /* key j is visible to query i when j <= i */
    ATTN_MASK_NONE,   /* every key; the whole sequence must be fed at once */
};

/* One layer's attention. */
struct attn_attention {
    enum attn_attention_kind kind;
    enum attn_mask mask;
    bool is_scaled; /* divide scores by sqrt(d_head) + eps */
    double eps;     /* added to sqrt(d_head), >= 0 */
    double factor;  /* further factor on the scores: 1, or 1/(layer+1)
                       (scale_attn_by_inverse_layer_idx) */
};

#endif
