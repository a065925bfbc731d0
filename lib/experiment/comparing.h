/*
 * comparing.h - a comparison in the making. For the files of this layer.
 *
 * The exact run comes first, and q, k, v and z of its layers are kept. Rows of its pattern are not:
 * they are computed again from q and k when the rows to compare them with are told.
 */
#ifndef ATTN_EXPERIMENT_COMPARING_H
#define ATTN_EXPERIMENT_COMPARING_H

#include "attention/attend.h"
#include "capture/capture.h"
#include "experiment/compare.h"

struct attn_comparing {
    const struct attn_compare_args *args;  /* a model's run, or NULL: arrays */
    const struct attn_config *config;      /* of the model */
    const struct attn_attend_args *arrays; /* NULL: a model's run */
    const struct attn_selection *selection;
    size_t n_recalled;
    struct attn_pool *pool;
    struct attn_dims dims;                      /* of run or arrays */
    struct attn_attention *chosen, *exact;      /* owns; [n_layer] each, settled */
    struct attn_selection *kept;                /* owns; sites q, k, v and z */
    struct attn_capture *capture;               /* owns; of the exact run */
    struct attn_session *exact_run, *run;       /* owns */
    struct attn_difference_sums *local;         /* owns; [n_layer, H] */
    struct attn_difference_sums *propagated;    /* owns; [n_layer, H] */
    struct attn_row_difference *row_difference; /* owns; [n_position] scratch */
    bool *is_row_counted;                       /* owns; [n_position] scratch */
};

/* Queries and keys of LAYER, whose heads are numbered as in the run, for its ATTENTION. */
struct attn_attend_args attn_comparing_inputs(const struct attn_comparing *comparing, int layer,
                                              const struct attn_attention *attention);

/* A trace of what was chosen, told against the exact run. */
struct attn_head_pass {
    struct attn_comparing *comparing;
    int layer;                         /* of the events, or ATTN_ALL_LAYERS: as they say */
    struct attn_difference_sums *sums; /* [n_layer, H], comparing->local or ->propagated */
};

/* An attn_trace_fn for patterns and z; USER is a struct attn_head_pass. */
enum attn_status attn_compare_event(void *user, const struct attn_trace_event *event,
                                    struct attn_error *err);

/* Adds up all heads of LAYER, computed from the inputs that the exact run had. */
enum attn_status attn_compare_locally(struct attn_comparing *comparing, int layer,
                                      struct attn_error *err);

/* What ATTENTION costs in LAYER, measured. */
enum attn_status attn_compare_cost(const struct attn_comparing *comparing, int layer,
                                   const struct attn_attention *attention,
                                   struct attn_attention_cost *cost, struct attn_error *err);

/* Compares the logits of the two runs after the selected queries: LOGITS [their number]. */
enum attn_status attn_compare_logits(struct attn_comparing *comparing,
                                     struct attn_compared_logits *logits, struct attn_error *err);

#endif
