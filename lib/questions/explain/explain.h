/*
 * explain.h - the arithmetic of one row of one head: products, scores, weights, context vector, and
 * every number between them.
 *
 *     struct attn_explain_args args = ATTN_EXPLAIN_ARGS_DEFAULT;
 *     args.config = attn_model_config(model);
 *     args.selection = selection; // attn_selection_add_head and attn_selection_add_queries
 *     struct attn_explainer *explainer;
 *     const struct attn_explanation *row;
 *     attn_explainer_create(&args, &explainer, &err);
 *     options.trace = attn_explainer_trace(explainer);
 *     attn_session_feed(session, ids, n, &err);
 *     attn_explainer_finish(explainer, &row, &err);        // row->keys[3].exponential
 *     attn_explainer_free(explainer);
 *
 * Tensors come from the trace of the run. Numbers that are not a site (products, exponentials,
 * sums) are computed here in double precision, and every sum is checked against the trace.
 *
 * Letters as in trace/site.h: D d_model, E d_head, Ev d_value.
 */
#ifndef ATTN_EXPLAIN_EXPLAIN_H
#define ATTN_EXPLAIN_EXPLAIN_H

#include "attention/attention.h"
#include "forward/session.h"
#include "kernels/gemm.h"
#include "trace/edit.h"

struct attn_attend_args;
struct attn_config;
struct attn_dims;

/* The row to explain, and its run. */
struct attn_explain_args {
    size_t size; /* size of this struct */
    /* selection of the run; it must select one head and one query */
    const struct attn_selection *selection;
    /* [n_layer] attention of the decoder or, if only the encoder is selected, of the encoder; for
     * arrays [1]. NULL: as in `config` */
    const struct attn_attention *attention;
    const struct attn_attend_args *arrays; /* attention/attend.h; NULL: a model is run */
    const struct attn_edit *edits;         /* [n_edit] edits of the run */
    size_t n_edit;
    const struct attn_config *config; /* config of the same stack; NULL: attention on arrays */
    enum attn_compute compute;        /* type in which the run multiplies */
    /* Borrowed; masks for the keys of the text and of the source: keys with 0 are masked and not
     * shown. Or NULL. */
    const int32_t *key_mask, *source_mask;
    /* Numbers by which rotary positions turn, as in the options of the session. */
    struct attn_position_numbers positions;
};

/* Sets ARGS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_explain_args *attn_explain_args_init(struct attn_explain_args *args,
                                                          size_t size);
#define ATTN_EXPLAIN_ARGS_DEFAULT ATTN_DEFAULT_OF(attn_explain_args)

/* A key that takes part in the softmax. */
struct attn_explained_key {
    size_t key;         /* position of the key */
    bool is_visible;    /* false: masked after the softmax, which sets the weight to 0 */
    float fit;          /* q.k, or the cosine of q and k, or the given score */
    double bias;        /* bias for the positions that is added to the scaled fit (ALiBi); or 0 */
    double scaled;      /* fit times factor / divisor, plus the bias */
    float score;        /* `scaled` after the soft cap, if any */
    float weight;       /* weight in the pattern */
    float kept;         /* the weight after dropout */
    double exponential; /* exp(score - largest score) */
    double k_length;    /* |k| */
    const float *k, *v; /* [E] as used for scores; [Ev] */
    float c2p, p2c;     /* the sites of these names, whose sum is the bias in DeBERTa; else 0 */
};

/* How the position of the query rotates it; all 0 unless the model has rotary positions. */
struct attn_explained_rotation {
    const float *projected; /* [E] output of the projection */
    const float *normed;    /* [E] input of the rotation: normalized if the model does so */
    /* [n_pair] component i is rotated with component i + n_pair, by this angle per position */
    const float *frequencies;
    size_t n_pair;         /* 0: this layer has no rotation */
    bool has_qk_norm;      /* q and k are normalized before the rotation */
    bool turns_neighbours; /* component 2i is rotated with 2i + 1 instead */
    /* Numbers of the position of the query. Models of pictures have three, each of which rotates a
     * section of the components; others have one. */
    size_t numbers[3];
};

struct attn_explanation {
    const struct attn_attention *attention; /* attention of the layer */
    struct attn_location at;                /* location of the head's pattern */
    int kv_head;
    size_t query;
    bool is_cross;                /* the keys are positions of a source */
    const struct attn_dims *dims; /* sizes of the run: D, E, Ev */
    size_t n_key;                 /* number of keys to which the layer attends */
    /* number of visible keys: neither masked nor excluded by the kind of attention */
    size_t n_visible;
    const float *x;        /* [D] input of the block; zeros for arrays */
    const float *q;        /* [E] as used for scores, after norm and rotation. NULL: no q and k, the
                              scores were given */
    const float *z;        /* [Ev]; NULL: no v */
    const float *attn_out; /* output of the layer from the z of all heads; or NULL */
    double q_length;       /* |q| */
    double divisor;        /* sqrt(E) + eps, or 1 */
    struct attn_explained_rotation rotation;

    const struct attn_explained_key *keys; /* [n_cell] ascending by position */
    size_t n_cell;                         /* number of keys in the softmax; 0: every weight is 0 */
    size_t largest;         /* index of the first key with the largest score; 0 when n_cell is 0 */
    size_t strongest;       /* index of the first key with the largest `kept`; 0 when n_cell is 0 */
    double exponential_sum; /* sum over all keys in the softmax, including the sink */
    const float *sink;      /* score of the head's sink; NULL: no sink */
    double sink_exponential; /* exp(sink - largest score); 0: no sink */
    double visible_share;    /* sum of exponential / exponential_sum over visible keys */
    bool is_rounded;         /* q, k, v and `kept` are rounded to bfloat16, as in the run */
};

struct attn_explainer; /* a trace that collects one row */

/* Creates an explainer. ARGS are only used during the call. Errors: ATTN_INVALID at the stage
 * ATTN_STAGE_OPTIONS if more than one head or query is selected, if the attention has no softmax
 * over keys (linear, low-rank), or if the head is edited; ATTN_NO_MEMORY. */
ATTN_API enum attn_status attn_explainer_create(const struct attn_explain_args *args,
                                                struct attn_explainer **explainer,
                                                struct attn_error *err);

/* Returns the trace to pass to a session, attn_attend or attn_run_perform. Its selection contains
 * the sites that the explanation needs and those of the run. Borrowed from the explainer. */
ATTN_API const struct attn_trace *attn_explainer_trace(const struct attn_explainer *explainer);

/* Computes the numbers between the sites. Call once, after the run. *EXPLANATION is borrowed from
 * the explainer. Errors: ATTN_INVALID at the stage ATTN_STAGE_CHECK if a sum differs from that of
 * the run by more than float32 rounding of its terms can explain. */
ATTN_API enum attn_status attn_explainer_finish(struct attn_explainer *explainer,
                                                const struct attn_explanation **explanation,
                                                struct attn_error *err);

ATTN_API void attn_explainer_free(struct attn_explainer *explainer); /* NULL is allowed */

#endif
