/*
 * svg.h - a strict reader of XML for SVG: what other programs see in the figures we write.
 *
 *     struct attn_svg svg = attn_svg_parse(text);      // fails the test where XML is not well
 * formed for (size_t i = 0; i < svg.n; i++) if (strcmp(svg.items[i].name, "text") == 0)
 *             ... attn_svg_number(&svg.items[i], "x"), svg.items[i].text ...
 *     attn_svg_release(&svg);
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct attn_svg_item {
    char *name;
    char *attributes; /* NAME=VALUE, each ended by a newline; entities undone */
    char *text;       /* what stands in it, entities undone */
    size_t parent;    /* index of the element around it; SIZE_MAX: none */
};

struct attn_svg {
    struct attn_svg_item *items; /* [n] in the order of their beginnings; owned */
    size_t n;
};

struct attn_svg attn_svg_parse(const char *text);
void attn_svg_release(struct attn_svg *svg);

/* The value of an attribute, or of the nearest element around that has it; terminated by a newline;
 * NULL without it. */
const char *attn_svg_value(const struct attn_svg *svg, const struct attn_svg_item *item,
                           const char *name);

/* A number among the element's own attributes; NAN without it. */
double attn_svg_number(const struct attn_svg_item *item, const char *name);

/* The text element of these words, or NULL; the NTH, from 0. */
const struct attn_svg_item *attn_svg_text(const struct attn_svg *svg, const char *words,
                                          size_t nth);

/*
 * The cells of the FIRST-th group of paths without smoothing, from 0, as colors 0xRRGGBB: a matrix
 * whose first cell begins at the least x and y, of SIDE. COLORS [n_row * n_col]; UINT32_MAX where
 * no path is. Fails when a run is not of whole cells, or is drawn twice.
 */
void attn_svg_cells(const struct attn_svg *svg, size_t first, double side, size_t n_row,
                    size_t n_col, uint32_t *colors);

/* The color of that group at a point; UINT32_MAX where no path is. */
uint32_t attn_svg_color(const struct attn_svg *svg, size_t first, double x, double y);
