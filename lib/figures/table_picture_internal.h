/* table_picture_internal.h - what table_picture.h declares for the library alone: how a table is
 * laid out, for formats that show the table itself beside its picture. */
#ifndef ATTN_FIGURES_TABLE_PICTURE_INTERNAL_H
#define ATTN_FIGURES_TABLE_PICTURE_INTERNAL_H

#include "figures/figure_internal.h"
#include "figures/table_picture.h"

/* The words for what is drawn of a table. Printable. Initialize with = {0}. */
struct attn_table_words {
    struct attn_buffer bytes; /* owns */
    const char *title;        /* NULL: nothing is known of the column; else also what was done: "...
                                 without        each head" */
    const char *quantity;     /* terminated: "change of logit(are) - logit(is)" */
};

/* Fills WORDS, which is = {0}; bytes.has_failed says whether there was memory. */
void attn_table_words_find(struct attn_table_words *words, const struct attn_column *column,
                           const struct attn_table_grid *grid);

void attn_table_words_release(struct attn_table_words *words);

/* A table as it is drawn. Borrowed, for the length of a call. */
struct attn_table_drawing {
    const struct attn_table *table;
    const struct attn_table_grid *grid;
    enum attn_figure kind;                 /* matrix, tokens, bars or curve */
    const struct attn_figure_grid *figure; /* the numbers, what their rows and columns are called,
                                              and what is said of them */
    const size_t *rows, *columns;     /* [n_row of the table] where each of its rows is drawn, and
                                         of pairs also the other way round; SIZE_MAX: nowhere */
    const struct attn_shapes *shapes; /* NULL: the figure would be too large, or the table has rows
                                         of groups, of which a grid shows one */
};

typedef enum attn_status (*attn_table_drawing_fn)(void *user,
                                                  const struct attn_table_drawing *drawing,
                                                  struct attn_error *err);

/* Lays TABLE out as attn_table_picture_write does, and calls USE with the drawing. OPTIONS are
 * complete. Errors in the options have the stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_table_drawing_use(const struct attn_table *table,
                                        const struct attn_table_grid *grid,
                                        const struct attn_picture_options *options,
                                        attn_table_drawing_fn use, void *user,
                                        struct attn_error *err);

#endif
