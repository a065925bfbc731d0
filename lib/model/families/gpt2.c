/*
 * gpt2.c - GPT-2 and GPT-Neo as Hugging Face writes them (configuration_gpt2.py, modeling_gpt2.py;
 * configuration_gpt_neo.py, modeling_gpt_neo.py). GPT-Neo has GPT-2's block, and in every second
 * layer a window.
 *
 * Traps of GPT-2's config, with its defaults and aliases: n_inner null means 4 * n_embd; old files
 * have n_ctx instead of n_positions; an lm_head.weight in the file wins over tie_word_embeddings;
 * reorder_and_upcast_attn changes nothing in float32.
 *
 * Traps of GPT-2's names: the block's matrices are Conv1D, stored [in, out]; c_attn is q, k and v
 * side by side, heads contiguous inside each; lm_head is an nn.Linear, stored [out, in], and
 * usually absent because it is tied to wte. Files saved from GPT2LMHeadModel put "transformer." in
 * front of everything but lm_head; attn.bias is a mask, not a bias.
 *
 * Traps of GPT-Neo: scores are q.k as they are, not divided by sqrt(E); linear maps are nn.Linear,
 * [out, in]; q, k and v have no bias. The types of the layers stand in `attention_types`,
 * [[["global", "local"], 12]]: each list of names so many times. Old files have the expanded list,
 * `attention_layers`, too.
 */
#include "base/escape.h"
#include "model/family.h"
#include "model/weights.h"

#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define BLOCK(member) offsetof(struct attn_block_weights, member)
#define MODEL(member) offsetof(struct attn_weights, member)

/* Rows of a table of tensors, in their order. */
#define VECTOR(name, shape, part, place)                                                           \
    {                                                                                              \
        name, shape, part, ATTN_WEIGHT_VECTOR, place                                               \
    }
#define NORM(name, part, w, b)                                                                     \
    VECTOR(name ".weight", "D", part, w), VECTOR(name ".bias", "D", part, b)
#define EMBEDDINGS                                                                                 \
    {"wte.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, MODEL(embed)},                   \
    {                                                                                              \
        "wpe.weight", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR, MODEL(positions)              \
    }
#define NORM_1 NORM("h.#.ln_1", ATTN_PART_NORM, BLOCK(ln1.w), BLOCK(ln1.b))
#define NORM_2 NORM("h.#.ln_2", ATTN_PART_MLP_NORM, BLOCK(ln2.w), BLOCK(ln2.b))
/* KIND says which of both dimensions is the input. */
#define MLP(kind, shape_in, shape_out)                                                             \
    {"h.#.mlp.c_fc.weight", shape_in, ATTN_PART_MLP, kind, BLOCK(mlp_in.weight)},                  \
        VECTOR("h.#.mlp.c_fc.bias", "F", ATTN_PART_MLP_BIAS, BLOCK(mlp_in.bias)),                  \
        {"h.#.mlp.c_proj.weight", shape_out, ATTN_PART_MLP, kind, BLOCK(mlp_out.weight)},          \
        VECTOR("h.#.mlp.c_proj.bias", "D", ATTN_PART_MLP_BIAS, BLOCK(mlp_out.bias))
#define END                                                                                        \
    NORM("ln_f", ATTN_PART_FINAL_NORM, MODEL(ln_final.w), MODEL(ln_final.b)),                      \
    {                                                                                              \
        "/lm_head.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN, MODEL(unembed.weight) \
    }
#define IGNORED(name)                                                                              \
    {                                                                                              \
        name, "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0                                         \
    }

static const struct attn_weight_rule gpt2_rules[] = {
    EMBEDDINGS,
    NORM_1,
    {"h.#.attn.c_attn.weight", "DA", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_MATRIX, 0},
    {"h.#.attn.c_attn.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_VECTOR, 0},
    {"h.#.attn.c_proj.weight", "DD", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_IN_OUT, BLOCK(out.weight)},
    VECTOR("h.#.attn.c_proj.bias", "D", ATTN_PART_OUT_BIAS, BLOCK(out.bias)),
    NORM_2,
    MLP(ATTN_WEIGHT_IN_OUT, "DF", "FD"),
    END,
    IGNORED("h.#.attn.bias"),
    IGNORED("h.#.attn.masked_bias"),
};

#define LINEAR(name, shape, part, bias_shape, bias_part, map)                                      \
    {"h.#.attn.attention." name ".weight", shape, part, ATTN_WEIGHT_OUT_IN,                        \
     BLOCK(map) + offsetof(struct attn_linear, weight)},                                           \
        VECTOR("h.#.attn.attention." name ".bias", bias_shape, bias_part,                          \
               BLOCK(map) + offsetof(struct attn_linear, bias))

static const struct attn_weight_rule neo_rules[] = {
    EMBEDDINGS,
    NORM_1,
    LINEAR("q_proj", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),
    LINEAR("k_proj", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),
    LINEAR("v_proj", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),
    LINEAR("out_proj", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    NORM_2,
    MLP(ATTN_WEIGHT_OUT_IN, "FD", "DF"),
    END,
    IGNORED("h.#.attn.attention.bias"),
    IGNORED("h.#.attn.attention.masked_bias"),
};

/* --- GPT-2 ------------------------------------------------------------------------------------ */

#define BLOCK_OF_GPT2                                                                              \
    .norm = ATTN_NORM_LAYERNORM, .norm_eps = 1e-5F, .positions = ATTN_POSITIONS_LEARNED,           \
    .has_final_norm = true, .has_projections = true, .has_out_proj = true, .has_out_bias = true,   \
    .has_mlp_bias = true, .has_residual = true, .act_fn = "gelu_new", .output = ATTN_OUTPUT_TIED
#define FORM_OF_GPT2                                                                               \
    .activation_key = "activation_function", .eps_key = "layer_norm_epsilon",                      \
    .has_no_heads_keys = true

static const struct attn_config_names gpt2_names = {
    .n_vocab = {.name = "vocab_size"},
    .d_model = {"n_embd", "hidden_size"},
    .d_mlp = {.name = "n_inner"},
    .n_layer = {"n_layer", "num_hidden_layers"},
    .n_head = {"n_head", "num_attention_heads"},
    .n_ctx = {"n_positions", "max_position_embeddings"},
};

static enum attn_status read_gpt2(const struct attn_json *json, const struct attn_config_form *form,
                                  struct attn_config *config, struct attn_config_layers *layers,
                                  struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    bool is_scaled = true, is_by_layer = false;

    ATTN_TRY(attn_json_get_size(json, root, "n_ctx", 1, ATTN_MAX_CTX, &config->n_ctx, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_bool(json, root, "scale_attn_weights", &is_scaled, err));
    ATTN_TRY(attn_json_get_bool(json, root, "scale_attn_by_inverse_layer_idx", &is_by_layer, err));
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->attention[layer].is_scaled = is_scaled;
        if (is_by_layer)
            layers->attention[layer].factor = 1.0 / (double)(layer + 1);
    }
    return ATTN_OK;
}

const struct attn_family attn_family_gpt2 = {
    .model_type = "gpt2",
    .architecture = "GPT2",
    .read_config = read_gpt2,
    .prefix = "transformer.",
    .rules = gpt2_rules,
    .n_rule = sizeof gpt2_rules / sizeof *gpt2_rules,
    .vocabulary_key = "vocab_size",
    .form = {FORM_OF_GPT2, .names = &gpt2_names,
             .defaults = {BLOCK_OF_GPT2, .has_qkv_bias = true, .n_vocab = 50257, .d_model = 768,
                          .n_layer = 12, .n_head = 12, .n_ctx = 1024}}};

/* --- GPT-Neo ---------------------------------------------------------------------------------- */

static const struct attn_config_names neo_names = {
    .n_vocab = {.name = "vocab_size"},
    .d_model = {.name = "hidden_size"},
    .d_mlp = {.name = "intermediate_size"},
    .n_layer = {"num_layers", "num_hidden_layers"},
    .n_head = {"num_heads", "num_attention_heads"},
    .n_ctx = {.name = "max_position_embeddings"},
};

/* The types that a list has named so far. */
struct layer_types {
    const struct attn_json *json;
    const char *key;
    struct attn_attention *attention; /* [n_layer] */
    size_t n_layer, n;
    size_t window;     /* of local layers */
    bool is_comparing; /* with what another list said, and has_differed */
    bool has_differed;
};

static enum attn_status refuse_types(const struct layer_types *types, const char *expected,
                                     struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' does not hold %s", types->key,
                          attn_quote_string(attn_json_name(types->json)).text, expected);
}

/* The next layer has the type that NODE names. */
static enum attn_status add_type(struct layer_types *types, const struct attn_node *node,
                                 struct attn_error *err)
{
    const char *name = attn_node_string(node);
    const bool is_local = name && strcmp(name, "local") == 0;

    if (!is_local && (!name || strcmp(name, "global") != 0))
        return refuse_types(types, "the types 'global' and 'local' alone", err);
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

static enum attn_status add_list(struct layer_types *types, const struct attn_node *list,
                                 struct attn_error *err)
{
    if (!attn_node_is_array(list))
        return refuse_types(types, "a list of types", err);
    for (const struct attn_node *node = attn_node_first(list); node; node = attn_node_next(node))
        ATTN_TRY(add_type(types, node, err));
    return ATTN_OK;
}

/* ITEM is [[name, ...], times]. */
static enum attn_status add_item(struct layer_types *types, const struct attn_node *item,
                                 struct attn_error *err)
{
    const struct attn_node *list = attn_node_is_array(item) ? attn_node_first(item) : NULL;
    const struct attn_node *times = list ? attn_node_next(list) : NULL;
    int64_t n;

    if (!times || attn_node_next(times) || !attn_node_int(times, &n) || n < 1 ||
        !attn_node_is_array(list) || !attn_node_first(list))
        return refuse_types(types, "items such as [[\"global\", \"local\"], 12]", err);
    for (int64_t i = 0; i < n && types->n <= types->n_layer; i++)
        ATTN_TRY(add_list(types, list, err));
    return ATTN_OK;
}

static enum attn_status check_count(const struct layer_types *types, struct attn_error *err)
{
    if (types->n == types->n_layer)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' in '%s' names the types of %s layers than num_layers %zu",
                          types->key, attn_quote_string(attn_json_name(types->json)).text,
                          types->n < types->n_layer ? "fewer" : "more", types->n_layer);
}

/* Without a list, layers are global and local in turn; there are 24 then. */
static void add_default_types(struct layer_types *types)
{
    for (; types->n < 24 && types->n < types->n_layer; types->n++)
        if (types->n % 2 == 1) {
            types->attention[types->n].kind = ATTN_ATTENTION_WINDOW;
            types->attention[types->n].window = types->window;
        }
}

/* The member KEY of the config; NULL where it is null, too. */
static const struct attn_node *find_given(const struct layer_types *types, const char *key)
{
    const struct attn_node *node = attn_node_find(attn_json_root(types->json), key);

    return node && !attn_node_is_null(node) ? node : NULL;
}

static enum attn_status read_types(struct layer_types *types, struct attn_error *err)
{
    const struct attn_node *list = find_given(types, "attention_types");
    const struct attn_node *expanded = find_given(types, "attention_layers");

    types->key = "attention_types";
    if (list && !attn_node_is_array(list))
        return refuse_types(types, "a list of items", err);
    for (const struct attn_node *node = list ? attn_node_first(list) : NULL; node;
         node = attn_node_next(node))
        ATTN_TRY(add_item(types, node, err));
    if (!list && !expanded)
        add_default_types(types);
    if (list || !expanded)
        ATTN_TRY(check_count(types, err));
    if (!expanded)
        return ATTN_OK;
    types->key = "attention_layers", types->n = 0, types->is_comparing = list;
    ATTN_TRY(add_list(types, expanded, err));
    ATTN_TRY(check_count(types, err));
    if (!types->has_differed)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'attention_layers' in '%s' differs from 'attention_types'",
                          attn_quote_string(attn_json_name(types->json)).text);
}

static enum attn_status read_neo(const struct attn_json *json, const struct attn_config_form *form,
                                 struct attn_config *config, struct attn_config_layers *layers,
                                 struct attn_error *err)
{
    struct layer_types types = {.json = json, .window = 256};

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "window_size", 1, ATTN_MAX_CTX,
                                &types.window, err));
    types.attention = layers->attention;
    types.n_layer = config->n_layer;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].is_scaled = false;
    return read_types(&types, err);
}

const struct attn_family attn_family_gpt_neo = {
    .model_type = "gpt_neo",
    .architecture = "GPTNeoFor",
    .read_config = read_neo,
    .prefix = "transformer.",
    .rules = neo_rules,
    .n_rule = sizeof neo_rules / sizeof *neo_rules,
    .vocabulary_key = "vocab_size",
    .form = {FORM_OF_GPT2, .names = &neo_names,
             .defaults = {BLOCK_OF_GPT2, .n_vocab = 50257, .d_model = 2048, .n_layer = 24,
                          .n_head = 16, .n_ctx = 2048}}};
