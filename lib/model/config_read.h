/*
 * config_read.h - config.json into struct attn_config: one reader for each model_type.
 */
#ifndef ATTN_MODEL_CONFIG_READ_H
#define ATTN_MODEL_CONFIG_READ_H

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

/* Reads CONFIG of any known model_type and checks that it can be run. Release it also after a
 * failure. */
enum attn_status attn_config_read(const struct attn_json *json, struct attn_config *config,
                                  struct attn_error *err);
void attn_config_release(struct attn_config *config);

enum attn_status attn_config_read_gpt2(const struct attn_json *json, struct attn_config *config,
                                       struct attn_error *err);
enum attn_status attn_config_read_attn(const struct attn_json *json, struct attn_config *config,
                                       struct attn_error *err);

/* Gives every layer the attention FIRST. */
enum attn_status attn_config_set_attention(struct attn_config *config,
                                           const struct attn_attention *first,
                                           struct attn_error *err);

/* Stores the known spelling of an activation's NAME; ATTN_UNSUPPORTED names those there are. */
enum attn_status attn_config_set_activation(const struct attn_json *json,
                                            struct attn_config *config, const char *key,
                                            const char *name, struct attn_error *err);

#endif
