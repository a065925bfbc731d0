/*
 * label_places.h - finds places for the labels of points, so that no label covers a point or
 * another label. The result depends on the numbers alone, and the time is linear in the labels.
 *
 *     struct attn_label_sheet sheet = {.left = 56, .top = 40, .width = 460, .height = 460};
 *     labels[i] = (struct attn_point_label){.x = 100, .y = 80, .width = 45};
 *     status = attn_label_places_find(&sheet, labels, n, &err);
 *     if (labels[i].is_placed)
 *         ... the text begins at labels[i].box[0] ...
 */
#ifndef ATTN_FIGURES_LABEL_PLACES_H
#define ATTN_FIGURES_LABEL_PLACES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Where labels may stand. */
struct attn_label_sheet {
    double left, top, width, height;
    double line;              /* the height of a label */
    double radius;            /* of a point, */
    const double (*taken)[4]; /* [n_taken] and other boxes that labels keep off: left, top, right,
                                bottom */
    size_t n_taken;
};

struct attn_point_label {
    double x, y;    /* the point */
    double width;   /* of the text; 0: no label, but labels keep off the point */
    bool is_placed; /* found: whether there is room for it, in */
    double box[4];  /* left, top, right, bottom */
    bool has_line;  /* and whether it stands so far away that a line leads from the point to END */
    double end[2];
};

/* Places LABELS [n]: beside their points, in order; a label that finds no room there moves another
 * one, or gets a line, or has no place. */
enum attn_status attn_label_places_find(const struct attn_label_sheet *sheet,
                                        struct attn_point_label *labels, size_t n,
                                        struct attn_error *err);

#endif
