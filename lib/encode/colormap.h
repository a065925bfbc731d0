/*
 * colormap.h - the colours of pictures: maps of 256 colours, the looks of cells without a value,
 * and which text can be read on them. Which level of a map a number has says color_scale.h.
 *
 *     const struct attn_colormap *map = attn_colormap_find("blues");
 *     struct attn_rgb color = attn_colormap_color(map, ATTN_THEME_LIGHT, level);   // 0 .. 255
 *     bool is_black = attn_rgb_takes_black(color);                                 // text on it
 */
#ifndef ATTN_ENCODE_COLORMAP_H
#define ATTN_ENCODE_COLORMAP_H

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_rgb {
    uint8_t r, g, b; /* sRGB */
};

/* Colours that a terminal can show. */
enum attn_color_depth { ATTN_DEPTH_NONE, ATTN_DEPTH_256, ATTN_DEPTH_24_BIT };

/* What a picture lies on. */
enum attn_theme { ATTN_THEME_LIGHT, ATTN_THEME_DARK };

enum { ATTN_N_COLOR = 256 }; /* of a map: levels 0 .. 255 */

struct attn_colormap; /* constant; lives as long as the program */

/* The map called NAME (terminated): blues, viridis, cividis, magma, greys, diverging; or NULL. */
ATTN_API const struct attn_colormap *attn_colormap_find(const char *name);

/* All maps: I below attn_n_colormap(). */
ATTN_API size_t attn_n_colormap(void);
ATTN_API const struct attn_colormap *attn_colormap_at(size_t i);

ATTN_API const char *attn_colormap_name(const struct attn_colormap *map);
ATTN_API const char *attn_colormap_help(const struct attn_colormap *map); /* a phrase for help */

/* Whether its middle is 0 and its two halves are two signs. */
ATTN_API bool attn_colormap_is_diverging(const struct attn_colormap *map);

/* The colour of LEVEL, 0 .. 255. Only diverging maps depend on the theme. */
ATTN_API struct attn_rgb attn_colormap_color(const struct attn_colormap *map, enum attn_theme theme,
                                             int level);

#endif
