/* colormap_internal.h - what colormap.h declares for the library alone. */
#ifndef ATTN_ENCODE_COLORMAP_INTERNAL_H
#define ATTN_ENCODE_COLORMAP_INTERNAL_H

#include "encode/colormap.h"

/* The nearest of a terminal's 256 colours, 16 .. 255, for LEVEL. Along a map, or each half of a
 * diverging one, their lightness goes one way. */
int attn_colormap_terminal(const struct attn_colormap *map, enum attn_theme theme, int level);

/* The same colour as the terminal shows it; INDEX 16 .. 255. */
struct attn_rgb attn_terminal_color(int index);

/* Whether black text on COLOR can be read better than white: its relative luminance (WCAG 2) is
 * above 0.179, where both have the same contrast, 4.58. */
bool attn_rgb_takes_black(struct attn_rgb color);

/* What a cell of a matrix is. All but a value look the same whatever the map is. */
enum attn_cell_kind {
    ATTN_CELL_VALUE,     /* a number, which may be 0 */
    ATTN_CELL_MASKED,    /* masked, or left out by a kind of attention: grey, hatched */
    ATTN_CELL_HIDDEN,    /* the first key under --hide-first: the ground, hatched grey */
    ATTN_CELL_NOT_FINITE /* NaN or infinity: the ground, hatched red */
};

/* The colour behind a cell that has no value, and of the lines that hatch it. */
struct attn_rgb attn_cell_color(enum attn_cell_kind kind, enum attn_theme theme);
struct attn_rgb attn_cell_hatch_color(enum attn_cell_kind kind, enum attn_theme theme);

#endif
