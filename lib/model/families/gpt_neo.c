/*
 * gpt_neo.c - GPT-Neo (configuration_gpt_neo.py, modeling_gpt_neo.py): GPT-2's block
 * (gpt2.c), of which every second layer has a window.
 *
 * Traps: scores are q.k as they are, not divided by sqrt(E); tensors have GPT-2's names, but linear
 * maps are nn.Linear, [out, in]; q, k and v have no bias. The types of the layers stand in
 * `attention_types`, [[["global", "local"], 12]]: each list of names so many times. Old files have
 * the expanded list, `attention_layers`, too.
 */
#include "base/escape.h"
#include "base/status_internal.h"
#include "model/config_extras.h"
#include "model/config_windows.h"
#include "model/families/gpt2.h"

#include <string.h>

static enum attn_status read_sizes(const struct attn_json *json, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    enum attn_status status;

    config->n_layer = 24, config->n_head = 16, config->d_model = 2048;
    config->n_ctx = 2048, config->n_vocab = 50257;
    status = attn_gpt2_get_size(json, "hidden_size", "hidden_size", ATTN_MAX_WIDTH,
                                &config->d_model, err);
    if (status == ATTN_OK)
        status = attn_gpt2_get_size(json, "num_layers", "num_hidden_layers", ATTN_MAX_LAYER,
                                    &config->n_layer, err);
    if (status == ATTN_OK)
        status = attn_gpt2_get_size(json, "num_heads", "num_attention_heads", ATTN_MAX_WIDTH,
                                    &config->n_head, err);
    if (status == ATTN_OK)
        status =
            attn_json_get_size(json, root, "vocab_size", 1, ATTN_MAX_VOCAB, &config->n_vocab, err);
    if (status == ATTN_OK)
        status = attn_json_get_size(json, root, "max_position_embeddings", 1, ATTN_MAX_CTX,
                                    &config->n_ctx, err);
    config->d_mlp = 4 * config->d_model;
    if (status == ATTN_OK)
        status = attn_json_get_size(json, root, "intermediate_size", 1, ATTN_MAX_WIDTH,
                                    &config->d_mlp, err);
    if (status != ATTN_OK)
        return status;
    if (config->d_model % config->n_head != 0) {
        attn_error_set(err, ATTN_FORMAT, "num_heads %zu does not divide hidden_size %zu in '%s'",
                       config->n_head, config->d_model,
                       attn_quote_string(attn_json_name(json)).text);
        attn_error_hint(err, "num_heads %zu divides it",
                        attn_config_nearest_divisor(config->d_model, config->n_head));
        return ATTN_FORMAT;
    }
    config->n_kv_head = config->n_head;
    config->d_source = config->d_model;
    config->d_head = config->d_value = config->d_model / config->n_head;
    return ATTN_OK;
}

/* --- types of layers -------------------------------------------------------------------------- */

/* The types that a list has named so far. */
struct types {
    const struct attn_json *json;
    const char *key;
    struct attn_attention *attention; /* [n_layer] */
    size_t n_layer, n;
    size_t window;     /* of local layers */
    bool is_comparing; /* with what another list said, and has_differed */
    bool has_differed;
};

static enum attn_status refuse(const struct types *types, const char *expected,
                               struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' does not hold %s", types->key,
                          attn_quote_string(attn_json_name(types->json)).text, expected);
}

/* The next layer has the type that NODE names. */
static enum attn_status add_type(struct types *types, const struct attn_node *node,
                                 struct attn_error *err)
{
    const char *name = attn_node_string(node);
    const bool is_local = name && strcmp(name, "local") == 0;

    if (!is_local && (!name || strcmp(name, "global") != 0))
        return refuse(types, "the types 'global' and 'local' alone", err);
    if (types->n < types->n_layer) {
        struct attn_attention *attention = &types->attention[types->n];

        if (types->is_comparing)
            types->has_differed |= is_local != (attention->kind == ATTN_ATTENTION_WINDOW);
        else if (is_local)
            attention->kind = ATTN_ATTENTION_WINDOW, attention->window = types->window;
    }
    types->n++;
    return ATTN_OK;
}

static enum attn_status add_list(struct types *types, const struct attn_node *list,
                                 struct attn_error *err)
{
    const struct attn_node *node;
    enum attn_status status = ATTN_OK;

    if (!attn_node_is_array(list))
        return refuse(types, "a list of types", err);
    for (node = attn_node_first(list); node && status == ATTN_OK; node = attn_node_next(node))
        status = add_type(types, node, err);
    return status;
}

/* ITEM is [[name, ...], times]. */
static enum attn_status add_item(struct types *types, const struct attn_node *item,
                                 struct attn_error *err)
{
    const struct attn_node *list = attn_node_is_array(item) ? attn_node_first(item) : NULL;
    const struct attn_node *times = list ? attn_node_next(list) : NULL;
    enum attn_status status = ATTN_OK;
    int64_t n;

    if (!times || attn_node_next(times) || !attn_node_int(times, &n) || n < 1 ||
        !attn_node_is_array(list) || !attn_node_first(list))
        return refuse(types, "items such as [[\"global\", \"local\"], 12]", err);
    for (int64_t i = 0; i < n && types->n <= types->n_layer && status == ATTN_OK; i++)
        status = add_list(types, list, err);
    return status;
}

static enum attn_status check_count(const struct types *types, struct attn_error *err)
{
    if (types->n == types->n_layer)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' in '%s' names the types of %s layers than num_layers %zu",
                          types->key, attn_quote_string(attn_json_name(types->json)).text,
                          types->n < types->n_layer ? "fewer" : "more", types->n_layer);
}

static bool is_given(const struct attn_node *node)
{
    return node && !attn_node_is_null(node);
}

/* Without a list, layers are global and local in turn; there are 24 then. */
static void add_default_types(struct types *types)
{
    for (; types->n < 24 && types->n < types->n_layer; types->n++)
        if (types->n % 2 == 1) {
            types->attention[types->n].kind = ATTN_ATTENTION_WINDOW;
            types->attention[types->n].window = types->window;
        }
}

static enum attn_status read_types(struct types *types, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(types->json), *node;
    const struct attn_node *list = attn_node_find(root, "attention_types");
    const struct attn_node *expanded = attn_node_find(root, "attention_layers");
    enum attn_status status = ATTN_OK;

    types->key = "attention_types";
    if (is_given(list) && !attn_node_is_array(list))
        return refuse(types, "a list of items", err);
    for (node = is_given(list) ? attn_node_first(list) : NULL; node && status == ATTN_OK;
         node = attn_node_next(node))
        status = add_item(types, node, err);
    if (!is_given(list) && !is_given(expanded))
        add_default_types(types);
    if (status == ATTN_OK && (is_given(list) || !is_given(expanded)))
        status = check_count(types, err);
    if (status != ATTN_OK || !is_given(expanded))
        return status;
    types->key = "attention_layers", types->n = 0, types->is_comparing = is_given(list);
    status = add_list(types, expanded, err);
    if (status == ATTN_OK)
        status = check_count(types, err);
    if (status != ATTN_OK || !types->has_differed)
        return status;
    return attn_error_set(err, ATTN_FORMAT,
                          "'attention_layers' in '%s' differs from 'attention_types'",
                          attn_quote_string(attn_json_name(types->json)).text);
}

static enum attn_status read_attention(const struct attn_json *json, struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_attention attention = {
        .kind = ATTN_ATTENTION_FULL, .mask = ATTN_MASK_CAUSAL, .factor = 1};
    struct types types = {.json = json, .n_layer = config->n_layer, .window = 256};
    enum attn_status status = attn_json_get_size(json, attn_json_root(json), "window_size", 1,
                                                 ATTN_MAX_CTX, &types.window, err);

    if (status == ATTN_OK)
        status = attn_config_allocate_layers(config, layers, &attention, err);
    types.attention = layers->attention;
    return status == ATTN_OK ? read_types(&types, err) : status;
}

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const char *activation = "gelu_new";
    double eps = 1e-5;
    bool is_tied = true;
    enum attn_status status = attn_config_refuse_extras(json, err);

    config->norm = ATTN_NORM_LAYERNORM;
    config->positions = ATTN_POSITIONS_LEARNED;
    config->has_final_norm = config->has_projections = config->has_out_proj = true;
    config->has_out_bias = config->has_mlp_bias = config->has_residual = true;
    if (status == ATTN_OK)
        status = read_sizes(json, config, err);
    if (status == ATTN_OK)
        status = attn_json_get_string(json, root, "activation_function", &activation, err);
    if (status == ATTN_OK)
        status = attn_config_set_activation(json, config, "activation_function", activation, err);
    if (status == ATTN_OK)
        status = attn_json_get_double(json, root, "layer_norm_epsilon", 0, 1, &eps, err);
    if (status == ATTN_OK)
        status = attn_json_get_bool(json, root, "tie_word_embeddings", &is_tied, err);
    if (status == ATTN_OK)
        status = read_attention(json, config, layers, err);
    config->norm_eps = (float)eps;
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    return status;
}

/* --- tensors ---------------------------------------------------------------------------------- */

#define QKV(letter, shape)                                                                         \
    {"h.#.attn.attention." #letter "_proj.weight", shape "D", ATTN_PART_PROJECTIONS,               \
     ATTN_WEIGHT_OUT_IN, ATTN_GPT2_B(letter) + offsetof(struct attn_linear, weight)},              \
    {                                                                                              \
        "h.#.attn.attention." #letter "_proj.bias", shape, ATTN_PART_QKV_BIAS, ATTN_WEIGHT_VECTOR, \
            ATTN_GPT2_B(letter) + offsetof(struct attn_linear, bias)                               \
    }

static const struct attn_weight_rule rules[] = {
    ATTN_GPT2_EMBEDDINGS,
    ATTN_GPT2_NORM_1,
    QKV(q, "Q"),
    QKV(k, "K"),
    QKV(v, "W"),
    {"h.#.attn.attention.out_proj.weight", "DZ", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_OUT_IN,
     ATTN_GPT2_B(out.weight)},
    {"h.#.attn.attention.out_proj.bias", "D", ATTN_PART_OUT_BIAS, ATTN_WEIGHT_VECTOR,
     ATTN_GPT2_B(out.bias)},
    ATTN_GPT2_NORM_2,
    ATTN_GPT2_MLP(ATTN_WEIGHT_OUT_IN, "FD", "DF"),
    ATTN_GPT2_END,
    {"h.#.attn.attention.bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
    {"h.#.attn.attention.masked_bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
};

const struct attn_family attn_family_gpt_neo = {.model_type = "gpt_neo",
                                                .read_config = read_config,
                                                .prefix = "transformer.",
                                                .rules = rules,
                                                .n_rule = sizeof rules / sizeof *rules,
                                                .vocabulary_key = "vocab_size",
                                                .architecture = "GPTNeoFor"};
