/*
 * colormap.h - the colors of pictures: maps of 256 colors, the look of cells without a value, the
 * color of text on a color, and the level of a map for a number.
 *
 *     for (size_t i = 0; i < attn_n_colormap(); i++)
 *         printf("%s\n", attn_colormap_name(attn_colormap_at(i)));
 */
#ifndef ATTN_PICTURES_COLORMAP_H
#define ATTN_PICTURES_COLORMAP_H

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_rgb {
    uint8_t r, g, b; /* sRGB */
};

/* How many colors a terminal can show. */
enum attn_color_depth { ATTN_DEPTH_NONE = 0, ATTN_DEPTH_256 = 1, ATTN_DEPTH_24_BIT = 2 };

/* The background of a picture. */
enum attn_theme {
    ATTN_THEME_AUTO = 0, /* light in files; on a terminal as its background is */
    ATTN_THEME_LIGHT = 1,
    ATTN_THEME_DARK = 2
};

enum { ATTN_N_COLOR = 256 }; /* colors of a map: levels 0 .. 255 */

struct attn_colormap; /* constant; valid as long as the program runs */

/* All maps; I is below attn_n_colormap(). */
ATTN_API size_t attn_n_colormap(void);
ATTN_API const struct attn_colormap *attn_colormap_at(size_t i);

ATTN_API const char *attn_colormap_name(const struct attn_colormap *map);

/*
 * A scale converts a number to its place in a map.
 *
 *     struct attn_color_scale scale = {.curve = ATTN_CURVE_SQRT, .span = ATTN_SPAN_MATRIX};
 *
 * Weights are SQRT and UNIT: distances between square roots of probabilities are Hellinger
 * distances, so equal steps of color are equal steps of that distance, and 0 is the first color.
 * Numbers of both signs are LINEAR and MATRIX, differences of weights SQRT and UNIT with their
 * sign, and both symmetric about 0.
 */
enum attn_color_curve {
    ATTN_CURVE_LINEAR = 1,
    ATTN_CURVE_SQRT = 2 /* of a negative number: minus the root of its magnitude */
};

enum attn_color_span {
    ATTN_SPAN_UNIT = 1, /* 0 to 1; if signed, -1 to 1 */
    /* from 0, or the least number if negative, to the largest number of the matrix */
    ATTN_SPAN_MATRIX = 2,
    ATTN_SPAN_FIXED = 4 /* `low` to `high` */
};

struct attn_color_scale {
    enum attn_color_curve curve;
    enum attn_color_span span;
    double low, high; /* for ATTN_SPAN_FIXED: low < high */
    /* symmetric about 0, for numbers of both signs */
    bool is_signed;
};

#endif
