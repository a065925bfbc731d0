/*
 * forward_internal.h - the state of a forward pass: a model, the attention of its layers, edits, a
 * trace, and buffers. Each session has one.
 *
 * A pass runs in feeds. A feed takes rows through the layers (decoder.c): positions of one
 * sequence, or of several sequences, stacked. Products, norms and sums treat all rows alike; each
 * sequence has separate positions, keys and values, attention, edits and events. When a feed fails,
 * or has reached the last tensor that is needed, its later lines do nothing.
 *
 * The files of this layer; each calls only those above it:
 *     rotary                 the angles that rotate q and k
 *     weight_buffer          weights that are copied just before they are used
 *     forward*               buffers and their memory, and how far to compute; visits, which
 *                            apply the edits of a tensor and then pass it to the trace
 *     step, step_attention   one equation: a norm, a linear map, attention, a sum
 *     block, decoder         the equations of a block, and of the layers before and after
 *     session*               the interface for callers: ids in, logits out
 */
#pragma once

#include "attention/heads.h"
#include "base/memory.h"
#include "forward/rotary.h"
#include "model/config_fields.h"
#include "model/model_internal.h"
#include "trace/capture.h"
#include "trace/edit.h"
#include "trace/trace_internal.h"

#include <signal.h>
#include <stdatomic.h>

/* The place of a tensor in the order of computation: by layer, then by site. */
struct attn_step_place {
    int layer; /* -1: before the layers; n_layer: after the last one */
    enum attn_site site;
};

struct attn_backward;
struct attn_forward;

/* A buffer into which weights are copied from the file just before they are used, for a model that
 * runs once. Reading a matrix makes a copy that stays in the caches. If it is mapped instead, the
 * system maps each page of 4 KiB when it is touched, which takes twice as long. Results do not
 * depend on it. */
struct attn_weight_buffer {
    const struct attn_tensor_files *st; /* borrowed; NULL: the buffer is not used */
    unsigned char *bytes;               /* [capacity] */
    size_t capacity;                    /* 0: no matrix is worth copying */
    const unsigned char *first;         /* the address in a file's map that bytes[0] is a copy of */
    size_t size;                        /* bytes in the buffer; 0: it is empty */
};

/* Returns the capacity needed for the first N_LAYER layers of MODEL and, if HAS_LOGITS, the output
 * layer. */
size_t attn_weight_buffer_size(const struct attn_weight_buffer *buffer,
                               const struct attn_model *model, size_t n_layer, bool has_logits);

/* Runs attn_linear_run for ARGS [n] on POOL, with weights from the buffer where that is cheaper. */
void attn_weight_buffer_run_linear(struct attn_weight_buffer *buffer,
                                   const struct attn_linear_args *args, size_t n,
                                   struct attn_pool *pool);

/* The steps of a head that pools all rows of a picture (config.pool_head). */
struct attn_pool_steps {
    /* Returns the number of floats of pool_rows, for N positions. */
    size_t (*size)(const struct attn_forward *f, size_t n);
    /* Computes image_embed Y [D] from the rows X [n, D] of SEQUENCE, and visits the sites of the
     * head. */
    void (*run)(struct attn_forward *f, size_t sequence, const float *x, size_t n, float *y);
    /* The number of floats of b->pool_head (gradient/backward_internal.h), and the gradient DX
     * [n, D] of the rows from D [D], of image_embed, after the head ran. */
    size_t (*back_size)(const struct attn_config *config, size_t n);
    void (*back)(struct attn_backward *b, const float *d, float *dx);
};

/* What config.stream does to the rows of a feed. */
struct attn_stream_steps {
    size_t (*size)(const struct attn_config *config, size_t n); /* floats of f->stream */
    void (*begin)(struct attn_forward *f);            /* resid has the normalized embeddings */
    void (*enter)(struct attn_forward *f, int layer); /* before resid_pre */
    /* v [n_row, G*E] of the normalized rows X [n_row, D] of a block with W, before its site. */
    void (*values)(struct attn_forward *f, const struct attn_block_weights *w, const float *x,
                   float *v);
    void (*leave)(struct attn_forward *f, int layer); /* after resid_post */
    void (*end)(struct attn_forward *f);              /* before the last norm */
    /* Returns how often the output of *layer is taken from the last output; 0: not at all. */
    double (*backout)(const struct attn_model *model, int *layer);
};

/* The positions of one sequence in the current feed. */
struct attn_feed_part {
    size_t first;       /* index of its first row among the rows of the feed */
    size_t row0, n_row; /* its first position in the sequence, and their number */
    size_t n_dropped;   /* number of positions at the beginning that the last layer leaves out,
                           because their rows are not needed */
    size_t n_cut;       /* number of positions left out at the end; only for encoders */
    size_t left;        /* index of its first row among the rows of the feed that are not dropped */
    size_t logit0,
        n_logit;        /* positions of an encoder whose logits may be requested; n_logit 0: all */
    const int32_t *ids; /* [n_row]; NULL: embeddings were given */
    const int32_t *types;    /* [n_row]; NULL: all are of type 0 */
    const int32_t *key_mask; /* [n_row] for the whole sequence; NULL: no key is masked */
    /* n_row is 0 if there is no picture, or if the feed starts at a layer. */
    struct attn_image_grid grid;
    bool has_embeddings;           /* all rows of a picture were given, instead of its patches */
    const struct attn_edit *edits; /* [n_edit] */
    size_t n_edit;
    /* [n_edit] set to true for edits that changed a value; NULL without edits. */
    atomic_bool *has_effect;
    size_t n_edited;    /* number of rows that edits changed */
    size_t n_uncounted; /* number of edits, from the first on, whose rows do not count */
};

/* The rows of the current feed. */
struct attn_feed {
    size_t n_part, n_row;    /* number of sequences; rows of all of them */
    size_t n_left;           /* number of these rows that are not dropped */
    bool is_pack;            /* each sequence is complete, and independent of the others */
    bool has_edits;          /* at least one sequence has edits */
    bool has_functions;      /* at least one of these edits is a function */
    int first_layer;         /* the layer at which it starts; ATTN_NO_LAYER: at the embeddings */
    bool has_z;              /* it starts with z of that layer, which is given */
    int layer;               /* the current layer, or ATTN_NO_LAYER */
    bool is_finite;          /* the tensor that is being visited was checked to be finite */
    bool is_done;            /* the last needed tensor has been computed */
    enum attn_status status; /* the first failure */
    struct attn_error *err;
    struct attn_pool *pool; /* NULL if the work is too small for threads */
};

/* Linear maps that wait, to run side by side, and the sites to visit after that (step.c). */
struct attn_pending {
    struct attn_linear_args maps[ATTN_LINEAR_MOST];
    size_t n_map;
    struct attn_pending_visit {
        enum attn_site site;
        float *data;
    } visits[ATTN_LINEAR_MOST];
    size_t n_visit;
    atomic_bool is_violated; /* at least one result is NaN or infinite */
};

/* Receives how much of N like feeds is done, after each layer; `n_before` of them ended earlier. */
struct attn_feed_progress {
    attn_progress_fn on_part; /* its unit is a row of a layer; NULL: nobody is told */
    void *user;
    size_t n_row;       /* positions that will be fed */
    size_t n_before, n; /* n 0: the only feed */
};

/* Rows [n_layer, n, D] that are added to the outputs of the first layers, at the first N positions
 * of each sequence; n_layer is 0 without. Borrowed. */
struct attn_added_rows {
    const float *rows;
    size_t n_layer, n;
};

struct attn_forward {
    const struct attn_model *model;
    const struct attn_attention *attention; /* [n_layer] the attention with which each layer runs */
    const bool *has_own_stride; /* [n_layer]; the stride depends on the length, so each sequence of
                                   a pack has its own */
    const struct attn_trace *trace; /* NULL: no tensor is watched */
    bool is_trace_over;             /* it watches no later tensor */
    /* In the last layer that runs, only positions first_watched .. end_watched - 1 are watched. */
    size_t first_watched, end_watched;
    struct attn_step_place end; /* the last tensor that is needed */
    bool has_logits;            /* inputs of the output layer are kept for later */
    bool keeps_layer;   /* q, k, v, z and the MLP's rows of the last layer are kept in separate
                           memory, for a backward pass (backward.h) */
    bool is_projected;  /* text_embed, image_embed or sentence_embed is watched or needed, so all
                           rows are computed */
    bool is_rewindable; /* keys and values of all layers are kept after a feed, instead of those of
                           one layer */
    struct attn_dims dims;               /* n_position and n_source are the maximum at any time */
    const volatile sig_atomic_t *cancel; /* NULL: cannot be canceled */
    struct attn_feed_progress progress;
    struct attn_pool *pool; /* NULL: the caller's thread */
    int n_worker;

    enum attn_compute compute;
    enum attn_activation activation;       /* config.act_fn */
    enum attn_activation mixer_activation; /* of the convolution of layers without attention */
    enum attn_activation head_activation;  /* config.head_act_fn, if set */
    struct attn_gemm_engine engine;
    struct attn_head_shape shape;
    struct attn_engines engines; /* kernels for feeds of n_engine_row positions of a sequence */
    size_t n_engine_row;
    struct attn_weight_buffer weight_buffer;

    struct attn_feed feed;
    struct attn_pending pending;
    const int32_t *key_mask, *source_mask; /* masks of the options, or NULL */
    size_t n_key_mask, n_source_mask;
    struct attn_position_numbers positions; /* of the options */
    float *pool_rows; /* [(n + 2) * 3 d_model + d_mlp + n] of SigLIP's head, or NULL */
    struct attn_added_rows added;
    /* A capture of the whole run, of which a feed that begins in a middle layer takes what layers
     * leave to others than the next (resume.c); or NULL. Borrowed */
    const struct attn_capture *whole;
    int32_t *places; /* [3, n_position] of the patches of a picture, for DINOv3 */
    /* For DeBERTa: the places of the sequence and layer that were computed last; [2 n_position - 1]
     * the place of each distance; the rows of the table, and their keys and queries [n, D]; the
     * products; a tile of c2p; and [n_worker, E, 64]. Then the input of its convolution, and the
     * rows around each row [n_feed_row, D n_conv]. */
    struct attn_place_terms place_terms;
    int32_t *place_rows;
    float *place_table, *place_keys, *place_queries, *place_products, *place_cells, *place_panels;
    float *conv_input, *conv_rows;
    size_t n_source; /* rows of the source that is set */
    size_t n_cached; /* rows of the KV cache that may have been written */
    size_t n_text;   /* positions of the complete text, if these are more than have been fed */
    size_t n_turned; /* the text length by which keys in the cache were rotated */
    size_t n_known;  /* number of tokens, from the first on, whose ids are known */
    /* [n_position] these ids, kept if longer texts have other rotary factors; else NULL. */
    int32_t *ids;
    size_t n_edited; /* number of rows that edits changed */
    /* Borrowed: the files of rows that a caller gave, or NULL. */
    const char *embeddings_name, *source_name;

    /* Buffers, allocated by attn_plan_memory. */
    struct attn_feed_part *parts; /* [n_sequence] the sequences of the feed */
    /* [n_sequence] random streams of dropout during a feed; NULL without dropout. */
    struct attn_random *dropouts;
    size_t n_sequence; /* maximum number of sequences of a feed */
    size_t n_feed_row; /* maximum number of rows of a feed */
    float *source;     /* [dims.n_source, d_source] */
    /* [n_feed_row, D]; before the layers it contains the embedding, [n_feed_row, De]. */
    float *resid;
    float *normed;        /* [n_feed_row, D or De] */
    float *q, *k, *v, *z; /* [n_feed_row, H*E], [keys, G*E], [keys, G*Ev], [n_feed_row, H*Ev] */
    float *mlp;           /* [n_feed_row, F], in the memory of q, k, v and z */
    float *mlp_linear;    /* [n_feed_row, F] mlp_pre_linear, for a gated MLP */
    float *patches; /* [n_feed_row, pixels of a patch], in the same memory before the layers; rows
                       other than patches are 0 */
    float *out;     /* [n_feed_row, D, d_out or De]: attn_out, later mlp_out, or the MLM head */
    /* For mixtures, with n = n_feed_row: logits and weights [n, N], the chosen experts [n, K]; the
     * rows of one expert, its input and output [n, D], its gate and mlp_in [n, the widest expert].
     */
    float *router, *expert_weights, *expert_indices, *expert_x, *expert_y, *expert_g, *expert_u;
    size_t *expert_rows;
    /* [2, n, d_latent] the input of the experts, and the sum of their outputs; if they have norms
     * of their own, [n, D] the input; or NULL */
    float *latent;
    float *gate;   /* [n, H*Ev] the gate of attention */
    float *beside; /* [n, D] the normalized input of layers that mix beside attention, later
                      mixer_out */
    /* [n, n_layer * P] the inputs of all layers, or NULL; [n, P] those of a layer; [n_worker,
     * n_layer * P] the row of the table of a token. */
    float *layer_inputs, *layer_rows, *layer_table;
    float *stream; /* what config.stream keeps during a feed, or NULL */
    /* [n_layer]: the rows of k and v of a layer whose keys and values later ones attend to; NULL
     * for all others, which use `k` and `v`. NULL: no layer shares its keys. */
    struct attn_shared_rows {
        float *k, *v;
    } * shared;
    /* For layers without attention, with n = n_feed_row: what mixer_in computes; the input of the
     * convolution of ATTN_MIXER_CONV, or the convolved rows of ATTN_MIXER_DELTA; the sites mixer_q,
     * mixer_k, mixer_v, mixer_z, mixer_gate, decay and beta; and what the output map reads. */
    struct attn_mixer_rows {
        float *in, *u, *q, *k, *v, *z, *gate, *decay, *beta;
        const float *out;
        /* [layers of this kind, or 1 if nothing is fed later]: [attn_mixer_n_state]; and what
         * mixing needs of each position, if it is watched. */
        float *state, *past;
        float *cells; /* [n, n_position] mixing of a head */
        float *rests; /* [n_worker, dk] */
    } mixer;
    float *sinks;       /* [n, H] weights of the sinks */
    uint16_t *rounded;  /* [rows, inputs of the widest map], for products in bfloat16 */
    bool norm_has_mean; /* the norm in `vectors` subtracts the mean */
    float norm_eps;     /* its epsilon */
    float *vectors; /* [2, widest row of a norm or of positions]: weight and bias of a norm, or a
                       row of positions */
    struct attn_rotary *rotaries; /* [n_rotary]: one for each different rope of the layers */
    size_t n_rotary;
    float *projected; /* [n_sequence, d_projected], if is_projected */
    /* [n_sequence, D] the rows that `projected` is computed from; for sentences [n_step + 1,
     * n_sequence, most]: the inputs of all modules, and the vectors. */
    float *gathered;
    float *logits; /* [n_logit_row, V]: watched logits, a few rows at a time */
    size_t n_logit_row;
    float *final; /* [n_position, rows of W_U], if has_logits: the input of the output layer; for
                     classifiers one row per sequence */
    float *last_logits; /* [V] */
    struct attn_heads_memory heads;
    /* [n_layer]: the KV cache [G] of each layer with attention. Layers that attend to the keys of
     * one, and, unless has_all_caches, layers of the same sizes, have one together. */
    struct attn_kv **kv;
    bool has_all_caches;
};

/* Makes LAYER, or ATTN_NO_LAYER, the current one: `dims` and `shape` have its sizes, or the
 * largest. */
void attn_forward_enter(struct attn_forward *f, int layer);

/* Returns the sizes of attention of LAYER. */
struct attn_head_shape attn_forward_shape(const struct attn_forward *f, size_t layer);

/* Returns the first layer that has the KV cache of LAYER, which has attention. */
size_t attn_forward_cache_layer(const struct attn_forward *f, size_t layer);

/* The rows and heads of SITE in the current feed and layer. The heads lie side by side. */
struct attn_site_part {
    size_t n_row;  /* positions; or rows of the source, which are all fed with the first position */
    size_t n_head; /* 1 for sites without heads */
    size_t width;  /* columns of a head */
};
struct attn_site_part attn_forward_part(const struct attn_forward *f, enum attn_site site);

/* The rows of a site for one sequence of the feed. attn_feed_part_left returns the rows of PART
 * that were not dropped. */
struct attn_site_rows {
    size_t first;       /* index among the rows of the site in this feed */
    size_t row0, n_row; /* the first position in the sequence, and their number */
};
struct attn_site_rows attn_feed_part_left(const struct attn_feed_part *part);

/* Whether logits may be requested at the N_ROW positions from ROW0 on of an encoder's PART. */
bool attn_feed_part_has_logits(const struct attn_feed_part *part, size_t row0, size_t n_row);

struct attn_site_rows attn_forward_rows(const struct attn_forward *f, enum attn_site site,
                                        size_t sequence);

/* Returns the sequence of the feed that contains row ROW, counted over all rows of the feed, or, if
 * IS_LEFT, over rows that are not dropped. */
size_t attn_forward_find_sequence(const struct attn_forward *f, size_t row, bool is_left);

/* Whether the current layer reads keys and values from the source. */
bool attn_forward_is_cross(const struct attn_forward *f);

/* attn_forward_place returns the place of SITE of LAYER; LAYER is ignored for sites of the model.
 * attn_place_compare returns a number below 0, 0 or above 0 if A comes before B, is B, or comes
 * after B. */
struct attn_step_place attn_forward_place(const struct attn_forward *f, enum attn_site site,
                                          int layer);
int attn_place_compare(struct attn_step_place a, struct attn_step_place b);

/* Whether SITE of the current layer must be computed. */
bool attn_forward_needs(const struct attn_forward *f, enum attn_site site);

/* Whether HEAD of SITE (a key/value head for k and v) is needed in the current layer. If the pass
 * ends inside attention, only watched heads are; v is needed only if it is watched or z is needed.
 */
bool attn_forward_needs_head(const struct attn_forward *f, enum attn_site site, int head);

/* Whether the trace watches SITE of the current layer; and whether it watches the row of POSITION
 * in the last layer. */
bool attn_forward_watches(const struct attn_forward *f, enum attn_site site);
bool attn_forward_watches_row(const struct attn_forward *f, size_t position);

/* Whether a later feed, or a later watched site, depends on the current layer's results for the
 * N_ROW queries from ROW0 on of PART. Layers before the last one need all of them. */
bool attn_forward_needs_rows(const struct attn_forward *f, const struct attn_feed_part *part,
                             size_t row0, size_t n_row);

/* Whether the output layer reads one row per sequence, pooled from all its rows. */
bool attn_forward_pools(const struct attn_forward *f);

/* Returns the matrices of LAYER that the trace watches. */
struct attn_site_set attn_forward_watched_matrices(const struct attn_forward *f, int layer);

/* Whether a sequence may be fed to LAYER in several steps: no row depends on later ones. */
bool attn_forward_takes_steps(const struct attn_forward *f, size_t layer);

/* Whether the rest of the feed is skipped, because it failed or all needed tensors are computed. */
bool attn_forward_is_over(const struct attn_forward *f);

/* As attn_forward_is_over, but first checks whether the caller has canceled the feed, and then
 * fails it. */
bool attn_forward_is_stopped(struct attn_forward *f);

/* Fails the feed because a value of the current layer is NaN or infinite. The message names the
 * cause: a weight of the layer, or one outside of all layers, that is not finite; else the arrays
 * that were given, or the layer. If edits may be the cause and all weights are finite, the feed
 * continues. */
void attn_forward_report_non_finite(struct attn_forward *f);

/* attn_pool_is_finite returns whether X [n] has neither NaN nor infinity; attn_forward_check_finite
 * also reports it and fails the feed. */
bool attn_pool_is_finite(struct attn_pool *pool, const struct attn_kernels *kernels, const float *x,
                         size_t n);
void attn_forward_check_finite(struct attn_forward *f, const float *x, size_t n);

/* --- Memory, and how far to compute (forward_plan.c) ------------------------------------------ */

/* Returns the last tensor that F's trace and logits depend on. */
struct attn_step_place attn_plan_end(const struct attn_forward *f);

/* Allocates all buffers of F from ARENA, which only measures at first (base/memory.h). */
void attn_plan_memory(struct attn_forward *f, struct attn_arena *arena);

/* Returns the numbers that mixing needs of each position of a layer; 0: it is not watched. */
size_t attn_mixer_n_past(const struct attn_forward *f);

/* Returns the multiply-adds of a feed of N_ROW positions. */
double attn_plan_work(const struct attn_forward *f, size_t n_row);

/* --- Visits apply edits and pass a tensor to the trace, before it is used --------------------- */

/* Visits SITE. DATA [n_row, n_head, width] is its part in the current feed and layer
 * (attn_forward_part). Sequences are visited one after the other. */
void attn_visit(struct attn_forward *f, enum attn_site site, float *data);

/* Returns what calls of functions among the edits of sequence number SEQUENCE need, for vectors. */
struct attn_edit_calls attn_visit_calls(struct attn_forward *f, size_t sequence);

/* attn_visit_edit applies the edits of sequence number SEQUENCE to N_HEAD heads, or to a tensor
 * without heads; they lie side by side, TARGET is the first. attn_visit_emit passes the watched
 * rows of EVENT to the trace. */
void attn_visit_edit(struct attn_forward *f, size_t sequence, size_t n_head,
                     const struct attn_edit_target *target);
/* Adds rows that edits changed. */
void attn_visit_count(struct attn_forward *f, size_t sequence, size_t n_edited);

void attn_visit_emit(struct attn_forward *f, const struct attn_trace_event *event);

/* The activation xIELU (model/config_fields.h), whose numbers each layer has of its own. In
 * double, because exp(x) - 1 - x loses the digits of a float near 0. */

/* Applies OF to X [n]. */
void attn_xielu_run(const struct attn_xielu *of, float *x, size_t n);

/* Changes DY [n], the gradient of xIELU of X, to the gradient of X. IS_CONSTANT: the ratio of xIELU
 * to X counts as a constant. */
void attn_xielu_back(const struct attn_xielu *of, const float *x, bool is_constant, size_t n,
                     float *dy);
