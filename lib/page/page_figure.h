/*
 * page_figure.h - a page that is one figure: SVG inside HTML, without a script, for figures that the
 * page of patterns has no view for.
 */
#ifndef ATTN_PAGE_PAGE_FIGURE_H
#define ATTN_PAGE_PAGE_FIGURE_H

#include "base/sink.h"
#include "encode/shapes.h"

/* Writes FIGURE to SINK, whose own failure is for the caller to look at; *N_UNKNOWN is 0: the browser
 * has the fonts. */
enum attn_status attn_page_figure_draw(const struct attn_shapes *figure, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);

/* The same of a figure that is SVG already, [n]. */
void attn_page_figure_write(const char *svg, size_t n, struct attn_sink *sink);

#endif
