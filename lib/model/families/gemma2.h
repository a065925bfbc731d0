/* gemma2.h - what the configs of Gemma 2 and Gemma 3 share. */
#ifndef ATTN_MODEL_FAMILIES_GEMMA2_H
#define ATTN_MODEL_FAMILIES_GEMMA2_H

#include "model/config_keys.h"
#include "model/config_windows.h"

/* Reads what GIVEN has defaults of, and what a block of both has: norms around, 1 + w, biases, the scale. */
enum attn_status attn_gemma_read_keys(const struct attn_json *json,
                                      const struct attn_config_keys *given,
                                      struct attn_config *config, struct attn_config_layers *layers,
                                      struct attn_error *err);

/* Reads `sliding_window`, absent: that of WINDOWS, and gives it to the layers that have one. */
enum attn_status attn_gemma_read_windows(const struct attn_json *json, struct attn_windows windows,
                                         struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err);

/* Reads the cap of the logits; absent: what CONFIG has. */
enum attn_status attn_gemma_read_final_cap(const struct attn_json *json, struct attn_config *config,
                                           struct attn_error *err);

#endif
