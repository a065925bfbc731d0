/*
 * backward_internal.h - the state of a backward pass, and its lines. For backward*.c: backward.c
 * calls backward_output.c and backward_block.c, and these call backward_step.c.
 *
 * d_NAME is the gradient of NAME. A line turns the gradient of the result of its line in block.c
 * into the gradient of its input, and visits the sites of the input: the trace gets them. After the
 * first failure lines have no effect.
 */
#ifndef ATTN_GRADIENT_BACKWARD_INTERNAL_H
#define ATTN_GRADIENT_BACKWARD_INTERNAL_H

#include "forward/session_internal.h"
#include "gradient/backward.h"

struct attn_backward {
    const struct attn_model *model;
    struct attn_session *session;    /* owns; computes layers again */
    struct attn_forward *f;          /* its pass */
    struct attn_selection *computed; /* owns; the tensors that it computes in a layer */
    enum attn_site last_computed;    /* the last of these */
    struct attn_trace trace;         /* takes q and k before their norms */
    const struct attn_trace *asked_by;
    enum attn_backward_rule rule;
    struct attn_pool *pool; /* NULL when the work is too small to share */
    size_t n;               /* positions */
    size_t n_row;           /* rows of buffers: those, or the rows of the source if they are more */
    size_t first, end;      /* rows that lines work on: gradients of all others are 0 */
    bool skips_zeros;

    const float *stream;    /* [n_layer + 1, n, D] of the run */
    const float *resid_pre; /* [n, D] of the layer, or of the output */
    const struct attn_embedding_rows *text;
    const float *embeddings;
    const struct attn_kept_layers *kept;
    const struct attn_heads_swap *swaps;
    const struct attn_block_weights *turned; /* [n_layer] transposed maps; NULL: packed anew */
    int layer, last_layer;                   /* whose gradients are computed now, and last */
    bool is_done;                            /* no later gradient is wanted */
    struct attn_layer_values at; /* of that layer: kept during the feed, or computed again */
    enum attn_status status;     /* the first failure */
    struct attn_error *err;

    struct attn_arena arena; /* owns the buffers below */
    float *d;                /* [n, D] of the residual stream, where the pass is */
    float *d_normed;         /* [n, D] gradient of the output of a norm */
    float *d_branch;         /* [n, D] of the stream, through a parallel MLP */
    float *unnormed;         /* [n, D] the input of a norm after attention or MLP */
    float *resid;            /* [n, D] a layer's input, with norms of the sums */
    float *mid;              /* [n, D] and its sum with attention */
    float *product;          /* [n, D] on its way into a sum */
    float *q, *k;            /* before their norms, computed again; NULL: they have none */
    float *d_mlp, *d_mlp_linear;
    float *d_router;                /* [n, N] of a mixture: of the weights, then of the logits */
    float *d_q, *d_k, *d_v, *d_z;   /* where those were */
    float *logits, *raw, *d_logits; /* [n_logit_row, V]; raw: before the soft cap */
    size_t n_logit_row;
    float *column;  /* [3, rows of W_U] of one token; of a classifier its input, and the
                       gradient of that */
    float *modules; /* [3, most] of a module of a sentence: before its activation, gradients */
    float *d_head;  /* [n, rows of W_U] after a head with an activation */
    float *head;    /* [3, n_logit_row, rows of W_U] before and after the activation, gradient */
    struct attn_heads_back_memory heads;

    const float *source; /* [n_source, d_source] that layers attend to, or NULL */
    size_t n_source;
    bool needs_source;
    float *d_source;   /* [n_source, d_source] */
    float *own_stream; /* of attn_backward_feed */
    float *final_rows; /* [n, D] of its caller, or NULL */
};

/* Whether the layer attends to the source; and the number of its keys. */
static inline bool attn_backward_is_cross(const struct attn_backward *b)
{
    return b->layer != ATTN_NO_LAYER && b->model->config.is_cross[b->layer];
}

static inline size_t attn_backward_n_key(const struct attn_backward *b)
{
    return attn_backward_is_cross(b) ? b->n_source : b->n;
}

/* --- the trace (backward_step.c) -------------------------------------------------------------- */

/* Whether the rest is skipped; checks the caller's cancel flag. */
bool attn_backward_is_over(struct attn_backward *b);

/* Skips the rest if LAST, the gradient of the layer that is complete now, is the last wanted. */
void attn_end_back(struct attn_backward *b, enum attn_site last);

/* Refuses the gradient SITE in DATA if it is not finite, and gives the trace its rows. */
void attn_visit_back(struct attn_backward *b, enum attn_site site, const float *data);

/* The two steps of attn_visit_back: the check of X [n], and the rows. The gradient of the stream is
 * checked once after each change. */
void attn_check_back(struct attn_backward *b, const float *x, size_t n);
void attn_report_back(struct attn_backward *b, enum attn_site site, const float *data);

/* Gives the trace one event of finite numbers. */
void attn_emit_back(struct attn_backward *b, const struct attn_trace_event *event);

/* --- lines (backward_step.c) ------------------------------------------------------------------ */

/* Fills b->at with the tensors of b->layer that its gradients read. */
void attn_recompute_layer(struct attn_backward *b);

/* resid = resid + x: D is the gradient of the sum, SUM, and of the summand, X. */
void attn_residual_back(struct attn_backward *b, enum attn_site sum, enum attn_site x,
                        const float *d);

/* A tensor is read in two places: D += MORE. */
void attn_add_back(struct attn_backward *b, const float *more, float *d);

/* y = normalize(x) w + b, again, rows FIRST .. END-1 of [n, D]. */
void attn_recompute_norm(struct attn_backward *b, const struct attn_norm_weights *weights,
                         const float *x, float *y, size_t first, size_t end);

/* y = normalize(x) w + b: dx from dy, which may be the same. */
void attn_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                    const float *x, const float *dy, float *dx);

/* The same of one row, with the weights W [n]. */
void attn_norm_row_back(const struct attn_backward *b, const float *w, const float *x, size_t n,
                        const float *dy, float *dx);

/* SUM, the stream X, becomes normalize(x) w + b, the site Y: D of that becomes D of the sum, if the
 * model has such a norm. */
void attn_sum_norm_back(struct attn_backward *b, enum attn_site y,
                        const struct attn_norm_weights *weights, const float *x, float *d);

/* Layer scale, y = x * w, or a factor of the stream: the gradient of x, in D_NORMED; or D itself
 * without them. */
const float *attn_scale_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                             const float *d);

/* q, k or v, X [n, N_COL], were kept within limits: D of those at a limit becomes 0, for the rows
 * from FIRST on. */
void attn_clip_back(struct attn_backward *b, const float *x, size_t first, size_t n_col, float *d);

/* y = x W + b, or x W^T, of N rows X. */
void attn_run_map(struct attn_backward *b, const struct attn_linear *linear, const float *x,
                  size_t n, float *y, bool is_transposed);

/* y = x W + b: dx = dy W^T, the gradient SITE; and dx = dx + dy W^T, without a site. */
void attn_linear_back(struct attn_backward *b, enum attn_site site,
                      const struct attn_linear *linear, const float *dy, float *dx);
void attn_linear_more_back(struct attn_backward *b, const struct attn_linear *linear,
                           const float *dy, float *dx);

/* k or v = source W + b: d source = d source + dy W^T. */
void attn_source_back(struct attn_backward *b, const struct attn_linear *linear, const float *dy);

/* A norm after LINEAR, which reads X: the gradient of the norm's input, in D_NORMED; or D itself if
 * the model has no such norm. */
const float *attn_post_norm_back(struct attn_backward *b, const struct attn_norm_weights *weights,
                                 const struct attn_linear *linear, const float *x, const float *d);

/* Computes mlp_post again, into OUT. */
void attn_recompute_mlp_post(struct attn_backward *b, float *out);

/* mlp_post = act(mlp_pre), or act(mlp_pre) * mlp_pre_linear: from D_MLP of the product to D_MLP of
 * mlp_pre, and D_MLP_LINEAR. */
void attn_activation_back(struct attn_backward *b);

/* From D_OUT of what the experts add to D_NORMED of their input (backward_experts.c). */
void attn_experts_back(struct attn_backward *b, const struct attn_block_weights *w,
                       const float *d_out);

/* From d_z to d_q, d_k and d_v; q and k make the scores. All keys and values have gradients. */
void attn_attention_back(struct attn_backward *b);

/* From here on lines work on all rows: keys have added gradients to those that were 0. */
void attn_widen_back(struct attn_backward *b);

/* From D, of rotated queries or keys, to the gradient SITE of X, before norm and rotation. */
void attn_rotary_back(struct attn_backward *b, enum attn_site site,
                      const struct attn_norm_weights *weights, const float *x, float *d);

/* --- blocks and the output -------------------------------------------------------------------- */

/* The block of LAYER (backward_block.c): b->d is the gradient of resid_post, then of resid_pre. */
void attn_block_back(struct attn_backward *b, int layer);

/* From the number to the stream after the last layer, b->d (backward_output.c). */
void attn_output_back(struct attn_backward *b, const struct attn_backward_goal *goal);

/* From resid_pre of layer 0 to the embeddings, b->d [n, De] (backward_block.c). */
void attn_embedding_back(struct attn_backward *b);

#endif
