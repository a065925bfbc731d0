/*
 * table_picture.h - tables as pictures: one column of numbers, laid out by two others.
 *
 *     const struct attn_table_grid grid = {
 *         .rows = "layer", .columns = "head", .values = "effect", .model = "fable"};
 *     attn_table_picture_check(&output, &err); // before the table is made
 *     attn_table_picture_write(table, &grid, &picture, &output, &err);
 *
 * Each value of the columns `rows` and `columns` that the table has is a row and a column of the
 * picture, numbers ascending, texts in the order in which they come first; a row of the table
 * without one of them is left out. Where several rows of the table fall on one cell, the first
 * counts. Cells without a value look like masked ones. Colours follow from the range of the column
 * (base/table.h): shares from 0 to 1 by their square root, other numbers from 0, or symmetric about
 * 0, to the largest.
 *
 * html is a page with this map and all of the table; where a request names table and grid among its
 * outputs (run/request.h), with the patterns of that run, too.
 */
#ifndef ATTN_FIGURES_TABLE_PICTURE_H
#define ATTN_FIGURES_TABLE_PICTURE_H

#include "base/table.h"
#include "tables/table_writer.h"
#include "writers/output.h"
#include "writers/outputs.h"
#include "writers/picture.h"

struct attn_head_patterns; /* analysis/head_patterns.h */

/* The columns of a table by their names. Borrowed. */
struct attn_table_grid {
    const char *rows;    /* of whole numbers: "layer" */
    const char *detail;  /* a second key of rows: "site"; or NULL */
    const char *columns; /* of whole numbers or texts: "head" */
    const char *texts;   /* labels of columns: "token"; or NULL */
    const char *values;  /* the numbers that are drawn */
    const char *cells;   /* texts that stand on the colors of the numbers: "token"; or NULL */
    const char *parts;   /* "mlp embed": parts that come first. Rows without a value of `columns`,
                            except totals, get a column for each part after the others. NULL: such
                            rows are left out */
    bool is_pairs; /* each row of the table is a pair of heads and fills two cells; the diagonal is
                      0 */
    enum attn_figure figure; /* the default kind; DEFAULT: a grid */
    size_t n_label;          /* leading columns by which rows are grouped */
    bool is_sequence;        /* rows are in sequence: a curve runs along them */
    bool is_clustered;       /* pairs are ordered by similarity, not by number */
    bool is_stream; /* curves run along the residual stream: "embedding", "after layer 0" */

    /* Words for the picture; each may be NULL. */
    const char *quantity;  /* of the values, where the words of the column do not do; '@' is: */
    const char *answer;    /* the answer: "logit(are) - logit(is)" */
    const char *asked;     /* the intervention: "without each head" */
    const char *model;     /* that they are of */
    const char *text;      /* [n_text] */
    const char *text_name; /* which of a pair it is: "clean" */
    size_t n_text;
    const char *other; /* [n_other] the other text of a pair */
    const char *other_name;
    size_t n_other;

    const struct attn_labels *run;       /* whose tokens the positions are called; or NULL */
    const struct attn_labels *other_run; /* the run of the other text: positions with different
                                            tokens show both; or NULL */
    const char *positions; /* the columns, or the detail, that holds them: "position"; or NULL */
    const char *metric;    /* for pages: "logit_diff", */
    const char *target, *foil; /* and the texts of its tokens */
    const char *inputs; /* parts without a value of `rows` that go to its first row, the others go
                           to its last: "embed pos"; or NULL */
    const struct attn_table *lens; /* for ATTN_FIGURE_CAUSES: a table of attn_lens, whose best
                                      tokens stand over the picture; or NULL */
    const struct attn_head_patterns *patterns; /* of a poster; or NULL */
    const char *only; /* the parts whose rows are drawn: "source"; NULL: all */
};

/* Checks that OUTPUT is one file of png, svg, pdf, html, or heatmap as text, and that the libraries
 * are there. Errors have a stage. */
ATTN_API enum attn_status attn_table_picture_check(const struct attn_output *output,
                                                   struct attn_error *err);

/* Draws TABLE into OUTPUT, a file or a sink. PICTURE may be NULL. Errors have a stage: ATTN_INVALID
 * at that of options for a missing column, one without numbers, a table without cells, and a
 * picture that would be too large. */
ATTN_API enum attn_status attn_table_picture_write(const struct attn_table *table,
                                                   const struct attn_table_grid *grid,
                                                   const struct attn_picture_options *picture,
                                                   const struct attn_output *output,
                                                   struct attn_error *err);

/* Writes TABLE as STYLE has it. The caption is made of the words of GRID: what its `values` are,
 * model and texts; its `n_label` columns name a group. */
ATTN_API enum attn_status attn_table_write_captioned(const struct attn_table *table,
                                                     const struct attn_table_grid *grid,
                                                     const struct attn_table_style *style,
                                                     struct attn_sink *sink,
                                                     struct attn_error *err);

#endif
