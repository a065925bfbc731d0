/*
 * mamba.c - Bamba (configuration_bamba.py, modeling_bamba.py), and the config of layers of Mamba2
 * (forward/mixer.c), which Granite 4.0 also has.
 *
 * Traps: without a list of layers, all are Mamba2. Half of a head is rotated unless the rope object
 * has another share; a share beside the object is not read.
 */
#include "model/families/mamba_internal.h"

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
            return attn_json_refuse(json, err, ATTN_FORMAT, "time_step_limit",
                                    "is not a list of two numbers");
        limits[n] = is_infinite ? (double)INFINITY : limits[n];
    }
    config->step_least = limits[0];
    config->step_most = limits[1];
    if (!list || (n == 2 && limits[0] <= limits[1]))
        return ATTN_OK;
    return attn_json_refuse(json, err, ATTN_FORMAT, "time_step_limit",
                            "is not a list of two numbers, the smaller one first");
}

/* Reads the sizes of the layers. Their heads have all D * mamba_expand values. */
static enum attn_status read_sizes(const struct attn_json *json, const struct attn_config *config,
                                   struct attn_mixer_dims *mixer, struct attn_error *err)
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
    d_all = expand * config->d_model;
    mixer->d_value = d_all / mixer->n_head;
    if (!word || strcmp(word, "auto") != 0)
        ATTN_TRY(attn_config_get_width(json, "mamba_d_head", &mixer->d_value, err));
    if (mixer->d_value > 0 && mixer->n_head * mixer->d_value == d_all && d_all <= ATTN_MAX_WIDTH)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT,
                          "'mamba_n_heads' %zu of 'mamba_d_head' %zu in '%s' do not make %zu, "
                          "'mamba_expand' times the width",
                          mixer->n_head, mixer->d_value, attn_config_quote(json).text, d_all);
}

enum attn_status attn_family_read_mamba(const struct attn_json *json, struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err)
{
    static const char *const words[] = {"attention full_attention", "mamba linear_attention"};
    struct attn_mixer_dims mixer = {
        .kind = ATTN_MIXER_MAMBA2, .n_head = 128, .n_key_head = 1, .d_key = 256, .n_tap = 4};
    bool is_mamba[ATTN_MAX_LAYER] = {false};

    ATTN_TRY(read_sizes(json, config, &mixer, err));
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

static const struct attn_weight_rule bamba_rules[] = {
    EMBEDDING_OF("embed_tokens.weight"),
    QKV,
    OUT_MAP("layers.#.self_attn.o_proj"),
    MAMBA("layers.#.mamba."),
    FEED("gate_proj", "FD", "F", ATTN_PART_MLP_GATE, ATTN_PART_MLP_GATE_BIAS, mlp_gate),
    FEED("up_proj", "FD", "F", ATTN_PART_MLP, ATTN_PART_MLP_BIAS, mlp_in),
    FEED("down_proj", "DF", "D", ATTN_PART_MLP, ATTN_PART_MLP_BIAS, mlp_out),
    NORM("input_layernorm", ATTN_PART_NORM, ln1),
    NORM("pre_ff_layernorm", ATTN_PART_MLP_NORM, ln2),
    VECTOR("final_layernorm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    END};

static enum attn_status read_bamba(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    return attn_family_read_mamba(json, config, layers, err);
}

const struct attn_family attn_family_bamba = {
    FAMILY("bamba", "BambaFor", "model.", bamba_rules), .read_config = read_bamba,
    .form = {KEYS_BUT_ROPE,
             .rope = {.theta = "rope_theta", .default_theta = 10000, .default_partial = 0.5},
             ATTN_SWITCHES(ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias"), MAMBA_SWITCHES),
             .defaults = {BLOCK_OF_LLAMA, .has_mixer_conv_bias = true,
                          SIZES(128000, 4096, 14336, 32, 32, 8, 0, 262144, 1e-5F)}}};
