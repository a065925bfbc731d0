/*
 * cost.h - the parameters of a model, and the cost of a run, computed without running it.
 *
 *     struct attn_cost cost;
 *     if (attn_cost_find(model, 1024, 0, &cost, &err) == ATTN_OK)
 *         printf("%" PRIu64 " multiply-adds\n", cost.matrices);
 *
 * A run is the whole model over T positions in one feed: every layer, and the logits of every
 * position if there is an output layer. A run that needs fewer tensors costs less. Numbers that
 * overflow are UINT64_MAX.
 *
 * Letters are those in trace/site.h, per layer: S is T, or the number of source rows if the layer
 * attends to a source, and Ds the width of the rows that keys and values are computed from. P is
 * the number of pairs of query and key that are not masked: T (T + 1) / 2 with a causal mask,
 * otherwise T S.
 */
#pragma once

#include "model/model.h"
#include "trace/site.h"

#include <stdint.h>

struct attn_attention;

/* Numbers of elements in the tensors that a model uses. */
struct attn_parameters {
    uint64_t embedding, positions;
    uint64_t attention; /* q, k, v and output projection with their biases, all layers */
    uint64_t mlp;       /* with its biases, in all layers */
    uint64_t norms;     /* in all layers, and the final norm */
    uint64_t output;    /* 0 if it is tied to the embedding */
    uint64_t total;
    uint64_t active; /* without the experts that a token does not use */
};

struct attn_cost {
    size_t n_position; /* T */
    size_t n_source;   /* rows of the source; 0 if no layer attends to a source */
    uint64_t n_pair;   /* H P, summed over the layers */

    /* Multiply-adds of the matrix products, summed over the layers; elementwise work is small. */
    uint64_t projections; /* T D H E + S Ds G (E + Ev), and T H Ev D for the output projection */
    uint64_t matrices;    /* q k^T and pattern v: H P (E + Ev) */
    uint64_t mlp;         /* 2 T D F; 3 T D F with a gate */
    uint64_t output;      /* T D V, once */

    /* Sizes in bytes. */
    /* weights that a run reads; of the embedding at most one row per position, of experts only
     * those that are chosen */
    uint64_t weights;
    uint64_t session; /* attn_session_measure: one thread, the default sites, one layer cached */
    uint64_t keys_values;             /* S G (E + Ev) floats per layer: the cache of all layers */
    uint64_t keys_values_plain;       /* the same if each query head had its own key/value head */
    uint64_t keys_values_multi_query; /* the same with one key/value head for all query heads */
    uint64_t sites[ATTN_N_SITE];      /* whole tensors of all layers; 0: the model lacks the site */
};

/* Computes the cost of a run of N positions and N_SOURCE rows of a source, including an encoder,
 * which reads the source once. N_SOURCE is ignored unless a layer attends to a source. ATTN_INVALID
 * if they do not fit the model. */
enum attn_status attn_cost_find(const struct attn_model *model, size_t n, size_t n_source,
                                struct attn_cost *cost, struct attn_error *err);

/* The work of a run with any attention. */
struct attn_work {
    uint64_t multiply_adds; /* multiply-adds of all matrix products */
    uint64_t n_pair;        /* H P, summed over the layers */
};

/* Returns the work of N positions and N_SOURCE rows of a source with the attention of LAYERS
 * [n_layer], whose strides are resolved. With NULL, the model's own attention is used, whose work
 * is found without a loop over pairs. */
struct attn_work attn_cost_work(const struct attn_model *model, size_t n, size_t n_source,
                                const struct attn_attention *layers);

/* Returns the parameters of a model; with two stacks, those of both. */
struct attn_parameters attn_model_parameters(const struct attn_model *model);

/* Returns the number of elements in the encoder of MODEL that the decoder does not share. MODEL
 * must have an encoder. */
uint64_t attn_encoder_parameters(const struct attn_model *model);

/* The cost of the attention of all layers. */
struct attn_kind_cost {
    /* pairs of queries and keys, summed over heads and layers; 0 for linear attention */
    uint64_t n_pair;
    uint64_t matrices; /* multiply-adds; for attention with pairs, those of q k^T and pattern v */
};

/* Computes the cost of the attention in COST's run if every layer had KIND, such as "window:64",
 * with the layer's own mask. ATTN_INVALID if KIND is unknown, or if a layer does not support it. */
enum attn_status attn_cost_find_kind(const struct attn_model *model, const struct attn_cost *cost,
                                     const char *kind, struct attn_kind_cost *found,
                                     struct attn_error *err);
