/*
 * explain_internal.h - the arithmetic of one row as text (explain_text.c) and as a figure
 * (explain_figure.c). For the library and the tool alone.
 *
 *     if (attn_explain_figure_is_format(output.format))
 *         status = attn_explain_figure_write(row, labels, &picture, &output, &err);
 *
 * The text has one section per step. The middle of long vectors and of many keys is left out and
 * replaced by one sum, so that the numbers that are shown add up.
 *
 * The figure shows the query, and for each key its vector, score, weight and value, down to the sum
 * that is z. The strongest key has a frame. Vectors are strips of cells, blue below 0 and orange
 * above; each kind of vector has its own scale.
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_INTERNAL_H
#define ATTN_EXPLAIN_EXPLAIN_INTERNAL_H

#include "base/sink.h"
#include "explain/explain.h"
#include "writers/outputs.h"
#include "writers/picture.h"

/* The run of the row. */
struct attn_explained_run {
    const struct attn_config *config;      /* of the stack; NULL: attention on arrays */
    const struct attn_attend_args *arrays; /* those; NULL: a model is run */
    const struct attn_labels *labels;
};

/* Writes ROW of RUN as text. */
enum attn_status attn_explanation_print(const struct attn_explanation *row,
                                        const struct attn_explained_run *run, struct attn_sink *out,
                                        struct attn_error *err);

/* Whether FORMAT is one of figures, as svg. */
bool attn_explain_figure_is_format(const struct attn_format *format);

/* Draws ROW into OUTPUT: a file, or a sink. LABELS are those of the run. ATTN_INVALID, at the stage
 * ATTN_STAGE_OPTIONS, if the row has too many keys for a figure, or the path is a directory. */
enum attn_status attn_explain_figure_write(const struct attn_explanation *row,
                                           const struct attn_labels *labels,
                                           const struct attn_picture_options *picture,
                                           const struct attn_output *output,
                                           struct attn_error *err);

#endif
