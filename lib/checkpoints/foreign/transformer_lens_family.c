/*
 * transformer_lens_family.c - the models that TransformerLens trains itself: its native models
 * (version 4, model_bridge/sources/native/model.py) and those that HookedTransformer saved before.
 * Config.json is TransformerLens's config as json.dump writes it; it has no model_type.
 *
 * Traps: the two kinds have different names and shapes of tensors, and two keys mean different
 * things: a native model divides scores by sqrt(d_head) if use_attn_scale is false, and
 * HookedTransformer does not divide; a native model turns neighbours, HookedTransformer does only
 * if rotary_adjacent_pairs is true. `dynamic` positions change the base for texts of any length.
 * d_vocab_out may differ from d_vocab; then the outputs are labels, not tokens.
 */
#include "base/elementary.h"
#include "families/families_internal.h"

#include <ctype.h>
#include <string.h>

extern const struct attn_family attn_family_hooked_transformer;

/* --- sizes ------------------------------------------------------------------------------------ */

/* Reads a size. If KEY is absent, null or -1, *size is unchanged. */
static enum attn_status get_size(const struct attn_json *json, const char *key, size_t max,
                                 size_t *size, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *node = attn_config_find_given(root, key);
    int64_t value = 0;

    if (!node || (attn_node_int(node, &value) && value == -1))
        return ATTN_OK;
    return attn_json_get_size(json, root, key, 1, max, size, err);
}

static enum attn_status read_sizes(const struct attn_json *json, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct {
        const char *key;
        size_t max, *size;
        bool is_needed;
    } sizes[] = {
        {"d_model", ATTN_MAX_WIDTH, &config->d_model, true},
        {"n_layers", ATTN_MAX_LAYER, &config->n_layer, true},
        {"n_ctx", ATTN_MAX_CTX, &config->n_ctx, true},
        {"d_vocab", ATTN_MAX_VOCAB, &config->n_token, true},
        {"d_vocab_out", ATTN_MAX_VOCAB, &config->n_vocab, false},
        {"n_heads", ATTN_MAX_WIDTH, &config->n_head, false},
        {"d_head", ATTN_MAX_WIDTH, &config->d_head, false},
        {"n_key_value_heads", ATTN_MAX_WIDTH, &config->n_kv_head, false},
        {"d_mlp", ATTN_MAX_WIDTH, &config->d_mlp, false},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ATTN_TRY(get_size(json, sizes[i].key, sizes[i].max, sizes[i].size, err));
        if (*sizes[i].size == 0 && sizes[i].is_needed)
            return attn_error_set(err, ATTN_FORMAT, "'%s' is missing in '%s'", sizes[i].key,
                                  attn_config_quote(json).text);
    }
    if (config->n_head == 0 && config->d_head == 0)
        return attn_error_set(err, ATTN_FORMAT, "'n_heads' and 'd_head' are missing in '%s'",
                              attn_config_quote(json).text);
    if (config->n_head == 0)
        config->n_head = config->d_head > config->d_model ? 1 : config->d_model / config->d_head;
    if (config->d_head == 0)
        ATTN_TRY(attn_config_check_divides(json, "n_heads", config->n_head, "d_model",
                                           config->d_model, err));
    if (config->d_head == 0)
        config->d_head = config->d_model / config->n_head;
    if (config->n_kv_head == 0)
        config->n_kv_head = config->n_head;
    ATTN_TRY(attn_config_check_divides(json, "n_key_value_heads", config->n_kv_head, "n_heads",
                                       config->n_head, err));
    config->d_value = config->d_head;
    config->d_source = config->d_model;
    if (config->n_vocab == 0)
        config->n_vocab = config->n_token;
    if (config->n_vocab != config->n_token)
        config->task = ATTN_TASK_TOKENS;
    return ATTN_OK;
}

/* --- the parts of a block --------------------------------------------------------------------- */

/* Reads KEY, which is one of the N WORDS in capitals or not, and sets *value to its number; it is
 * unchanged if KEY is absent. NULL_VALUE is the number that null means; -1: null is absent. */
static enum attn_status get_word(const struct attn_json *json, const char *key,
                                 const char *const *words, int null_value, int *value,
                                 struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(attn_json_root(json), key);
    const char *text = NULL;
    char lower[16] = "";

    if (node && attn_node_is_null(node) && null_value >= 0)
        *value = null_value;
    ATTN_TRY(attn_json_get_string(json, attn_json_root(json), key, &text, err));
    for (size_t i = 0; text && i + 1 < sizeof lower && text[i]; i++)
        lower[i] = (char)tolower((unsigned char)text[i]);
    for (int i = 0; text && words[i]; i++)
        if (strcmp(words[i], lower) == 0) {
            *value = i;
            return ATTN_OK;
        }
    return !text ? ATTN_OK
                 : ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key,
                                    "is '%s', which this version does not read",
                                    attn_quote_string(text).text);
}

static enum attn_status read_norm(const struct attn_json *json, struct attn_config *config,
                                  struct attn_error *err)
{
    static const char *const words[] = {"none", "ln", "rms", "lnpre", "rmspre", NULL};
    static const enum attn_norm norms[] = {ATTN_NORM_NONE, ATTN_NORM_LAYERNORM, ATTN_NORM_RMSNORM,
                                           ATTN_NORM_LAYERNORM_NO_WEIGHT,
                                           ATTN_NORM_RMSNORM_NO_WEIGHT};
    const struct attn_node *root = attn_json_root(json);
    double eps = (double)config->norm_eps;
    int word = 1;

    ATTN_TRY(get_word(json, "normalization_type", words, 0, &word, err));
    ATTN_TRY(attn_json_get_bool(json, root, "final_rms", &config->has_final_rms, err));
    ATTN_TRY(attn_json_get_double(json, root, "eps", 0, 1, &eps, err));
    config->norm = norms[word];
    config->norm_eps = (float)eps;
    config->has_final_norm = config->norm != ATTN_NORM_NONE;
    if (config->norm == ATTN_NORM_NONE && config->has_final_rms)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "final_rms",
                                "is true, but 'normalization_type' is null");
    config->has_final_rms = config->has_final_rms && attn_config_norms_mean(config);
    return ATTN_OK;
}

static enum attn_status read_mlp(const struct attn_json *json, struct attn_config *config,
                                 struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *given = attn_node_find(root, "act_fn");
    const char *name = "relu";
    bool has_none = false;

    ATTN_TRY(attn_json_get_bool(json, root, "attn_only", &has_none, err));
    ATTN_TRY(attn_json_get_bool(json, root, "gated_mlp", &config->has_gated_mlp, err));
    if (has_none) {
        config->d_mlp = 0;
        config->has_gated_mlp = false;
        return ATTN_OK;
    }
    if (config->d_mlp == 0)
        config->d_mlp = 4 * config->d_model;
    config->has_mlp_bias = !config->has_gated_mlp;
    if (given && attn_node_is_null(given))
        name = config->has_gated_mlp ? "silu" : "gelu";
    else
        ATTN_TRY(attn_json_get_string(json, root, "act_fn", &name, err));
    config->has_solu = strcmp(name, "solu") == 0 || strcmp(name, "solu_ln") == 0;
    config->has_mlp_norm = strcmp(name, "solu_ln") == 0 && !config->has_gated_mlp;
    if (!config->has_solu)
        return attn_config_set_activation(json, &config->act_fn, "act_fn", name, err);
    config->act_fn = "solu";
    return ATTN_OK;
}

/* Reads a cap, which is absent if it is -1. */
static enum attn_status get_cap(const struct attn_json *json, const char *key, double *cap,
                                struct attn_error *err)
{
    double value = -1;

    ATTN_TRY(attn_json_get_double(json, attn_json_root(json), key, -1, 1e30, &value, err));
    *cap = value > 0 ? value : 0;
    return ATTN_OK;
}

/* Reads the attention of all layers. NEEDS_SCALE: use_attn_scale false means no scale. */
static enum attn_status read_attention(const struct attn_json *json, bool needs_scale,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const directions[] = {"bidirectional", "causal", NULL};
    struct attn_attention attention = {.kind = ATTN_ATTENTION_FULL, .is_scaled = true, .factor = 1};
    const struct attn_node *root = attn_json_root(json);
    bool uses_scale = true;
    double scale = -1;
    int is_causal = 1;

    ATTN_TRY(get_word(json, "attention_dir", directions, -1, &is_causal, err));
    ATTN_TRY(attn_json_get_bool(json, root, "use_attn_scale", &uses_scale, err));
    ATTN_TRY(attn_json_get_double(json, root, "attn_scale", -1, 1e30, &scale, err));
    ATTN_TRY(get_cap(json, "attn_scores_soft_cap", &attention.score_cap, err));
    ATTN_TRY(get_cap(json, "output_logits_soft_cap", &config->logits_cap, err));
    attention.mask = is_causal ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
    if (!uses_scale)
        scale = needs_scale ? 1 : -1;
    if (scale > 0) {
        attention.is_scaled = false;
        attention.factor = 1 / scale;
    }
    return attn_config_allocate_layers(config, layers, &attention, err);
}

/* --- positions -------------------------------------------------------------------------------- */

static enum attn_status read_scaling(const struct attn_json *json, struct attn_rope *rope,
                                     struct attn_error *err)
{
    static const char *const words[] = {"default", "linear", "llama3", "dynamic", "ntk"};
    const struct attn_node *object = NULL;
    const char *type = NULL;
    size_t i = 0;

    ATTN_TRY(attn_config_find_object(json, attn_json_root(json), "rope_scaling", &object, err));
    if (!object)
        return ATTN_OK;
    ATTN_TRY(attn_json_get_string(json, object, "type", &type, err));
    ATTN_TRY(attn_json_get_string(json, object, "rope_type", &type, err));
    while (type && i < 5 && strcmp(words[i], type) != 0)
        i++;
    if (i == 5)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "rope_scaling",
                                "is of type '%s', expected 'linear', 'dynamic' or 'llama3'",
                                attn_quote_string(type).text);
    rope->factor = 1;
    ATTN_TRY(attn_json_get_double(json, object, "factor", 0, 1e30, &rope->factor, err));
    if (i == 0 || rope->factor <= 1) {
        rope->factor = 0;
        return ATTN_OK;
    }
    if (i >= 3) { /* the base of the "NTK" form, for texts of any length */
        const double width = (double)rope->d_rotary;

        if (rope->d_rotary == 2)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "rope_scaling",
                                    "is '%s', which needs a 'rotary_dim' above 2", type);
        rope->theta *= attn_pow(rope->factor, width / (width - 2));
        rope->factor = 0;
        return ATTN_OK;
    }
    rope->type = i == 1 ? ATTN_ROPE_LINEAR : ATTN_ROPE_LLAMA3;
    if (i == 1)
        return ATTN_OK;
    rope->low_freq_factor = 1, rope->high_freq_factor = 4, rope->n_original = 8192;
    ATTN_TRY(attn_json_get_double(json, object, "low_freq_factor", 1e-6, 1e30,
                                  &rope->low_freq_factor, err));
    ATTN_TRY(attn_json_get_double(json, object, "high_freq_factor", 1e-6, 1e30,
                                  &rope->high_freq_factor, err));
    return attn_json_get_double(json, object, "original_max_position_embeddings", 1, 1e30,
                                &rope->n_original, err);
}

static enum attn_status read_positions(const struct attn_json *json, bool turns_neighbours,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const words[] = {"standard", "rotary", NULL};
    struct attn_rope rope = {.d_rotary = config->d_head, .theta = 10000};
    const struct attn_node *root = attn_json_root(json);
    int is_rotary = false;

    ATTN_TRY(get_word(json, "positional_embedding_type", words, 0, &is_rotary, err));
    config->positions = is_rotary ? ATTN_POSITIONS_ROTARY : ATTN_POSITIONS_LEARNED;
    if (!is_rotary)
        return ATTN_OK;
    ATTN_TRY(get_size(json, "rotary_dim", ATTN_MAX_WIDTH, &rope.d_rotary, err));
    if (rope.d_rotary % 2 != 0 || rope.d_rotary > config->d_head)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "rotary_dim",
                                "is %zu, expected an even number up to d_head %zu", rope.d_rotary,
                                config->d_head);
    ATTN_TRY(attn_json_get_double(json, root, "rotary_base", 1e-6, 1e30, &rope.theta, err));
    ATTN_TRY(read_scaling(json, &rope, err));
    rope.turns_neighbours = turns_neighbours;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->rope[layer] = rope;
    return ATTN_OK;
}

/* --- the config ------------------------------------------------------------------------------- */

/* Parts that HookedTransformer has and that are not read. */
static const struct attn_config_extra refused[] = {
    {"use_local_attn", ATTN_WISH_TRUE},
    {"parallel_attn_mlp", ATTN_WISH_TRUE},
    {"scale_attn_by_inverse_layer_idx", ATTN_WISH_TRUE},
    {"use_qk_norm", ATTN_WISH_TRUE},
    {"post_embedding_ln", ATTN_WISH_TRUE},
    {"use_normalization_before_and_after", ATTN_WISH_TRUE},
    {"use_NTK_by_parts_rope", ATTN_WISH_TRUE},
    {"rmsnorm_uses_offset", ATTN_WISH_TRUE},
    {"tie_word_embeddings", ATTN_WISH_TRUE},
    {"num_experts", ATTN_WISH_PRESENT},
    {"relative_attention_num_buckets", ATTN_WISH_PRESENT},
    {"per_layer_head_dim", ATTN_WISH_PRESENT},
    {"per_layer_num_key_value_heads", ATTN_WISH_PRESENT},
    {.key = NULL},
};

static enum attn_status read_any(const struct attn_json *json, bool is_hooked,
                                 struct attn_config *config, struct attn_config_layers *layers,
                                 struct attn_error *err)
{
    bool turns_neighbours = true;

    ATTN_TRY(attn_config_refuse(json, attn_json_root(json), refused, err));
    ATTN_TRY(read_sizes(json, config, err));
    ATTN_TRY(read_norm(json, config, err));
    ATTN_TRY(read_mlp(json, config, err));
    ATTN_TRY(read_attention(json, is_hooked, config, layers, err));
    if (is_hooked)
        ATTN_TRY(attn_json_get_bool(json, attn_json_root(json), "rotary_adjacent_pairs",
                                    &turns_neighbours, err));
    return read_positions(json, turns_neighbours, config, layers, err);
}

static enum attn_status read_native(ATTN_CONFIG_ARGS)
{
    (void)form;
    return read_any(json, false, config, layers, err);
}

static enum attn_status read_hooked(ATTN_CONFIG_ARGS)
{
    (void)form;
    return read_any(json, true, config, layers, err);
}

/* --- tensors ---------------------------------------------------------------------------------- */

#define NORM_OF(name, weight, bias, part, norm)                                                    \
    VECTOR(name weight, "D", ATTN_PART_##part, NORM_W(norm)),                                      \
        VECTOR(name bias, "D", ATTN_PART_##part##_BIAS, NORM_B(norm))
#define FINAL_NORM_OF(weight, bias)                                                                \
    VECTOR(weight, "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),                                  \
        VECTOR(bias, "D", ATTN_PART_FINAL_NORM_BIAS, MODEL(ln_final.b))

static const struct attn_weight_rule native_rules[] = {
    EMBEDDING_OF("tok_embed.weight"),
    TABLE("pos.weight", "PD", ATTN_PART_POSITIONS, positions),
    NORM_OF("layers.#.ln1", ".weight", ".bias", NORM, ln1),
    LINEAR("layers.#.attn.q", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),
    LINEAR("layers.#.attn.k", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),
    LINEAR("layers.#.attn.v", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),
    OUT_MAP("layers.#.attn.o"),
    NORM_OF("layers.#.ln2", ".weight", ".bias", MLP_NORM, ln2),
    LINEAR("layers.#.mlp.fc_in", "FD", ATTN_PART_MLP_PLAIN, "F", ATTN_PART_MLP_PLAIN_BIAS, mlp_in),
    LINEAR("layers.#.mlp.fc_out", "DF", ATTN_PART_MLP_PLAIN, "D", ATTN_PART_MLP_PLAIN_BIAS,
           mlp_out),
    TENSOR("layers.#.mlp.gate.weight", "FD", ATTN_PART_MLP_GATE, ATTN_WEIGHT_OUT_IN,
           WEIGHT_OF(mlp_gate)),
    TENSOR("layers.#.mlp.in.weight", "FD", ATTN_PART_MLP_GATE, ATTN_WEIGHT_OUT_IN,
           WEIGHT_OF(mlp_in)),
    TENSOR("layers.#.mlp.out.weight", "DF", ATTN_PART_MLP_GATE, ATTN_WEIGHT_OUT_IN,
           WEIGHT_OF(mlp_out)),
    VECTOR("layers.#.mlp.ln.weight", "F", ATTN_PART_MLP_INNER_NORM, NORM_W(mlp_norm)),
    VECTOR("layers.#.mlp.ln.bias", "F", ATTN_PART_MLP_INNER_NORM, NORM_B(mlp_norm)),
    FINAL_NORM_OF("ln_out.weight", "ln_out.bias"),
    MATRIX("head.weight", "VD", ATTN_PART_OUTPUT, unembed),
    MATRIX("head.weight", "YD", ATTN_PART_TOKEN_CLASS, unembed),
};

#define HOOKED_HEADS(letter, shape, bias_shape, map)                                               \
    {"blocks.#.attn.W_" letter "|blocks.#.attn._W_" letter, shape, ATTN_PART_PROJECTIONS,          \
     ATTN_WEIGHT_HEADS, WEIGHT_OF(map)},                                                           \
        VECTOR("blocks.#.attn.b_" letter "|blocks.#.attn._b_" letter, bias_shape,                  \
               ATTN_PART_QKV_BIAS, BIAS_OF(map))

static const struct attn_weight_rule hooked_rules[] = {
    EMBEDDING_OF("embed.W_E"),
    TABLE("pos_embed.W_pos", "PD", ATTN_PART_POSITIONS, positions),
    NORM_OF("blocks.#.ln1", ".w", ".b", NORM, ln1),
    HOOKED_HEADS("Q", "HDE", "HE", q),
    HOOKED_HEADS("K", "GDE", "GE", k),
    HOOKED_HEADS("V", "GDU", "GU", v),
    {"blocks.#.attn.W_O", "HUD", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_IN_OUT, WEIGHT_OF(out)},
    VECTOR("blocks.#.attn.b_O", "D", ATTN_PART_OUT_BIAS, BIAS_OF(out)),
    NORM_OF("blocks.#.ln2", ".w", ".b", MLP_NORM, ln2),
    TENSOR("blocks.#.mlp.W_gate", "DF", ATTN_PART_MLP_GATE, ATTN_WEIGHT_IN_OUT,
           WEIGHT_OF(mlp_gate)),
    TENSOR("blocks.#.mlp.W_in", "DF", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, WEIGHT_OF(mlp_in)),
    VECTOR("blocks.#.mlp.b_in", "F", ATTN_PART_MLP_BIAS_FOUND, BIAS_OF(mlp_in)),
    VECTOR("blocks.#.mlp.ln.w", "F", ATTN_PART_MLP_INNER_NORM, NORM_W(mlp_norm)),
    VECTOR("blocks.#.mlp.ln.b", "F", ATTN_PART_MLP_INNER_NORM, NORM_B(mlp_norm)),
    TENSOR("blocks.#.mlp.W_out", "FD", ATTN_PART_MLP, ATTN_WEIGHT_IN_OUT, WEIGHT_OF(mlp_out)),
    VECTOR("blocks.#.mlp.b_out", "D", ATTN_PART_MLP_BIAS_FOUND, BIAS_OF(mlp_out)),
    FINAL_NORM_OF("ln_final.w", "ln_final.b"),
    TENSOR("unembed.W_U", "DV", ATTN_PART_OUTPUT, ATTN_WEIGHT_IN_OUT, MODEL(unembed.weight)),
    TENSOR("unembed.W_U", "DY", ATTN_PART_TOKEN_CLASS, ATTN_WEIGHT_IN_OUT, MODEL(unembed.weight)),
    VECTOR("unembed.b_U", "Y", ATTN_PART_OUTPUT_BIAS_FOUND, MODEL(unembed.bias)),
    IGNORED("blocks.#.attn.mask"),
    IGNORED("blocks.#.attn.IGNORE"),
    IGNORED("blocks.#.attn.rotary_sin"),
    IGNORED("blocks.#.attn.rotary_cos"),
};

#define DEFAULTS                                                                                   \
    .form = {.defaults = {ATTN_BLOCK, .norm_eps = 1e-5F, .act_fn = "relu", .has_qkv_bias = true,   \
                          .has_out_bias = true, .output = ATTN_OUTPUT_OWN}}

static bool is_config(const struct attn_json *json)
{
    const struct attn_node *root = attn_json_root(json);

    return attn_node_find(root, "d_vocab") && attn_node_find(root, "n_layers");
}

const struct attn_family attn_family_transformer_lens = {
    .model_type = "transformer_lens",
    .is_config = is_config,
    .read_config = read_native,
    .rules = native_rules,
    .n_rule = sizeof native_rules / sizeof *native_rules,
    .vocabulary_key = "d_vocab",
    .other_names = &attn_family_hooked_transformer,
    DEFAULTS};
const struct attn_family attn_family_hooked_transformer = {.model_type = "hooked_transformer",
                                                           .read_config = read_hooked,
                                                           .rules = hooked_rules,
                                                           .n_rule = sizeof hooked_rules /
                                                                     sizeof *hooked_rules,
                                                           .vocabulary_key = "d_vocab",
                                                           DEFAULTS};
