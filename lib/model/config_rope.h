/*
 * config_rope.h - reads the rotary positions of a config.json in all forms that transformers has
 * written: `rope_parameters` since version 5, `rope_scaling` and keys at the top level before.
 *
 *     static const struct attn_rope_keys keys = {"rope_theta", 10000, "partial_rotary_factor", 1};
 *     status = attn_config_read_rope(json, &keys, config, layers, err);
 *
 * Both functions need d_head and n_ctx of CONFIG, and fill LAYERS->rope. A type of scaling that is
 * not known is refused by name.
 */
#ifndef ATTN_MODEL_CONFIG_ROPE_H
#define ATTN_MODEL_CONFIG_ROPE_H

#include "model/config_internal.h"

/* What stands at the top level of a family's configs when the object has it not, and its default
 * when neither has it. */
struct attn_rope_keys {
    const char *theta;
    double default_theta;
    const char *partial;    /* the share of a head's components that are turned */
    double default_partial; /* 1: the family turns all, and no other share is taken */
};

/* The same for all layers: the object is `rope_scaling` if it is filled, else `rope_parameters`. */
enum attn_status attn_config_read_rope(const struct attn_json *json,
                                       const struct attn_rope_keys *keys,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err);

/*
 * Layers with a window have the object `sliding_attention` of `rope_parameters`, by default that of
 * LOCAL; the others `full_attention`, or what `rope_scaling` has, by default that of GLOBAL.
 */
enum attn_status
attn_config_read_rope_of_windows(const struct attn_json *json, const struct attn_rope_keys *global,
                                 const struct attn_rope_keys *local, struct attn_config *config,
                                 struct attn_config_layers *layers, struct attn_error *err);

#endif
