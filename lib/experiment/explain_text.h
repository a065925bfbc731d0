/*
 * explain_text.h - the arithmetic of one row as text, step by step, as explain_figure.h draws it.
 *
 * The middle of long vectors and of many keys is left out and stands as one sum, so the numbers
 * that are shown add up.
 */
#ifndef ATTN_EXPERIMENT_EXPLAIN_TEXT_H
#define ATTN_EXPERIMENT_EXPLAIN_TEXT_H

#include "base/sink.h"
#include "experiment/explain.h"
#include "output/output.h"

/* What the row is of. */
struct attn_explained_run {
    const struct attn_config *config;      /* of the model; NULL: attention on arrays */
    const struct attn_attend_args *arrays; /* those; NULL: a model is run */
    const struct attn_labels *labels;
};

/* Writes ROW, which RUN has computed. */
enum attn_status attn_explanation_print(const struct attn_explanation *row,
                                        const struct attn_explained_run *run, struct attn_sink *out,
                                        struct attn_error *err);

#endif
