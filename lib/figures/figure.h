/*
 * figure.h - figures: matrices, with names of their rows and columns, as a list of shapes.
 * There is one file for each kind of figure (figure_matrix.c, figure_grid.c, ...), and
 * figure_writer.c writes them.
 *
 *     struct attn_figure_content content = {.kind = ATTN_FIGURE_GRID, .writer = writer,
 *                                           .levels = levels, .n = levels->n};
 *     struct attn_shapes shapes = {0};
 *     status = attn_figure_measure(&content, &err);       // before anything is computed
 *     status = attn_figure_draw(&content, &shapes, &err); // when all cells have come
 *     attn_shapes_release(&shapes);
 *
 * Layouts know no font: text has the room of its columns. Nothing is cut to fit; a figure that
 * would be too large is an error.
 */
#ifndef ATTN_FIGURES_FIGURE_H
#define ATTN_FIGURES_FIGURE_H

#include "base/note.h"
#include "encode/shapes.h"
#include "grid/grid.h"
#include "writers/picture.h"
#include "writers/token_text.h"

struct attn_figure_content {
    enum attn_figure kind; /* not ATTN_FIGURE_DEFAULT */
    const struct attn_grid *grid;
    const struct attn_picture_options *picture;
    bool is_in_points; /* --cell counts points, and not pixels */
};

/* Whether a cell's side counts points in files of FORMAT: PNG takes pixels. */
static inline bool attn_figure_is_in_points(const struct attn_format *format)
{
    return format != &attn_png_format;
}

/* Gives SHAPES, which have their width, the size and the font that OPTIONS ask for. */
void attn_figure_set_size(struct attn_shapes *shapes, const struct attn_picture_options *options);

/* Notes the caption of a figure in print: title, colors, text. ON_NOTE may be NULL. */
void attn_figure_note_caption(const struct attn_shapes *shapes, attn_note_fn on_note, void *user);

/* Notes that labels are smaller than OPTIONS ask for, or much smaller than usual in print, and if
 * IS_PIXELS, that the resolution differs. ON_NOTE may be NULL. */
void attn_figure_note_size(const struct attn_shapes *shapes,
                           const struct attn_picture_options *options, bool is_pixels,
                           attn_note_fn on_note, void *user);

/* Cells that a side of a matrix may have before they are pooled, for this kind of figure. */
size_t attn_figure_most_cells(enum attn_figure kind);

/* ATTN_INVALID if this kind of figure cannot show the selection, or if it would have more than
 * 16,384 units a side or 64 million in all. Needs no cells. */
enum attn_status attn_figure_measure(const struct attn_figure_content *content,
                                     struct attn_error *err);

/* The figure into SHAPES, which is = {0}. Release SHAPES after a failure, too. */
enum attn_status attn_figure_draw(const struct attn_figure_content *content,
                                  struct attn_shapes *shapes, struct attn_error *err);

#endif
