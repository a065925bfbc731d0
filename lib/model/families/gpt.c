/*
 * gpt.c - GPT-2, GPT-Neo and GPT-NeoX as Hugging Face writes them (configuration_gpt2.py,
 * modeling_gpt2.py, and the files of gpt_neo and gpt_neox). GPT-Neo has GPT-2's block, and in every
 * second layer a window; GPT-NeoX, which is Pythia's, another.
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
#include "model/families/families_internal.h"

#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define EMBEDDINGS                                                                                 \
    {"wte.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, MODEL(embed)},                   \
    {                                                                                              \
        "wpe.weight", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR, MODEL(positions)              \
    }
#define NORM_1 LAYER_NORM("h.#.ln_1", ATTN_PART_NORM, ln1)
#define NORM_2 LAYER_NORM("h.#.ln_2", ATTN_PART_MLP_NORM, ln2)
#define END                                                                                        \
    FINAL_LAYER_NORM("ln_f"),                                                                      \
    {                                                                                              \
        "/lm_head.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN, MODEL(unembed.weight) \
    }

static const struct attn_weight_rule gpt2_rules[] = {
    EMBEDDINGS,
    NORM_1,
    {"h.#.attn.c_attn.weight", "DA", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_MATRIX, 0},
    {"h.#.attn.c_attn.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_VECTOR, 0},
    CONV1D("h.#.attn.c_proj", "DD", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    NORM_2,
    CONV1D("h.#.mlp.c_fc", "DF", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    CONV1D("h.#.mlp.c_proj", "FD", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    END,
    IGNORED("h.#.attn.bias"),
    IGNORED("h.#.attn.masked_bias"),
};

#define HEADS(name, shape, part, bias_shape, bias_part, map)                                       \
    LINEAR("h.#.attn.attention." name, shape, part, bias_shape, bias_part, map)

static const struct attn_weight_rule neo_rules[] = {
    EMBEDDINGS,
    NORM_1,
    HEADS("q_proj", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),
    HEADS("k_proj", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),
    HEADS("v_proj", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),
    HEADS("out_proj", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    NORM_2,
    LINEAR("h.#.mlp.c_fc", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    LINEAR("h.#.mlp.c_proj", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
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
    FAMILY("gpt2", "GPT2", "transformer.", gpt2_rules), .read_config = read_gpt2,
    .gguf = {"gpt2", .part = "matrices",
             .difference = "[out, in], where Hugging Face's are [in, out]"},
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
    bool is_comparing; /* with another list, for has_differed */
    bool has_differed;
};

static enum attn_status refuse_types(const struct layer_types *types, const char *expected,
                                     struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' does not hold %s", types->key,
                          attn_quote_string(attn_json_name(types->json)).text, expected);
}

/* The next layers have the types that LIST names. */
static enum attn_status add_list(struct layer_types *types, const struct attn_node *list,
                                 struct attn_error *err)
{
    if (!attn_node_is_array(list))
        return refuse_types(types, "a list of types", err);
    for (const struct attn_node *node = attn_node_first(list); node;
         node = attn_node_next(node), types->n++) {
        const char *name = attn_node_string(node);
        const bool is_local = name && strcmp(name, "local") == 0;
        struct attn_attention *attention = NULL;

        if (!is_local && (!name || strcmp(name, "global") != 0))
            return refuse_types(types, "the types 'global' and 'local' alone", err);
        if (types->n >= types->n_layer)
            continue;
        attention = &types->attention[types->n];
        if (types->is_comparing)
            types->has_differed |= is_local != (attention->kind == ATTN_ATTENTION_WINDOW);
        else if (is_local)
            attention->kind = ATTN_ATTENTION_WINDOW, attention->window = types->window;
    }
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
    /* Without a list, layers are global and local in turn; there are 24 then. */
    for (; !list && !expanded && types->n < 24 && types->n < types->n_layer; types->n++)
        if (types->n % 2 == 1) {
            types->attention[types->n].kind = ATTN_ATTENTION_WINDOW;
            types->attention[types->n].window = types->window;
        }
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
    FAMILY("gpt_neo", "GPTNeoFor", "transformer.", neo_rules), .read_config = read_neo,
    .form = {FORM_OF_GPT2, .names = &neo_names,
             .defaults = {BLOCK_OF_GPT2, .n_vocab = 50257, .d_model = 2048, .n_layer = 24,
                          .n_head = 16, .n_ctx = 2048}}};

/* --- GPT-NeoX --------------------------------------------------------------------------------- */

/*
 *     post = pre + attention(norm1(pre)) + mlp(norm2(pre)), or with use_parallel_residual false
 *     mid  = pre + attention(norm1(pre)), post = mid + mlp(norm2(mid))
 *
 * LayerNorm; the first quarter of each head is turned by its position. Traps: rows of
 * query_key_value go head by head, q, k and v of each; attention.bias is a mask, but
 * attention.dense.bias is a bias; older configs write rotary_pct and rotary_emb_base, older files
 * embed_out.
 */
static const struct attn_weight_rule neox_rules[] = {
    {"embed_in.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR, MODEL(embed)},
    LAYER_NORM("layers.#.input_layernorm", ATTN_PART_NORM, ln1),
    {"layers.#.attention.query_key_value.weight", "AD", ATTN_PART_PROJECTIONS,
     ATTN_WEIGHT_QKV_HEADS, 0},
    {"layers.#.attention.query_key_value.bias", "A", ATTN_PART_QKV_BIAS,
     ATTN_WEIGHT_QKV_HEADS_VECTOR, 0},
    LINEAR("layers.#.attention.dense", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    LAYER_NORM("layers.#.post_attention_layernorm", ATTN_PART_MLP_NORM, ln2),
    LINEAR("layers.#.mlp.dense_h_to_4h", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    LINEAR("layers.#.mlp.dense_4h_to_h", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    FINAL_LAYER_NORM("final_layer_norm"),
    {"/lm_head.weight|/embed_out.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN,
     MODEL(unembed.weight)},
    VECTOR("/lm_head.bias|/embed_out.bias", "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias)),
    IGNORED("layers.#.attention.bias"),
    IGNORED("layers.#.attention.masked_bias"),
    IGNORED("layers.#.attention.rotary_emb.inv_freq"),
    IGNORED("rotary_emb.inv_freq"),
};

#define FORM_OF_NEOX                                                                               \
    .has_no_heads_keys = true, .is_divided = true, .activation_key = "hidden_act",                 \
    .eps_key = "layer_norm_eps", .has_parallel_key = true, .has_attention_bias_key = true,         \
    .rope = {"rotary_emb_base", 10000, "rotary_pct", 0.25}
#define BLOCK_OF_NEOX                                                                              \
    .norm = ATTN_NORM_LAYERNORM, .has_final_norm = true, .has_projections = true,                  \
    .has_out_proj = true, .has_residual = true, .has_parallel_residual = true,                     \
    .has_qkv_bias = true, .has_mlp_bias = true, .act_fn = "gelu", .output = ATTN_OUTPUT_OWN

const struct attn_family attn_family_gpt_neox = {
    FAMILY("gpt_neox", NULL, "gpt_neox.", neox_rules),
    .gguf = {"gptneox", .part = "q, k and v",
             .difference = "all of q, all of k, all of v, where Hugging Face goes head by head"},
    .form = {FORM_OF_NEOX,
             .defaults = {BLOCK_OF_NEOX, .n_vocab = 50432, .d_model = 6144, .d_mlp = 24576,
                          .n_layer = 44, .n_head = 64, .n_ctx = 2048, .norm_eps = 1e-5F}}};
