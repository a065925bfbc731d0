/*
 * attention_change.h - the change that a request (run/request.h) makes to the attention of a model.
 *
 *     struct attn_attention_change change = {.parts = ATTN_PART_KIND};
 *     change.to.kind = ATTN_ATTENTION_WINDOW, change.to.window = 64;
 */
#ifndef ATTN_RUN_ATTENTION_CHANGE_H
#define ATTN_RUN_ATTENTION_CHANGE_H

#include "attention/attention.h"

/* Bits for the parts of an attention. */
enum attn_attention_part {
    ATTN_PART_KIND = 1 << 0, /* with its parameters */
    ATTN_PART_MASK = 1 << 1,
    ATTN_PART_MASKING = 1 << 2,
    ATTN_PART_SCALE = 1 << 3, /* is_scaled */
    ATTN_PART_EPS = 1 << 4,
    ATTN_PART_SIMILARITY = 1 << 5,
    ATTN_PART_ALGORITHM = 1 << 6,
    ATTN_PART_DROPOUT = 1 << 7,
    ATTN_PART_DROPOUT_SEED = 1 << 8,
};

/* A change of the model's attention in every layer. */
struct attn_attention_change {
    unsigned parts;           /* which parts of `to` apply: bits ATTN_PART_... */
    struct attn_attention to; /* the new values; its matrix and keep are not used, see below */
    /* The cells for ATTN_MASK_MATRIX, [T, S] or [H, T, S], or for arrays also [B, H, T, S]. In a
     * model they apply to self-attention layers, or to all layers if the model has none. */
    const struct attn_mask_array *mask;
    const struct attn_mask_array *keep; /* for arrays: the weights that dropout keeps, or NULL */
    const void *later[4];
};

#endif
