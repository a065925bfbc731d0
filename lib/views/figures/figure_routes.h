/* figure_routes.h - curves that go upwards from one plate to another, or to a box, and pass the
 * plates between at their nearer side. */
#pragma once

#include "figures/figure_internal.h"

#define ATTN_ROUTE_STEEP 0.45 /* part of the way that a curve goes upwards first */

/* A plate that curves pass. */
struct attn_route_box {
    double x, y, width, height; /* x, y: its left upper corner */
    double beside[2];           /* width of the curves that pass it at the left and the right */
};

/* Where a curve ends, and how wide it is. */
struct attn_route_end {
    double x, y, width;
};

struct attn_route_pen {
    double width;
    uint32_t color;
    double *piece; /* [4] receives the longest piece, x, y of its begin and of its end; or NULL */
};

/* Adds a curve from x, y to x, y of ENDS, which passes those of BOXES [n] before which it would
 * run. They come from below to above. */
void attn_route_add(struct attn_figure_pen *pen, struct attn_route_box *const *boxes, size_t n,
                    const double ends[4], struct attn_route_pen of);
