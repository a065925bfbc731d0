/* table_stacks.h - layers of a decoder whose model has an encoder, as people count them. */
#ifndef ATTN_STUDY_TABLE_STACKS_H
#define ATTN_STUDY_TABLE_STACKS_H

#include "base/table.h"

/* Copies TABLE, whose layers 2N and 2N + 1 are layer N of a decoder: 2N attends to the text, 2N + 1
 * to the source (trace/model_stack.h); those from N_LAYER on are of the encoder. In the copy a
 * column `stack` stands before each column of layers, whose numbers are those of the stack. *named
 * is NULL if TABLE has no layers. It is the caller's. */
ATTN_API enum attn_status attn_table_name_stacks(const struct attn_table *table, size_t n_layer,
                                                 struct attn_table **named, struct attn_error *err);

#endif
