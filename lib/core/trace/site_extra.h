/* site_extra.h - the order and the sizes of sites, and which one is the output or the score. */
#ifndef ATTN_TRACE_SITE_EXTRA_H
#define ATTN_TRACE_SITE_EXTRA_H

#include "trace/dims.h"
#include "trace/model_stack.h"
#include "trace/site.h"

/* The sites in the order of ATTN_SITE_MAP, which is the order in which a layer computes them and in
 * which they are shown. */
extern ATTN_EXPORTED const enum attn_site attn_site_order[ATTN_N_SITE];

/* The first returns the index of SITE in attn_site_order; the second whether A comes before B
 * there. */
ATTN_API int attn_site_index(enum attn_site site);
ATTN_API bool attn_site_is_before(enum attn_site a, enum attn_site b);

/* Returns the size of the last dimension: d_model for resid_pre, d_head for q, n_position for
 * pattern. For a layer that attends to a source see attn_site_n_key. */
ATTN_API size_t attn_site_width(enum attn_site site, const struct attn_dims *dims);

/* Returns the site of the queries (LAYOUT is QUERY) or keys (KEY) whose product is the score: rot_q
 * and rot_k in models with rotary positions, else q and k. */
ATTN_API enum attn_site attn_site_of_scores(const struct attn_dims *dims,
                                            enum attn_site_layout layout);

/* Returns the site that holds the output of a block, which is the input of the next: resid_post, or
 * normalized_resid_post. */
ATTN_API enum attn_site attn_site_of_output(const struct attn_dims *dims);

/* Returns true if an item of LIST, which may be NULL, begins with the name of STACK: "tower:0.1".
 */
ATTN_API bool attn_list_names_stack(const char *list, enum attn_model_stack stack);

#endif
