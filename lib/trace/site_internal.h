/* site_internal.h - declarations of site.h that only the library uses. */
#ifndef ATTN_TRACE_SITE_INTERNAL_H
#define ATTN_TRACE_SITE_INTERNAL_H

#include "trace/site.h"

/* The sites in the order of ATTN_SITE_MAP, in which they are shown and computed in a layer. */
extern const enum attn_site attn_site_order[ATTN_N_SITE];

/* The place of SITE in it, and whether A comes before B. */
int attn_site_place(enum attn_site site);
bool attn_site_is_before(enum attn_site a, enum attn_site b);

const char *attn_site_shape_text(enum attn_site site); /* "H T S" */
bool attn_site_has_heads(enum attn_site site);         /* false: layout VECTOR or PAIRS */
bool attn_site_has_keys(enum attn_site site);          /* its columns are keys: MATRIX or PAIRS */

/* Which numbers it has: weights are shares, 0 to 1; most others have both signs. */
enum attn_value_range attn_site_range(enum attn_site site);

/* All derived sites, gradients among them, as bits. */
attn_site_set attn_sites_derived(void);

/* The gradients of those sites of OF that have one. */
attn_site_set attn_sites_gradients_of(attn_site_set of);

/* The last dimension's size: d_model for resid_pre, d_head for q, n_position for pattern (n_source
 * where a layer attends to the source: see attn_site_n_key). */
size_t attn_site_width(enum attn_site site, const struct attn_dims *dims);

/* The number of its heads, key/value heads for layout KEY; 1 without heads. */
size_t attn_site_n_head(enum attn_site site, const struct attn_dims *dims);

/* The first position that it has a row of: of embed the first patch of a picture, else 0. */
size_t attn_site_first_row(enum attn_site site, const struct attn_dims *dims);

/* Whether it is one row for all positions, number 0, which no choice of queries leaves out: logits
 * of an image classifier, text_embed, image_embed. */
bool attn_site_is_pooled(enum attn_site site, const struct attn_dims *dims);

/* The factors of the scores: the site of queries (layout QUERY) or of keys: rot_q and rot_k where
 * positions are rotary, else q and k. */
enum attn_site attn_site_of_scores(const struct attn_dims *dims, enum attn_site_layout layout);

/* The output of a block, which the next one reads: resid_post, or that normalized. */
enum attn_site attn_site_of_output(const struct attn_dims *dims);

/* Keys that LAYER attends to, S: n_position, or n_source. */
size_t attn_site_n_key(const struct attn_dims *dims, int layer);

#endif
