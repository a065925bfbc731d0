/* colormap_internal.h - the part of colormap.h that is private to the library. */
#pragma once

#include "pictures/colormap.h"
#include "tables/table.h"

struct attn_buffer;

static inline uint32_t attn_rgb_number(struct attn_rgb color) /* returns 0xRRGGBB */
{
    return (uint32_t)color.r << 16 | (uint32_t)color.g << 8 | color.b;
}

/* Returns the terminal color, 16 .. 255, that is nearest to LEVEL of the map. The lightness of
 * these colors is monotonic in LEVEL. */
int attn_colormap_terminal(const struct attn_colormap *map, enum attn_theme theme, int level);

/* Returns the color that a terminal shows for INDEX, 16 .. 255. */
struct attn_rgb attn_terminal_color(int index);

/* Returns true if black text has more contrast on COLOR than white text: if its luminance (WCAG 2)
 * is above 0.179. */
bool attn_rgb_takes_black(struct attn_rgb color);

/* Mixes HUE, 0xRRGGBB, with the theme's background; SHARE, 0..1, is the part of HUE. */
struct attn_rgb attn_rgb_mix(uint32_t hue, double share, enum attn_theme theme);

/* Returns HUE as the color of a number at PLACE, 0..1, of a scale: HUE itself at 1, nearly the
 * background at 0. */
struct attn_rgb attn_hue_color(uint32_t hue, double place, enum attn_theme theme);

/* The kinds of cells. All but ATTN_CELL_VALUE look the same in every map. */
enum attn_cell_kind {
    ATTN_CELL_VALUE,     /* a number, possibly 0 */
    ATTN_CELL_MASKED,    /* masked, or outside of the attention's window: grey, hatched */
    ATTN_CELL_HIDDEN,    /* the first key under --hide first: background, hatched grey */
    ATTN_CELL_NOT_FINITE /* NaN or infinity: background, hatched red */
};

/* The background of a cell without a value, and the color of its hatching. */
struct attn_cell_look {
    uint32_t ground, hatch; /* 0xRRGGBB */
};
struct attn_cell_look attn_cell_look(enum attn_cell_kind kind, enum attn_theme theme);

/* Returns the scale for the numbers of COLUMN, from LEAST to MOST. */
struct attn_color_scale attn_color_scale_of_column(const struct attn_column *column, double least,
                                                   double most);

/* Returns the scale for numbers of RANGE, or for differences of such numbers. */
struct attn_color_scale attn_color_scale_of(enum attn_value_range range, bool is_difference);

/* The numbers at the first and at the last color. */
struct attn_color_range {
    double low, high; /* low < high */
};

/* Returns the range of SCALE for a matrix or a row whose finite numbers lie between LEAST and MOST.
 * If there are none (LEAST > MOST), returns that of :unit. */
struct attn_color_range attn_color_range(const struct attn_color_scale *scale, double least,
                                         double most);

/* Returns the place of a finite VALUE in the map, 0..1; values outside the range get its ends. */
double attn_color_place(const struct attn_color_scale *scale, struct attn_color_range range,
                        double value);

/* Returns the place of VALUE as a level of the map, 0 .. 255: round(255 * place). */
int attn_color_level(const struct attn_color_scale *scale, struct attn_color_range range,
                     double value);

enum { ATTN_MOST_TICKS = 16 };

/* Sets `ticks` to the ticks of a legend, ascending, and returns their number. For sqrt:unit they
 * are 0, 0.01, 0.04, 0.1, 0.25, 0.5, 1. */
size_t attn_color_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                        double ticks[ATTN_MOST_TICKS]);

/* The size of a tick's text in a legend, such as "0", "0.25", "1e-4", "-3.5". */
enum { ATTN_TICK_TEXT_SIZE = 24 };
size_t attn_color_tick_text(double tick, char text[ATTN_TICK_TEXT_SIZE]);

/* Appends the name of SCALE, such as "square root" or "linear, each matrix to its largest" or "log,
 * 0.001 to 1". */
void attn_color_scale_append(const struct attn_color_scale *scale, struct attn_buffer *out);

const char *attn_colormap_help(const struct attn_colormap *map); /* a phrase for --help */

/* Returns true if the middle of the map stands for 0, and its halves for the two signs. */
bool attn_colormap_is_diverging(const struct attn_colormap *map);

/* Returns the color of LEVEL, 0 .. 255. Only diverging maps differ between themes. */
struct attn_rgb attn_colormap_color(const struct attn_colormap *map, enum attn_theme theme,
                                    int level);

/* Returns the map called NAME (terminated): blues, viridis, cividis, magma, greys or diverging;
 * NULL if there is none. */
const struct attn_colormap *attn_colormap_find(const char *name);
