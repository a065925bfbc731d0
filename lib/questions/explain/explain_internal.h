/*
 * explain_internal.h - the arithmetic of one row as text (explain_steps.c) and as a picture
 * (explain_picture.c). For use inside the library and the tool only.
 *
 *     if (attn_explanation_is_drawn(output.format))
 *         status = attn_explanation_draw(row, labels, &options, &output, &err);
 *
 * The text has one section per step, most with a table. In long vectors, and if there are many
 * keys, the middle is replaced by a single sum, so that the numbers that are shown add up.
 *
 * The picture shows the query, and for each key its vector, score, weight and value, down to the
 * sum that is z. The strongest key has a frame. Vectors are strips of cells, blue below 0 and
 * orange above; each kind of vector has its own scale.
 */
#pragma once

#include "explain/explain.h"
#include "pictures/picture.h"
#include "tensors/outputs.h"

/* The run to which the row belongs. */
struct attn_explained_run {
    const struct attn_config *config;      /* config of the stack; NULL: attention on arrays */
    const struct attn_attend_args *arrays; /* the input arrays; NULL: a model is run */
    const struct attn_labels *labels;
};

/* Creates the table from which ROW is drawn: key, token, a mark of the strongest key, vectors and
 * numbers of each key; also q and z. */
enum attn_status attn_explanation_tabulate(const struct attn_explanation *row,
                                           const struct attn_labels *labels,
                                           struct attn_table **table, struct attn_error *err);

/* Writes ROW of RUN as text. */
enum attn_status attn_explanation_print(const struct attn_explanation *row,
                                        const struct attn_explained_run *run, struct attn_sink *out,
                                        struct attn_error *err);

/* Returns true if FORMAT is a format of figures, such as svg. */
bool attn_explanation_is_drawn(const struct attn_format *format);

/* Draws ROW to OUTPUT, a file or a sink. LABELS are those of the
 * run. ATTN_INVALID, at the stage ATTN_STAGE_OPTIONS, if the row has too many keys for a figure, or
 * if the path is a directory. */
enum attn_status attn_explanation_draw(const struct attn_explanation *row,
                                       const struct attn_labels *labels,
                                       const struct attn_picture_options *options,
                                       const struct attn_output *output, struct attn_error *err);
