/*
 * table_picture.h - draws a table as a picture: one column of numbers, arranged in rows and columns
 * by two other columns.
 *
 *     const struct attn_table_picture picture = {
 *         .view = {.rows = ATTN_ROLE_LAYER, .columns = ATTN_ROLE_HEAD,
 *                  .values = ATTN_TABLE_COLUMN(4)},
 *         .model = "fable"};
 *     attn_table_picture_check(&output, &err); // before the table is made
 *     attn_table_picture_write(table, &picture, &options, &output, &err);
 *
 * Each value that occurs in the column `rows` is a row of the picture, and each value in `columns`
 * is a column: numbers in ascending order, texts in order of first occurrence. A row of the table
 * that lacks one of the two is left out. If several rows belong to one cell, the first is used.
 * Cells without a value look like masked ones. The color scale follows from the range of the
 * column (tables/column.h): shares go from 0 to 1 by their square root (linear with
 * ATTN_TRAIT_LINEAR), other numbers from 0 to the largest, or symmetrically about 0.
 *
 * The format html is a page with this picture and the whole table. If a request names both table
 * and picture as outputs (run/request.h), the page also has the patterns of that run.
 */
#ifndef ATTN_FIGURES_TABLE_PICTURE_H
#define ATTN_FIGURES_TABLE_PICTURE_H

#include "pictures/table_view.h"
#include "tables/table_writer.h"
#include "tensors/outputs.h"

/* Checks that OUTPUT is one file of png, svg, pdf or html, and that the needed libraries can be
 * loaded. Errors have a stage. */
ATTN_API enum attn_status attn_table_picture_check(const struct attn_output *output,
                                                   struct attn_error *err);

/* Makes PICTURE show the column NAME of TABLE instead of the column of its view. Errors have a
 * stage: ATTN_STAGE_OPTIONS with ATTN_INVALID if the column has no numbers or is one of the two
 * that arrange the picture. */
ATTN_API enum attn_status attn_table_picture_show(struct attn_table_picture *picture,
                                                  const struct attn_table *table, const char *name,
                                                  struct attn_error *err);

/* Returns the column of TABLE that PICTURE shows; NULL if TABLE lacks it. */
ATTN_API const struct attn_column *
attn_table_picture_column(const struct attn_table_picture *picture, const struct attn_table *table);

/* Draws TABLE into OUTPUT, a file or a sink. OPTIONS may be NULL. Errors have a stage:
 * ATTN_STAGE_OPTIONS with ATTN_INVALID if the column is missing or has no numbers, if the table has
 * no cells, or if the picture would be too large. */
ATTN_API enum attn_status attn_table_picture_write(const struct attn_table *table,
                                                   const struct attn_table_picture *picture,
                                                   const struct attn_picture_options *options,
                                                   const struct attn_output *output,
                                                   struct attn_error *err);

/* Writes TABLE in STYLE, with a caption that states what the `values` of PICTURE are, the model and
 * the texts. The first `n_label` columns name a group. */
ATTN_API enum attn_status attn_table_write_captioned(const struct attn_table *table,
                                                     const struct attn_table_picture *picture,
                                                     const struct attn_table_style *style,
                                                     struct attn_sink *sink,
                                                     struct attn_error *err);

#endif
