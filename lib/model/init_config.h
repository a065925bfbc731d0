/*
 * init_config.h - the config.json of a model that is made: a file's members, then settings, then
 * what follows from the vocabulary.
 */
#ifndef ATTN_MODEL_INIT_CONFIG_H
#define ATTN_MODEL_INIT_CONFIG_H

#include "base/buffer.h"
#include "model/model_init.h"

/* Appends the text of config.json to OUT. attn_family_read_config finds out whether a model can be
 * made of it. */
enum attn_status attn_init_config_write(struct attn_buffer *out,
                                        const struct attn_init_options *options,
                                        struct attn_error *err);

#endif
