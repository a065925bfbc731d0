/* config_internal.h - what the readers of config.json (family.h) share. */
#ifndef ATTN_MODEL_CONFIG_INTERNAL_H
#define ATTN_MODEL_CONFIG_INTERNAL_H

#include "formats/json.h"
#include "model/config.h"

/* Sizes from files are kept in these ranges: large enough for any model, small enough for every
 * product of two. */
enum {
    ATTN_MAX_LAYER = 4096,
    ATTN_MAX_WIDTH = 1 << 24,
    ATTN_MAX_CTX = 1 << 30,
    ATTN_MAX_VOCAB = 1 << 30
};

/* The lists that a config points to, which are written while it is read. */
struct attn_config_layers {
    struct attn_attention *attention; /* owns; [n_layer] */
    bool *is_cross;                   /* owns; [n_layer] */
    struct attn_rope *rope;           /* owns; [n_layer] */
};

/* Makes the lists of CONFIG, whose n_layer is known: no layer reads a source, each has the
 * attention FIRST, and what `rope` holds is zeroed. */
enum attn_status attn_config_allocate_layers(struct attn_config *config,
                                             struct attn_config_layers *layers,
                                             const struct attn_attention *first,
                                             struct attn_error *err);
void attn_config_release(struct attn_config *config, struct attn_config_layers *layers);

/* Whether a config that was read can be run: no part is missing here, and sizes fit each other. */
enum attn_status attn_config_check(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_error *err);

/* The largest number up to N that divides WHOLE, both above 0. For hints. */
size_t attn_config_nearest_divisor(size_t whole, size_t n);

/* Stores the known spelling of an activation's NAME; ATTN_UNSUPPORTED names those there are. */
enum attn_status attn_config_set_activation(const struct attn_json *json,
                                            struct attn_config *config, const char *key,
                                            const char *name, struct attn_error *err);

#endif
