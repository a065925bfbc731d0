/* color_scale_internal.h - what color_scale.h declares for the library alone. */
#ifndef ATTN_ENCODE_COLOR_SCALE_INTERNAL_H
#define ATTN_ENCODE_COLOR_SCALE_INTERNAL_H

#include "encode/color_scale.h"

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
