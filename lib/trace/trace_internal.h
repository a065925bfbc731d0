/* trace_internal.h - declarations for the library alone: sites, selections, traces and edits. */
#ifndef ATTN_TRACE_TRACE_INTERNAL_H
#define ATTN_TRACE_TRACE_INTERNAL_H

#include "base/pool.h"
#include "trace/edit.h"
#include "trace/location_internal.h"
#include "trace/model_stack.h"
#include "trace/selection.h"
#include "trace/site.h"
#include "trace/site_set.h"
#include "trace/trace.h"
#include "trace/trace_extra.h"

#include <stdatomic.h>

/* --- Sites ------------------------------------------------------------------------------------ */

/* The sites in the order of ATTN_SITE_MAP, in which they are shown and computed in a layer. */
extern const enum attn_site attn_site_order[ATTN_N_SITE];

/* The index of SITE in it, and whether A comes before B. */
int attn_site_index(enum attn_site site);
bool attn_site_is_before(enum attn_site a, enum attn_site b);

const char *attn_site_shape_text(enum attn_site site); /* "H T S" */
bool attn_site_has_heads(enum attn_site site);         /* false: layout VECTOR or PAIRS */
bool attn_site_has_keys(enum attn_site site);          /* its columns are keys: MATRIX or PAIRS */
bool attn_site_has_first_key(enum attn_site site);     /* the same without contacts, from 1 on */

/* Which numbers it has: weights are shares, 0 to 1; most others have both signs. */
enum attn_value_range attn_site_range(enum attn_site site);

/* All derived sites, gradients among them. */
struct attn_site_set attn_sites_derived(void);

/* The gradients of those sites of OF that have one. */
struct attn_site_set attn_sites_gradients_of(struct attn_site_set of);

/* The last dimension's size: d_model for resid_pre, d_head for q, n_position for pattern (n_source
 * where a layer attends to the source: see attn_site_n_key). */
size_t attn_site_width(enum attn_site site, const struct attn_dims *dims);

/* The number of its heads, key/value heads for layout KEY; 1 without heads. */
size_t attn_site_n_head(enum attn_site site, const struct attn_dims *dims);

/* The first position that it has a row of: of embed the first patch of a picture, of contacts 1,
 * else 0; and the one after the last. Columns of contacts begin at that position, too. */
size_t attn_site_first_row(enum attn_site site, const struct attn_dims *dims);
size_t attn_site_end_row(enum attn_site site, const struct attn_dims *dims);

/* Its columns: keys of LAYER, or its width. */
size_t attn_site_n_column(enum attn_site site, const struct attn_dims *dims, int layer);

/* Whether it is one row for all positions, number 0, which no choice of queries leaves out: logits
 * of an image classifier, text_embed, image_embed. */
bool attn_site_is_pooled(enum attn_site site, const struct attn_dims *dims);

/* The factors of the scores: the site of queries (layout QUERY) or of keys: rot_q and rot_k where
 * positions are rotary, else q and k. */
enum attn_site attn_site_of_scores(const struct attn_dims *dims, enum attn_site_layout layout);

/* The output of a block, which the next one reads: resid_post, or that normalized. */
enum attn_site attn_site_of_output(const struct attn_dims *dims);

/* The same of LAYER, which has no MLP if it is the first of a pair. */
enum attn_site attn_site_of_layer_output(const struct attn_dims *dims, int layer);

/* Whether LAYER does not have SITE, which other layers may have; ATTN_ALL_LAYERS: false. */
bool attn_site_is_lacking(const struct attn_dims *dims, enum attn_site site, int layer);

/* Keys that LAYER attends to, S: n_position, or n_source. */
size_t attn_site_n_key(const struct attn_dims *dims, int layer);

/* An attn_trace_fn: hands an event of the encoder by itself on to USER, a struct attn_trace of both
 * stacks, as one of those. */
enum attn_status attn_model_stack_hand_on(void *user, const struct attn_trace_event *event,
                                          struct attn_error *err);

/* Whether SITE comes after the attention of its layer: of the MLP, or the output of the layer. */
bool attn_site_is_after_attention(enum attn_site site);

/* The stack that SITE of the block LAYER belongs to, and the number that the layer has there, in
 * *NUMBER. */
enum attn_model_stack attn_model_stack_of(const struct attn_dims *dims, enum attn_site site,
                                          int layer, int *number);

/* The stack that ITEM of a list begins with, "cross:", whose size is *SIZE; or ATTN_STACK_ONLY. */
enum attn_model_stack attn_model_stack_find(const char *item, size_t *size);

/* --- Selections ------------------------------------------------------------------------------- */

/* A selection of the heads that SPEC means, and of everything else. Owned by the caller. */
enum attn_status attn_select_heads(const char *spec, const struct attn_dims *dims,
                                   struct attn_selection **selection, struct attn_error *err);

/* Lets rows of all heads of a layer come before its next rows, for a trace without an order. */
void attn_selection_take_rows(struct attn_selection *selection);

/* Reads. LAYER must be in range. */
bool attn_selection_takes_rows(const struct attn_selection *selection);
struct attn_site_set attn_selection_sites(const struct attn_selection *selection);
bool attn_selection_has_site(const struct attn_selection *selection, enum attn_site site);
bool attn_selection_has_layer(const struct attn_selection *selection, int layer);
size_t attn_selection_n_head(const struct attn_selection *selection, int layer);
size_t attn_selection_n_query(const struct attn_selection *selection);

/* The encoder's part, which may be changed; and whether the other part has no sites. */
struct attn_selection *attn_selection_encoder_part(struct attn_selection *selection);
bool attn_selection_is_of_encoder(const struct attn_selection *selection);

/* The index of the layer of AT in an array of all layers of SELECTION, which has one more for what
 * is outside of the encoder's layers; and the size of such an array. */
int attn_selection_slot(const struct attn_selection *selection, const struct attn_location *at);
size_t attn_selection_n_slot(const struct attn_selection *selection);

/* The part of SELECTION that has the stack of AT, which is SELECTION or its encoder's part, and the
 * block there; NULL if SELECTION, which may be NULL, has no such stack or layer. */
const struct attn_selection *attn_selection_part(const struct attn_selection *selection,
                                                 const struct attn_location *at, int *block);

/* Whether the head of AT, a key/value head for sites of keys, is among the chosen heads. */
bool attn_selection_has_tensor_head(const struct attn_selection *selection,
                                    const struct attn_location *at);

/* attn_selection_add_head, attn_selection_has_head, attn_selection_wants and attn_selection_shape
 * of the layer with the number BLOCK. */
enum attn_status attn_selection_add_block(struct attn_selection *selection, int block, int head,
                                          struct attn_error *err);
bool attn_selection_has_block_head(const struct attn_selection *selection, int block, int head);
bool attn_selection_wants_block(const struct attn_selection *selection, enum attn_site site,
                                int block);
int attn_selection_block_shape(const struct attn_selection *selection, enum attn_site site,
                               int block, size_t shape[3]);

/* Drops the sites that no chosen layer, head or query of a stack has. */
void attn_selection_drop_sites(struct attn_selection *selection);

/* A copy of the part of SELECTION that is of the encoder, or of the decoder, by itself. */
enum attn_status attn_selection_copy_stack(const struct attn_selection *selection, bool is_encoder,
                                           struct attn_selection **copy, struct attn_error *err);

/* A copy with all queries of DIMS, which has the layers and heads of SELECTION. */
enum attn_status attn_selection_copy_heads(const struct attn_selection *selection,
                                           const struct attn_dims *dims,
                                           struct attn_selection **copy, struct attn_error *err);

/* Sets the layers that a user's list means: the numbers are those of the stacks, where there are
 * two. */
enum attn_status attn_selection_choose_layers(struct attn_selection *selection, const char *spec,
                                              struct attn_error *err);

/* Adds SITES to those of STACK, after attn_selection_clear_sites. */
enum attn_status attn_selection_add_sites(struct attn_selection *selection,
                                          enum attn_model_stack stack, struct attn_site_set sites,
                                          struct attn_error *err);
void attn_selection_clear_sites(struct attn_selection *selection);

/* Adds the gradients of the sites of each stack. */
void attn_selection_add_gradients(struct attn_selection *selection);

/* For sites whose rows are queries: the wanted rows, and the queries before them without a row. */
size_t attn_selection_n_row(const struct attn_selection *selection, enum attn_site site);
size_t attn_selection_n_rowless(const struct attn_selection *selection, enum attn_site site);

/* Whether anything of layers or heads was left out; whether queries were. */
bool attn_selection_is_all_heads(const struct attn_selection *selection);
bool attn_selection_is_all_queries(const struct attn_selection *selection);

/* Whether a key/value head serves a wanted query head h of LAYER: h / (H/G) == kv_head. */
bool attn_selection_has_kv_head(const struct attn_selection *selection, int layer, int kv_head);

/* The selection of a feed from which the sites MADE of SELECTION can be computed: its other sites,
 * and all rows of the stream at layers. LAYERS, unless NULL, replaces its layers. The caller frees
 * *seen. */
enum attn_status attn_selection_see_stream(const struct attn_selection *selection,
                                           struct attn_site_set made, const char *layers,
                                           struct attn_selection **seen, struct attn_error *err);

/* --- Traces, and the cells of their events ---------------------------------------------------- */

/* Whether TRACE, not NULL, has a selection and a callback; else ERR names the missing one. */
bool attn_trace_is_given(const struct attn_trace *trace, struct attn_error *err);

/* The next consecutive rows of EVENT that SELECTION wants, as a separate event; *row begins at 0
 * and keeps the position of the search. False at the end. */
bool attn_trace_next_part(const struct attn_selection *selection,
                          const struct attn_trace_event *event, size_t *row,
                          struct attn_trace_event *part);

/* Gives TRACE the rows of EVENT that it wants, where it wants any of this tensor and head. */
enum attn_status attn_trace_hand_on(const struct attn_trace *trace,
                                    const struct attn_trace_event *event, struct attn_error *err);

/* Copies the rows of EVENT to ROWS [T, width], which holds all heads side by side, on POOL: the
 * first write to each page of memory takes most of the time. */
void attn_trace_keep_rows(const struct attn_trace_event *event, struct attn_pool *pool,
                          size_t width, float *rows);

/* The same to STREAM [n_layer + 1, T, D of DIMS], for streams into layers and after the last. With
 * norms of the sums these are the sums after layers, of pairs only after the second. */
void attn_trace_keep_stream(const struct attn_trace_event *event, struct attn_pool *pool,
                            const struct attn_dims *dims, float *stream);

/*
 * Iterates over the unmasked cells of an event's row.
 *
 *     struct attn_row row = attn_event_row(event, r);
 *     struct attn_cells cells;
 *     while (attn_row_next(&row, &cells))             // ascending; cells between are masked
 *         ... cells.values [cells.n] belong to the columns cells.first and on ...
 *
 * A row that a causal mask cuts is one run of cells, a sparse one many: consumers treat both alike.
 */

/* Neighbouring cells; n >= 1. */
struct attn_cells {
    size_t first, n;     /* column of the first cell; number of cells */
    const float *values; /* [n] */
};

struct attn_row {
    const float *values; /* [n] */
    const int32_t *keys; /* [n] the column of each, ascending; NULL: 0 .. n-1 */
    size_t n;
    size_t at; /* the first that attn_row_next has not given */
};

/* Row R of an event, from 0; borrows from it. */
struct attn_row attn_event_row(const struct attn_trace_event *event, size_t r);

/* The next cells, as many as are neighbours; false when there are no more. */
bool attn_row_next(struct attn_row *row, struct attn_cells *cells);

/* Whether row R is always 1: the first query of a causal pattern sees only itself. */
bool attn_event_is_certain(const struct attn_trace_event *event, size_t r);

/* Copies row R of EVENT to OUT [width]; masked cells become 0 in patterns, minus infinity in
 * scores, and NaN in qk, where the product is not computed. Cells beyond WIDTH are left out: OUT
 * has fewer keys than were fed. */
void attn_event_copy_row(const struct attn_trace_event *event, size_t r, float *out, size_t width);

/* --- Edits ------------------------------------------------------------------------------------ */

/* Checks edits against the sizes of a model: its sites, heads and layers, ops of each site. */
enum attn_status attn_edits_check(const struct attn_edit *edits, size_t n_edit,
                                  const struct attn_dims *dims, struct attn_error *err);

/* Whether any edit concerns the site in that layer (any head). */
bool attn_edits_touch(const struct attn_edit *edits, size_t n_edit, enum attn_site site, int layer);

/* Applies the edits of TARGET in order; returns the number of rows in which an edit changed a
 * value. Sets HAS_EFFECT [n_edit] or NULL for edits that changed one. Safe on any thread. */
size_t attn_edits_apply(const struct attn_edit *edits, size_t n_edit, atomic_bool *has_effect,
                        const struct attn_edit_target *target);

#endif
