/*
 * model_state.h - what an open model holds. For the files of this layer.
 */
#ifndef ATTN_MODEL_MODEL_STATE_H
#define ATTN_MODEL_MODEL_STATE_H

#include "model/model.h"
#include "model/weights.h"

struct attn_model {
    struct attn_config config;   /* owns its attention */
    struct attn_safetensors *st; /* owns; weights borrow from it */
    struct attn_weights weights;
    char *name; /* owns */
};

#endif
