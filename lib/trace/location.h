/* location.h - where a number is: the stack, the layer, the head and the site that a tensor, an
 * edit or a row of a table is of. A layer of a decoder that attends to a source is one layer: its
 * self-attention and its MLP are `decoder L`, its attention to the source is `cross L`. */
#ifndef ATTN_TRACE_LOCATION_H
#define ATTN_TRACE_LOCATION_H

#include "trace/model_stack.h"

struct attn_location {
    enum attn_model_stack stack;
    int layer; /* of that stack, from 0; ATTN_NO_LAYER: outside of its layers */
    int head;  /* ATTN_ALL_HEADS: of no one head */
    enum attn_site site;
};

#endif
