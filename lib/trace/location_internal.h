/* location_internal.h - locations as blocks, cells of tables, and in order. */
#ifndef ATTN_TRACE_LOCATION_INTERNAL_H
#define ATTN_TRACE_LOCATION_INTERNAL_H

#include "base/table.h"
#include "trace/location.h"

/* The location of SITE in BLOCK: blocks are what model, forward and gradient count, where a layer
 * of such a decoder is two. For these three and for what reads their tensors by block. */
struct attn_location attn_location_of_block(const struct attn_dims *dims, enum attn_site site,
                                            int block, int head);

/* The block of its stack that has the site of AT. */
int attn_location_block(const struct attn_location *at);

/* Whether the keys of AT are rows of a source. */
bool attn_location_is_cross(const struct attn_dims *dims, const struct attn_location *at);

/* The layers of a model that people count: half of the blocks of a decoder with a source. */
size_t attn_dims_n_whole_layer(const struct attn_dims *dims);

/* Writes stack and layer of AT into CELLS [2], which are neighbours in a table (ATTN_ROLE_STACK).
 */
void attn_location_put(const struct attn_location *at, struct attn_cell *cells);

/* Reads them from ROW of TABLE, whose COLUMN has the layers; tables of one stack have no column of
 * stacks. False if there is no layer. */
bool attn_location_read(const struct attn_table *table, size_t row, size_t column,
                        struct attn_location *at);

/* Below, at or above 0: by stack (encoder, decoder, cross), then by layer, then by head. */
int attn_location_compare(const struct attn_location *a, const struct attn_location *b);

/* The same of layers in the order in which they are computed: those of the encoder, then of each
 * layer of the decoder its self-attention and its attention to the source. */
int attn_location_order(const struct attn_location *a, const struct attn_location *b);

#endif
