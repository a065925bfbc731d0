/* model_internal.h - what an open model holds. */
#ifndef ATTN_MODEL_MODEL_INTERNAL_H
#define ATTN_MODEL_MODEL_INTERNAL_H

#include "model/model.h"
#include "model/weights.h"

struct attn_model {
    struct attn_config config; /* borrows from layers */
    struct attn_config_layers layers;
    struct attn_safetensors *st; /* owns; weights borrow from it */
    struct attn_weights weights;
    enum attn_compute compute; /* in which numbers weights are multiplied */
    char *name;                /* owns */
};

#endif
