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
    bool has_own_texts;   /* texts are those of rows, and not of positions */
    bool is_named;        /* texts without positions */
    const char *title;    /* "query: attends" */
    size_t n_main;        /* rows or columns after these stand apart; or 0 */
    const bool *begins;   /* [n] whether a line separates it from the one before; or NULL */
    const uint8_t *parts; /* of positions: those of struct attn_labels' `texts`, the second of which
                             a line separates; or NULL */
    bool has_blocks;      /* the lines are around things that are alike, and not groups by name */
    size_t n_together;    /* columns that stand together, apart from the next ones; 0: all */
    /* Measured by figures. */
    size_t most_columns; /* of text that a label has */
    double widest;       /* label in print, in sizes of the font */
    size_t n_digit;      /* that a position has */
};

#define ATTN_GRID_NO_POSITION SIZE_MAX /* of a row with a name alone */

static inline size_t attn_grid_position(const struct attn_grid_axis *axis, size_t i)
{
    return axis->positions ? axis->positions[i] : axis->first + i;
}

/* The text of row or column I of AXIS, which has texts, in N bytes. */
static inline const char *attn_grid_text(const struct attn_grid_axis *axis, size_t i, size_t *n)
{
    return attn_token_text(axis->texts, axis->has_own_texts ? i : attn_grid_position(axis, i), n);
}

/* Whether a line separates row or column I from the one before. */
static inline bool attn_grid_begins(const struct attn_grid_axis *axis, size_t i)
{
    enum { SECOND = 2 };

    if (i == 0)
        return false;
    return (axis->begins && axis->begins[i]) ||
           (axis->parts && axis->parts[attn_grid_position(axis, i)] == SECOND &&
            axis->parts[attn_grid_position(axis, i - 1)] != SECOND);
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

/* How the numbers of a part are drawn. */
enum attn_grid_look {
    ATTN_LOOK_CELLS, /* colors: vectors */
    ATTN_LOOK_SHARE, /* in percent, on their color */
    ATTN_LOOK_BAR,   /* of numbers that are not negative */
    ATTN_LOOK_NUMBER
};

/* Columns of a table with a scale of their own: a vector, or one number a row. */
struct attn_grid_part {
    const char *name;     /* short: "w" */
    const char *quantity; /* "weight"; or the name */
    enum attn_grid_look look;
    struct attn_color_scale scale;
    int digits; /* of numbers after the point */
};

/* Borrowed, for the length of a call. */
struct attn_grid {
    const struct attn_level_matrix *matrices; /* [n] of one site and one run; one of a table, or of
                                                 each of its parts, which have the same rows */
    size_t n;
    const char *name;                     /* of the numbers: "pattern", "effect" */
    const char *model;                    /* that they are of, or NULL */
    struct attn_color_scale scale;        /* without open parts */
    bool is_share;                        /* numbers are shown in percent */
    const struct attn_backdrop *backdrop; /* over which the columns are drawn as patches; or NULL */

    /* Of a run; of a table NULL. */
    const struct attn_writer *run;
    const struct attn_token_texts *tokens; /* [2] of the run, and of its source */

    /* Of a table. */
    const struct attn_grid_axis *rows, *columns;
    const struct attn_grid_part *parts;  /* [n] side by side, each with its own scale; or NULL */
    const bool *marks;                   /* [rows] of parts: whether a row has a frame */
    const struct attn_grid_axis *groups; /* each has its rows in the matrix, in order; or NULL */
    const char *title;                   /* printable; NULL: model and name */
    const char *quantity;                /* with the unit, printable; NULL: the name */
    const char *note;                    /* for the subtitle, printable, or NULL */
    struct attn_figure_text texts[2];    /* the text that was run, or the two of a pair */
    const float *lows,
        *highs; /* of bars and curves: the interval of each cell, NaN if unknown; or NULL */
    const struct attn_token_texts *cells;  /* texts of the cells, row by row; NULL: the numbers */
    const struct attn_grid_causes *causes; /* of ATTN_FIGURE_CAUSES: they are drawn; or NULL */
    int digits;                            /* of numbers after the point, unless in percent */
    /* Of a poster: the matrix has the patterns of the heads one below the other; [n] heads. */
    const struct attn_head_kind *const *kinds; /* or NULL without a kind */
    const double *weights;                     /* on what the kind looks at */
    const size_t *order;                       /* of the heads on the sheet */
};

/* MATRICES [n] of RUN, whose TOKENS are those of attn_token_labels_init. */
struct attn_grid attn_grid_of_run(const struct attn_writer *run,
                                  const struct attn_token_texts tokens[2],
                                  const struct attn_level_matrix *matrices, size_t n);

/* The rows and the columns of MATRIX, one of the grid's, not measured. */
struct attn_grid_axis attn_grid_rows(const struct attn_grid *grid,
                                     const struct attn_level_matrix *matrix);
struct attn_grid_axis attn_grid_columns(const struct attn_grid *grid,
                                        const struct attn_level_matrix *matrix);

/* Whether all matrices are one cell, the weight of a token on itself. */
bool attn_grid_is_lone(const struct attn_grid *grid);

/* Whether the columns of MATRIX are [CLS], registers and patches of BACKDROP, which may be NULL. */
bool attn_grid_fits_backdrop(const struct attn_backdrop *backdrop,
                             const struct attn_level_matrix *matrix);

/* The largest magnitude on a patch in row ROW of MATRIX; 0 without numbers. */
double attn_grid_largest_mapped(const struct attn_backdrop *backdrop,
                                const struct attn_level_matrix *matrix, size_t row);

/* The least end of the scale over BACKDROP: ten times a uniform weight. With it, even weights do
 * not hide the picture. */
double attn_grid_least_end(const struct attn_backdrop *backdrop);

/* The number of rows that are drawn over the picture: all, or of a run with all queries the first,
 * that of [CLS]. */
size_t attn_grid_n_mapped(const struct attn_grid *grid);

enum { ATTN_KIND_LEVELS = 51 }; /* of the 256 levels of a map, for each kind of head */

/* Appends the label of row or column I: its text without blanks around it, cut to what a label may
 * have with ELLIPSIS at its end, or its position. */
void attn_grid_append_label(const struct attn_grid_axis *axis, size_t i, const char *ellipsis,
                            struct attn_buffer *out);

/* --- Words ------------------------------------------------------------------------------------ */

/* The name of a model without its folders; nothing of NULL. */
void attn_grid_append_model(const char *model, struct attn_buffer *out);

/* Appends the model and, for runs, the layer and the head that all matrices share: "fable, layer 2,
 * head 5". */
void attn_grid_append_subject(const struct attn_grid *grid, struct attn_buffer *out);

/* Appends the title, printable: "fable, layer 2, head 5: pattern". */
void attn_grid_append_title(const struct attn_grid *grid, struct attn_buffer *out);

/* Appends the subtitle up to the texts, each part ending in "; ": of a table its model and note, of
 * gradients their answer; an unusual scale, unless IS_FITTED to the numbers. */
void attn_grid_append_subtitle(const struct attn_grid *grid, bool is_fitted,
                               struct attn_buffer *out);

/* Appends text I, 0 or 1: "clean: The keys"; nothing if there is none. */
void attn_grid_append_sentence(const struct attn_grid *grid, int i, struct attn_buffer *out);

/* The quantity of the numbers, with the unit: "weight, %", IS_PERCENT if they are shown so; if
 * IS_PRINTED in words. */
const char *attn_grid_quantity(const struct attn_grid *grid, bool is_percent, bool is_printed);

/* Appends the name of position I of a picture: "[CLS]", "3,4". */
void attn_grid_append_position(const struct attn_backdrop *backdrop,
                               const struct attn_token_texts *texts, size_t i,
                               struct attn_buffer *out);

/* A layer: "2", or "cross 1" of two stacks. */
void attn_grid_append_layer(struct attn_buffer *out, const struct attn_location *at);

/* --- Numbers ---------------------------------------------------------------------------------- */

/* A number of a table that is not in percent, as it stands in a cell; not terminated. */
size_t attn_grid_number(const struct attn_grid *grid, float value, char text[ATTN_FIXED_TEXT_SIZE]);

/* The text of cell I of a table that has texts in its cells, without blanks before it. */
const char *attn_grid_cell_text(const struct attn_grid *grid, size_t i, size_t *n);

/* Round numbers from LOW to HIGH, ascending: multiples of 1, 2, 2.5 or 5 times a power of ten. */
size_t attn_round_ticks(double low, double high, double ticks[ATTN_MOST_TICKS]);

/* The numbers at which a legend has ticks, ascending: round ones, and the ends of a share. */
size_t attn_grid_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                       double ticks[ATTN_MOST_TICKS]);

#endif
