/*
 * llama.c - Llama as Hugging Face writes it (configuration_llama.py, modeling_llama.py), and
 * many models that were trained after it: SmolLM, TinyLlama.
 *
 *     mid  = pre + o(attention(rms(pre)))
 *     post = mid + down(act(gate(n)) * up(n)),  n = rms(mid)
 *
 * q and k are turned by their positions. Traps of the config: head_dim may be given, and H*E need
 * not be D then; attention_bias is that of q, k, v and o, mlp_bias of all three maps.
 */
#include "model/families/llama.h"

const struct attn_rope_keys attn_llama_rope_keys = {"rope_theta", 10000, "partial_rotary_factor",
                                                    1};

enum attn_status attn_llama_read_keys(const struct attn_json *json,
                                      const struct attn_config_keys *keys,
                                      struct attn_config *config, struct attn_config_layers *layers,
                                      struct attn_error *err)
{
    config->norm = ATTN_NORM_RMSNORM;
    config->has_final_norm = config->has_projections = config->has_out_proj = true;
    config->has_residual = config->has_gated_mlp = true;
    return attn_config_read_keys(json, keys, config, layers, err);
}

enum attn_status attn_llama_read_attention_bias(const struct attn_json *json,
                                                struct attn_config *config, struct attn_error *err)
{
    const enum attn_status status = attn_json_get_bool(json, attn_json_root(json), "attention_bias",
                                                       &config->has_qkv_bias, err);

    config->has_out_bias = config->has_qkv_bias;
    return status;
}

static const struct attn_config_keys keys = {
    .n_vocab = 32000,
    .d_model = 4096,
    .d_mlp = 11008,
    .n_layer = 32,
    .n_head = 32,
    .n_ctx = 2048,
    .is_divided = true,
    .activation_key = "hidden_act",
    .activation = "silu",
    .eps_key = "rms_norm_eps",
    .eps = 1e-6,
};

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    ATTN_TRY(attn_llama_read_keys(json, &keys, config, layers, err));
    ATTN_TRY(attn_llama_read_attention_bias(json, config, err));
    ATTN_TRY(
        attn_json_get_bool(json, attn_json_root(json), "mlp_bias", &config->has_mlp_bias, err));
    return attn_config_read_rope(json, &attn_llama_rope_keys, config, layers, err);
}

static const struct attn_weight_rule rules[] = {
    ATTN_LLAMA_EMBEDDING,
    ATTN_LLAMA_INPUT_NORM,
    ATTN_LLAMA_QKV,
    ATTN_LLAMA_OUT,
    ATTN_LLAMA_POST_ATTENTION_NORM(ATTN_PART_MLP_NORM, ln2),
    ATTN_LLAMA_MLP,
    ATTN_LLAMA_FINAL_NORM,
    ATTN_LLAMA_HEAD,
};

const struct attn_family attn_family_llama = {.model_type = "llama",
                                              .read_config = read_config,
                                              .prefix = "model.",
                                              .rules = rules,
                                              .n_rule = sizeof rules / sizeof *rules,
                                              .vocabulary_key = "vocab_size",
                                              .architecture = "LlamaFor"};
