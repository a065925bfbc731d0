/* vision_config_internal.h - how vision_config.h is read. */
#ifndef ATTN_MODEL_VISION_CONFIG_INTERNAL_H
#define ATTN_MODEL_VISION_CONFIG_INTERNAL_H

#include "base/status.h"
#include "model/vision_config.h"

struct attn_json; /* Declared in formats/json.h. */

/* Reads VISION from the config of a model of TYPE. VISION is unchanged if models of that type read
 * no pictures here. */
enum attn_status attn_vision_config_read(const struct attn_json *json, const char *type,
                                         struct attn_vision_config *vision, struct attn_error *err);

#endif
