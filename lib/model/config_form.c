/* config_form.c - reads a config.json of Hugging Face by the form of its family: refuses
 * unsupported parts, then reads sizes and heads, parts of a block, and the layers with a window. */
#include "model/config_internal.h"

#include "base/escape.h"

#include <math.h>
#include <string.h>

/* --- Unsupported parts ------------------------------------------------------------------------ */

/* The key or type that requires an extra. */
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

enum attn_status attn_config_refuse_extras(const struct attn_json *json, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);

    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        const char *key = extras[i].key;
        const enum wish wish = extras[i].wish;
        const struct attn_node *node = attn_node_find(root, key);
        bool is_wished = true, is_true = wish == WHEN_FALSE;
        size_t n = 0;

        if (!node || attn_node_is_null(node))
            continue;
        if (wish == WHEN_FILLED) {
            is_wished =
                !(attn_node_is_array(node) || attn_node_is_object(node)) || attn_node_first(node);
        } else if (wish == WHEN_TRUE || wish == WHEN_FALSE) {
            ATTN_TRY(attn_json_get_bool(json, root, key, &is_true, err));
            is_wished = is_true == (wish == WHEN_TRUE);
        } else if (wish == WHEN_ABOVE_ZERO) {
            ATTN_TRY(attn_json_get_size(json, root, key, 0, SIZE_MAX >> 11, &n, err));
            is_wished = n > 0;
        }
        if (is_wished)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "'%s' in '%s' is %s, which this version does not support", key,
                                  attn_quote_string(attn_json_name(json)).text,
                                  wish == WHEN_FALSE ? "false" : "set");
    }
    return ATTN_OK;
}

/* --- sizes ------------------------------------------------------------------------------------ */

const struct attn_config_names attn_config_usual_names = {
    .n_vocab = {.name = "vocab_size"},
    .d_model = {.name = "hidden_size"},
    .d_mlp = {.name = "intermediate_size"},
    .n_layer = {.name = "num_hidden_layers"},
    .n_head = {.name = "num_attention_heads"},
    .n_ctx = {.name = "max_position_embeddings"},
};

/* Heads of keys and values, and the width of a head. */
static enum attn_status read_heads(const struct attn_json *json,
                                   const struct attn_config_form *form,
                                   const struct attn_config_names *names,
                                   struct attn_config *config, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);

    if (config->n_kv_head == 0 || attn_node_find(root, "num_key_value_heads"))
        config->n_kv_head = config->n_head;
    if (!form->has_no_heads_keys) {
        ATTN_TRY(attn_json_get_size(json, root, "num_key_value_heads", 1, ATTN_MAX_WIDTH,
                                    &config->n_kv_head, err));
        ATTN_TRY(
            attn_json_get_size(json, root, "head_dim", 1, ATTN_MAX_WIDTH, &config->d_head, err));
    }
    if (config->d_head == 0 || form->is_divided)
        ATTN_TRY(attn_config_check_divides(json, names->n_head.name, config->n_head,
                                           names->d_model.name, config->d_model, err));
    ATTN_TRY(attn_config_check_divides(json, "num_key_value_heads", config->n_kv_head,
                                       names->n_head.name, config->n_head, err));
    if (config->d_head == 0)
        config->d_head = config->d_model / config->n_head;
    config->d_value = config->d_head;
    return ATTN_OK;
}

static enum attn_status read_sizes(const struct attn_json *json,
                                   const struct attn_config_form *form, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct attn_config_names *names = form->names ? form->names : &attn_config_usual_names;
    const struct {
        struct attn_config_key key;
        size_t max;
        size_t *place;
    } sizes[] = {
        {names->n_vocab, ATTN_MAX_VOCAB, &config->n_vocab},
        {names->d_model, ATTN_MAX_WIDTH, &config->d_model},
        {names->d_mlp, ATTN_MAX_WIDTH, &config->d_mlp},
        {names->n_layer, ATTN_MAX_LAYER, &config->n_layer},
        {names->n_head, ATTN_MAX_WIDTH, &config->n_head},
        {names->n_ctx, ATTN_MAX_CTX, &config->n_ctx},
    };
    const struct attn_node *root = attn_json_root(json);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct attn_config_key *key = &sizes[i].key;
        const struct attn_node *node = key->name ? attn_node_find(root, key->name) : NULL;
        const bool is_absent = !node || attn_node_is_null(node);

        if (key->name)
            ATTN_TRY(attn_json_get_size(json, root,
                                        is_absent && key->alias ? key->alias : key->name, 1,
                                        sizes[i].max, sizes[i].place, err));
    }
    if (config->d_mlp == 0)
        config->d_mlp = 4 * config->d_model;
    config->d_source = config->d_model;
    return read_heads(json, form, names, config, err);
}

/* --- windows ---------------------------------------------------------------------------------- */

static void set_window(struct attn_attention *attention, size_t width)
{
    attention->kind = ATTN_ATTENTION_WINDOW;
    attention->window = width;
}

/* Gives layers the window WIDTH according to LIST; refuses a window without a width. */
static enum attn_status read_layer_types(const struct attn_json *json, const struct attn_node *list,
                                         size_t width, const struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const char *name = attn_json_name(json);
    size_t n = 0;

    if (!attn_node_is_array(list))
        return attn_error_set(err, ATTN_FORMAT, "'layer_types' in '%s' is not a list of types",
                              attn_quote_string(name).text);
    for (const struct attn_node *node = attn_node_first(list); node;
         node = attn_node_next(node), n++) {
        const char *type = attn_node_string(node);
        const bool is_sliding = type && strcmp(type, "sliding_attention") == 0;

        if (!type)
            return attn_error_set(err, ATTN_FORMAT,
                                  "item %zu of 'layer_types' in '%s' is not a string", n,
                                  attn_quote_string(name).text);
        if (!is_sliding && strcmp(type, "full_attention") != 0)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "item %zu of 'layer_types' in '%s' is '%s', this version reads "
                                  "'full_attention' and 'sliding_attention'",
                                  n, attn_quote_string(name).text, attn_quote_string(type).text);
        if (is_sliding && width == 0)
            return attn_error_set(err, ATTN_FORMAT,
                                  "item %zu of 'layer_types' in '%s' is 'sliding_attention', but "
                                  "'sliding_window' is null",
                                  n, attn_quote_string(name).text);
        if (is_sliding && n < config->n_layer)
            set_window(&layers->attention[n], width);
    }
    if (n == config->n_layer)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'layer_types' in '%s' has %zu items, expected one for each of %zu "
                          "layers",
                          attn_quote_string(name).text, n, config->n_layer);
}

static enum attn_status read_windows(const struct attn_json *json, struct attn_windows windows,
                                     const struct attn_config *config,
                                     struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *given = attn_node_find(root, "sliding_window");
    const struct attn_node *list = attn_node_find(root, "layer_types");
    bool is_on = windows.rule != ATTN_WINDOWS_SWITCHED;

    if (windows.rule == ATTN_WINDOWS_NONE)
        return ATTN_OK;
    if (windows.rule != ATTN_WINDOWS_BY_LIST && given)
        windows.width = 0;
    if (!is_on)
        ATTN_TRY(attn_json_get_bool(json, root, "use_sliding_window", &is_on, err));
    ATTN_TRY(attn_json_get_size(json, root,
                                windows.is_centered ? "local_attention" : "sliding_window", 1,
                                ATTN_MAX_CTX, &windows.width, err));
    if (windows.is_centered)
        windows.width = windows.width / 2 + 1; /* to each side, with the query itself */
    if (windows.rule == ATTN_WINDOWS_SWITCHED)
        ATTN_TRY(attn_json_get_size(json, root, "max_window_layers", 0, ATTN_MAX_WIDTH,
                                    &windows.first, err));
    if (!is_on)
        return ATTN_OK;
    if (windows.rule != ATTN_WINDOWS_IN_ALL && list && !attn_node_is_null(list))
        return read_layer_types(json, list, windows.width, config, layers, err);
    for (size_t i = windows.first; i < config->n_layer && windows.width > 0; i++)
        if (windows.full_every == 0 || (i + !windows.is_centered) % windows.full_every != 0)
            set_window(&layers->attention[i], windows.width);
    return ATTN_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* A soft cap: an absent key leaves the value unchanged, null means no cap. */
static enum attn_status read_cap(const struct attn_json *json, const char *key, double *cap,
                                 struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *node = attn_node_find(root, key);

    if (node && attn_node_is_null(node))
        *cap = 0;
    return attn_json_get_double(json, root, key, 1e-6, 1e30, cap, err);
}

/* Activation, epsilon and tying; and the lists of layers. */
static enum attn_status read_common(const struct attn_json *json,
                                    const struct attn_config_form *form, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_attention attention = {.kind = ATTN_ATTENTION_FULL,
                                             .mask = config->is_encoder ? ATTN_MASK_NONE
                                                                        : ATTN_MASK_CAUSAL,
                                             .is_scaled = true,
                                             .factor = 1};
    const struct attn_node *root = attn_json_root(json);
    const char *activation = config->act_fn;
    double eps = (double)config->norm_eps;
    bool is_tied = config->output == ATTN_OUTPUT_TIED;

    ATTN_TRY(attn_json_get_string(json, root, form->activation_key, &activation, err));
    ATTN_TRY(
        attn_config_set_activation(json, &config->act_fn, form->activation_key, activation, err));
    if (form->eps_key)
        ATTN_TRY(attn_json_get_double(json, root, form->eps_key, 0, 1, &eps, err));
    ATTN_TRY(attn_json_get_bool(json, root, "tie_word_embeddings", &is_tied, err));
    config->norm_eps = (float)eps;
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    return attn_config_allocate_layers(config, layers, &attention, err);
}

/* Parts of a block that some families have a key for. */
static enum attn_status read_parts(const struct attn_json *json,
                                   const struct attn_config_form *form, struct attn_config *config,
                                   struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    bool has_qk_norm = false;
    double query_scalar = form->query_scalar, score_cap = form->score_cap;

    if (form->has_parallel_key)
        ATTN_TRY(attn_json_get_bool(json, root, "use_parallel_residual",
                                    &config->has_parallel_residual, err));
    if (form->has_attention_bias_key) {
        ATTN_TRY(attn_json_get_bool(json, root, "attention_bias", &config->has_qkv_bias, err));
        config->has_out_bias = config->has_qkv_bias;
    }
    if (form->has_mlp_bias_key)
        ATTN_TRY(attn_json_get_bool(json, root, "mlp_bias", &config->has_mlp_bias, err));
    if (form->has_qk_norm_key)
        ATTN_TRY(attn_json_get_bool(json, root, "qk_layernorm", &has_qk_norm, err));
    if (has_qk_norm)
        config->qk_norm = ATTN_QK_NORM_PER_HEAD;
    if (form->is_embedding_scaled)
        config->embed_scale = sqrt((double)config->d_model);
    if (form->query_scalar > 0)
        ATTN_TRY(attn_json_get_double(json, root, "query_pre_attn_scalar", 1e-6, 1e30,
                                      &query_scalar, err));
    if (form->score_cap > 0)
        ATTN_TRY(read_cap(json, "attn_logit_softcapping", &score_cap, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        struct attn_attention *attention = &layers->attention[layer];

        attention->score_cap = score_cap;
        if (form->query_scalar > 0) {
            attention->is_scaled = false;
            attention->factor = 1 / sqrt(query_scalar);
        }
    }
    return ATTN_OK;
}

enum attn_status attn_config_read_form(const struct attn_json *json,
                                       const struct attn_config_form *form,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    struct attn_windows windows = form->windows;

    ATTN_TRY(attn_config_refuse_extras(json, err));
    ATTN_TRY(read_sizes(json, form, config, err));
    ATTN_TRY(read_common(json, form, config, layers, err));
    ATTN_TRY(read_parts(json, form, config, layers, err));
    if (windows.has_pattern || windows.is_centered)
        ATTN_TRY(attn_json_get_size(json, attn_json_root(json),
                                    windows.is_centered ? "global_attn_every_n_layers"
                                                        : "sliding_window_pattern",
                                    1, ATTN_MAX_LAYER, &windows.full_every, err));
    if (form->has_logits_cap_key)
        ATTN_TRY(read_cap(json, "final_logit_softcapping", &config->logits_cap, err));
    ATTN_TRY(read_windows(json, windows, config, layers, err));
    return form->rope.theta ? attn_config_read_rope(json, form, config, layers, err) : ATTN_OK;
}
