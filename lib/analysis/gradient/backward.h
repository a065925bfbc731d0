/*
 * backward.h - the backward pass: the gradient of a number computed from the logits, with respect
 * to all tensors between them and the embeddings.
 *
 *     attn_backward_create(model, &options, &backward, &err);  // allocates all memory
 *     attn_backward_run(backward, stream, &goal, &err);        // the trace gets the gradients
 *     attn_backward_free(backward);
 *
 * The caller stores the residual stream into each layer during the forward pass. From it, each
 * layer is recomputed as far as its gradients need, unless its tensors were kept, too; then its
 * gradients are computed, from its end to its beginning. So the last layer comes first. Gradients
 * of weights are not computed.
 *
 * Bits depend on the model, the tokens and the rule, but not on threads, instruction sets, watched
 * sites, or kept tensors.
 */
#pragma once

#include "forward/goal.h"
#include "forward/session.h"
#include "gradient/attention_backward.h"
#include "gradient/kept_layers.h"
#include "model/embedding.h"

struct attn_backward;

struct attn_backward_options {
    size_t n; /* positions of the one text */
    enum attn_backward_rule rule;
    size_t n_goal; /* maximum number of rows of logits on which the number depends; 0: the goal is
                      given */
    const struct attn_trace *trace;         /* borrowed; it selects gradients */
    const struct attn_attention *attention; /* [n_layer] the attention with which the layers ran;
                                               borrowed until attn_backward_create returns */
    struct attn_pool *pool;                 /* borrowed; NULL: the caller's thread alone */
    const volatile sig_atomic_t *cancel;    /* borrowed, or NULL */
    const struct attn_kept_layers *kept; /* tensors kept in the feed of STREAM; borrowed, or NULL */
    const struct attn_heads_swap *swaps; /* [n_layer], all of one kind; borrowed, or NULL */
    bool skips_zeros; /* in the last layer, gradients of rows outside attn_backward_rows are 0: the
                         trace does not get them, and kept tensors may lack these rows */
    /* The sequence, borrowed; NULL: no norm, map or projection needs it. */
    const struct attn_embedding_rows *text;
    const float *embeddings; /* [n, d_embed] of TEXT, borrowed; each run reads it if a norm or a map
                                follows the embeddings */
    const int32_t *key_mask; /* [n] as in sessions, or NULL */
    struct attn_position_numbers positions; /* as in sessions */
    const float *source; /* [n_source, d_source] as in sessions; borrowed, and read by each run;
                            NULL: no layer attends to a source */
    size_t n_source;
    const int32_t *source_mask; /* [n_source] as in sessions, or NULL */
    bool needs_source;          /* attn_backward_source will be called */
    size_t n_run;    /* expected number of runs; 0: one. For many runs, a transposed copy of the
                        weights is made */
    bool reads_once; /* as in sessions, like gemm and isa */
    enum attn_gemm gemm;
    enum attn_isa isa;
    /* [n_edit] the edits of the pass whose gradients are computed, borrowed like their data; see
     * attn_backward_check_edits. */
    const struct attn_edit *edits;
    size_t n_edit;
};

/* The rows FIRST to END-1 after the last layer, of a text IDS [n] (or NULL), on which the goal
 * depends: the rows of its logits (in decoders, gradients of later rows are 0), or the rows that a
 * classifier pools. */
struct attn_backward_rows {
    size_t first, end;
};
struct attn_backward_rows attn_backward_rows(const struct attn_model *model, const int32_t *ids,
                                             size_t n, const struct attn_backward_goal *goal);

/* Checks that gradients of MODEL and its encoder can be computed. Returns ATTN_INVALID and names
 * the obstacle: attention without a pattern or with dropout, no residual stream, no output layer,
 * weights multiplied in bfloat16, or experts with a rule other than the plain one. */
enum attn_status attn_backward_check(const struct attn_model *model,
                                     const struct attn_attention *attention,
                                     enum attn_backward_rule rule, struct attn_error *err);

/* Checks that gradients go through EDITS of a pass of MODEL: a gradient is that of the tensor as it
 * is after its edits. Before them it is 0 where a value was set or a key was cut out, and
 * multiplied by the factor of a scale. Returns ATTN_INVALID for tensors outside the layers, for
 * scores that are set, because that may open masked keys, and for scaled values that were clipped
 * before. */
enum attn_status attn_backward_check_edits(const struct attn_model *model,
                                           const struct attn_edit *edits, size_t n_edit,
                                           struct attn_error *err);

enum attn_status attn_backward_create(const struct attn_model *model,
                                      const struct attn_backward_options *options,
                                      struct attn_backward **backward, struct attn_error *err);

/* Feeds the embeddings X [n, d_embed] of the text to an encoder whose goal is given, and stores the
 * stream for later runs. ROWS [n, d_model] receives the final rows, unless it is NULL. X is
 * borrowed until the next feed. */
enum attn_status attn_backward_feed(struct attn_backward *backward, const float *x, float *rows,
                                    struct attn_error *err);

/* Returns the stream [n, d_model] that attn_backward_feed stored before LAYER; borrowed. */
const float *attn_backward_stream(const struct attn_backward *backward, size_t layer);

/* Computes the gradients. STREAM [n_layer + 1, n, d_model] is the resid_pre of every layer and the
 * resid_post of the last one; if zeros are skipped, that needs only attn_backward_rows. With norms
 * after the sums it is the resid_pre of layer 0 and the resid_post of every layer.
 * attn_trace_keep_stream stores it so, also for pairs of layers. After attn_backward_feed STREAM is
 * NULL. Returns ATTN_CANCELED, the status that the trace returned, or ATTN_FORMAT if a gradient is
 * not finite. */
enum attn_status attn_backward_run(struct attn_backward *backward, const float *stream,
                                   const struct attn_backward_goal *goal, struct attn_error *err);

/* Whether a norm or a map follows the embedding, so that the backward pass needs the embeddings. */
bool attn_backward_reads_embeddings(const struct attn_model *model);

/* Returns the gradients [n, d_embed] of the embeddings, and so of types and positions; for pictures
 * also of [CLS] and registers. Call it after a run that went so far. Borrowed until the next run.
 */
const float *attn_backward_embedding(const struct attn_backward *backward);

/* Returns the gradient [n_source, d_source] of the source, summed over the layers from the last to
 * the first. Call it after a run with needs_source. Borrowed until the next run. */
const float *attn_backward_source(const struct attn_backward *backward);

void attn_backward_free(struct attn_backward *backward); /* NULL is allowed */
