/*
 * explain.h - run --explain: the arithmetic of one row of one head, as a teacher writes it on a
 * blackboard.
 *
 *     explain_watch(&explain, &subject, &trace);   // TRACE now feeds the page as well
 *     ... the session runs with that trace ...
 *     explain_print(&explain, out);
 *
 * What the run computed comes from its trace. The steps between that no site holds (a product, an
 * exponential) are computed here, and every sum must come to what the trace says.
 */
#ifndef CMD_EXPLAIN_H
#define CMD_EXPLAIN_H

#include "options.h"

#include "attn.h"

/* --explain, which fills a bool. */
extern const struct option_group explain_options;

/* What is run. Borrowed as long as the struct explain. */
struct explain_subject {
    const struct attn_config *config;       /* of the model; NULL: attention on arrays */
    const struct attn_attend_args *arrays;  /* those; NULL: a model is run */
    const struct attn_attention *attention; /* [n_layer] */
    const struct attn_labels *labels;
    const struct attn_edit *edits; /* [n_edit] */
    size_t n_edit;
};

/* One row. Arrays are owned. Cells are those of keys that take part in the softmax. */
struct explained {
    int layer, head, kv_head;
    size_t query;
    size_t d_model, d_head, d_value;
    size_t n_key, n_cell, n_visible;
    bool has_products, has_values;          /* false: scores were given; there is no z */
    float *x, *q, *z;                       /* [d_model], [d_head], [d_value] */
    float *k, *v;                           /* [n_key, d_head], [n_key, d_value] */
    size_t *keys;                           /* [n_cell] ascending */
    float *qk, *scores, *pattern, *weights; /* [n_cell]; weights: what dropout leaves */
    bool *is_visible;                       /* [n_cell]: the mask leaves it */
};

/* Initialize with = {0}. */
struct explain {
    struct explain_subject subject;
    struct explained row;
    struct attn_selection *selection; /* owns; what the trace wants and the page needs */
    struct attn_trace next;           /* what the trace was */
    bool is_wanted;
};

/* Refuses the page beside data on standard output. Reports and returns an exit code. */
int explain_check(bool is_wanted, bool is_standard_used);

/* Puts the page in front of what TRACE feeds. Reports what cannot be explained, and a selection of
 * more or less than one row; returns an exit code. */
int explain_watch(struct explain *explain, const struct explain_subject *subject,
                  struct attn_trace *trace);

/* After the run. Reports and returns an exit code: EXIT_CHECK when a sum comes to something else
 * than the run says. Without explain_watch it does nothing. */
int explain_print(struct explain *explain, struct attn_sink *out);

void explain_release(struct explain *explain);

#endif
