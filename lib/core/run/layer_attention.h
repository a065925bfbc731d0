/* layer_attention.h - the attention of each layer of a run: the model's, with the changes of the
 * request. For the files of this layer. */
#pragma once

#include "base/status_internal.h"
#include "model/config_fields.h"
#include "run/request.h"

/* Initialize with = {0}; end with attn_layer_attention_release. */
struct attn_layer_attention {
    /* [n_layer] owns; strides are resolved for the length of the text. */
    struct attn_attention *layers;
    unsigned char *mask, *keep; /* owns; the cells of the request's masks, or NULL */
};

/* The sizes that the cells of a mask must have. */
struct attn_mask_sizes {
    size_t n_batch; /* 0: no batches */
    size_t n_head;  /* heads of one batch */
    size_t n_query, n_key;
};

/* Computes the attention of each layer for a text of N positions and a source of N_SOURCE rows.
 * Errors have the stage ATTN_STAGE_OPTIONS for parts that cannot be combined or do not fit the
 * model, ATTN_STAGE_INPUT for a mask of another shape. */
enum attn_status attn_layer_attention_find(const struct attn_request_attention *given,
                                           const struct attn_config *config, size_t n,
                                           size_t n_source, struct attn_layer_attention *found,
                                           struct attn_error *err);

/* Computes the attention for arrays of these sizes, with the same errors. */
enum attn_status attn_layer_attention_of_arrays(const struct attn_request_attention *given,
                                                bool has_scores,
                                                const struct attn_mask_sizes *sizes,
                                                struct attn_layer_attention *found,
                                                struct attn_error *err);

void attn_layer_attention_release(struct attn_layer_attention *found);

/* Checks that ATTENTION can compute the SITES of a list; globs select only existing sites. If SITES
 * is NULL, which means the default sites, notes which of them are left out. Errors have the stage
 * ATTN_STAGE_OPTIONS. */
enum attn_status attn_layer_attention_check_sites(const struct attn_attention *attention,
                                                  const char *sites, struct attn_notes notes,
                                                  struct attn_error *err);

/* Notes how many pairs of a query and a key are computed in LAYERS [dims->n_layer], out of those
 * that the mask leaves. Does nothing if the kind is `full` or is not the caller's choice.
 * IS_SOURCE_ORDERED: causal masks apply also to layers that attend to a source. */
void attn_layer_attention_note_pairs(const struct attn_request_attention *given,
                                     const struct attn_attention *layers,
                                     const struct attn_dims *dims, bool is_source_ordered,
                                     struct attn_notes notes);
