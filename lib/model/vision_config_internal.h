/* vision_config_internal.h - how vision_config.h is read. */
#ifndef ATTN_MODEL_VISION_CONFIG_INTERNAL_H
#define ATTN_MODEL_VISION_CONFIG_INTERNAL_H

#include "formats/json.h"
#include "model/config_internal.h"

/* Reads CONFIG->vision from the config of a model of TYPE, whose decoder was read, and the sections
 * of its rotary positions. TEXT is the object of the decoder, or NULL. CONFIG is unchanged if
 * models of that type read no pictures here. */
enum attn_status attn_vision_config_read(const struct attn_json *json, const char *type,
                                         const struct attn_node *text, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);

#endif
