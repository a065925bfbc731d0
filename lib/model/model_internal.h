/*
 * model_internal.h - what an open model holds. For the files of this layer.
 */
#ifndef ATTN_MODEL_MODEL_INTERNAL_H
#define ATTN_MODEL_MODEL_INTERNAL_H

#include "model/model.h"
#include "model/weights.h"

struct attn_model {
    struct attn_config config;   /* owns its attention */
    struct attn_safetensors *st; /* owns; weights borrow from it */
    struct attn_weights weights;
    enum attn_compute compute; /* in which numbers weights are multiplied */
    char *name;                /* owns */
};

/* weights_packed.c: makes a packed copy of every matrix that products read, and gives the pages of
 * ST behind them back. */
enum attn_status attn_weights_pack(struct attn_weights *weights, const struct attn_config *config,
                                   const struct attn_safetensors *st,
                                   const struct attn_model_options *options,
                                   struct attn_error *err);

#endif
