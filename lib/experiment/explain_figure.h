/*
 * explain_figure.h - the arithmetic of one row as a figure: the query, and for each key its vector,
 * score, weight and value, down to the sum that is z. The strongest key has a frame.
 *
 *     if (attn_explain_figure_is_format(output.format))
 *         status = attn_explain_figure_write(row, labels, &picture, &output, &err);
 *
 * Vectors are strips of cells, blue below 0 and orange above, each kind of vector to its largest.
 */
#ifndef ATTN_EXPERIMENT_EXPLAIN_FIGURE_H
#define ATTN_EXPERIMENT_EXPLAIN_FIGURE_H

#include "experiment/explain.h"
#include "output/outputs.h"
#include "output/picture.h"

/* Whether FORMAT is one of figures, as svg. */
bool attn_explain_figure_is_format(const struct attn_format *format);

/* Draws ROW into OUTPUT: a file, or a sink. LABELS are those of the run. ATTN_INVALID, at the stage
 * ATTN_STAGE_OPTIONS, for more keys than a figure has room for, and for a directory. */
enum attn_status attn_explain_figure_write(const struct attn_explanation *row,
                                           const struct attn_labels *labels,
                                           const struct attn_picture_options *picture,
                                           const struct attn_output *output,
                                           struct attn_error *err);

#endif
