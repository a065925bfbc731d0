/* model_stack.h - the names of the parts of a model with an encoder and a decoder. */
#ifndef ATTN_TRACE_MODEL_STACK_H
#define ATTN_TRACE_MODEL_STACK_H

#include "trace/site.h"

/* The stacks of a model that has two. */
enum attn_model_stack {
    ATTN_STACK_ONLY = 0,
    ATTN_STACK_ENCODER = 1,
    ATTN_STACK_DECODER = 2,
    ATTN_STACK_CROSS = 3, /* the attention of the decoder to the source */
    ATTN_STACK_TOWER =
        4, /* the encoder of pictures of a decoder, whose own stack is the only one */
};

/* Returns "encoder", "decoder", "cross" or "tower"; "" for ATTN_STACK_ONLY. */
ATTN_API const char *attn_model_stack_name(enum attn_model_stack stack);

#endif
