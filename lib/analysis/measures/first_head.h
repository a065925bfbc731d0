/* first_head.h - which head a screen, a page or a live page opens with. */
#ifndef ATTN_MEASURES_FIRST_HEAD_H
#define ATTN_MEASURES_FIRST_HEAD_H

#include "measures/head_mix.h"

/* Returns how well a head opens a view, for comparison. LOOK is its largest weight on a word
 * (attn_head_mixes_look). EFFECT is how the next token changes without it, KL in nats; NaN:
 * unknown. Of heads that look hard at one word, the one with the largest effect comes first;
 * without effects the one that looks hardest. */
double attn_first_head_rank(double look, double effect);

/* Returns how the next token changes without the head AT, KL in nats, by a table of EFFECTS (as of
 * struct attn_picture_options); NaN if it is unknown. */
double attn_first_head_effect(const struct attn_table *effects, const struct attn_location *at);

/* Returns the rank of the head AT of a run with MIXES, with EFFECTS, or NULL. Stores its weight and
 * its key in *look and *key. */
double attn_first_head_rank_of(const struct attn_table *effects,
                               const struct attn_head_mixes *mixes, const struct attn_location *at,
                               double *look, size_t *key);

#endif
