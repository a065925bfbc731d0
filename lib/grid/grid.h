/*
 * grid.h - what is drawn: a matrix with labels of its rows and columns, a scale, marks and words.
 * It is made once, from a table (table_cells.h) or from matrices of a run, and drawn by
 * figures, terminal and pages.
 */
#ifndef ATTN_GRID_GRID_H
#define ATTN_GRID_GRID_H

#include "base/table.h"
#include "encode/float_text.h"
#include "grid/levels.h"
#include "writers/picture.h"
#include "writers/token_text.h"

struct attn_backdrop;  /* writers/output.h */
struct attn_head_kind; /* analysis/head_kind.h */

/* The labels of rows or columns. */
struct attn_grid_axis {
    size_t n;                             /* rows or columns */
    const struct attn_token_texts *texts; /* NULL: positions are the labels */
    const size_t *positions;              /* [n] NULL: first, first + 1, ... */
    size_t first;
    bool has_own_texts; /* texts are those of rows, and not of positions */
    bool is_named;      /* texts without positions */
    const char *title;  /* "query: attends" */
    size_t n_main;      /* rows or columns after these stand apart; or 0 */
    const bool *begins; /* [n] whether a line separates it from the one before; or NULL */
    size_t n_together;  /* columns that stand together, apart from the next ones; 0: all */
    /* Measured by figures. */
    size_t most_columns; /* of text that a label has */
    double widest;       /* label in print, in sizes of the font */
    size_t n_digit;      /* that a position has */
};

static inline size_t attn_grid_position(const struct attn_grid_axis *axis, size_t i)
{
    return axis->positions ? axis->positions[i] : axis->first + i;
}

/* Cells of patterns and MLPs that cause an answer, rows of a table. Borrowed. */
struct attn_grid_causes {
    const struct attn_table *table; /* with layer, head, query and key */
    size_t values;                  /* the column of the numbers */
    const size_t *queries, *keys;   /* [n_row] columns of the figure; SIZE_MAX: not drawn, no key */
    size_t n_layer;
    bool is_part;                  /* the numbers are parts of the answer: for it, or against it */
    const struct attn_table *lens; /* the best token of each layer and position; or NULL */
};

/* Numbers of a table, instead of a matrix of a run. Borrowed. */
struct attn_grid {
    struct attn_level_matrix matrix;
    const struct attn_grid_axis *rows, *columns;
    const struct attn_grid_axis *groups; /* each has its rows in the matrix, in order; or NULL */
    const char *name;                    /* of the numbers: "effect" */
    const char *title;                   /* printable; NULL: model and name */
    const char *quantity;                /* with the unit, printable; NULL: the name */
    const char *note;                    /* for the subtitle, printable, or NULL */
    const char *model;                   /* that they are of, or NULL */
    struct attn_figure_text texts[2];    /* the text that was run, or the two of a pair */
    const float *lows,
        *highs; /* of bars and curves: the interval of each cell, NaN if unknown; or NULL */
    const struct attn_token_texts *cells;  /* texts of the cells, row by row; NULL: the numbers */
    struct attn_color_scale scale;         /* without open parts */
    const struct attn_backdrop *backdrop;  /* that the columns are positions of; or NULL */
    const struct attn_grid_causes *causes; /* of ATTN_FIGURE_CAUSES: they are drawn; or NULL */
    /* Of a poster: matrix has the patterns of the heads one below the other; [n] heads. */
    const struct attn_head_kind *const *kinds; /* or NULL without a kind */
    const double *weights;                     /* on what the kind looks at */
    const size_t *order;                       /* of the heads on the sheet */
    bool is_share;                             /* numbers are shown in percent */
    int digits;                                /* of other numbers after the point */
};

enum { ATTN_KIND_LEVELS = 51 }; /* of the 256 levels of a map, for each kind of head */

/* --- Words ------------------------------------------------------------------------------------ */

/* The name of a model without its folders; nothing of NULL. */
void attn_grid_append_model(const char *model, struct attn_buffer *out);

/* The title of a table, printable: its own, or "fable: change". */
void attn_grid_append_title(const struct attn_grid *grid, struct attn_buffer *out);

/* The subtitle up to the texts: model, unusual scale, note; each ends in "; ". */
void attn_grid_append_subtitle(const struct attn_grid *grid, struct attn_buffer *out);

/* Text I, 0 or 1, which is not NULL: "clean: The keys". */
void attn_grid_append_sentence(const struct attn_grid *grid, int i, struct attn_buffer *out);

/* A layer: "2", or "cross 1" of two stacks. */
void attn_grid_append_layer(struct attn_buffer *out, const struct attn_location *at);

/* --- Numbers ---------------------------------------------------------------------------------- */

/* A number of a table that is not in percent, as it stands in a cell; not terminated. */
size_t attn_grid_number(const struct attn_grid *grid, float value, char text[ATTN_FIXED_TEXT_SIZE]);

/* The text of cell I of a table that has texts in its cells, without blanks before it. */
const char *attn_grid_cell_text(const struct attn_grid *grid, size_t i, size_t *n);

/* Whether a table has a number for each position of its picture. */
bool attn_grid_is_map(const struct attn_grid *grid);

/* Round numbers from LOW to HIGH, ascending: multiples of 1, 2, 2.5 or 5 times a power of ten. */
size_t attn_round_ticks(double low, double high, double ticks[ATTN_MOST_TICKS]);

/* The numbers at which a legend has ticks, ascending: round ones, and the ends of a share. */
size_t attn_grid_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                       double ticks[ATTN_MOST_TICKS]);

#endif
