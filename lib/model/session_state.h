/*
 * session_state.h - what a session holds, and the steps of a feed. For the files of this layer.
 *
 * A feed is a step: positions row0 .. row0+n_row-1 go through all layers that something wanted
 * depends on. The first failure of a step sticks in it, so that the forward pass reads like its
 * equations: every line after a failure does nothing, or nothing that matters.
 */
#ifndef ATTN_MODEL_SESSION_STATE_H
#define ATTN_MODEL_SESSION_STATE_H

#include "attention/heads.h"
#include "base/arena.h"
#include "model/model_state.h"
#include "model/session.h"

enum {
    ATTN_LOGIT_BYTES = 16 << 20, /* watched logits computed at a time, if one row fits */
};

/* The last tensor that anything wanted depends on. */
struct attn_end {
    int layer; /* -1: the embedding; n_layer: what follows the last block */
    enum attn_site site;
};

struct attn_step {
    size_t row0, n_row;
    enum attn_status status; /* the first failure */
    struct attn_error *err;
    struct attn_pool *pool; /* NULL when the work is too small to share */
};

/*
 * The bytes of one matrix, for sessions that read weights once. Read, they are a copy that passes
 * through the caches; mapped, every 4 KiB is a page that the system has to bring in.
 */
struct attn_stage {
    unsigned char *bytes; /* [capacity]; NULL: weights are used where they lie */
    size_t capacity;
    const unsigned char *first; /* the place of bytes[0] in a file's map */
    size_t size;                /* how many are there; 0: none */
};

struct attn_session {
    const struct attn_model *model;
    const struct attn_config *config;
    struct attn_session_options options; /* its edits and attention are the two below */
    struct attn_edit *edits;             /* owns; [options.n_edit] */
    struct attn_attention *attention;    /* owns; [n_layer] */
    struct attn_dims dims;               /* for n_max positions */
    enum attn_compute compute;           /* in which numbers weights are multiplied */
    struct attn_end end;
    struct attn_gemm_engine engine;
    enum attn_activation activation; /* config->act_fn */
    struct attn_head_shape shape;
    struct attn_engines engines; /* kernels of the current step */
    struct attn_step step;
    int n_worker;
    struct attn_random dropout; /* its stream, on the way through the layers of a step */
    size_t n_position;          /* fed so far */
    size_t n_written;           /* rows of the caches that may hold something */
    size_t n_edited;            /* rows changed by edits */
    bool is_broken;             /* a feed failed: only a reset helps */
    bool has_last_logits;
    size_t n_source; /* rows of the source that was set */

    struct attn_arena arena; /* owns all that follows */
    float *source;           /* [options.n_source, d_source] */
    float *resid;            /* [n_max, D] */
    float *normed;           /* [n_max, D] */
    float *q, *k, *v, *z;    /* [n_max, H*E], [n_max, G*E], [n_max, G*Ev], [n_max, H*Ev] */
    uint16_t *rounded;       /* [rows, most inputs of a map] for products in bfloat16 */
    float *out;              /* [n_max, D]: attn_out, later mlp_out */
    float *mlp;              /* [n_max, F] */
    float *vectors;          /* [2, D]: a norm's weight and bias, or a row of positions */
    float *logits;           /* [n_logit_row, V]: watched logits, a few rows at a time */
    float *final;            /* [n_max, D] by position, for logits: what the output layer reads */
    float *last_logits;      /* [V] */
    struct attn_stage stage;
    struct attn_heads_memory heads;
    struct attn_kv *kv; /* [n_cache_layer, G] */
    size_t n_logit_row, n_cache_layer;
};

/* session_check.c: whether what the caller gives can be run: options, N more positions, and numbers,
 * N rows of N_COL that messages call WHAT; and the attention of LAYER as it runs. */
enum attn_status attn_session_check_options(const struct attn_model *model,
                                            const struct attn_session_options *options,
                                            struct attn_error *err);
enum attn_status attn_session_check_feed(const struct attn_session *session, size_t n,
                                         struct attn_error *err);
enum attn_status attn_session_check_numbers(const struct attn_session *session, const char *what,
                                            const float *x, size_t n, size_t n_col,
                                            struct attn_error *err);
struct attn_attention attn_session_find_attention(const struct attn_model *model,
                                                  const struct attn_session_options *options,
                                                  size_t layer);

/* plan.c: what is needed, and the memory for it. */
struct attn_end attn_session_find_end(const struct attn_session *session);
void attn_session_plan(struct attn_session *session, struct attn_arena *arena);
double attn_session_work(const struct attn_session *session, size_t n_row); /* multiply-adds */

/* Whether the forward pass gets as far as SITE of LAYER. */
bool attn_session_needs(const struct attn_session *session, int layer, enum attn_site site);

/* Whether LAYER is the last that runs and ends with its heads: then only wanted heads count. */
bool attn_session_ends_in_heads(const struct attn_session *session, int layer);
bool attn_session_needs_head(const struct attn_session *session, int layer, int head);
bool attn_session_needs_kv_head(const struct attn_session *session, int layer, int kv_head);

/* visit.c: edits, then the trace. DATA holds the step's rows of SITE: [n_row, width], or heads side
 * by side. */
void attn_session_visit(struct attn_session *session, enum attn_site site, int layer, float *data);
bool attn_session_watches(const struct attn_session *session, enum attn_site site, int layer);
void attn_session_apply(struct attn_session *session, const struct attn_edit_target *target);
void attn_session_tell(struct attn_session *session, const struct attn_trace_event *event);
bool attn_session_wants_row(const struct attn_session *session, size_t position);

/* Whether LAYER takes its keys and values from the source. */
bool attn_session_is_cross(const struct attn_session *session, int layer);

/* attend_layer.c: keys and values of LAYER into the cache, n_row rows of them; then pattern and z
 * of all heads that are needed. */
void attn_session_remember(struct attn_session *session, int layer, size_t n_row, bool has_values);
void attn_session_attend(struct attn_session *session, int layer);

/* block.c: one block; what comes after the last. */
void attn_block_run(struct attn_session *session, int layer);
void attn_normalize(struct attn_session *session, const struct attn_norm_weights *weights,
                    const float *x, float *y);

/* stage.c: attn_linear_run of ARGS [n]; weights are read by way of their file where that is cheaper.
 * And the bytes that this needs. */
void attn_session_multiply(struct attn_session *session, const struct attn_linear_args *args,
                           size_t n);
size_t attn_stage_size(const struct attn_session *session);

/* unembed.c: final norm and logits. */
void attn_session_finish(struct attn_session *session);

/* session.c: fails the step when X [n], of LAYER, is not finite; _blame: when it has been seen that
 * it is not. */
void attn_session_blame(struct attn_session *session, int layer);
void attn_session_check_finite(struct attn_session *session, int layer, const float *x, size_t n);
bool attn_session_is_stopped(struct attn_session *session); /* failed, or the caller canceled */

#endif
