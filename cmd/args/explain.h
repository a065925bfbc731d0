/*
 * explain.h - run --explain: the arithmetic of one row of one head, step by step, as text.
 *
 * The numbers are those of experiment/explain.h. The middle of long vectors and of many keys is
 * left out and stands as one sum, so the numbers that are shown add up.
 */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include "cmd/line/options.h"

#include "attn.h"

/* --explain, which fills a bool. */
extern const struct option_group explain_options;

/* The run that the row is from. */
struct explained_run {
    const struct attn_config *config;      /* of the model; NULL: attention on arrays */
    const struct attn_attend_args *arrays; /* those; NULL: a model is run */
    const struct attn_labels *labels;
};

/* Refuses an explanation where data goes to standard output. */
enum attn_status explain_check(bool is_standard_used, struct attn_error *err);

/* Puts those of OUTPUTS [*n] that draw an explanation after the others. Returns how many these
 * are; *n becomes the number of the others. */
size_t explain_take_figures(struct attn_output *outputs, size_t *n);

/* Prints ROW, which RUN has computed. */
enum attn_status explain_print(const struct attn_explanation *row, const struct explained_run *run,
                               struct attn_sink *out, struct attn_error *err);

#endif
