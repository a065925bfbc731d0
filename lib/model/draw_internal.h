/*
 * draw_internal.h - the weights of a model that is made: every tensor in memory, drawn group by
 * group.
 */
#ifndef ATTN_MODEL_DRAW_INTERNAL_H
#define ATTN_MODEL_DRAW_INTERNAL_H

#include "formats/safetensors.h"
#include "model/config.h"
#include "model/model_init.h"
#include "model/weights.h"

struct attn_made_weight {
    struct attn_weight_spec spec;
    float *data; /* owns; [n] */
    size_t n;
};

/* Initialize with = {0}; end with attn_made_weights_release. */
struct attn_made_weights {
    struct attn_made_weight *items; /* owns; [n], in the order of attn_weights_describe */
    size_t n, capacity;
};

/* Makes the tensors of CONFIG and draws them as OPTIONS say. Release them also after a failure. */
enum attn_status attn_made_weights_draw(struct attn_made_weights *weights,
                                        const struct attn_config *config, bool with_biases,
                                        const struct attn_init_options *options,
                                        struct attn_error *err);
void attn_made_weights_release(struct attn_made_weights *weights);

#endif
