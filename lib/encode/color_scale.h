/*
 * color_scale.h - from a number to its place in a colour map.
 *
 *     struct attn_color_scale asked = ATTN_COLOR_SCALE_DEFAULT, scale;
 *     attn_color_scale_parse("sqrt:matrix", &asked, &err);
 *     scale = attn_color_scale_of(asked, ATTN_RANGE_SHARE, false);      // nothing is left open
 *     struct attn_color_range range = attn_color_range(&scale, least, most);
 *     int level = attn_color_level(&scale, range, weight);              // 0 .. 255
 *
 * As a user writes it: [linear|sqrt|log][:unit|:matrix|:row|:LO..HI], either part alone. Weights are
 * sqrt:unit by default: distances between square roots of probabilities are Hellinger distances, so
 * equal steps of colour are equal steps of that distance, and 0 is the first colour. Numbers of both
 * signs are linear:matrix, differences of weights sqrt:unit with their sign, and both symmetric
 * about 0. log covers four decades, of weights from 1e-4 on; smaller weights have the first colour.
 */
#ifndef ATTN_ENCODE_COLOR_SCALE_H
#define ATTN_ENCODE_COLOR_SCALE_H

#include "base/table.h"

enum attn_color_curve {
    ATTN_CURVE_DEFAULT, /* as suits what is drawn */
    ATTN_CURVE_LINEAR,
    ATTN_CURVE_SQRT, /* of numbers below 0: minus that of their size */
    ATTN_CURVE_LOG
};

enum attn_color_span {
    ATTN_SPAN_DEFAULT, /* as suits what is drawn */
    ATTN_SPAN_UNIT,    /* 0 to 1, or -1 to 1 */
    ATTN_SPAN_MATRIX,  /* 0, or what is less, to the largest number of the matrix */
    ATTN_SPAN_ROW,     /* the same of each row */
    ATTN_SPAN_FIXED    /* low to high */
};

struct attn_color_scale {
    enum attn_color_curve curve;
    enum attn_color_span span;
    double low, high; /* of ATTN_SPAN_FIXED: low < high */
    bool is_signed;   /* symmetric about 0, for numbers that may be negative; found, not parsed */
};

#define ATTN_COLOR_SCALE_DEFAULT                                                                   \
    ((struct attn_color_scale){.curve = ATTN_CURVE_DEFAULT, .span = ATTN_SPAN_DEFAULT})

/* Reads TEXT (terminated). ATTN_INVALID leaves the scale as it was. */
ATTN_API enum attn_status attn_color_scale_parse(const char *text, struct attn_color_scale *scale,
                                                 struct attn_error *err);

#endif
