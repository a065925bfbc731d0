/* location_extra.h - converts locations to cells of tables, and compares them. */
#ifndef ATTN_TRACE_LOCATION_EXTRA_H
#define ATTN_TRACE_LOCATION_EXTRA_H

#include "tables/table.h"
#include "trace/location.h"

/* The head of an edit of z of all heads at once: rows [H * Ev], the heads side by side. */
enum { ATTN_HEADS_TOGETHER = -2 };

/* Whether STACK comes before the stack of a decoder: the encoder, or the tower. */
static inline bool attn_stack_is_encoder(enum attn_model_stack stack)
{
    return stack == ATTN_STACK_ENCODER || stack == ATTN_STACK_TOWER;
}

/* Whether A and B are stacks of one model: both of the one before the decoder, or neither. */
static inline bool attn_stacks_go_together(enum attn_model_stack a, enum attn_model_stack b)
{
    return attn_stack_is_encoder(a) == attn_stack_is_encoder(b);
}

/* Whether AT is attention to a source, so that its keys are rows of the source. */
ATTN_API bool attn_location_is_cross(const struct attn_dims *dims, const struct attn_location *at);

/* Returns the number of layers as users count them: half the number of blocks for a decoder with a
 * source, else the number of blocks. */
ATTN_API size_t attn_dims_n_whole_layer(const struct attn_dims *dims);

/* Writes the stack and the layer of AT into CELLS [2], two neighbouring columns of a table
 * (ATTN_ROLE_STACK). */
ATTN_API void attn_location_put(const struct attn_location *at, struct attn_cell *cells);

/* Reads what attn_location_put wrote: the layer from COLUMN of row ROW of TABLE, and the stack from
 * the column before it. Tables of a model with one stack have no column of stacks. False if the
 * cell of the layer is empty. */
ATTN_API bool attn_location_read(const struct attn_table *table, size_t row, size_t column,
                                 struct attn_location *at);

/* The name of a head as in lists of heads: "2.5", "encoder:1.0"; of all heads of a layer "2.*". */
struct attn_head_name {
    char text[40]; /* terminated */
};

ATTN_API struct attn_head_name attn_location_name(const struct attn_location *at);

/* Returns a number below, equal to or above 0. Compares first the stack (encoder, decoder, cross),
 * then the layer, then the head. */
ATTN_API int attn_location_compare(const struct attn_location *a, const struct attn_location *b);

/* As attn_location_compare, but in the order in which layers are computed: those of the encoder,
 * then for each layer of the decoder its self-attention and its attention to the source. */
ATTN_API int attn_location_order(const struct attn_location *a, const struct attn_location *b);

#endif
