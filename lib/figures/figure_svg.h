/*
 * figure_svg.h - a figure as SVG 1.1: text stays text, and cells are paths, one a color, as long as
 * there are not too many; else they are a PNG inside. Equal figures give equal bytes everywhere.
 */
#ifndef ATTN_FIGURES_FIGURE_SVG_H
#define ATTN_FIGURES_FIGURE_SVG_H

#include "base/sink.h"
#include "encode/shapes.h"

/* Writes FIGURE to SINK, whose own failure is for the caller to look at. ATTN_NO_MEMORY. */
enum attn_status attn_figure_svg_write(const struct attn_shapes *figure, struct attn_sink *sink,
                                       struct attn_error *err);

#endif
