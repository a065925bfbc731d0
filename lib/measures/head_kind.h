/*
 * head_kind.h - the kinds of heads, by the tokens at which a head looks most, and the rule that
 * gives a head its kind. The column `type` of a table of heads, maps, pages and screens have kinds
 * by this rule alone.
 *
 *     double weight, values[ATTN_N_MEASURE]; // NaN: unknown
 *     const struct attn_head_kind *kind = attn_head_kind_of(values, 0.5, &weight);
 *     // tables/colormap_internal.h:
 *     struct attn_rgb color = attn_hue_color(kind->hue, weight, theme);
 *
 * The hues are six of Okabe and Ito (2008), and grey. Color is never the only sign: each kind has a
 * letter, too.
 */
#ifndef ATTN_MEASURES_HEAD_KIND_H
#define ATTN_MEASURES_HEAD_KIND_H

#include "measures/measure.h"

#define ATTN_HEAD_KIND_THRESHOLD 0.5

/* The kinds in the order in which they are listed. All but the last have a score. */
enum {
    ATTN_HEAD_KIND_PREVIOUS,
    ATTN_HEAD_KIND_FIRST,
    ATTN_HEAD_KIND_SELF,
    ATTN_HEAD_KIND_DUPLICATE,
    ATTN_HEAD_KIND_INDUCTION,
    ATTN_HEAD_KIND_FAR,
    ATTN_HEAD_KIND_MIXED,
    ATTN_N_HEAD_SCORE = ATTN_HEAD_KIND_MIXED,
    ATTN_N_HEAD_KIND
};

struct attn_head_kind {
    const char *name;
    char letter;
    uint32_t hue;                  /* 0xRRGGBB, the color of weight 1 */
    const char *words;             /* what such a head looks at */
    enum attn_measure score, rows; /* rows: the number of rows of the score; ATTN_N_MEASURE: any */
};

/* Returns kind I, 0 to ATTN_N_HEAD_KIND - 1. */
const struct attn_head_kind *attn_head_kind_at(size_t i);

/* Returns the kind called NAME [size]; NULL if it is no kind. */
const struct attn_head_kind *attn_head_kind_find(const char *name, size_t size);

/* Returns the measures that attn_head_kind_of needs, and self. Without previous for a picture,
 * where the patch before may lie at the other side. */
attn_measure_set attn_head_kind_measures(bool is_of_picture);

/* Returns the kind of a head with VALUES [ATTN_N_MEASURE]: the one with the largest score, if that
 * is above THRESHOLD; the first of equal ones; far only if no other score is above it. A score with
 * `rows` needs two of them. Without such a score the head is mixed; NULL if all scores are NaN.
 * Stores the score, of mixed heads the largest, in *weight. */
const struct attn_head_kind *attn_head_kind_of(const double *values, double threshold,
                                               double *weight);

#endif
