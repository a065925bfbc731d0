/*
 * backward_internal.h - the state of a backward pass, and its lines, for backward*.c. backward.c
 * calls backward_output.c and backward_block.c, and these call backward_step.c.
 *
 * d_NAME is the gradient of NAME. A line computes the gradient of the input of its line in block.c
 * from the gradient of the result, and visits the sites of the input, which passes them to the
 * trace. After the first failure lines do nothing.
 */
#pragma once

#include "base/os/thread.h"
#include "forward/session_internal.h"
#include "gradient/backward.h"

struct attn_backward {
    const struct attn_model *model;
    struct attn_session *session;    /* owns; recomputes layers */
    struct attn_forward *f;          /* the forward pass of the session */
    struct attn_selection *computed; /* owns; the tensors that it recomputes in a layer */
    enum attn_site last_computed;    /* the last of these in the order of computation */
    struct attn_trace trace;         /* receives q and k before they are normalized */
    const struct attn_trace *asked_by;
    enum attn_backward_rule rule;
    struct attn_pool *pool; /* NULL if the work is too small for threads */
    size_t n;               /* positions */
    size_t n_row;           /* rows of buffers: n, or the rows of the source if they are more */
    size_t first, end;      /* rows that lines process: gradients of all other rows are 0 */
    bool skips_zeros;

    /* [n_edit] owns; the edits of the pass, those of resid_pre last. A layer that is recomputed
     * begins with an edited resid_pre, so it needs the first n_again only. */
    struct attn_edit *edits;
    size_t n_edit, n_again;
    /* [n_back] owns; what they do to gradients: setting them to 0, or multiplying them. */
    struct attn_edit *back_edits;
    size_t n_back;

    const float *stream;    /* [n_layer + 1, n, D] the stream of this run */
    const float *resid_pre; /* [n, D] input of the current layer, or of the output */
    const struct attn_embedding_rows *text;
    const float *embeddings;
    const struct attn_kept_layers *kept;
    const struct attn_heads_swap *swaps;
    /* [n_layer] transposed copies of the maps; NULL: packed in each run. */
    const struct attn_block_weights *turned;
    int layer, last_layer; /* the current layer, and the one at which the pass ends */
    bool is_done;          /* no later gradient is needed */
    /* The tensors of that layer: kept during the feed, or recomputed. */
    struct attn_layer_values at;
    enum attn_status status; /* the first failure */
    struct attn_error *err;

    struct attn_arena arena; /* owns the buffers below */
    float *d;                /* [n, D] gradient of the residual stream at the current line */
    float *d_normed;         /* [n, D] gradient of the output of a norm */
    float *d_branch;         /* [n, D] gradient of the stream through a parallel MLP */
    float *unnormed;         /* [n, D] the input of a norm after attention or MLP */
    float *resid;            /* [n, D] a layer's input, if norms follow the sums */
    float *mid;              /* [n, D] that input plus attention */
    float *product;          /* [n, D] a product before it is added */
    float *edited;           /* [n, D] d of attn_out or mlp_out, before an edit of it */
    /* Recomputed, before they are normalized; NULL if the model does not normalize them. */
    float *q, *k;
    float *d_mlp, *d_mlp_linear;
    float *d_router; /* [n, N] for mixtures: the gradient of the weights, then of the logits */
    float *d_q, *d_k, *d_v, *d_z;   /* in the same memory as d_mlp */
    float *logits, *raw, *d_logits; /* [n_logit_row, V]; raw: before the soft cap */
    size_t n_logit_row;
    float *column;  /* [3, rows of W_U]: the column of one token; for classifiers also the input of
                       the output layer, and its gradient */
    float *modules; /* [3, most] for a module of a sentence model: values before its activation, and
                       gradients */
    float *pool_head; /* what attn_pool_head_back needs */
    float *d_head;    /* [n, rows of W_U] the gradient of the output of a head with an activation */
    float *head; /* [3, n_logit_row, rows of W_U] values before and after that activation, and the
                    gradient */
    struct attn_heads_back_memory heads;

    const float *source; /* [n_source, d_source] the source, or NULL */
    size_t n_source;
    bool needs_source;
    float *d_source;   /* [n_source, d_source] */
    float *own_stream; /* the stream stored by attn_backward_feed */
    float *final_rows; /* [n, D] the buffer of its caller, or NULL */
};

/* Whether the current layer attends to the source; and the number of its keys. */
static inline bool attn_backward_is_cross(const struct attn_backward *b)
{
    return b->layer != ATTN_NO_LAYER && b->model->config.is_cross[b->layer];
}

static inline size_t attn_backward_n_key(const struct attn_backward *b)
{
    return attn_backward_is_cross(b) ? b->n_source : b->n;
}

/* --- The trace (backward_step.c) -------------------------------------------------------------- */

/* Whether the rest of the pass is skipped. Checks the caller's cancel flag. */
static inline bool attn_backward_is_over(struct attn_backward *b)
{
    if (b->status == ATTN_OK && attn_is_canceled(b->f->cancel))
        b->status = attn_error_set(b->err, ATTN_CANCELED, "canceled");
    return b->status != ATTN_OK || b->is_done;
}

/* Skips the rest of the pass if no gradient after LAST, which the current layer has completed, is
 * needed. */
void attn_end_back(struct attn_backward *b, enum attn_site last);

/* Fails the pass if the gradient SITE in DATA is not finite; otherwise passes its rows to the
 * trace. Then DATA becomes the gradient before the edits of the site. */
void attn_visit_back(struct attn_backward *b, enum attn_site site, float *data);

/* The two steps of attn_visit_back: checking X [n], and passing rows to the trace. The gradient of
 * the stream is checked once after each change. */
void attn_check_back(struct attn_backward *b, const float *x, size_t n);
void attn_report_back(struct attn_backward *b, enum attn_site site, const float *data);

/* Passes one event of finite numbers to the trace. */
void attn_emit_back(struct attn_backward *b, const struct attn_trace_event *event);

/* --- Lines (backward_step.c) ------------------------------------------------------------------ */

/* Fills b->at with the tensors of b->layer that its gradients need. */
void attn_recompute_layer(struct attn_backward *b);

/* The backward pass of resid = resid + x: D is the gradient of both, at the sites SUM and X. */
void attn_residual_back(struct attn_backward *b, enum attn_site sum, enum attn_site x, float *d);

/* Adds the gradient of another place that reads the same tensor: D += MORE. */
void attn_add_back(struct attn_backward *b, const float *more, float *d);

/* Recomputes y = normalize(x) w + b for rows FIRST to END-1 of [n, D]. */
void attn_recompute_norm(struct attn_backward *b, const struct attn_norm_weights *weights,
                         const float *x, float *y, size_t first, size_t end);

/* The backward pass of y = normalize(x) w + b: dx from dy, which may be the same buffer. */
void attn_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                    const float *x, const float *dy, float *dx);

/* As attn_norm_back, but for one row X [n], with the weights W [n]. */
void attn_norm_row_back(const struct attn_backward *b, const float *w, const float *x, size_t n,
                        const float *dy, float *dx);

/* The backward pass of layer scale, y = x * w, or of a factor of the stream. Returns the gradient
 * of x, in d_normed; or D if the model has neither. */
const float *attn_scale_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                             const float *d);

/* The backward pass of clipping q, k or v, X [n, N_COL]: sets D to 0 where X is at a limit, for the
 * rows from FIRST on. */
void attn_clip_back(struct attn_backward *b, const float *x, size_t first, size_t n_col, float *d);

/* Computes y = x W + b, or x W^T if IS_TRANSPOSED, for N rows X. */
void attn_run_map(struct attn_backward *b, const struct attn_linear *linear, const float *x,
                  size_t n, float *y, bool is_transposed);

/* The backward pass of y = x W + b: computes dx = dy W^T, the gradient SITE. */
void attn_linear_back(struct attn_backward *b, enum attn_site site,
                      const struct attn_linear *linear, const float *dy, float *dx);

/* The backward pass of keys or values of a source, y = source W + b: d source += dy W^T. */
void attn_source_back(struct attn_backward *b, const struct attn_linear *linear, const float *dy);

/* The backward pass of a norm that follows LINEAR, whose input is X. Returns the gradient of the
 * norm's input, in d_normed; or D if the model has no such norm. */
const float *attn_post_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                                 const struct attn_linear *linear, const float *x, const float *d);

/* Recomputes mlp_post into OUT. */
void attn_recompute_mlp_post(struct attn_backward *b, float *out);

/* The backward pass of mlp_post = act(mlp_pre), or act(mlp_pre) * mlp_pre_linear: d_mlp becomes the
 * gradient of mlp_pre, and d_mlp_linear is set. NORM is the norm of mlp_post, if it has weights. */
void attn_activation_back(struct attn_backward *b, const struct attn_norm_weights *norm);

/* The backward pass of attention: computes d_q, d_k and d_v from d_z. d_q and d_k are those of q
 * and k as used for the scores. All keys and values have gradients. */
void attn_attention_back(struct attn_backward *b);

/* Makes lines process all rows from here on, because keys have contributed to rows whose gradient
 * was 0. */
void attn_widen_back(struct attn_backward *b);

/* The backward pass of rotation and norm: D, the gradient of rotated queries or keys, becomes the
 * gradient SITE of X, which is before both. */
void attn_rotary_back(struct attn_backward *b, enum attn_site site,
                      const struct attn_norm_weights *weights, const float *x, float *d);

/* --- Edits (backward_edits.c) ----------------------------------------------------------------- */

enum attn_status attn_backward_take_edits(struct attn_backward *b,
                                          const struct attn_backward_options *options,
                                          struct attn_error *err);

/* The backward pass of the edits of the site of the gradient SITE, in the current layer: D, the
 * gradient of the tensor after them, becomes that of the tensor before. */
void attn_edit_back(struct attn_backward *b, enum attn_site site, float *d);

/* Returns the gradient of attn_out or mlp_out, SITE, before its edits: b->d, or a copy in
 * b->edited, because b->d is that of the stream, too. */
const float *attn_branch_back(struct attn_backward *b, enum attn_site site);

/* Applies the edits of SITE of LAYER to X [n, D], which was recomputed without them. */
void attn_edit_again(const struct attn_backward *b, enum attn_site site, int layer, float *x);

/* --- Blocks and the output -------------------------------------------------------------------- */

/* The backward pass of LAYER (backward_block.c): b->d, the gradient of resid_post, becomes that of
 * resid_pre. */
void attn_block_back(struct attn_backward *b, int layer);

/* The backward pass of the output (backward_output.c): computes b->d, the gradient of the stream
 * after the last layer. */
void attn_output_back(struct attn_backward *b, const struct attn_backward_goal *goal);

/* The backward pass before the layers (backward_block.c): b->d, the gradient of resid_pre of layer
 * 0, becomes that of the embeddings [n, De]. */
void attn_embedding_back(struct attn_backward *b);
