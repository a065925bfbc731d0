/* config_extras.c - see config_extras.h: one row a key. */
#include "model/config_extras.h"

#include "base/escape.h"

#include <stddef.h>

/* What asks for the extra. */
enum wish {
    WHEN_PRESENT, /* any value but null */
    WHEN_FILLED,  /* a list or object that is not empty */
    WHEN_TRUE,
    WHEN_FALSE,
    WHEN_ABOVE_ZERO /* a whole number */
};

static const struct extra {
    const char *key;
    enum wish wish;
} extras[] = {
    {"quantization_config", WHEN_PRESENT},
    {"compression_config", WHEN_PRESENT}, /* the same in older files of compressed-tensors */
    {"pruned_heads", WHEN_FILLED},
    {"add_cross_attention", WHEN_TRUE},
    {"is_encoder_decoder", WHEN_TRUE},
    {"is_causal", WHEN_FALSE},
    {"use_bidirectional_attention", WHEN_TRUE},
    {"attention_chunk_size", WHEN_ABOVE_ZERO},
    {"num_experts", WHEN_ABOVE_ZERO},
    {"num_local_experts", WHEN_ABOVE_ZERO},
};

static enum attn_status read_wish(const struct attn_json *json, const struct extra *extra,
                                  bool *is_wished, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *node = attn_node_find(root, extra->key);
    bool is_true = extra->wish == WHEN_FALSE;
    size_t n = 0;
    enum attn_status status = ATTN_OK;

    *is_wished = false;
    if (!node || attn_node_is_null(node))
        return ATTN_OK;
    switch (extra->wish) {
    case WHEN_PRESENT:
        *is_wished = true;
        break;
    case WHEN_FILLED:
        *is_wished =
            !(attn_node_is_array(node) || attn_node_is_object(node)) || attn_node_first(node);
        break;
    case WHEN_TRUE:
    case WHEN_FALSE:
        status = attn_json_get_bool(json, root, extra->key, &is_true, err);
        *is_wished = is_true == (extra->wish == WHEN_TRUE);
        break;
    case WHEN_ABOVE_ZERO:
        status = attn_json_get_size(json, root, extra->key, 0, SIZE_MAX >> 11, &n, err);
        *is_wished = n > 0;
        break;
    }
    return status;
}

enum attn_status attn_config_refuse_extras(const struct attn_json *json, struct attn_error *err)
{
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        bool is_wished;
        const enum attn_status status = read_wish(json, &extras[i], &is_wished, err);

        if (status != ATTN_OK)
            return status;
        if (is_wished)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' in '%s' is %s, which this version does not support",
                                  extras[i].key, attn_quote_string(attn_json_name(json)).text,
                                  extras[i].wish == WHEN_FALSE ? "false" : "set");
    }
    return ATTN_OK;
}
