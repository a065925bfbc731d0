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
#include "model/embedding.h"

struct attn_backward;

struct attn_backward_options {
    size_t n; /* positions, all of one text */
    enum attn_backward_rule rule;
    size_t n_goal; /* rows of logits that the number is made of, at most; 0: the goal is given */
    const struct attn_trace *trace;         /* borrowed; wants gradients */
    const struct attn_attention *attention; /* [n_layer], as the layers ran; borrowed while it is
                                               created */
    struct attn_pool *pool;                 /* borrowed; NULL: the caller's thread alone */
    const volatile sig_atomic_t *cancel;    /* borrowed, or NULL */
    const struct attn_kept_layers *kept; /* tensors of the same feed as STREAM; borrowed, or NULL */
    const struct attn_heads_swap *swaps; /* [n_layer], all of one kind; borrowed, or NULL */
    bool skips_zeros; /* in the last layer, rows that are not in attn_backward_rows have gradients
                         of 0: the trace does not get these, and kept tensors need not have them */
    const struct attn_embedding_rows *text; /* the sequence, borrowed; NULL: neither a norm, a map,
                                               nor a projection depends on it */
    const float *embeddings; /* [n, d_embed] of TEXT, borrowed, read by each run if a norm or a map
                                follows them */
    const int32_t *key_mask; /* [n] as of sessions, or NULL */
    const float *source; /* [n_source, d_source] as of sessions, borrowed, read by each run; NULL:
                            no layer attends to one */
    size_t n_source;
    const int32_t *source_mask; /* [n_source] as of sessions, or NULL */
    bool needs_source;          /* attn_backward_source will be called */
    size_t n_run;    /* runs that are expected, 0: one; many get a transposed copy of weights */
    bool reads_once; /* as of sessions, like gemm and isa */
    enum attn_gemm gemm;
    enum attn_isa isa;
};

/* The number m: the logits it depends on, and its derivative. */
struct attn_backward_goal {
    size_t first, n;   /* rows of logits; of classifiers the only one, number 0 */
    bool reads_logits; /* the derivative depends on them */
    bool is_joint;     /* on those of all rows: `differentiate` is called once, with the first ROW
                          and LOGITS and D [n, n_vocab]; only with few columns */

    /* Sets the elements of D [n_vocab], which is 0, that are not 0. LOGITS of position ROW, after
     * the soft cap; NULL unless it reads them. */
    void (*differentiate)(const void *context, size_t row, const float *logits, float *d);
    const void *context;

    /* Instead of all these, of an encoder whose final rows a decoder reads: their gradient [n, D],
     * borrowed. Else NULL. */
    const float *given;
};

/* The rows FIRST .. END-1 after the last layer of a text IDS [n] (or NULL) that the goal is made
 * of: its own, of decoders with those after it, or the rows that a classifier pools. */
struct attn_backward_rows {
    size_t first, end;
};
struct attn_backward_rows attn_backward_rows(const struct attn_model *model, const int32_t *ids,
                                             size_t n, const struct attn_backward_goal *goal);

/* ATTN_INVALID names the obstacle in MODEL or its encoder: attention without a pattern or with
 * dropout, no residual stream, no output layer, weights multiplied in bfloat16, rules other
 * than the plain one where there are experts. */
enum attn_status attn_backward_check(const struct attn_model *model,
                                     const struct attn_attention *attention,
                                     enum attn_backward_rule rule, struct attn_error *err);

enum attn_status attn_backward_create(const struct attn_model *model,
                                      const struct attn_backward_options *options,
                                      struct attn_backward **backward, struct attn_error *err);

/* Feeds the embeddings X [n, d_embed] of the text to an encoder whose goal is given, and keeps the
 * stream for later runs. ROWS [n, d_model] gets the final rows, unless it is NULL. X is borrowed
 * until the next feed. */
enum attn_status attn_backward_feed(struct attn_backward *backward, const float *x, float *rows,
                                    struct attn_error *err);

/* STREAM, NULL after attn_backward_feed, [n_layer + 1, n, d_model]: resid_pre of every layer, and
 * resid_post of the last, only attn_backward_rows if it skips zeros; with norms of the sums
 * resid_pre of layer 0 and resid_post of every layer; as attn_trace_keep_stream keeps them, of
 * pairs of layers too. ATTN_CANCELED, the status that the trace returned, or ATTN_FORMAT for
 * gradients that are not finite. */
enum attn_status attn_backward_run(struct attn_backward *backward, const float *stream,
                                   const struct attn_backward_goal *goal, struct attn_error *err);

/* Whether a norm or a map follows the embedding, so that its input is needed. */
bool attn_backward_reads_embeddings(const struct attn_model *model);

/* After a run that had to come so far: the gradients [n, d_embed] of embeddings, and so of types
 * and positions, of pictures also of [CLS] and registers. Borrowed until the next run. */
const float *attn_backward_embedding(const struct attn_backward *backward);

/* After a run, with needs_source: the gradient [n_source, d_source] of the source, the sum over the
 * layers from the last to the first. Borrowed until the next run. */
const float *attn_backward_source(const struct attn_backward *backward);

void attn_backward_free(struct attn_backward *backward); /* NULL is allowed */

#endif
