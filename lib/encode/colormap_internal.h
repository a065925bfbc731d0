/* colormap_internal.h - declarations of colormap.h that only the library uses. */
#ifndef ATTN_ENCODE_COLORMAP_INTERNAL_H
#define ATTN_ENCODE_COLORMAP_INTERNAL_H

#include "encode/colormap.h"

struct attn_buffer;

static inline uint32_t attn_rgb_number(struct attn_rgb color) /* 0xRRGGBB */
{
    return (uint32_t)color.r << 16 | (uint32_t)color.g << 8 | color.b;
}

/* The nearest of a terminal's colours, 16 .. 255, for LEVEL, with monotonic lightness. */
int attn_colormap_terminal(const struct attn_colormap *map, enum attn_theme theme, int level);

/* The same colour as the terminal shows it; INDEX 16 .. 255. */
struct attn_rgb attn_terminal_color(int index);

/* Whether black text on COLOR has more contrast than white: its luminance (WCAG 2) is above 0.179.
 */
bool attn_rgb_takes_black(struct attn_rgb color);

/* HUE, 0xRRGGBB, mixed with the ground: SHARE of it, 0..1. */
struct attn_rgb attn_rgb_mix(uint32_t hue, double share, enum attn_theme theme);

/* HUE for a number at PLACE, 0..1, of a scale: the hue itself at 1, nearly the ground at 0. */
struct attn_rgb attn_hue_color(uint32_t hue, double place, enum attn_theme theme);

/* The kind of a cell. All but a value look the same in every map. */
enum attn_cell_kind {
    ATTN_CELL_VALUE,     /* a number, which may be 0 */
    ATTN_CELL_MASKED,    /* masked, or left out by a kind of attention: grey, hatched */
    ATTN_CELL_HIDDEN,    /* the first key under --hide-first: the ground, hatched grey */
    ATTN_CELL_NOT_FINITE /* NaN or infinity: the ground, hatched red */
};

/* The background of a cell that has no value, and the lines that hatch it. */
struct attn_cell_look {
    uint32_t ground, hatch; /* 0xRRGGBB */
};
struct attn_cell_look attn_cell_look(enum attn_cell_kind kind, enum attn_theme theme);

/* Completes ASKED for the numbers of COLUMN. */
struct attn_color_scale attn_color_scale_of_column(struct attn_color_scale asked,
                                                   const struct attn_column *column);

/* Completes ASKED for numbers of RANGE, or for differences. */
struct attn_color_scale attn_color_scale_of(struct attn_color_scale asked,
                                            enum attn_value_range range, bool is_difference);

/* The numbers that the first and the last colour stand for. */
struct attn_color_range {
    double low, high; /* low < high */
};

/* The range of SCALE for a matrix or row of finite numbers LEAST to MOST. Without numbers (LEAST >
 * MOST) it is that of :unit. */
struct attn_color_range attn_color_range(const struct attn_color_scale *scale, double least,
                                         double most);

/* The place of a finite VALUE in the map, 0..1, clamped to the range. */
double attn_color_place(const struct attn_color_scale *scale, struct attn_color_range range,
                        double value);

/* The same as a level of the map, 0 .. 255: round(255 place). */
int attn_color_level(const struct attn_color_scale *scale, struct attn_color_range range,
                     double value);

enum { ATTN_MOST_TICKS = 16 };

/* The ascending ticks of a legend, for sqrt:unit 0, .01, .04, .1, .25, .5, 1; returns their number.
 */
size_t attn_color_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                        double ticks[ATTN_MOST_TICKS]);

/* A tick as it is written in a legend: "0", ".25", "1e-4", "-3.5". */
enum { ATTN_TICK_TEXT_SIZE = 24 };
size_t attn_color_tick_text(double tick, char text[ATTN_TICK_TEXT_SIZE]);

/* Appends the name of SCALE: "square root", "linear, each matrix to its largest", "log, 0.001 to
 * 1". */
void attn_color_scale_append(const struct attn_color_scale *scale, struct attn_buffer *out);

const char *attn_colormap_help(const struct attn_colormap *map); /* a phrase for help */

/* Whether its middle is 0 and its two halves are two signs. */
bool attn_colormap_is_diverging(const struct attn_colormap *map);

/* The colour of LEVEL, 0 .. 255. Only diverging maps depend on the theme. */
struct attn_rgb attn_colormap_color(const struct attn_colormap *map, enum attn_theme theme,
                                    int level);

#endif
