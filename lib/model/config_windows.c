/* config_windows.c - see config_windows.h. */
#include "model/config_windows.h"

#include "base/escape.h"

#include <string.h>

static void set_window(struct attn_attention *attention, size_t width)
{
    attention->kind = ATTN_ATTENTION_WINDOW;
    attention->window = width;
}

void attn_config_set_windows(const struct attn_windows *windows, struct attn_config *config,
                             struct attn_config_layers *layers)
{
    for (size_t i = windows->first; i < config->n_layer && windows->width > 0; i++)
        if (windows->full_every == 0 || (i + 1) % windows->full_every != 0)
            set_window(&layers->attention[i], windows->width);
}

/* Item I of `layer_types`. */
static enum attn_status read_type(const struct attn_json *json, const struct attn_node *node,
                                  size_t i, bool *is_sliding, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_json_name(json));
    const char *type = attn_node_string(node);

    if (!type)
        return attn_error_set(err, ATTN_FORMAT, "item %zu of 'layer_types' in '%s' is not a string",
                              i, name.text);
    *is_sliding = strcmp(type, "sliding_attention") == 0;
    if (*is_sliding || strcmp(type, "full_attention") == 0)
        return ATTN_OK;
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "item %zu of 'layer_types' in '%s' is '%s', this version reads "
                          "'full_attention' and 'sliding_attention'",
                          i, name.text, attn_quote_string(type).text);
}

static enum attn_status read_list(const struct attn_json *json, const struct attn_node *list,
                                  size_t width, struct attn_config *config,
                                  struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_json_name(json));
    const struct attn_node *node = attn_node_first(list);
    size_t n = 0;

    for (; node; node = attn_node_next(node), n++) {
        bool is_sliding = false;
        const enum attn_status status = read_type(json, node, n, &is_sliding, err);

        if (status != ATTN_OK)
            return status;
        if (is_sliding && width == 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "item %zu of 'layer_types' in '%s' is 'sliding_attention', but "
                                  "'sliding_window' is null",
                                  n, name.text);
        if (is_sliding && n < config->n_layer)
            set_window(&layers->attention[n], width);
    }
    if (n == config->n_layer)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'layer_types' in '%s' has %zu items, expected one for each of %zu "
                          "layers",
                          name.text, n, config->n_layer);
}

enum attn_status attn_config_read_windows(const struct attn_json *json,
                                          const struct attn_windows *windows,
                                          struct attn_config *config,
                                          struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *list = attn_node_find(attn_json_root(json), "layer_types");

    if (!list || attn_node_is_null(list)) {
        attn_config_set_windows(windows, config, layers);
        return ATTN_OK;
    }
    if (!attn_node_is_array(list))
        return attn_error_set(err, ATTN_FORMAT, "'layer_types' in '%s' is not a list of types",
                              attn_quote_string(attn_json_name(json)).text);
    return read_list(json, list, windows->width, config, layers, err);
}

enum attn_status attn_config_read_switched_windows(const struct attn_json *json,
                                                   struct attn_config *config,
                                                   struct attn_config_layers *layers,
                                                   struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    struct attn_windows windows = {.width = !attn_node_find(root, "sliding_window") ? 4096 : 0,
                                   .first = 28};
    bool is_switched_on = false;
    enum attn_status status =
        attn_json_get_bool(json, root, "use_sliding_window", &is_switched_on, err);

    if (status == ATTN_OK)
        status =
            attn_json_get_size(json, root, "sliding_window", 1, ATTN_MAX_CTX, &windows.width, err);
    if (status == ATTN_OK)
        status = attn_json_get_size(json, root, "max_window_layers", 0, ATTN_MAX_WIDTH,
                                    &windows.first, err);
    if (status != ATTN_OK || !is_switched_on)
        return status;
    return attn_config_read_windows(json, &windows, config, layers, err);
}
