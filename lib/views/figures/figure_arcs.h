/* figure_arcs.h - what figures of arcs share (figure_arcs.c, figure_pair.c). */
#ifndef ATTN_FIGURES_FIGURE_ARCS_H
#define ATTN_FIGURES_FIGURE_ARCS_H

#include "figures/bow_layout.h"
#include "figures/figure_internal.h"

enum {
    ATTN_ARC_WIDEST =
        16,             /* width of the arc of the largest possible weight, and of all on a side */
    ATTN_ARC_RING = 15, /* radius of the ring of the query, up to its outer edge */
    ATTN_ARC_ABOVE = 2, /* gap between a word and the end of its arc */
    ATTN_ARC_CROWN =
        54, /* maximum height of the line on which an arc without others within stands */
    ATTN_ARC_HIGH = ATTN_ARC_CROWN + ATTN_ARC_WIDEST + ATTN_BOW_GAPS
};

/* Adds the arc BOW of COLOR, whose key is at X, on a line at height Y: above it if SIGN is -1,
 * below if it is 1. */
void attn_arc_add(struct attn_figure_pen *pen, const struct attn_bow *bow, double x, double y,
                  double sign, uint32_t color);

#endif
