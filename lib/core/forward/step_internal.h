/* step_internal.h - the lines of a forward pass (one equation each), the block, and the whole pass.
 */
#pragma once

#include "forward/forward_internal.h"

/* A line is one equation over the rows of the current feed. It computes a tensor and visits its
 * site (edits, then the trace) before the tensor is read. Linear maps wait until another line needs
 * a result, so that maps of the same rows run side by side. A map also computes the activation or
 * sum that follows, while its result is in cache, unless the tensor between is watched or edited.
 * Visits keep the order of the lines, and results do not depend on this. */

/* Computes y = normalize(x) * w + b, or y = x if the model has no such norm. x and y are [n_row,
 * width of the norm, else D], and may be the same rows if there is a norm. Visits no site. */
void attn_norm_step(struct attn_forward *f, const struct attn_norm_weights *weights, const float *x,
                    float *y);

/* attn_norm_read reads the weight of a norm, and its bias if it has one, into f->vectors.
 * attn_norm_row then computes y = normalize(x) * w + b [n] for one row. */
void attn_norm_read(struct attn_forward *f, const struct attn_norm_weights *weights);
void attn_norm_row(const struct attn_forward *f, const float *x, size_t n, float *y);

/* Returns the first of these weights that applies to head HEAD, which has WIDTH components. */
const float *attn_norm_weights_of(const struct attn_forward *f, size_t head, size_t width);

/* Returns the table of angles that LAYER uses. */
const struct attn_rotary *attn_rotary_of_layer(const struct attn_forward *f, int layer);

/* In the last layer, drops the rows that are not needed from here on: those of each sequence before
 * the first one that is watched or whose logits are requested, but never its last row. The other
 * rows of the stream and of X [n_row, N_COL] move up. Returns the original X, the input of keys and
 * values; if rows were dropped, that is a copy in ALL [n_row, N_COL], unless ALL is NULL. */
const float *attn_drop_step(struct attn_forward *f, float *x, size_t n_col, float *all);

/* Computes SITE: y = x W + b, for the heads that are needed; y = x if the model has no such
 * weights. */
void attn_linear_step(struct attn_forward *f, enum attn_site site, const struct attn_linear *linear,
                      const float *x, float *y);

/* Computes SITE from X [n_row, D], to which the preceding map has written its result: by a NORM, by
 * layer SCALE and by the factor of the residual stream, as far as the model has them. */
void attn_output_step(struct attn_forward *f, enum attn_site site,
                      const struct attn_norm_weights *norm, const struct attn_norm_weights *scale,
                      float *x);

/* Computes SITE: normalizes the stream x [n_row, D], if the model has such a norm: x = normalize(x)
 * * w + b. */
void attn_sum_norm_step(struct attn_forward *f, enum attn_site site,
                        const struct attn_norm_weights *weights, float *x);

/* Returns the arguments for y = x W + b over contiguous rows. */
struct attn_linear_args attn_map_of(const struct attn_forward *f, const struct attn_linear *linear,
                                    const float *x, size_t n_row, float *y);

/* Computes y = x W + b, or act(x W + b) if ACTIVATION is given. For use outside of the layers,
 * where no map waits. Visits no site. */
void attn_map_step(struct attn_forward *f, const struct attn_linear *linear,
                   const enum attn_activation *activation, const float *x, size_t n_row, float *y);

/* Computes SITE: normalizes queries or keys x [n_row, heads, E], if the model has such norms, and
 * rotates them by their positions. Does nothing if positions are not rotary. */
void attn_rotary_step(struct attn_forward *f, enum attn_site site,
                      const struct attn_norm_weights *weights, float *x);

/* Computes SITE: x = act(x) * y; x and y are [n_row, F]. */
void attn_gate_step(struct attn_forward *f, enum attn_site site, float *x, const float *y);

/* Computes SITE: x = act(x), [n_row, F]. */
void attn_activation_step(struct attn_forward *f, enum attn_site site, float *x);

/* Computes x = x softmax(x) over each row (SoLU, transformer-circuits.pub/2022/solu), normalizes it
 * if NORM has weights, and visits SITE. attn_solu_row does the first for one row [n]: y = x shares,
 * where SHARES receives the softmax. Y may be X. */
void attn_solu_step(struct attn_forward *f, const struct attn_norm_weights *norm,
                    enum attn_site site, float *x);
void attn_solu_row(const struct attn_forward *f, const float *x, size_t n, float *y, float *shares);

/* Computes the sites of a layer without attention up to MIXER_Z, and the input of its output map in
 * f->mixer.out, for the rows in f->normed (mixer.c). */
void attn_mixer_step(struct attn_forward *f, const struct attn_block_weights *w);

/* Makes the inputs that all layers have for the tokens of the feed, from the embeddings in resid.
 * Does nothing if layers have none (layer_inputs.c). */
void attn_layer_inputs_make(struct attn_forward *f);

/* Takes from f->whole what layers need of those before the first one of the feed, besides the
 * stream (resume.c). */
void attn_resume_step(struct attn_forward *f);

/* Computes what follows the sum with the MLP in a layer, up to RESID_POST. Call it only if
 * attn_config_ends_late. */
void attn_layer_end_step(struct attn_forward *f, const struct attn_block_weights *w);

/* Computes V of a layer whose values are its keys K, before their norm. */
void attn_keys_as_values_step(struct attn_forward *f, const float *k, float *v);

/* Multiplies the rows X [n_row, D] by FACTOR, unless it is 0. Visits no site. */
void attn_scale_step(struct attn_forward *f, double factor, float *x);

/* Multiplies z [n_row, H, Ev] by the sigmoid of the gate of attention, f->gate, [n_row, H * Ev] or
 * [n_row, H]. */
void attn_gate_heads_step(struct attn_forward *f, float *z);

/* Computes MLP_OUT of a layer with experts, and the sites before it, for the rows in f->normed. */
void attn_experts_step(struct attn_forward *f, const struct attn_block_weights *w, float *out);

/* The parts of attn_experts_step, for rows X [n_row, D] on POOL. attn_router_run computes
 * router_logits in f->router. attn_router_choose sets f->expert_weights and f->expert_indices.
 * attn_expert_gather copies the rows that chose EXPERT to f->expert_x, and their numbers to
 * f->expert_rows; it returns how many. attn_expert_run computes an expert into f->expert_y, with
 * the inputs of its gate in f->expert_g and f->expert_u and their product in POST, which may be
 * f->expert_g. attn_shared_gate computes sigmoid(x w) into GATES [n_row].
 *
 * For ATTN_EXPERTS_SOFTMAX_NEAR, attn_router_share finds the best expert but for TAKEN, and
 * computes the softmax over the logits near its own in SHARES [n_expert]. */
void attn_router_run(const struct attn_forward *f, const struct attn_block_weights *w,
                     const float *x, size_t n_row, struct attn_pool *pool);
void attn_router_choose(const struct attn_forward *f, const struct attn_block_weights *w,
                        size_t n_row);
size_t attn_router_share(const struct attn_forward *f, const float *logits, size_t taken,
                         float *shares);
size_t attn_expert_gather(const struct attn_forward *f, size_t expert, const float *x,
                          size_t n_row);
void attn_expert_run(struct attn_forward *f, const struct attn_expert *expert, const float *x,
                     size_t n_row, float *post, struct attn_pool *pool);
void attn_shared_gate(const struct attn_forward *f, const struct attn_block_weights *w,
                      const float *x, size_t n_row, float *gates);

/* Computes SITE: resid = resid + x, or resid = x if the model has no residual stream; [n_row, D].
 * Checks the stream for NaN and infinity. */
void attn_residual_step(struct attn_forward *f, enum attn_site site, float *resid, const float *x);

/* Computes sum = sum + x, [n_row, D]. Visits no site. */
void attn_sum_step(struct attn_forward *f, float *sum, const float *x);

/* Computes the sites QK to PATTERN and Z of the current layer, one sequence after the other:
 * appends k [n_row, G, E] and v [n_row, G, Ev] to the KV cache, then computes z = softmax(q k^T *
 * scale) v, or the equation of the layer's kind of attention, from all rows in the cache. q is
 * [n_row, H, E], z is [n_row, H, Ev]; only needed heads are computed. k and v of a source are
 * appended once. Cosine similarity normalizes q and k in place. */
void attn_attention_step(struct attn_forward *f, float *q, float *k, const float *v, float *z);

/* Whether the scores of LAYER have the terms of places (struct attn_place_terms). */
bool attn_has_places(const struct attn_forward *f, int layer);

/* Queries and keys of a sequence in LAYER, heads side by side. */
struct attn_place_rows {
    int layer;
    const float *q, *k; /* of the positions row0 to row0 + n_query - 1, and of all keys */
    size_t row0, n_query, n_key;
    struct attn_pool *pool; /* NULL: the caller's thread */
};

/* attn_places_make computes f->place_terms for OF. attn_places_emit emits c2p and p2c from them. */
void attn_places_make(struct attn_forward *f, const struct attn_place_rows *of);
void attn_places_emit(struct attn_forward *f, const struct attn_layer_feed *feed);

/* attn_convolution_keep keeps the input of layer 0. attn_convolution_step adds its convolution to
 * the output of the layer, and normalizes the sum, if the model has that. */
void attn_convolution_keep(struct attn_forward *f);
void attn_convolution_step(struct attn_forward *f);

/* Clears the whole KV cache. */
void attn_kv_cache_clear(struct attn_forward *f);

/* Removes all but the first N rows of the sequence from the KV cache. Rows of a source stay unless
 * N is 0. */
void attn_kv_cache_truncate(struct attn_forward *f, size_t n);

/* Runs the maps that wait and visits their sites. Call it before results are read elsewhere.
 * Returns true if the pass is over (attn_forward_is_over). */
bool attn_step_finish(struct attn_forward *f);

/* Runs HEADS, where edits that are functions change matrices of the layer. Calls these first. */
void attn_functions_run(struct attn_forward *f, struct attn_heads *heads);

/* --- The block -------------------------------------------------------------------------------- */

/* Runs LAYER on the residual stream of the current feed. */
void attn_block_run(struct attn_forward *f, int layer);

/* --- The pass --------------------------------------------------------------------------------- */

/* Begins a feed of N sequences. ERR receives the first failure. In parts [n], row0, n_row and the
 * edits must be set. The caller then writes the embeddings to resid. */
void attn_decoder_begin(struct attn_forward *f, size_t n, struct attn_error *err);

/* Runs the feed through positions, blocks and the output layer, up to the last tensor that is
 * needed. Returns the status of the feed. */
enum attn_status attn_decoder_run(struct attn_forward *f);

/* Computes one row for each sequence, the input of a classifier's head or matrix, from its rows of
 * X [n_row, D], into f->final. */
void attn_decoder_pool(struct attn_forward *f, const float *x);

/* Computes LOGITS [n_row, V] of rows X [n_row, D], the inputs of the output layer. */
void attn_decoder_unembed(struct attn_forward *f, const float *x, size_t n_row, float *logits);

/* Applies edits to LOGITS [n_row, V] of rows from FIRST on. Rows are counted over everything fed:
 * over the sequences of a pack, else over the positions. */
void attn_decoder_unembed_edit(struct attn_forward *f, size_t first, size_t n_row, float *logits);
