/*
 * phi.c - phi-1, 1.5 and 2 (configuration_phi.py, modeling_phi.py). Attention and MLP read the
 * same normalized rows, side by side, and every map has a bias, that of the output too:
 *
 *     n    = ln(pre)
 *     post = (dense(attention(n)) + fc2(act(fc1(n)))) + pre
 *
 * The first part of each head is turned by positions, half when the config does not say. With
 * qk_layernorm q and k of each head are normalized by themselves before that.
 */
#include "model/families/llama.h"

static const struct attn_config_keys keys = {
    .n_vocab = 51200,
    .d_model = 2048,
    .d_mlp = 8192,
    .n_layer = 24,
    .n_head = 32,
    .n_ctx = 2048,
    .activation_key = "hidden_act",
    .activation = "gelu_new",
    .eps_key = "layer_norm_eps",
    .eps = 1e-5,
};

static const struct attn_rope_keys rope_keys = {"rope_theta", 10000, "partial_rotary_factor", 0.5};

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    bool has_qk_norm = false;
    enum attn_status status = attn_config_read_keys(json, &keys, config, layers, err);

    config->norm = ATTN_NORM_LAYERNORM;
    config->has_single_norm = config->has_parallel_residual = config->has_residual = true;
    config->has_final_norm = config->has_projections = config->has_out_proj = true;
    config->has_qkv_bias = config->has_out_bias = config->has_mlp_bias = true;
    config->has_output_bias = true;
    if (status == ATTN_OK)
        status = attn_json_get_bool(json, attn_json_root(json), "qk_layernorm", &has_qk_norm, err);
    config->qk_norm = has_qk_norm ? ATTN_QK_NORM_PER_HEAD : ATTN_QK_NORM_NONE;
    return status == ATTN_OK ? attn_config_read_rope(json, &rope_keys, config, layers, err)
                             : status;
}

#define NORM_BIAS(name, shape, part, place)                                                        \
    {                                                                                              \
        name ".bias", shape, part, ATTN_WEIGHT_VECTOR, ATTN_LLAMA_NORM_B(place)                    \
    }
#define QK_NORM(name, place)                                                                       \
    {name ".weight", "E", ATTN_PART_QK_NORM, ATTN_WEIGHT_VECTOR, ATTN_LLAMA_NORM_W(place)},        \
        NORM_BIAS(name, "E", ATTN_PART_QK_NORM, place)

static const struct attn_weight_rule rules[] = {
    ATTN_LLAMA_EMBEDDING,
    ATTN_LLAMA_INPUT_NORM,
    NORM_BIAS("layers.#.input_layernorm", "D", ATTN_PART_NORM, ln1),
    ATTN_LLAMA_QKV,
    QK_NORM("layers.#.self_attn.q_layernorm", q_norm),
    QK_NORM("layers.#.self_attn.k_layernorm", k_norm),
    ATTN_LLAMA_LINEAR("layers.#.self_attn.dense", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS,
                      out),
    ATTN_LLAMA_LINEAR("layers.#.mlp.fc1", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    ATTN_LLAMA_LINEAR("layers.#.mlp.fc2", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    {"final_layernorm.weight", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR,
     ATTN_LLAMA_W(ln_final.w)},
    {"final_layernorm.bias", "D", ATTN_PART_FINAL_NORM, ATTN_WEIGHT_VECTOR,
     ATTN_LLAMA_W(ln_final.b)},
    ATTN_LLAMA_HEAD,
};

const struct attn_family attn_family_phi = {.model_type = "phi",
                                            .read_config = read_config,
                                            .prefix = "model.",
                                            .rules = rules,
                                            .n_rule = sizeof rules / sizeof *rules,
                                            .vocabulary_key = "vocab_size",
                                            .architecture = "PhiFor"};
