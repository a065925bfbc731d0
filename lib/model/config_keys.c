/* config_keys.c - see config_keys.h. */
#include "model/config_keys.h"

#include "base/escape.h"
#include "base/status_internal.h"
#include "model/config_extras.h"

/* N heads of KEY must divide WHOLE of WHOLE_KEY. */
static enum attn_status check_divides(const struct attn_json *json, const char *key, size_t n,
                                      const char *whole_key, size_t whole, struct attn_error *err)
{
    if (whole % n == 0)
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT, "%s %zu does not divide %s %zu in '%s'", key, n, whole_key,
                   whole, attn_quote_string(attn_json_name(json)).text);
    attn_error_hint(err, "%s %zu divides it", key, attn_config_nearest_divisor(whole, n));
    return ATTN_FORMAT;
}

/* Heads of keys and values, and the width of a head. */
static enum attn_status read_heads(const struct attn_json *json,
                                   const struct attn_config_keys *keys, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *given = attn_node_find(root, "num_key_value_heads");
    enum attn_status status = ATTN_OK;

    config->n_kv_head = keys->n_kv_head == 0 || given ? config->n_head : keys->n_kv_head;
    config->d_head = keys->d_head;
    if (keys->is_plain)
        config->n_kv_head = config->n_head;
    else
        status = attn_json_get_size(json, root, "num_key_value_heads", 1, ATTN_MAX_WIDTH,
                                    &config->n_kv_head, err);
    if (status == ATTN_OK && !keys->is_plain)
        status =
            attn_json_get_size(json, root, "head_dim", 1, ATTN_MAX_WIDTH, &config->d_head, err);
    if (status == ATTN_OK && (config->d_head == 0 || keys->is_divided))
        status = check_divides(json, "num_attention_heads", config->n_head, "hidden_size",
                               config->d_model, err);
    if (status == ATTN_OK)
        status = check_divides(json, "num_key_value_heads", config->n_kv_head,
                               "num_attention_heads", config->n_head, err);
    if (status != ATTN_OK)
        return status;
    if (config->d_head == 0)
        config->d_head = config->d_model / config->n_head;
    config->d_value = config->d_head;
    return ATTN_OK;
}

static enum attn_status read_sizes(const struct attn_json *json,
                                   const struct attn_config_keys *keys, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct {
        const char *key;
        size_t value, max;
        size_t *place;
    } sizes[] = {
        {"vocab_size", keys->n_vocab, ATTN_MAX_VOCAB, &config->n_vocab},
        {"hidden_size", keys->d_model, ATTN_MAX_WIDTH, &config->d_model},
        {"intermediate_size", keys->d_mlp, ATTN_MAX_WIDTH, &config->d_mlp},
        {"num_hidden_layers", keys->n_layer, ATTN_MAX_LAYER, &config->n_layer},
        {"num_attention_heads", keys->n_head, ATTN_MAX_WIDTH, &config->n_head},
        {"max_position_embeddings", keys->n_ctx, ATTN_MAX_CTX, &config->n_ctx},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        enum attn_status status;

        *sizes[i].place = sizes[i].value;
        status = attn_json_get_size(json, attn_json_root(json), sizes[i].key, 1, sizes[i].max,
                                    sizes[i].place, err);
        if (status != ATTN_OK)
            return status;
    }
    config->d_source = config->d_model;
    return read_heads(json, keys, config, err);
}

enum attn_status attn_config_read_keys(const struct attn_json *json,
                                       const struct attn_config_keys *keys,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_attention attention = {
        .kind = ATTN_ATTENTION_FULL, .mask = ATTN_MASK_CAUSAL, .is_scaled = true, .factor = 1};
    const struct attn_node *root = attn_json_root(json);
    const char *activation = keys->activation;
    double eps = keys->eps;
    bool is_tied = keys->is_tied;
    enum attn_status status = attn_config_refuse_extras(json, err);

    if (status == ATTN_OK)
        status = read_sizes(json, keys, config, err);
    if (status == ATTN_OK)
        status = attn_json_get_string(json, root, keys->activation_key, &activation, err);
    if (status == ATTN_OK)
        status = attn_config_set_activation(json, config, keys->activation_key, activation, err);
    if (status == ATTN_OK)
        status = attn_json_get_double(json, root, keys->eps_key, 0, 1, &eps, err);
    if (status == ATTN_OK)
        status = attn_json_get_bool(json, root, "tie_word_embeddings", &is_tied, err);
    if (status == ATTN_OK)
        status = attn_config_allocate_layers(config, layers, &attention, err);
    config->norm_eps = (float)eps;
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    return status;
}
