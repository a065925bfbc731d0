/*
 * places_extra.h - goes through the layers and heads of one stack, and numbers them for arrays.
 * A decoder with a source computes two layers of attention for each layer: itself, then the source.
 *
 *     struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};
 *     while (attn_selection_next_head(selection, &at))
 *         sums[attn_head_index(sizes, &at)] = 0; // [n_layer, n_head]
 */
#ifndef ATTN_TRACE_PLACES_EXTRA_H
#define ATTN_TRACE_PLACES_EXTRA_H

#include "trace/location_extra.h"
#include "trace/selection.h"

/* Sets AT to the next layer of DIMS that has a tensor of the site of AT, in the order in which they
 * are computed, with all its heads. Begins at the first layer if the layer is ATTN_NO_LAYER. False
 * after the last. */
ATTN_API bool attn_dims_next_layer(const struct attn_dims *dims, struct attn_location *at);

/* As attn_dims_next_layer, but one head after the other; the second goes through those that
 * SELECTION, of one stack or two, has of the stack that comes last. */
ATTN_API bool attn_dims_next_head(const struct attn_dims *dims, struct attn_location *at);
ATTN_API bool attn_selection_next_head(const struct attn_selection *selection,
                                       struct attn_location *at);

/* Whether DIMS is of a decoder with a source, so that its locations name a stack. */
static inline bool attn_dims_has_stacks(const struct attn_dims *dims)
{
    return dims->has_pairs;
}

/* Returns the sizes of STACK: those of the encoder, if DIMS are of two stacks, or DIMS. */
static inline const struct attn_dims *attn_dims_of(const struct attn_dims *dims,
                                                   enum attn_model_stack stack)
{
    return attn_stack_is_encoder(stack) && dims->encoder ? dims->encoder : dims;
}

/* Returns the number of sequences of which a tensor of AT has a part, one after another: the chosen
 * pictures of a tower, else 1. DIMS are of the last stack. */
static inline size_t attn_location_n_sequence(const struct attn_dims *dims,
                                              const struct attn_location *at)
{
    const size_t n = attn_dims_of(dims, at->stack)->picture.n_chosen;

    return n > 0 ? n : 1;
}

/* Returns the location after the last layer. */
ATTN_API struct attn_location attn_dims_end(const struct attn_dims *dims);

/* Returns the index of the layer of AT in an array with an item for each layer of attention of its
 * stack [n_layer]; and of the head AT in an array [n_layer, n_head]. */
ATTN_API size_t attn_location_index(const struct attn_location *at);
ATTN_API size_t attn_head_index(const struct attn_dims *dims, const struct attn_location *at);

/* Return the location of SITE that has INDEX among the layers, with all heads; and among the heads.
 */
ATTN_API struct attn_location attn_layer_at(const struct attn_dims *dims, enum attn_site site,
                                            size_t index);
ATTN_API struct attn_location attn_head_at(const struct attn_dims *dims, enum attn_site site,
                                           size_t index);

/* Returns the location of SITE in the layer of attention that AT belongs to: the MLP of a decoder
 * with a source, and the output of its layers, belong to the attention to the source. */
ATTN_API struct attn_location attn_location_in(const struct attn_dims *dims,
                                               const struct attn_location *at, enum attn_site site);

/* As attn_location_in, in *own; false if SITE is not computed in that layer, but in the layer of
 * attention that comes before or after it. */
ATTN_API bool attn_location_find(const struct attn_dims *dims, const struct attn_location *at,
                                 enum attn_site site, struct attn_location *own);

/* Returns DIMS with the sizes of the layer of AT in place of the largest ones. */
ATTN_API struct attn_dims attn_location_dims(const struct attn_dims *dims,
                                             const struct attn_location *at);

/* Return S, the number of keys that the layer of AT attends to; the number of columns of the tensor
 * AT; the site that holds the output of the layer of AT; the number of selected heads of AT. */
ATTN_API size_t attn_location_n_key(const struct attn_dims *dims, const struct attn_location *at);
ATTN_API size_t attn_location_n_column(const struct attn_dims *dims,
                                       const struct attn_location *at);
ATTN_API enum attn_site attn_location_output(const struct attn_dims *dims,
                                             const struct attn_location *at);
ATTN_API size_t attn_selection_count_heads(const struct attn_selection *selection,
                                           const struct attn_location *at);

/* Whether DIMS lacks the tensor AT: its layer does not have the site although others do. */
ATTN_API bool attn_location_is_lacking(const struct attn_dims *dims,
                                       const struct attn_location *at);

#endif
