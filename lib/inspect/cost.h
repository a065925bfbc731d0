/*
 * cost.h - what a model holds, and what a run costs before it is made.
 *
 *     struct attn_cost cost;
 *     if (attn_cost_find(model, 1024, 0, &cost, &err) == ATTN_OK)
 *         printf("%" PRIu64 " multiply-adds\n", cost.matrices);
 *
 * A run is the whole model over T positions in one feed: every layer, and the logits of every
 * position where there is an output layer. A run of which fewer tensors are wanted costs less.
 * Numbers that do not fit are UINT64_MAX.
 *
 * Letters as in trace/site.h, for each layer its own: S is T, or the rows of the source where the
 * layer attends to one, and Ds the width of what its keys and values are made of. P are the pairs
 * of query and key that the mask leaves: T (T + 1) / 2 when it is causal, else T S.
 */
#ifndef ATTN_INSPECT_COST_H
#define ATTN_INSPECT_COST_H

#include "model/model.h"
#include "trace/site.h"

#include <stdint.h>

/* Elements of the tensors that a model uses. */
struct attn_parameters {
    uint64_t embedding, positions;
    uint64_t attention; /* q, k, v and output projection with their biases, all layers */
    uint64_t mlp;       /* with its biases, all layers */
    uint64_t norms;     /* all layers, and the final one */
    uint64_t output;    /* 0 when it is tied to the embedding */
};

struct attn_cost {
    size_t n_position; /* T */
    size_t n_source;   /* rows of the source; 0 when no layer attends to one */
    uint64_t n_pair;   /* H P, added over the layers */

    /* Multiply-adds of the matrix products, added over the layers. Elementwise work is small
     * compared with them. */
    uint64_t projections; /* T D H E + S Ds G (E + Ev), and T H Ev D for the output projection */
    uint64_t matrices;    /* q k^T and pattern v: H P (E + Ev) */
    uint64_t mlp;         /* 2 T D F; 3 T D F with a gate */
    uint64_t output;      /* T D V, once */

    /* Bytes. */
    uint64_t weights; /* those that are read; of the embedding, one row a position at most */
    uint64_t session; /* attn_session_measure: one thread, the default sites, one layer cached */
    uint64_t keys_values;             /* S G (E + Ev) floats a layer: the cache of all layers */
    uint64_t keys_values_plain;       /* the same with a key/value head for each query head */
    uint64_t keys_values_multi_query; /* the same with one for all of them */
    uint64_t sites[ATTN_N_SITE];      /* each tensor of all layers, whole; 0: not in the model */
};

/*
 * For N positions, and N_SOURCE rows of a source, which only counts when a layer attends to it.
 * ATTN_INVALID when they do not fit the model.
 */
enum attn_status attn_cost_find(const struct attn_model *model, size_t n, size_t n_source,
                                struct attn_cost *cost, struct attn_error *err);

struct attn_parameters attn_model_parameters(const struct attn_model *model);

/* What the attention of all layers costs. */
struct attn_kind_cost {
    uint64_t n_pair; /* of a query and a key, added over heads and layers; 0 of linear attention */
    uint64_t matrices; /* multiply-adds, those of q k^T and pattern v where there are pairs */
};

/*
 * The attention of the run that COST is of, when every layer attends by KIND, "window:64", within
 * the mask that it has. ATTN_INVALID when KIND is none, or a layer cannot be of it: low-rank
 * attention that is causal.
 */
enum attn_status attn_cost_find_kind(const struct attn_model *model, const struct attn_cost *cost,
                                     const char *kind, struct attn_kind_cost *found,
                                     struct attn_error *err);

#endif
