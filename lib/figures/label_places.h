/*
 * label_places.h - finds places for the labels of points, so that no label covers a point or
 * another label. The result is deterministic, and the time is linear in the labels.
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

/* The area in which labels may be placed. */
struct attn_label_sheet {
    double left, top, width, height;
    double line;   /* height of a label */
    double radius; /* radius of a point */
    /* [n_taken] further boxes that labels must not cover: left, top, right, bottom */
    const double (*taken)[4];
    size_t n_taken;
};

struct attn_point_label {
    double x, y; /* the point */
    /* width of the text; 0: the point has no label, but other labels must not cover it */
    double width;
    bool is_placed; /* result: true if a place was found */
    double box[4];  /* result: left, top, right, bottom */
    /* result: the label is so far away that a line from the point to `end` is needed */
    bool has_line;
    double end[2];
};

/* Places LABELS [n] in order, preferably beside their points. If there is no room, another label is
 * moved, or the label is placed farther away with a line, or it is not placed. */
enum attn_status attn_label_places_find(const struct attn_label_sheet *sheet,
                                        struct attn_point_label *labels, size_t n,
                                        struct attn_error *err);

#endif
