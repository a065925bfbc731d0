/*
 * figure_cairo.h - a figure as PNG and as PDF. cairo and pango draw it; they are opened when a
 * figure is drawn and not linked, so that a start without pictures does not look for them.
 *
 *     status = attn_figure_cairo_check("heads.pdf", &err);    // before anything is computed
 *     status = attn_figure_png_write(&shapes, sink, &n_unknown, &err);
 *
 * Equal figures give equal bytes where the same fonts are installed.
 */
#ifndef ATTN_FIGURES_FIGURE_CAIRO_H
#define ATTN_FIGURES_FIGURE_CAIRO_H

#include "base/sink.h"
#include "encode/shapes.h"

/* Whether the libraries are there. ATTN_IO when not, at the stage ATTN_STAGE_OUTPUT; NAME is what
 * needs them. */
enum attn_status attn_figure_cairo_check(const char *name, struct attn_error *err);

/* Write SHAPES to SINK, whose own failure is for the caller to look at. *N_UNKNOWN: texts with
 * characters of which no font is installed, drawn as boxes of hex digits. */
enum attn_status attn_figure_png_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);
enum attn_status attn_figure_pdf_write(const struct attn_shapes *shapes, struct attn_sink *sink,
                                       size_t *n_unknown, struct attn_error *err);

#endif
