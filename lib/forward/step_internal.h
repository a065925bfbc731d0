/* step_internal.h - the lines of a forward pass, the block, and the whole pass. */
#ifndef ATTN_FORWARD_STEP_INTERNAL_H
#define ATTN_FORWARD_STEP_INTERNAL_H

#include "forward/forward_internal.h"

/* A line is one equation, over the rows of the current feed: it computes a tensor and visits its
 * site (edits, then the trace) before it is read. Linear maps wait until another line needs a
 * result, so that maps of the same rows run side by side, and a map computes the activation or sum
 * after it while its result is in cache, unless the tensor between is watched or edited. Visits
 * keep the order of the lines; results are the same. */

/* y = normalize(x) * w + b, or x where the model has no such norm; x, y [n_row, width of the norm,
 * else D], which may be the same rows where there is a norm. No site. */
void attn_norm_step(struct attn_forward *f, const struct attn_norm_weights *weights, const float *x,
                    float *y);

/* Reads a norm's weight, and its bias if it has one, into f->vectors; and, with these, one row: y =
 * normalize(x) * w + b [n]. */
void attn_norm_read(struct attn_forward *f, const struct attn_norm_weights *weights);
void attn_norm_row(const struct attn_forward *f, const float *x, size_t n, float *y);

/* The first of the weights that were read which head HEAD of WIDTH components has. */
const float *attn_norm_weights_of(const struct attn_forward *f, size_t head, size_t width);

/* Whether norms subtract the mean; otherwise they are RMS norms. */
bool attn_norm_has_mean(const struct attn_config *config);

/* The angles by which LAYER turns. */
const struct attn_rotary *attn_rotary_of_layer(const struct attn_forward *f, int layer);

/* Drops the rows that are not needed from here on, in the last layer: all but the last rows of each
 * sequence, from the first one that is watched or whose logits are requested. The other rows of the
 * stream and of X [n_row, N_COL] move up. Returns the original X, the input of keys and values: a
 * copy in ALL [n_row, N_COL] if rows were dropped, unless ALL is NULL. */
const float *attn_drop_step(struct attn_forward *f, float *x, size_t n_col, float *all);

/* SITE: y = x W + b, for the heads that are needed; y = x where the model has no such weights. */
void attn_linear_step(struct attn_forward *f, enum attn_site site, const struct attn_linear *linear,
                      const float *x, float *y);

/* SITE, which the map before it computed into X: x = normalize(x) * w + b, [n_row, D]. Nothing
 * happens where the model has no such norm. */
void attn_post_norm_step(struct attn_forward *f, enum attn_site site,
                         const struct attn_norm_weights *weights, float *x);

/* The same where a model has layer scale, x = x * w, or a factor of the residual stream. */
void attn_scale_step(struct attn_forward *f, enum attn_site site,
                     const struct attn_norm_weights *weights, float *x);

/* SITE: the stream x [n_row, D] becomes normalize(x) * w + b, if the model has such a norm. */
void attn_sum_norm_step(struct attn_forward *f, enum attn_site site,
                        const struct attn_norm_weights *weights, float *x);

/* y = x W + b, of rows that lie one after another. */
struct attn_linear_args attn_map_of(const struct attn_forward *f, const struct attn_linear *linear,
                                    const float *x, size_t n_row, float *y);

/* y = x W + b outside of the layers, where nothing waits; with ACTIVATION act(x W + b). No site. */
void attn_map_step(struct attn_forward *f, const struct attn_linear *linear,
                   const enum attn_activation *activation, const float *x, size_t n_row, float *y);

/* SITE: queries or keys x [n_row, heads, E] normalized, where the model has such norms, and turned
 * by their positions. Nothing happens where positions are not rotary. */
void attn_rotary_step(struct attn_forward *f, enum attn_site site,
                      const struct attn_norm_weights *weights, float *x);

/* SITE: x = act(x) * y, x and y [n_row, F]. */
void attn_gate_step(struct attn_forward *f, enum attn_site site, float *x, const float *y);

/* SITE: x = act(x), x [n_row, F]. */
void attn_activation_step(struct attn_forward *f, enum attn_site site, float *x);

/* MLP_OUT of a layer with experts, and the sites before it, of the rows in f->normed. */
void attn_experts_step(struct attn_forward *f, const struct attn_block_weights *w, float *out);

/* Its parts, of rows X [n_row, D] on POOL: router_logits, in f->router; the choice, in
 * f->expert_weights and f->expert_indices; the rows that chose EXPERT, in f->expert_rows and
 * f->expert_x, and their number; an expert, into f->expert_y, with what its gate reads in
 * f->expert_g and f->expert_u, and its product in POST, which may be f->expert_g; sigmoid(x w),
 * into GATES [n_row]. */
void attn_router_run(const struct attn_forward *f, const struct attn_block_weights *w,
                     const float *x, size_t n_row, struct attn_pool *pool);
void attn_router_choose(const struct attn_forward *f, size_t n_row);
size_t attn_expert_gather(const struct attn_forward *f, size_t expert, const float *x,
                          size_t n_row);
void attn_expert_run(struct attn_forward *f, const struct attn_expert *expert, const float *x,
                     size_t n_row, float *post, struct attn_pool *pool);
void attn_shared_gate(const struct attn_forward *f, const struct attn_block_weights *w,
                      const float *x, size_t n_row, float *gates);

/* SITE: resid = resid + x, or x where the model has no residual stream; [n_row, D]. The residual
 * stream is looked at for values that are not finite. */
void attn_residual_step(struct attn_forward *f, enum attn_site site, float *resid, const float *x);

/* sum = sum + x, [n_row, D]. No site. */
void attn_sum_step(struct attn_forward *f, float *sum, const float *x);

/* QK .. PATTERN and Z of the current layer, one sequence after the other: appends k [n_row, G, E]
 * and v [n_row, G, Ev] to the KV cache, then computes z = softmax(q k^T * scale) v, or the equation
 * of the layer's kind of attention, from all rows there: q [n_row, H, E], z [n_row, H, Ev], for the
 * heads that are needed. k and v of a source are appended once. Cosine similarity normalizes q and
 * k in place. */
void attn_attention_step(struct attn_forward *f, float *q, float *k, const float *v, float *z);

/* Keeps the first N of the sequence's rows in the KV cache, and rows of a source unless N is 0. */
void attn_kv_cache_truncate(struct attn_forward *f, size_t n);

/* Runs the maps that wait and visits their sites. Call it before the results are read elsewhere. */
void attn_step_finish(struct attn_forward *f);

/* --- The block -------------------------------------------------------------------------------- */

/* Runs LAYER on the residual stream of the current feed. */
void attn_block_run(struct attn_forward *f, int layer);

/* --- The pass --------------------------------------------------------------------------------- */

/* Begins a feed of N sequences, whose first failure goes into ERR. Of parts [n] row0, n_row and the
 * edits are set. Embeddings belong into resid next. */
void attn_decoder_begin(struct attn_forward *f, size_t n, struct attn_error *err);

/* Takes the embeddings through positions, blocks and the output layer, as far as anything is
 * needed. Returns the feed's status. */
enum attn_status attn_decoder_run(struct attn_forward *f);

/* The parts of a pooled vector (attn_sentence.pools). */
enum { POOL_FIRST = 1, POOL_MAX = 2, POOL_MEAN = 4, POOL_LAST = 8 };

/* One row of each sequence, which a classifier's head or matrix reads, into f->final, from its rows
 * X [n_row, D]. */
void attn_decoder_pool(struct attn_forward *f, const float *x);

/* LOGITS [n_row, V] of rows X [n_row, D] that the output layer reads. */
void attn_decoder_unembed(struct attn_forward *f, const float *x, size_t n_row, float *logits);

/* Applies edits to LOGITS [n_row, V] of the rows FIRST and on, counted over all that was fed: over
 * the sequences of a pack, else over the positions. */
void attn_decoder_unembed_edit(struct attn_forward *f, size_t first, size_t n_row, float *logits);

#endif
