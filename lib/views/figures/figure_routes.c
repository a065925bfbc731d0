#include "figures/figure_routes.h"

#include <math.h>
#include <string.h>

enum { BESIDE = 5 }; /* between a plate and the curve that passes it */

static void add_piece(struct attn_figure_pen *pen, struct attn_route_pen of, const double piece[4])
{
    const double rise = ATTN_ROUTE_STEEP * (piece[1] - piece[3]), *longest = of.piece;

    attn_shapes_add_curve(pen->shapes,
                          (struct attn_shape_curve){piece[0], piece[1], piece[0], piece[1] - rise,
                                                    piece[2], piece[3] + rise, piece[2], piece[3],
                                                    of.width, of.color});
    if (longest && fabs(piece[2] - piece[0]) + fabs(piece[3] - piece[1]) >
                       fabs(longest[2] - longest[0]) + fabs(longest[3] - longest[1]))
        memcpy(of.piece, piece, 4 * sizeof *piece);
}

/* Returns about the x at Y of a curve from AT to the end of ENDS. */
static double x_at(const double at[2], const double ends[4], double y)
{
    const double t = (at[1] - y) / (at[1] - ends[3]);

    return at[0] + (ends[2] - at[0]) * t * t * (3 - 2 * t);
}

void attn_route_add(struct attn_figure_pen *pen, struct attn_route_box *const *boxes, size_t n,
                    const double ends[4], struct attn_route_pen of)
{
    double at[2] = {ends[0], ends[1]};

    for (size_t i = 0; i < n; i++) {
        struct attn_route_box *box = boxes[i];
        const double low = box->y + box->height, middle = box->x + box->width / 2;
        const double foot = x_at(at, ends, low), top = x_at(at, ends, box->y);
        const double room = box->width / 2 + BESIDE;
        const bool is_right = foot + top > 2 * middle;
        const double away = room + box->beside[is_right] + of.width / 2;
        const double beside = middle + (is_right ? away : -away);

        if (box->y >= at[1] || box->y <= ends[3] || fmax(foot, top) < middle - room ||
            fmin(foot, top) > middle + room)
            continue;
        box->beside[is_right] += of.width + 2;
        attn_route_add(pen, boxes, n, (double[]){at[0], at[1], beside, low}, of);
        add_piece(pen, of, (double[]){beside, low + 1, beside, box->y - 1});
        at[0] = beside;
        at[1] = box->y;
    }
    add_piece(pen, of, (double[]){at[0], at[1], ends[2], ends[3]});
}
