/*
 * config_extras.h - what a config.json of any family of Hugging Face may ask for and no family here
 * has: quantized weights, experts, another mask.
 */
#ifndef ATTN_MODEL_CONFIG_EXTRAS_H
#define ATTN_MODEL_CONFIG_EXTRAS_H

#include "formats/json.h"

/* ATTN_UNSUPPORTED names the key that is set; ATTN_FORMAT one whose value has a wrong type. */
enum attn_status attn_config_refuse_extras(const struct attn_json *json, struct attn_error *err);

#endif
