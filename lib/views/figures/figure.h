/*
 * figure.h - figures: matrices, with names of their rows and columns, as a list of shapes. Each
 * kind of figure has its file (figure_matrix.c, figure_grid.c, ...), and figure_writer.c writes
 * them.
 *
 *     struct attn_figure_content content = {.kind = ATTN_FIGURE_GRID, .writer = writer,
 *                                           .levels = levels, .n = levels->n};
 *     struct attn_shapes shapes = {0};
 *     status = attn_figure_measure(&content, &err);       // before anything is computed
 *     status = attn_figure_draw(&content, &shapes, &err); // when all cells have come
 *     attn_shapes_release(&shapes);
 *
 * Layouts do not load fonts: the width of a text is estimated from its columns. Nothing is cut to
 * fit; a figure that would be too large is an error.
 */
#ifndef ATTN_FIGURES_FIGURE_H
#define ATTN_FIGURES_FIGURE_H

#include "base/note.h"
#include "pictures/grid.h"
#include "pictures/picture.h"
#include "pictures/shapes.h"
#include "pictures/table_view.h"

struct attn_figure_content {
    enum attn_figure kind; /* not ATTN_FIGURE_DEFAULT */
    const struct attn_grid *grid;
    const struct attn_picture_options *picture;
    bool is_in_points; /* `cell` is given in points, not in pixels */
    /* for causes and a life: the table that is drawn, and how; or NULL */
    const struct attn_table *table;
    const struct attn_table_picture *of;
};

/* Returns true if `cell` is in points for files of FORMAT; PNG uses pixels. */
static inline bool attn_figure_is_in_points(const struct attn_format *format)
{
    return format != &attn_png_format;
}

/* Sends a note with the caption of a printed figure: title, colors, text. ON_NOTE may be NULL. */
void attn_figure_note_caption(const struct attn_shapes *shapes, attn_note_fn on_note, void *user);

/* Sends a note if labels are smaller than requested in OPTIONS, or in print much smaller than
 * usual; if IS_PIXELS, also if the resolution differs from the requested one. ON_NOTE may be
 * NULL. */
void attn_figure_note_size(const struct attn_shapes *shapes,
                           const struct attn_picture_options *options, bool is_pixels,
                           attn_note_fn on_note, void *user);

/* Returns ATTN_INVALID if this kind of figure cannot show the selection, or if the figure would
 * have more than 16,384 units a side or 64 million in all. Works before the cells are computed. */
enum attn_status attn_figure_measure(const struct attn_figure_content *content,
                                     struct attn_error *err);

/* Draws the figure into SHAPES, which must be {0}. Release SHAPES after a failure, too. */
enum attn_status attn_figure_draw(const struct attn_figure_content *content,
                                  struct attn_shapes *shapes, struct attn_error *err);

#endif
