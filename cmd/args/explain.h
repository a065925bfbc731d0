/*
 * explain.h - run --explain: the arithmetic of one row of one head, step by step, as text.
 *
 * The numbers are those of experiment/explain.h. The middle of long vectors and of many keys is
 * left out and stands as one sum, so the numbers that are shown add up.
 */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include "cmd/line/options.h"

#include "extra.h"

/* --explain, which fills a bool. */
extern const struct option_group explain_options;

/* What the row is of. */
struct explained_run {
    const struct attn_config *config;      /* of the model; NULL: attention on arrays */
    const struct attn_attend_args *arrays; /* those; NULL: a model is run */
    const struct attn_labels *labels;
};

/* Refuses the explanation beside data on standard output, and makes the last query the default of
 * *queries, the value of --queries. Reports and returns an exit code. */
int explain_check(bool is_wanted, bool is_standard_used, const char **queries);

/* Puts those of OUTPUTS [*n] that draw an explanation after the others. Returns how many these
 * are; *n becomes the number of the others. */
size_t explain_take_figures(struct attn_output *outputs, size_t *n);

/* Prints ROW, which RUN has computed. Reports and returns an exit code. */
int explain_print(const struct attn_explanation *row, const struct explained_run *run,
                  struct attn_sink *out);

#endif
