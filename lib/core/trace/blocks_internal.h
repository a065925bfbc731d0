/*
 * blocks_internal.h - layers by the number of their block, for the rooms trace, model, forward and
 * gradient alone (tests/tools/check_layers.sh). A layer of a decoder that attends to a source is
 * two blocks: block 2N attends to the text and has no MLP, block 2N + 1 attends to the source.
 * Other rooms ask by location: trace/places_extra.h.
 */
#pragma once

#include "trace/location.h"
#include "trace/selection.h"

struct attn_edit; /* trace/edit.h */

/* Returns the location of SITE in BLOCK. */
struct attn_location attn_location_of_block(const struct attn_dims *dims, enum attn_site site,
                                            int block, int head);

/* Returns the number, in its stack, of the block that has the site of AT. */
int attn_location_block(const struct attn_location *at);

/* Returns the stack that SITE of block LAYER belongs to. *number becomes the number of the layer in
 * this stack. */
enum attn_model_stack attn_model_stack_of(const struct attn_dims *dims, enum attn_site site,
                                          int layer, int *number);

/* Returns S, the number of keys that LAYER attends to: n_position, or n_source. */
size_t attn_site_n_key(const struct attn_dims *dims, int layer);

/* Returns the number of columns of SITE in LAYER: keys, or the width of a vector. */
size_t attn_site_n_column(enum attn_site site, const struct attn_dims *dims, int layer);

/* Returns the site of the output of block LAYER. The first block of a pair has no MLP, so its
 * output is that of its attention. */
enum attn_site attn_site_of_layer_output(const struct attn_dims *dims, int layer);

/* Whether LAYER lacks SITE although the model has it. False for ATTN_ALL_LAYERS. */
bool attn_site_is_lacking(const struct attn_dims *dims, enum attn_site site, int layer);

/* As attn_selection_wants, but for block BLOCK of the last stack. */
bool attn_selection_wants_block(const struct attn_selection *selection, enum attn_site site,
                                int block);

/* Whether one of EDITS [n_edit] is a function of a matrix in LAYER. */
bool attn_edits_have_matrix_function(const struct attn_edit *edits, size_t n_edit, int layer);
