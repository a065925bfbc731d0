/* grid.h - a grid: a matrix with labels of its rows and columns, a color scale, marks and texts. It
 * is made from a table (table_grid.h) or from matrices of a run; figures, terminal and pages draw
 * it. */
#pragma once

#include "formats/float_text.h"
#include "pictures/levels.h"
#include "pictures/picture.h"
#include "tensors/token_text.h"

struct attn_head_type; /* measures/head_kind.h */

struct attn_backdrop; /* tensors/output.h */

/* The rows or the columns of a grid, with their labels. */
struct attn_grid_axis {
    size_t n;                             /* number of rows or columns */
    const struct attn_token_texts *texts; /* NULL: positions are the labels */
    const size_t *positions;              /* [n] NULL: first, first + 1, ... */
    size_t first;
    bool has_own_texts; /* `texts` has one text per row, not one per position */
    bool is_named;      /* labels are texts without positions */
    const char *title;  /* "query: attends" */
    size_t n_main;      /* the rows or columns from this one on are set apart; 0: none */
    const bool *begins; /* [n] true if a line separates it from the one before; or NULL */
    /* which text each position belongs to (`texts` of struct attn_labels); a line precedes the
     * second text; or NULL */
    const uint8_t *parts;
    /* number of columns in a group, separated by a gap from the next; 0: no groups */
    size_t n_together;
    /* Set by figures. */
    size_t most_columns; /* columns of text of the longest label */
    double widest;       /* width of the widest label in print, as a multiple of the font size */
    size_t n_digit;      /* digits of the largest position */
};

#define ATTN_GRID_NO_POSITION SIZE_MAX /* position of a row that has only a name */

static inline size_t attn_grid_position(const struct attn_grid_axis *axis, size_t i)
{
    return axis->positions ? axis->positions[i] : axis->first + i;
}

/* Returns the text of row or column I of AXIS, which must have texts. *N is its size in bytes. */
static inline const char *attn_grid_text(const struct attn_grid_axis *axis, size_t i, size_t *n)
{
    return attn_token_text(axis->texts, axis->has_own_texts ? i : attn_grid_position(axis, i), n);
}

/* Returns true if a line separates row or column I from the one before. */
static inline bool attn_grid_begins(const struct attn_grid_axis *axis, size_t i)
{
    enum { SECOND = 2 };

    if (i == 0)
        return false;
    return (axis->begins && axis->begins[i]) ||
           (axis->parts && axis->parts[attn_grid_position(axis, i)] == SECOND &&
            axis->parts[attn_grid_position(axis, i - 1)] != SECOND);
}

/* How the numbers of a part of a table are drawn. */
enum attn_grid_look {
    ATTN_LOOK_CELLS, /* each number as a color; for vectors */
    ATTN_LOOK_SHARE, /* percentages, each on its color */
    ATTN_LOOK_BAR,   /* as a bar, for numbers that are not negative */
    ATTN_LOOK_NUMBER
};

/* A column of a table that is drawn with its own scale: one vector or one number per row. */
struct attn_grid_part {
    const char *name;     /* short name: "w" */
    const char *quantity; /* long name, "weight"; or equal to `name` */
    enum attn_grid_look look;
    struct attn_color_scale scale;
    int digits; /* decimals of numbers */
};

/* A grid. All pointers are borrowed, for the duration of a call. */
struct attn_grid {
    /* [n] matrices of one site and one run; for a table its only matrix, or one per part, all with
     * the same rows */
    const struct attn_level_matrix *matrices;
    size_t n;
    const char *name;              /* name of the numbers: "pattern", "effect" */
    const char *model;             /* path of the model, or NULL */
    bool has_models;               /* it has the names of two models */
    struct attn_color_scale scale; /* all fields are resolved, none is DEFAULT */
    bool is_share;                 /* numbers are shown in percent */
    /* the pictures whose patches are the columns: of each matrix that of the number `image`, the
     * first unless a run has several; or NULL */
    const struct attn_backdrop *backdrop;

    /* For matrices of a run; NULL for a table. */
    const struct attn_writer *run;
    const struct attn_token_texts *tokens; /* [2] tokens of the text, and of the source */

    /* For a table; for a figure of heads of a run, `rows` are the heads, and for folded keys of a
     * run, `columns` are the keys. */
    const struct attn_grid_axis *rows, *columns;
    const struct attn_level_matrix *heads; /* [rows] for a figure of heads: the heads; or NULL */
    /* [n] columns that are drawn side by side, each with its own scale; or NULL */
    const struct attn_grid_part *parts;
    const bool *marks; /* [rows] with parts: true if the row has a frame; or NULL */
    /* groups of rows, one below the other in the matrix; or NULL */
    const struct attn_grid_axis *groups;
    const char *title;                /* printable; NULL: made of model and name */
    const char *quantity;             /* printable, with the unit; NULL: the name */
    const char *note;                 /* for the subtitle, printable, or NULL */
    struct attn_figure_text texts[2]; /* the text of the run, or the two texts of a pair */
    const float *lows,
        *highs; /* for bars and curves: the ends of each cell's interval, NaN if unknown; or NULL */
    /* texts shown in the cells, row by row; NULL: the numbers are shown */
    const struct attn_token_texts *cells;
    int digits; /* decimals of numbers that are not in percent */
    /* for a map of heads: the heads whose bars cells have (attn_head_bar), or NULL; and which kinds
     * the legend has, bits of their numbers */
    const struct attn_head_type *const *bars; /* [cells] */
    uint32_t kinds;
    bool has_letters; /* the cells of a map have letters instead of names */
    bool is_ranked;   /* bars of parts of layers: the largest first, small ones together */
    bool has_words;   /* the cells have tokens, each with a number that says how much it counts */
};

/* Returns the grid of MATRICES [n] of RUN. TOKENS must come from attn_token_labels_init. */
struct attn_grid attn_grid_of_run(const struct attn_writer *run,
                                  const struct attn_token_texts tokens[2],
                                  const struct attn_level_matrix *matrices, size_t n);

/* Return the rows and the columns of MATRIX, one of the grid's. Fields set by figures are 0. */
struct attn_grid_axis attn_grid_rows(const struct attn_grid *grid,
                                     const struct attn_level_matrix *matrix);
struct attn_grid_axis attn_grid_columns(const struct attn_grid *grid,
                                        const struct attn_level_matrix *matrix);

/* Returns true if every matrix is a single cell, the weight of a token on itself. */
bool attn_grid_is_lone(const struct attn_grid *grid);

/* Returns true if the columns of MATRIX are [CLS], registers and patches of BACKDROP, which may be
 * NULL; in a text its cells and the shares of the map, or MATRIX as a whole is its cells. */
bool attn_grid_fits_backdrop(const struct attn_backdrop *backdrop,
                             const struct attn_level_matrix *matrix);

/* Returns the largest magnitude on a patch in row ROW of MATRIX; 0 if it has no numbers. */
double attn_grid_largest_mapped(const struct attn_backdrop *backdrop,
                                const struct attn_level_matrix *matrix, size_t row);

/* Returns the smallest end of a scale that is drawn over BACKDROP: ten times a uniform weight. With
 * it, uniform weights do not hide the picture. */
double attn_grid_least_end(const struct attn_backdrop *backdrop);

/* Returns the first column that is a patch or a cell of BACKDROP. */
size_t attn_grid_first_mapped(const struct attn_backdrop *backdrop);

/* Returns the position of the query whose map number I over the picture of a run is. */
size_t attn_grid_mapped_position(const struct attn_grid *grid, size_t i);

/* Returns the number of rows that are drawn over the picture, the first ones: all rows; but if a
 * run has all queries, only that of [CLS]. A table of cells of a picture in a text is one map. */
size_t attn_grid_n_mapped(const struct attn_grid *grid);

enum { ATTN_KIND_LEVELS = 18 }; /* levels of a color map for each kind of head, of 256 in all */

/* Appends the label of row or column I: its text without surrounding blanks, shortened if
 * it is too long; or its position. */
void attn_grid_append_label(const struct attn_grid_axis *axis, size_t i, struct attn_buffer *out);

/* --- Words ------------------------------------------------------------------------------------ */

/* Returns what is shown of the model [size]: its name without folders, or the names of two; NULL
 * without a model. The second appends it. */
const char *attn_grid_model(const struct attn_grid *grid, size_t *size);
void attn_grid_append_model(const struct attn_grid *grid, struct attn_buffer *out);

/* Appends the model and, for runs, the layer and the head that all matrices share: "fable, layer 2,
 * head 5". */
void attn_grid_append_subject(const struct attn_grid *grid, struct attn_buffer *out);

/* Appends the title, printable: "fable, layer 2, head 5: pattern". */
void attn_grid_append_title(const struct attn_grid *grid, struct attn_buffer *out);

/* Appends the parts of the subtitle before the texts, each followed by "; ": for a table its model
 * and note, for gradients their answer; and the scale if it is unusual, unless IS_FITTED (the scale
 * ends at the largest number). */
void attn_grid_append_subtitle(const struct attn_grid *grid, bool is_fitted,
                               struct attn_buffer *out);

/* Appends text I, 0 or 1: "clean: The keys". Appends nothing if that text is missing. */
void attn_grid_append_sentence(const struct attn_grid *grid, int i, struct attn_buffer *out);

/* Returns the name of the numbers with their unit: "weight, %". IS_PERCENT: they are shown in
 * percent. IS_PRINTED: uses words instead of names of sites. */
const char *attn_grid_quantity(const struct attn_grid *grid, bool is_percent, bool is_printed);

/* Appends the name of position I of a picture: "[CLS]", or "3,4" for a patch. */
void attn_grid_append_position(const struct attn_backdrop *backdrop,
                               const struct attn_token_texts *texts, size_t i,
                               struct attn_buffer *out);

/* Appends the name of a layer: "2", or "cross 1" in a model with two stacks. */
void attn_grid_append_layer(struct attn_buffer *out, const struct attn_location *at);

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Formats a number of a table for a cell, not in percent; not terminated. Returns its length. */
size_t attn_grid_number(const struct attn_grid *grid, float value, char text[ATTN_FIXED_TEXT_SIZE]);

/* Returns the text in cell I, without leading blanks. The table must have texts in its cells. */
const char *attn_grid_cell_text(const struct attn_grid *grid, size_t i, size_t *n);

/* Writes round numbers from LOW to HIGH to TICKS, ascending: multiples of 1, 2, 2.5 or 5 times a
 * power of ten. Returns their number. */
size_t attn_round_ticks(double low, double high, double ticks[ATTN_MOST_TICKS]);

/* Writes the numbers at which a legend has ticks to TICKS, ascending: round numbers; for shares
 * also the two ends. Returns their number. */
size_t attn_grid_ticks(const struct attn_color_scale *scale, struct attn_color_range range,
                       double ticks[ATTN_MOST_TICKS]);
