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
#include "base/table.h"
#include "encode/shapes.h"
#include "figures/levels.h"
#include "writers/picture.h"
#include "writers/token_text.h"

struct attn_figure_axis; /* figure_internal.h */
struct attn_head_kind;   /* analysis/head_kind.h */

/* Cells of patterns and MLPs that cause an answer, rows of a table. Borrowed. */
struct attn_figure_causes {
    const struct attn_table *table; /* with layer, head, query and key */
    size_t values;                  /* the column of the numbers */
    const size_t *queries, *keys;   /* [n_row] columns of the figure; SIZE_MAX: not drawn, no key */
    size_t n_layer;
    bool is_part;                  /* the numbers are parts of the answer: for it, or against it */
    const struct attn_table *lens; /* the best token of each layer and position; or NULL */
};

/* Numbers of a table, instead of a matrix of a run. Borrowed. */
struct attn_figure_grid {
    struct attn_level_matrix matrix;
    const struct attn_figure_axis *rows, *columns;
    const struct attn_figure_axis *groups; /* each has its rows in the matrix, in order; or NULL */
    const char *name;                      /* of the numbers: "effect" */
    const char *title;                     /* printable; NULL: model and name */
    const char *quantity;                  /* with the unit, printable; NULL: the name */
    const char *note;                      /* for the subtitle, printable, or NULL */
    const char *model;                     /* that they are of, or NULL */
    struct attn_figure_text texts[2];      /* the text that was run, or the two of a pair */
    const float *lows,
        *highs; /* of bars and curves: the interval of each cell, NaN if unknown; or NULL */
    const struct attn_token_texts *cells;    /* texts of the cells, row by row; NULL: the numbers */
    struct attn_color_scale scale;           /* without open parts */
    const struct attn_backdrop *backdrop;    /* that the columns are positions of; or NULL */
    const struct attn_figure_causes *causes; /* of ATTN_FIGURE_CAUSES: they are drawn; or NULL */
    /* Of a poster: matrix has the patterns of the heads one below the other; [n] heads. */
    const struct attn_head_kind *const *kinds; /* or NULL without a kind */
    const double *weights;                     /* on what the kind looks at */
    const size_t *order;                       /* of the heads on the sheet */
    bool is_share;                             /* numbers are shown in percent */
    int digits;                                /* of other numbers after the point */
};

struct attn_figure_content {
    enum attn_figure kind;               /* not ATTN_FIGURE_DEFAULT */
    const struct attn_figure_grid *grid; /* NULL: a run is drawn: */
    const struct attn_picture_options *picture;
    const struct attn_writer *writer;
    const struct attn_levels *levels;
    size_t first, n;   /* the matrices of `levels` that are drawn, all of one site; n >= 1 */
    bool is_in_points; /* --cell counts points, and not pixels */
    const struct attn_token_texts *tokens; /* [2] of the run, and of its source */
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
