/*
 * head_kind.h - the kinds of heads that are shown by color: at what a head looks most.
 *
 *     double weight, values[ATTN_N_MEASURE]; // NaN: unknown
 *     const struct attn_head_kind *kind = attn_head_kind_of(values, &weight);
 *     // encode/colormap_internal.h:
 *     struct attn_rgb color = attn_hue_color(kind->hue, weight, theme);
 *
 * The hues are five of Okabe and Ito (2008). Color is never the only sign: each kind has a letter,
 * too.
 */
#ifndef ATTN_ANALYSIS_HEAD_KIND_H
#define ATTN_ANALYSIS_HEAD_KIND_H

#include "analysis/measure.h"

/* X(ID of the measure, letter, hue, at what it looks), in the order in which kinds are listed. */
#define ATTN_HEAD_KIND_MAP(X)                                                                      \
    X(PREVIOUS, 'p', 0x0072b2, "the previous token")                                               \
    X(FIRST, '1', 0xe69f00, "the first token")                                                     \
    X(SELF, 's', 0x009e73, "the token itself")                                                     \
    X(INDUCTION, 'i', 0xd55e00, "what followed the token earlier")                                 \
    X(FAR, 'f', 0x56b4e9, "other tokens")

enum { ATTN_N_HEAD_KIND = 0 ATTN_HEAD_KIND_MAP(ATTN_COUNT) };

struct attn_head_kind {
    enum attn_measure measure; /* its name is also the name of the kind */
    char letter;
    uint32_t hue;      /* 0xRRGGBB, the color of weight 1 */
    const char *words; /* at what it looks */
};

/* Returns kind I, 0 to ATTN_N_HEAD_KIND - 1. */
const struct attn_head_kind *attn_head_kind_at(size_t i);

/* Returns the measures that attn_head_kind_of needs: those of the kinds, and n_induction. */
attn_measure_set attn_head_kind_measures(void);

/* Returns the kind whose measure in VALUES [ATTN_N_MEASURE] is the largest, the first of equal
 * ones, and stores this measure in *weight. Induction counts only from 0.3 on and with two rows or
 * more: it sums the weights on several tokens, so a head that looks everywhere has some, too. NULL,
 * with 0, if all values are NaN. */
const struct attn_head_kind *attn_head_kind_of(const double *values, double *weight);

#endif
