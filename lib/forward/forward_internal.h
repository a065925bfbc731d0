/*
 * forward_internal.h - the state of a forward pass: a model, the attention of its layers, edits and
 * a trace, and the buffers. A session owns one, and counts the positions that were fed.
 *
 * A pass runs in feeds: rows go through the layers (decoder.c), the positions of one sequence, or
 * of several, one below the other. Products, norms and sums take all rows alike; each sequence has
 * its positions, keys and values, attention, edits and events. The first failure of a feed sticks
 * in it, and so does reaching the last tensor that is needed: later lines have no effect.
 *
 * The files of this layer; each calls only those before it:
 *     rotary                the angles by which q and k are turned
 *     weight_buffer         weights that are copied just before they are used
 *     forward*              buffers, how far to compute, memory; and visits: edits of a tensor are
 *                           applied, then the trace sees it
 *     step, step_attention  one equation: a norm, a linear map, attention, a sum
 *     block, decoder        the equations of a block, and of the layers before and after
 *     session*              the interface of callers: ids in, logits out
 */
#ifndef ATTN_FORWARD_FORWARD_INTERNAL_H
#define ATTN_FORWARD_FORWARD_INTERNAL_H

#include "attention/heads.h"
#include "base/memory.h"
#include "forward/rotary.h"
#include "forward/weight_buffer.h"
#include "trace/edit.h"
#include "trace/trace.h"

#include <signal.h>
#include <stdatomic.h>

/* A tensor in the order in which they are computed: by layer, then by site. */
struct attn_step_place {
    int layer; /* -1: the embedding; n_layer: after the last block */
    enum attn_site site;
};

/* The positions of one sequence that go through the model now. */
struct attn_feed_part {
    size_t first;       /* its first among the rows of the feed */
    size_t row0, n_row; /* its first position, counted from the beginning; how many */
    size_t n_dropped;   /* how many of them are left out of the last layer at the beginning, because
                           nothing needs their rows */
    size_t n_cut;       /* the same at the end; for encoders */
    size_t left;        /* its first row among the rows of the feed that are left */
    size_t logit0,
        n_logit; /* positions of an encoder at which logits may be requested; n_logit 0: all */
    const int32_t *ids;            /* [n_row]; NULL: its embeddings were given */
    const int32_t *types;          /* [n_row]; NULL: all are of type 0 */
    const int32_t *key_mask;       /* [n_row] of a whole sequence; NULL: all are seen */
    struct attn_image_grid grid;   /* n_row 0: no picture, or begun at a layer */
    bool has_usual_grid;           /* the learned positions have this grid */
    bool has_embeddings;           /* all rows of a picture were given, not its patches */
    const struct attn_edit *edits; /* [n_edit] */
    size_t n_edit;
    atomic_bool *has_effect; /* [n_edit] set for edits that changed a value; NULL without edits */
    size_t n_edited;         /* rows changed by edits */
    size_t n_uncounted;      /* but by the first edits, so many */
};

/* The rows that go through the model now. */
struct attn_feed {
    size_t n_part, n_row;    /* sequences; rows of all of them */
    size_t n_left;           /* positions of these rows, without the dropped ones */
    bool is_pack;            /* each sequence is whole, and by itself */
    bool has_edits;          /* some sequence has */
    int first_layer;         /* where it begins; ATTN_NO_LAYER: at the embeddings */
    bool has_z;              /* it begins with z of that layer, which is given */
    int layer;               /* the one that runs, or ATTN_NO_LAYER */
    bool is_finite;          /* the visited tensor was found to be */
    bool is_done;            /* the end was reached */
    enum attn_status status; /* the first failure */
    struct attn_error *err;
    struct attn_pool *pool; /* NULL when the work is too small to share */
};

/* Linear maps that wait to run side by side, and the sites to visit afterwards (step.c). */
struct attn_pending {
    struct attn_linear_args maps[ATTN_LINEAR_MOST];
    size_t n_map;
    struct attn_pending_visit {
        enum attn_site site;
        float *data;
    } visits[ATTN_LINEAR_MOST];
    size_t n_visit;
    atomic_bool is_violated; /* some result is not finite */
};

struct attn_forward {
    const struct attn_model *model;
    const struct attn_attention *attention; /* [n_layer], as each layer runs */
    const bool
        *has_own_stride; /* [n_layer]; a sequence of a pack has the attention of its length */
    const struct attn_trace *trace;    /* NULL: no tensor is watched */
    bool is_trace_over;                /* it wants no later tensor */
    size_t first_watched, end_watched; /* in the last layer that runs, only positions from the first
                                          up to the end are watched */
    struct attn_step_place end;        /* the last tensor that anything wanted depends on */
    bool has_logits;                   /* rows that the output layer reads are kept for later */
    bool keeps_layer;  /* q, k, v, z and the MLP's rows of the last layer that ran stay, each in its
                          own place, for a backward pass (backward.h) */
    bool is_projected; /* text_embed, image_embed or sentence_embed is watched or needed, for all
                          rows */
    bool is_rewindable;    /* keys and values of all layers stay after a feed, not of one layer */
    struct attn_dims dims; /* n_position, n_source: the largest numbers at any time */
    const volatile sig_atomic_t *cancel; /* NULL: never */
    struct attn_pool *pool;              /* NULL: the caller's thread alone */
    int n_worker;

    enum attn_compute compute;
    enum attn_activation activation;      /* config.act_fn */
    enum attn_activation head_activation; /* config.head_act_fn, if it has one */
    struct attn_gemm_engine engine;
    struct attn_head_shape shape;
    struct attn_engines engines; /* kernels for n_engine_row positions of a sequence */
    size_t n_engine_row;
    struct attn_weight_buffer weight_buffer;

    struct attn_feed feed;
    struct attn_pending pending;
    const int32_t *key_mask, *source_mask; /* edits of the options, or NULL */
    size_t n_key_mask, n_source_mask;
    size_t n_source; /* rows of the source that was set */
    size_t n_cached; /* rows of the KV cache that may hold something */
    size_t n_text;   /* positions that the text will have, if more than those that were fed */
    size_t n_turned; /* positions of the text by whose length the keys in the cache were turned */
    size_t n_known;  /* the first tokens that were fed, whose ids are known */
    int32_t *ids;    /* [n_position] of these, where longer texts have other factors of rotary
                        positions; else NULL */
    size_t n_edited; /* rows changed by edits */
    const char *embeddings_name, *source_name; /* borrowed: files that a caller's rows come from, or
                                                  NULL */

    /* Buffers, laid out by attn_plan_memory. */
    struct attn_feed_part *parts; /* [n_sequence] parts of the feed */
    struct attn_random *dropouts; /* [n_sequence], where there is dropout: their streams, on the way
                                     through the layers of a feed */
    size_t n_sequence;            /* most rows of a feed */
    size_t n_feed_row;            /* rows of one feed */
    float *source;                /* [dims.n_source, d_source] */
    float *resid;                 /* [n_feed_row, D]; before the layers the embedding, [, De] */
    float *normed;                /* [n_feed_row, D or De] */
    float *q, *k, *v, *z; /* [n_feed_row, H*E], [keys, G*E], [keys, G*Ev], [n_feed_row, H*Ev] */
    float *mlp;           /* [n_feed_row, F], where q, k, v and z were */
    float *mlp_linear;    /* [n_feed_row, F] mlp_pre_linear of a gated MLP */
    float *patches; /* [n_feed_row, pixels of a patch] there, too, before the layers; rows that are
                       no patches are 0 */
    float *out;     /* [n_feed_row, D, d_out or De]: attn_out, later mlp_out, the MLM head */
    /* Of mixtures, with n = n_feed_row: logits, weights [n, N], the chosen [n, K]; rows of one
     * expert, its input and output [n, D], its gate and input [n, the widest expert] */
    float *router, *expert_weights, *expert_indices, *expert_x, *expert_y, *expert_g, *expert_u;
    size_t *expert_rows;
    float *sinks;      /* [n, H] weights of the sinks */
    uint16_t *rounded; /* [rows, inputs of the widest map] for products in bfloat16 */
    float *vectors;    /* [2, widest row of a norm or of positions]: its weight and bias, or a row
                          of positions */
    struct attn_rotary *rotaries; /* [n_rotary]: the different ropes of the layers */
    size_t n_rotary;
    float *projected; /* [n_sequence, d_projected], where is_projected */
    float *gathered;  /* [n_sequence, D] the rows that it is made of; of sentences [n_step + 1,
                         n_sequence, most] what each module reads, and the vectors */
    float *logits;    /* [n_logit_row, V]: watched logits, a few rows at a time */
    size_t n_logit_row;
    float *final; /* [n_position, rows of W_U], for logits: the input of the output layer; one row
                     per sequence for classifiers */
    float *last_logits; /* [V] */
    struct attn_heads_memory heads;
    struct attn_kv *kv;   /* [n_cache_layer, G]: the KV cache */
    size_t n_cache_layer; /* n_layer, or 1: the layers take turns */
};

/* The part of SITE that the current feed has in its layer: n_head heads side by side. */
struct attn_site_part {
    size_t n_row;  /* positions, or rows of a source, which are all fed with the first position */
    size_t n_head; /* 1 for sites without heads */
    size_t width;  /* columns of a head */
};
struct attn_site_part attn_forward_part(const struct attn_forward *f, enum attn_site site);

/* The rows of SITE of sequence SEQUENCE of the feed; the rows of PART that were not dropped. */
struct attn_site_rows {
    size_t first;       /* among the rows of the feed that the site has */
    size_t row0, n_row; /* the first, counted from the beginning of the sequence; how many */
};
struct attn_site_rows attn_feed_part_left(const struct attn_feed_part *part);

/* Whether logits may be requested at positions ROW0 .. +N_ROW-1 of an encoder's PART. */
bool attn_feed_part_has_logits(const struct attn_feed_part *part, size_t row0, size_t n_row);

struct attn_site_rows attn_forward_rows(const struct attn_forward *f, enum attn_site site,
                                        size_t sequence);

/* The sequence of the feed that has row ROW, counted over all fed rows, or the remaining ones. */
size_t attn_forward_find_sequence(const struct attn_forward *f, size_t row, bool is_left);

/* Whether the current layer takes its keys and values from the source. */
bool attn_forward_is_cross(const struct attn_forward *f);

/* SITE of LAYER, which is ignored for sites of the model; below 0, 0 or above 0 when A comes before
 * B, is B, comes after B. */
struct attn_step_place attn_forward_place(const struct attn_forward *f, enum attn_site site,
                                          int layer);
int attn_place_compare(struct attn_step_place a, struct attn_step_place b);

/* Whether the pass gets as far as SITE of the current layer. */
bool attn_forward_needs(const struct attn_forward *f, enum attn_site site);

/* Whether HEAD of SITE (a key/value head for k and v) is needed in the current layer: where the
 * pass ends in the heads, only wanted ones are; and v only when it is watched or z needed. */
bool attn_forward_needs_head(const struct attn_forward *f, enum attn_site site, int head);

/* Whether the trace wants SITE of the current layer, and in the last one the row of POSITION. */
bool attn_forward_watches(const struct attn_forward *f, enum attn_site site);
bool attn_forward_watches_row(const struct attn_forward *f, size_t position);

/* Whether a later feed, or a watcher of a later site, depends on the results of the current layer
 * for the queries ROW0 .. +N_ROW-1 of PART. Earlier layers need all of them. */
bool attn_forward_needs_rows(const struct attn_forward *f, const struct attn_feed_part *part,
                             size_t row0, size_t n_row);

/* Whether one row of each sequence, from all its rows, goes to the output layer. */
bool attn_forward_pools(const struct attn_forward *f);

/* Whether attention of LAYER gives a sequence the same rows whatever is fed with them. */
bool attn_forward_takes_steps(const struct attn_forward *f, size_t layer);

/* Whether the rest of the feed is skipped: it failed, or all needed tensors are computed. */
bool attn_forward_is_over(const struct attn_forward *f);

/* The same, after a look at the caller's cancel flag, which fails the feed. */
bool attn_forward_is_stopped(struct attn_forward *f);

/* Fails the feed because a value of the current layer is not finite. The message names a weight of
 * the layer that is not, or one outside of all layers, else the given arrays, or the layer. If
 * edits may have made such values and all weights are finite, the feed goes on. */
void attn_forward_report_non_finite(struct attn_forward *f);

/* Whether X [n] has neither NaN nor infinity; and the same for a feed, which reports it. */
bool attn_pool_is_finite(struct attn_pool *pool, const struct attn_kernels *kernels, const float *x,
                         size_t n);
void attn_forward_check_finite(struct attn_forward *f, const float *x, size_t n);

/* --- how far, and in which memory (forward_plan.c) -------------------------------------------- */

/* The last tensor that F's trace and logits depend on. */
struct attn_step_place attn_plan_end(const struct attn_forward *f);

/* All buffers of F from ARENA, which measures first (base/memory.h). */
void attn_plan_memory(struct attn_forward *f, struct attn_arena *arena);

/* Multiply-adds of a feed of N_ROW positions. */
double attn_plan_work(const struct attn_forward *f, size_t n_row);

/* --- Visits: edits and watchers, after a tensor was computed and before it is used ------------ */

/* DATA holds the part of SITE that the feed has in the current layer (attn_forward_part): [n_row,
 * n_head, width]. One sequence is visited after the other. */
void attn_visit(struct attn_forward *f, enum attn_site site, float *data);

/* Applies the edits of sequence SEQUENCE to its TARGET; emits the wanted rows of EVENT. */
void attn_visit_edit(struct attn_forward *f, size_t sequence,
                     const struct attn_edit_target *target);
void attn_visit_count(struct attn_forward *f, size_t sequence, size_t n_edited); /* rows */

void attn_visit_emit(struct attn_forward *f, const struct attn_trace_event *event);

#endif
