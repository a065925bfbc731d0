/*
 * mamba.c - Bamba (configuration_bamba.py, modeling_bamba.py), Falcon-H1, and the config of layers
 * of Mamba2 (forward/mixer.c), which Granite 4.0 also has.
 *
 * Traps: without a list of layers, all are Mamba2. Half of a head is rotated unless the rope object
 * has another share; a share beside the object is not read.
 */
#include "families/mamba_internal.h"

#include <math.h>
#include <string.h>

/* Reads the limits of time steps, a list of two numbers; infinity is {"__float__": "Infinity"}. */
static enum attn_status read_limits(const struct attn_json *json, struct attn_config *config,
                                    struct attn_error *err)
{
    double limits[] = {0, (double)INFINITY};
    const struct attn_node *list = attn_config_find_given(attn_json_root(json), "time_step_limit");
    size_t n = 0;

    for (const struct attn_node *node = list && attn_node_is_array(list) ? attn_node_first(list)
                                                                         : list;
         node; node = attn_node_next(node), n++) {
        const struct attn_node *word =
            attn_node_is_object(node) ? attn_node_find(node, "__float__") : NULL;
        const bool is_infinite =
            word && attn_node_string(word) && strcmp(attn_node_string(word), "Infinity") == 0;

        if (n == 2 || !attn_node_is_array(list) ||
            (!is_infinite && !attn_node_double(node, &limits[n])))
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "time_step_limit",
                                    "is not a list of two numbers");
        limits[n] = is_infinite ? (double)INFINITY : limits[n];
    }
    config->step_least = limits[0];
    config->step_most = limits[1];
    if (!list || (n == 2 && limits[0] <= limits[1]))
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "time_step_limit",
                            "is not a list of two numbers, the smaller one first");
}

/* Reads the sizes of the layers. Their heads have all D_OWN values, or, if it is 0, D *
 * mamba_expand.
 */
static enum attn_status read_sizes(const struct attn_json *json, const struct attn_config *config,
                                   size_t d_own, struct attn_mixer_dims *mixer,
                                   struct attn_error *err)
{
    const struct attn_node *given = attn_node_find(attn_json_root(json), "mamba_d_head");
    const char *word = given ? attn_node_string(given) : NULL;
    size_t expand = 2, d_all;
    const struct {
        const char *key;
        size_t *size;
    } sizes[] = {{"mamba_n_heads", &mixer->n_head},
                 {"mamba_n_groups", &mixer->n_key_head},
                 {"mamba_d_state", &mixer->d_key},
                 {"mamba_d_conv", &mixer->n_tap},
                 {"mamba_expand", &expand}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ATTN_TRY(attn_json_get_size(json, attn_json_root(json), sizes[i].key, 1, ATTN_MAX_LAYER,
                                    sizes[i].size, err));
    ATTN_TRY(attn_config_check_divides(json, "mamba_n_groups", mixer->n_key_head, "mamba_n_heads",
                                       mixer->n_head, err));
    d_all = d_own > 0 ? d_own : expand * config->d_model;
    mixer->d_value = d_all / mixer->n_head;
    if (!word || strcmp(word, "auto") != 0)
        ATTN_TRY(attn_config_get_width(json, "mamba_d_head", &mixer->d_value, err));
    if (mixer->d_value > 0 && mixer->n_head * mixer->d_value == d_all && d_all <= ATTN_MAX_WIDTH)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'mamba_n_heads' %zu of 'mamba_d_head' %zu in '%s' do not make %zu, %s",
                          mixer->n_head, mixer->d_value, attn_config_quote(json).text, d_all,
                          d_own > 0 ? "which is 'mamba_d_ssm'" : "'mamba_expand' times the width");
}

enum attn_status attn_family_read_mamba(const struct attn_json *json, struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const words[] = {"attention full_attention", "mamba linear_attention"};
    struct attn_mixer_dims mixer = {
        .kind = ATTN_MIXER_MAMBA2, .n_head = 128, .n_key_head = 1, .d_key = 256, .n_tap = 4};
    bool is_mamba[ATTN_MAX_LAYER] = {false};

    ATTN_TRY(read_sizes(json, config, 0, &mixer, err));
    ATTN_TRY(read_limits(json, config, err));
    config->gates_first = true;
    ATTN_TRY(attn_config_read_numbers(json, "attn_layer_indices", config->n_layer, is_mamba, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        is_mamba[layer] = !is_mamba[layer];
    ATTN_TRY(
        attn_config_read_words(json, "layers_block_type", words, config->n_layer, is_mamba, err));
    ATTN_TRY(attn_config_read_words(json, "layer_types", words, config->n_layer, is_mamba, err));
    return attn_config_set_mixers(config, layers, &mixer, is_mamba, err);
}

/* --- Bamba ------------------------------------------------------------------------------------ */

#define FEED(name, out_in, out, part, bias, map)                                                   \
    LINEAR("layers.#.feed_forward." name, out_in, part, out, bias, map)

#define FEEDS                                                                                      \
    FEED("gate_proj", "FD", "F", ATTN_PART_MLP_GATE, ATTN_PART_MLP_GATE_BIAS, mlp_gate),           \
        FEED("up_proj", "FD", "F", ATTN_PART_MLP, ATTN_PART_MLP_BIAS, mlp_in),                     \
        FEED("down_proj", "DF", "D", ATTN_PART_MLP, ATTN_PART_MLP_BIAS, mlp_out),                  \
        NORM("input_layernorm", ATTN_PART_NORM, ln1),                                              \
        NORM("pre_ff_layernorm", ATTN_PART_MLP_NORM, ln2),                                         \
        VECTOR("final_layernorm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w))

static const struct attn_weight_rule bamba_rules[] = {EMBEDDING_OF("embed_tokens.weight"),
                                                      QKV,
                                                      OUT_MAP("layers.#.self_attn.o_proj"),
                                                      MAMBA("layers.#.mamba."),
                                                      MAMBA_OUT("layers.#.mamba."),
                                                      FEEDS,
                                                      END};

static enum attn_status read_bamba(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    return attn_family_read_mamba(json, config, layers, err);
}

const struct attn_family attn_family_bamba = {
    FAMILY("bamba", "BambaFor", "model.", bamba_rules), .read_config = read_bamba,
    .gguf = &(const struct attn_gguf_form){"granitehybrid", HALVES_ALTERNATE,
                                           .has_interleaved_biases = true, .has_lists = true,
                                           .mixer = MAMBA_KEYS},
    .form = {KEYS_BUT_ROPE,
             .rope = {.theta = "rope_theta", .default_theta = 10000, .default_partial = 0.5},
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias"), MAMBA_SWITCHES),
             .defaults = {BLOCK_OF_LLAMA, .has_mixer_conv_bias = true,
                          SIZES(128000, 4096, 14336, 32, 32, 8, 0, 262144, 1e-5F)}}};

/*
 * Falcon-H1 (configuration_falcon_h1.py, modeling_falcon_h1.py): attention and Mamba2 side by side,
 * and a factor in each place:
 *
 *     mid = pre + a_out attention(a_in n) + m_out mamba(m_in n),  k is multiplied before it is
 * turned
 *
 * Traps: the width of Mamba2 is mamba_d_ssm, and has no norm unless mamba_rms_norm is true; then
 * the norm is before the gate.
 */
#define MAMBA_OF_FALCON "layers.#.mamba."
static const struct attn_weight_rule falcon_h1_rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    QKV,
    OUT_MAP("layers.#.self_attn.o_proj"),
    MAMBA(MAMBA_OF_FALCON),
    LINEAR(MAMBA_OF_FALCON "out_proj", "Dl", ATTN_PART_MIXER_OUT, "D", ATTN_PART_MIXER_OUT_BIAS,
           mixer_out),
    FEEDS,
    END};

/* Reads the list KEY of N factors, if the config has it. */
static enum attn_status read_factors(const struct attn_json *json, const char *key, size_t n,
                                     float *factors, struct attn_error *err)
{
    const struct attn_node *list = attn_config_find_given(attn_json_root(json), key);
    size_t i = 0;
    double factor;

    if (!list)
        return ATTN_OK;
    for (const struct attn_node *node = attn_node_is_array(list) ? attn_node_first(list) : NULL;
         node && i <= n; node = attn_node_next(node), i++)
        if (i == n || !attn_node_double(node, &factor))
            i = n;
        else
            factors[i] = (float)factor;
    return i == n
               ? ATTN_OK
               : ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is not a list of %zu numbers", n);
}

static enum attn_status read_falcon_h1(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json), *bias, *norm;
    struct attn_mixer_dims mixer = {
        .kind = ATTN_MIXER_MAMBA2, .n_head = 128, .n_key_head = 1, .d_key = 256, .n_tap = 4};
    size_t d_own = attn_node_find(root, "mamba_d_ssm") ? 0 : 1024;
    bool has_norm = false, is_first = true;
    float of_mlp[2] = {1, 1};

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_config_get_width(json, "mamba_d_ssm", &d_own, err));
    ATTN_TRY(read_sizes(json, config, d_own, &mixer, err));
    ATTN_TRY(read_limits(json, config, err));
    ATTN_TRY(attn_json_get_bool(json, root, "mamba_rms_norm", &has_norm, err));
    ATTN_TRY(attn_json_get_bool(json, root, "mamba_norm_before_gate", &is_first, err));
    norm = attn_node_find(root, "mamba_norm_before_gate");
    is_first = is_first && !(norm && attn_node_is_null(norm)); /* and here */
    bias = attn_node_find(root, "mamba_conv_bias");
    config->has_mixer_conv_bias &= !bias || !attn_node_is_null(bias); /* null is false here */
    config->lacks_mixer_norm = !has_norm;
    config->gates_first = !is_first;
    for (size_t i = 0; i < 5; i++)
        config->factors.mixer_parts[i] = 1;
    ATTN_TRY(read_factors(json, "mlp_multipliers", 2, of_mlp, err));
    for (size_t i = 0; i < 2; i++)
        if (of_mlp[i] <= 0)
            return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "mlp_multipliers",
                                    "has %g, expected numbers above 0", (double)of_mlp[i]);
    ATTN_TRY(read_factors(json, "ssm_multipliers", 5, config->factors.mixer_parts, err));
    config->factors.mlp_pre = (double)of_mlp[0];
    config->factors.mlp_out = (double)of_mlp[1];
    return attn_config_set_mixers(config, layers, &mixer, NULL, err);
}

#define FALCON_FACTOR(key, field) ATTN_FACTOR(key, factors.field)

const struct attn_family attn_family_falcon_h1 = {
    FAMILY("falcon_h1", "FalconH1For", "model.", falcon_h1_rules), .read_config = read_falcon_h1,
    .gguf =
        &(const struct attn_gguf_form){
            "falcon-h1", .mixer = {MAMBA_SIZES, .d_all = "mamba_d_ssm"},
            .members = "\"mamba_norm_before_gate\": false", .part = "maps",
            .difference = "have the factors of Hugging Face's config in their weights"},
    .form = {KEYS,
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias"), MAMBA_SWITCHES,
                           ATTN_FLAG("projectors_bias", has_mixer_out_bias),
                           ATTN_FACTOR("embedding_multiplier", embed_scale),
                           ATTN_FACTOR("lm_head_multiplier", logits_scale),
                           FALCON_FACTOR("attention_in_multiplier", attn_in),
                           FALCON_FACTOR("attention_out_multiplier", attn_out),
                           FALCON_FACTOR("key_multiplier", key),
                           FALCON_FACTOR("ssm_in_multiplier", mixer_in),
                           FALCON_FACTOR("ssm_out_multiplier", mixer_out)),
             .defaults = {BLOCK_OF_LLAMA, .has_mixer_conv_bias = true,
                          SIZES(128000, 4096, 14336, 32, 32, 8, 0, 8192, 1e-5F)}}};
