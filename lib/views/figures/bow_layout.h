/*
 * bow_layout.h - where bows stand that connect one word of a line, the query, with others. Figures
 * and the page draw by it.
 *
 * A bow begins at its foot on the query, rises to its height and ends on the middle of its key. It
 * is a cubic curve whose control points stand above its ends, at 4/3 of its height.
 */
#ifndef ATTN_FIGURES_BOW_LAYOUT_H
#define ATTN_FIGURES_BOW_LAYOUT_H

#include <stddef.h>

struct attn_bow {
    size_t key;   /* of the caller */
    double away;  /* distance of the key from the query, below 0 to the left; 0: it has no bow */
    double width; /* becomes narrower if the feet on a side have no room */

    /* computed: */
    double foot; /* x of the middle of the foot, from the middle of the query */
    double high;
};

enum { ATTN_BOW_GAPS = 10 }; /* at most the width of all gaps between feet */

/* Lays out BOWS [n], and sorts them by distance. All feet on a side are at most WIDEST wide. A bow
 * is at most as high as CROWN and the feet of the bows within it. */
void attn_bows_lay_out(struct attn_bow *bows, size_t n, double widest, double crown);

#endif
