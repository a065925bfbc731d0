/*
 * config_windows.h - which layers of a model look at all keys before a query, and which only at
 * those in a window: the list `layer_types`, and the rules that families have without it.
 */
#ifndef ATTN_MODEL_CONFIG_WINDOWS_H
#define ATTN_MODEL_CONFIG_WINDOWS_H

#include "model/config_internal.h"

/* The layers that have a window when no list says it. */
struct attn_windows {
    size_t width;      /* tokens that a query sees, with itself; 0: the config has none */
    size_t first;      /* layers before it have no window */
    size_t full_every; /* of the others, layer i has none when this divides i + 1; 0: all have it */
};

/* Gives LAYERS of CONFIG their windows: those whose `layer_types` is "sliding_attention" if JSON
 * has that list, else those of WINDOWS. A layer that needs a window where there is none is refused.
 */
enum attn_status attn_config_read_windows(const struct attn_json *json,
                                          const struct attn_windows *windows,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers,
                                          struct attn_error *err);

/* The same of windows that are switched on by `use_sliding_window`: then layers from
 * `max_window_layers` on have `sliding_window`, if no list says it. */
enum attn_status attn_config_read_switched_windows(const struct attn_json *json,
                                                   struct attn_config *config,
                                                   struct attn_config_layers *layers,
                                                   struct attn_error *err);

/* Gives them the windows of WINDOWS, whatever lists there are. */
void attn_config_set_windows(const struct attn_windows *windows, struct attn_config *config,
                             struct attn_config_layers *layers);

#endif
