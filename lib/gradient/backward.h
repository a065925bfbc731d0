/*
 * backward.h - the backward pass: the gradient of a number computed from the logits, with respect
 * to every tensor between them and the embeddings.
 *
 *     attn_backward_create(model, &options, &backward, &err);   // all memory
 *     attn_backward_run(backward, stream, &goal, &err);         // the trace gets the gradients
 *     attn_backward_free(backward);
 *
 * The caller keeps the residual stream into each layer during the forward pass. Each layer is
 * computed again from it, as far as its gradients read, unless that was kept, too; then its
 * gradients are computed, from its end to its beginning. So layers come last to first. No gradient
 * of a weight is computed.
 *
 * Bits depend on the model, the tokens and the rule: not on threads, instruction sets, watched
 * sites, or kept tensors.
 */
#ifndef ATTN_GRADIENT_BACKWARD_H
#define ATTN_GRADIENT_BACKWARD_H

#include "forward/session.h"
#include "gradient/attention_backward.h"
#include "gradient/kept_layers.h"

struct attn_backward;

struct attn_backward_options {
    size_t n; /* positions, all of one text */
    enum attn_backward_rule rule;
    size_t n_goal;                          /* rows of logits that the number is made of, at most */
    const struct attn_trace *trace;         /* borrowed; wants gradients */
    const struct attn_attention *attention; /* [n_layer], as the layers ran; borrowed while it is
                                               created */
    struct attn_pool *pool;                 /* borrowed; NULL: the caller's thread alone */
    const volatile sig_atomic_t *cancel;    /* borrowed, or NULL */
    const struct attn_kept_layers *kept; /* tensors of the same feed as STREAM; borrowed, or NULL */
    const struct attn_heads_swap *swaps; /* [n_layer], all of one kind; borrowed, or NULL */
    bool skips_zeros; /* in the last layer, rows before the goal's have gradients of 0: the trace
                         does not get these, and kept tensors of that layer need not have them */
    bool reads_once;  /* as of sessions, like gemm and isa */
    enum attn_gemm gemm;
    enum attn_isa isa;
};

/* The number m: the logits it depends on, and its derivative. */
struct attn_backward_goal {
    size_t first, n;   /* rows of logits */
    bool reads_logits; /* the derivative depends on them */

    /* Sets the elements of D [n_vocab], which is 0, that are not 0. LOGITS of position ROW, after
     * the soft cap; NULL unless it reads them. */
    void (*differentiate)(const void *context, size_t row, const float *logits, float *d);
    const void *context;
};

/* ATTN_INVALID names the obstacle: attention without a pattern or with dropout, layers that attend
 * to a source, no residual stream, no output layer, weights multiplied in bfloat16. */
enum attn_status attn_backward_check(const struct attn_model *model,
                                     const struct attn_attention *attention,
                                     struct attn_error *err);

enum attn_status attn_backward_create(const struct attn_model *model,
                                      const struct attn_backward_options *options,
                                      struct attn_backward **backward, struct attn_error *err);

/* STREAM [n_layer + 1, n, d_model]: resid_pre of every layer, and resid_post of the last, only the
 * goal's rows if it skips zeros; as attn_trace_keep_stream keeps them. ATTN_CANCELED, the status
 * that the trace returned, or ATTN_FORMAT for gradients that are not finite. */
enum attn_status attn_backward_run(struct attn_backward *backward, const float *stream,
                                   const struct attn_backward_goal *goal, struct attn_error *err);

void attn_backward_free(struct attn_backward *backward); /* NULL is allowed */

#endif
