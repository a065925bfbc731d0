/*
 * grids.h - how the table of an experiment is drawn, unless the caller chooses otherwise: its
 * columns, its kind of figure, and its words.
 *
 *     char words[ATTN_GRID_WORDS_SIZE];
 *     struct attn_table_grid grid;
 *     attn_ablate_grid(&args, table, words, &grid);
 *     grid.model = "fable", grid.text = ..., grid.answer = ...; // what this does not know
 *     attn_table_picture_write(table, &grid, &picture, &output, &err);
 *
 * ARGS are those of the experiment. TABLE is its table, or NULL before it is there: then the fields
 * that depend on its columns are left out. The grid borrows from both, and from WORDS. It has no
 * `rows` where such a table has no picture.
 */
#ifndef ATTN_EXPERIMENT_GRIDS_H
#define ATTN_EXPERIMENT_GRIDS_H

#include "experiment/ablate.h"
#include "experiment/align.h"
#include "experiment/attribute.h"
#include "experiment/diff.h"
#include "experiment/lens.h"
#include "experiment/patch.h"
#include "experiment/score.h"
#include "experiment/survey.h"
#include "figures/table_picture.h"

enum { ATTN_GRID_WORDS_SIZE = 96 };

/* Where `sort` names a column, that column is drawn. */
ATTN_API void attn_survey_grid(const struct attn_survey_args *args, const struct attn_table *table,
                               char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid);

ATTN_API void attn_ablate_grid(const struct attn_ablate_args *args, const struct attn_table *table,
                               char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid);

/* Without a score pairs of words: the text's are rows. */
ATTN_API void attn_align_grid(const struct attn_align_args *args, const struct attn_table *table,
                              char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid);

ATTN_API void attn_patch_grid(const struct attn_patch_args *args, const struct attn_table *table,
                              char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid);

ATTN_API void attn_lens_grid(const struct attn_lens_args *args, const struct attn_table *table,
                             char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid);

ATTN_API void attn_attribute_grid(const struct attn_attribute_args *args,
                                  const struct attn_table *table, char words[ATTN_GRID_WORDS_SIZE],
                                  struct attn_table_grid *grid);

ATTN_API void attn_score_grid(const struct attn_score_args *args, const struct attn_table *table,
                              char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid);

ATTN_API void attn_diff_grid(const struct attn_diff_args *args, const struct attn_table *table,
                             char words[ATTN_GRID_WORDS_SIZE], struct attn_table_grid *grid);

#endif
