/* model_init_internal.h - makes the two parts of a model: its config.json and its weights. */
#ifndef ATTN_DRAWN_MODEL_INIT_INTERNAL_H
#define ATTN_DRAWN_MODEL_INIT_INTERNAL_H

#include "base/buffer.h"
#include "drawn/model_init.h"
#include "formats/safetensors.h"
#include "model/config_fields.h"
#include "model/weights.h"

/* Appends the text of config.json to OUT: first the members of a file, then the settings, then the
 * members that follow from the vocabulary. attn_family_read_config checks the text. */
enum attn_status attn_init_config_write(struct attn_buffer *out,
                                        const struct attn_init_options *options,
                                        struct attn_error *err);

/* A tensor that is drawn. */
struct attn_made_weight {
    const struct attn_weight_spec *spec;
    float *data; /* owns; [n] */
    size_t n;
};

/* Initialize with = {0}; end with attn_made_weights_release. */
struct attn_made_weights {
    struct attn_weight_spec *specs; /* owns; [n], as attn_weights_describe returns them */
    struct attn_made_weight *items; /* owns; [n] */
    size_t n;
};

/* Allocates the tensors of a model with CONFIG, and draws them as OPTIONS say. The caller releases
 * them, also after a failure. */
enum attn_status attn_made_weights_draw(struct attn_made_weights *weights,
                                        const struct attn_config *config, bool with_biases,
                                        const struct attn_init_options *options,
                                        struct attn_error *err);
void attn_made_weights_release(struct attn_made_weights *weights);

#endif
