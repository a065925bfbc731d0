/*
 * colormap.h - the colours of pictures: maps of 256 colours, the looks of cells without a value,
 * which text can be read on them, and which level of a map a number has.
 *
 *     const struct attn_colormap *map = attn_colormap_find("blues");
 *     struct attn_rgb color = attn_colormap_color(map, ATTN_THEME_LIGHT, level);   // 0 .. 255
 *     bool is_black = attn_rgb_takes_black(color);                                 // text on it
 */
#ifndef ATTN_ENCODE_COLORMAP_H
#define ATTN_ENCODE_COLORMAP_H

#include "base/api.h"
#include "base/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_rgb {
    uint8_t r, g, b; /* sRGB */
};

/* Colours that a terminal can show. */
enum attn_color_depth { ATTN_DEPTH_NONE = 0, ATTN_DEPTH_256 = 1, ATTN_DEPTH_24_BIT = 2 };

/* The ground of a picture. */
enum attn_theme {
    ATTN_THEME_AUTO = 0, /* light in files, that of the terminal on it */
    ATTN_THEME_LIGHT = 1,
    ATTN_THEME_DARK = 2
};

enum { ATTN_N_COLOR = 256 }; /* of a map: levels 0 .. 255 */

struct attn_colormap; /* constant; lives as long as the program */

/* The map called NAME (terminated): blues, viridis, cividis, magma, greys, diverging; or NULL. */
ATTN_API const struct attn_colormap *attn_colormap_find(const char *name);

/* All maps: I below attn_n_colormap(). */
ATTN_API size_t attn_n_colormap(void);
ATTN_API const struct attn_colormap *attn_colormap_at(size_t i);

ATTN_API const char *attn_colormap_name(const struct attn_colormap *map);

/*
 * A scale leads from a number to its place in a map.
 *
 *     struct attn_color_scale asked = ATTN_COLOR_SCALE_DEFAULT, scale;
 *     attn_color_scale_parse("sqrt:matrix", &asked, &err);
 *     scale = attn_color_scale_of(asked, ATTN_RANGE_SHARE, false);      // nothing is left open
 *     struct attn_color_range range = attn_color_range(&scale, least, most);
 *     int level = attn_color_level(&scale, range, weight);              // 0 .. 255
 *
 * As a user writes it: [linear|sqrt|log][:unit|:matrix|:row|:LO..HI], either part alone. Weights
 * are sqrt:unit by default: distances between square roots of probabilities are Hellinger
 * distances, so equal steps of colour are equal steps of that distance, and 0 is the first colour.
 * Numbers of both signs are linear:matrix, differences of weights sqrt:unit with their sign, and
 * both symmetric about 0. log covers four decades, of weights from 1e-4 on; smaller weights have
 * the first colour.
 */
enum attn_color_curve {
    ATTN_CURVE_DEFAULT = 0, /* as suits what is drawn */
    ATTN_CURVE_LINEAR = 1,
    ATTN_CURVE_SQRT = 2, /* of numbers below 0: minus that of their size */
    ATTN_CURVE_LOG = 3
};

enum attn_color_span {
    ATTN_SPAN_DEFAULT = 0, /* as suits what is drawn */
    ATTN_SPAN_UNIT = 1,    /* 0 to 1, or -1 to 1 */
    ATTN_SPAN_MATRIX = 2,  /* 0, or the least negative number, to the largest of the matrix */
    ATTN_SPAN_ROW = 3,     /* the same for each row */
    ATTN_SPAN_FIXED = 4    /* low to high */
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

#endif
