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
    bool is_signed;   /* symmetric about 0, for numbers of both signs; found, not parsed */
};

#define ATTN_COLOR_SCALE_DEFAULT                                                                   \
    ((struct attn_color_scale){.curve = ATTN_CURVE_DEFAULT, .span = ATTN_SPAN_DEFAULT})

/* Reads TEXT (terminated). ATTN_INVALID leaves the scale as it was. */
ATTN_API enum attn_status attn_color_scale_parse(const char *text, struct attn_color_scale *scale,
                                                 struct attn_error *err);

/* --- Inside the library: not installed -------------------------------------------------------- */

struct attn_buffer;

/* What ASKED means for numbers of RANGE, or for differences of them. */
struct attn_color_scale attn_color_scale_of(struct attn_color_scale asked,
                                            enum attn_value_range range, bool is_difference);

/* The numbers that the first and the last colour stand for. */
struct attn_color_range {
    double low, high; /* low < high */
};

/* The range of SCALE for a matrix, or a row, whose finite numbers are LEAST to MOST; these do not
 * matter for :unit and LO..HI. Without numbers (LEAST > MOST) it is that of :unit. */
struct attn_color_range attn_color_range(const struct attn_color_scale *scale, double least,
                                         double most);

/* The place of a finite VALUE in the map, 0..1: the first colour for all below the range, the last
 * for all above. */
double attn_color_place(const struct attn_color_scale *scale, struct attn_color_range range,
                        double value);

/* The same as a level of the map, 0 .. 255: round(255 place). */
int attn_color_level(const struct attn_color_scale *scale, struct attn_color_range range,
                     double value);

enum { ATTN_MOST_TICKS = 16 };

/* The numbers at which a legend has ticks, ascending: for sqrt:unit 0, .01, .04, .1, .25, .5, 1.
 * Returns how many. */
size_t attn_color_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                        double ticks[ATTN_MOST_TICKS]);

/* A tick as it is written in a legend: "0", ".25", "1e-4", "-3.5". */
enum { ATTN_TICK_TEXT_SIZE = 24 };
size_t attn_color_tick_text(double tick, char text[ATTN_TICK_TEXT_SIZE]);

/* Appends what a legend or a subtitle says of it: "square root", "linear, each matrix to its
 * largest", "log, 0.001 to 1". The usual span 0 to 1 is left out. */
void attn_color_scale_append(const struct attn_color_scale *scale, struct attn_buffer *out);

#endif
