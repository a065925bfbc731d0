/* model_init_internal.h - makes the config.json of a model. */
#pragma once

#include "base/buffer.h"
#include "drawn/model_init.h"

/* Appends the text of config.json to OUT: first the members of a file, then the settings, then the
 * members that follow from the vocabulary. attn_family_read_config checks the text. */
enum attn_status attn_init_config_write(struct attn_buffer *out,
                                        const struct attn_init_options *options,
                                        struct attn_error *err);
