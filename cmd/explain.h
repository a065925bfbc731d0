/*
 * explain.h - run --explain: the arithmetic of one row of one head, step by step, as text.
 *
 *     explain_watch(&explain, &run, &trace);   // TRACE now feeds the explanation as well
 *     ... the session runs with that trace ...
 *     explain_print(&explain, out);
 *
 * The numbers are those of experiment/explain.h. Long vectors and many keys are left out in the
 * middle, their sums are not: the numbers that are shown add up.
 */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include "options.h"

#include "attn.h"

/* --explain, which fills a bool. */
extern const struct option_group explain_options;

/* What is run. Borrowed as long as the struct explain. */
struct explained_run {
    const struct attn_config *config;       /* of the model; NULL: attention on arrays */
    const struct attn_attend_args *arrays;  /* those; NULL: a model is run */
    const struct attn_attention *attention; /* [n_layer] */
    const struct attn_labels *labels;
    const struct attn_edit *edits; /* [n_edit] */
    size_t n_edit;
};

/* Initialize with = {0}. */
struct explain {
    struct explained_run run;
    struct attn_explainer *explainer; /* owns; NULL without explain_watch */
};

/* Refuses the explanation beside data on standard output, and makes the last query the default of
 * *queries, the value of --queries. Reports and returns an exit code. */
int explain_check(bool is_wanted, bool is_standard_used, const char **queries);

/* Puts the explanation in front of what TRACE feeds. Reports what cannot be explained, and a
 * selection of more or less than one row; returns an exit code. */
int explain_watch(struct explain *explain, const struct explained_run *run,
                  struct attn_trace *trace);

/* After the run. Reports and returns an exit code: EXIT_CHECK when a sum comes to something else
 * than the run says. Without explain_watch it does nothing. */
int explain_print(struct explain *explain, struct attn_sink *out);

void explain_release(struct explain *explain);

#endif
