/* location.h - which tensor a number, an edit or a row of a table belongs to: its stack, layer,
 * head and site. A layer of a decoder that attends to a source counts as one layer here: its
 * self-attention and its MLP are `decoder L`, its attention to the source is `cross L`. */
#ifndef ATTN_TRACE_LOCATION_H
#define ATTN_TRACE_LOCATION_H

#include "trace/model_stack.h"

struct attn_location {
    enum attn_model_stack stack;
    int layer; /* number in its stack, from 0; ATTN_NO_LAYER: outside the layers */
    int head;  /* ATTN_ALL_HEADS: of all heads, or without heads */
    enum attn_site site;
};

#endif
