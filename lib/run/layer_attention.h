/* layer_attention.h - the attention of each layer of a run: the model's own, changed as the request
 * says. For the files of this layer. */
#ifndef ATTN_RUN_LAYER_ATTENTION_H
#define ATTN_RUN_LAYER_ATTENTION_H

#include "attention/kind.h"
#include "base/status_internal.h"
#include "model/config.h"
#include "run/request.h"

/* Initialize with = {0}; end with attn_layer_attention_release. */
struct attn_layer_attention {
    struct attn_attention *layers; /* [n_layer] owns; strides are those for the text */
    unsigned char *mask, *keep;    /* owns; the cells of the request's masks, or NULL */
};

/* What the cells of a mask are about. */
struct attn_mask_sizes {
    size_t n_batch; /* 0: there are no batches */
    size_t n_head;  /* of one batch */
    size_t n_query, n_key;
};

/* Finds it for a text of N positions and a source of N_SOURCE rows. Stage ATTN_STAGE_OPTIONS for
 * what does not go together or does not fit the model, ATTN_STAGE_INPUT for a mask of another
 * shape. */
enum attn_status attn_layer_attention_find(const struct attn_request_attention *given,
                                           const struct attn_config *config, size_t n,
                                           size_t n_source, struct attn_layer_attention *found,
                                           struct attn_error *err);

/* The one attention of arrays of these sizes. Likewise. */
enum attn_status attn_layer_attention_of_arrays(const struct attn_request_attention *given,
                                                bool has_scores,
                                                const struct attn_mask_sizes *sizes,
                                                struct attn_layer_attention *found,
                                                struct attn_error *err);

void attn_layer_attention_release(struct attn_layer_attention *found);

/* Whether ATTENTION has the SITES of a list; globs mean those that there are. For NULL, the default
 * sites, it notes what is left out. Stage ATTN_STAGE_OPTIONS. */
enum attn_status attn_layer_attention_check_sites(const struct attn_attention *attention,
                                                  const char *sites, struct attn_notes notes,
                                                  struct attn_error *err);

/* Unless the kind is full, notes how many pairs of a query and a key it computes, of how many that
 * the mask leaves: in LAYERS [dims->n_layer]. IS_SOURCE_ORDERED: causal masks count in layers that
 * attend to a source, too. */
void attn_layer_attention_note_pairs(const struct attn_request_attention *given,
                                     const struct attn_attention *layers,
                                     const struct attn_dims *dims, bool is_source_ordered,
                                     struct attn_notes notes);

#endif
