/*
 * table_picture.h - tables as pictures: one column of numbers, laid out by two others.
 *
 *     const struct attn_table_picture picture = {
 *         .view = {.rows = ATTN_ROLE_LAYER, .columns = ATTN_ROLE_HEAD,
 *                  .values = ATTN_TABLE_COLUMN(4)},
 *         .model = "fable"};
 *     attn_table_picture_check(&output, &err); // before the table is made
 *     attn_table_picture_write(table, &picture, &options, &output, &err);
 *
 * Each value of the columns `rows` and `columns` that the table has is a row and a column of the
 * picture, numbers ascending, texts in the order in which they come first; a row of the table
 * without one of them is left out. Where several rows of the table fall on one cell, the first
 * counts. Cells without a value look like masked ones. Colours follow from the range of the column
 * (base/column.h): shares from 0 to 1 by their square root, or ATTN_TRAIT_LINEAR, other numbers
 * from 0, or symmetric about 0, to the largest.
 *
 * html is a page with this map and all of the table; where a request names table and picture among
 * its outputs (run/request.h), with the patterns of that run, too.
 */
#ifndef ATTN_FIGURES_TABLE_PICTURE_H
#define ATTN_FIGURES_TABLE_PICTURE_H

#include "grid/table_view.h"
#include "tables/table_writer.h"
#include "writers/outputs.h"

/* Checks that OUTPUT is one file of png, svg, pdf, html, or heatmap as text, and that the libraries
 * are there. Errors have a stage. */
ATTN_API enum attn_status attn_table_picture_check(const struct attn_output *output,
                                                   struct attn_error *err);

/* Lets PICTURE show the column NAME of TABLE instead of that of its view. Errors have a stage:
 * ATTN_INVALID at that of options for a column without numbers, and for one of the view's sides. */
ATTN_API enum attn_status attn_table_picture_show(struct attn_table_picture *picture,
                                                  const struct attn_table *table, const char *name,
                                                  struct attn_error *err);

/* The column of TABLE that PICTURE shows; NULL if it is missing. */
ATTN_API const struct attn_column *
attn_table_picture_column(const struct attn_table_picture *picture, const struct attn_table *table);

/* Draws TABLE into OUTPUT, a file or a sink. OPTIONS may be NULL. Errors have a stage: ATTN_INVALID
 * at that of options for a missing column, one without numbers, a table without cells, and a
 * picture that would be too large. */
ATTN_API enum attn_status attn_table_picture_write(const struct attn_table *table,
                                                   const struct attn_table_picture *picture,
                                                   const struct attn_picture_options *options,
                                                   const struct attn_output *output,
                                                   struct attn_error *err);

/* Writes TABLE as STYLE has it. The caption is made of the words of PICTURE: what its `values` are,
 * model and texts; its `n_label` columns name a group. */
ATTN_API enum attn_status attn_table_write_captioned(const struct attn_table *table,
                                                     const struct attn_table_picture *picture,
                                                     const struct attn_table_style *style,
                                                     struct attn_sink *sink,
                                                     struct attn_error *err);

#endif
