/*
 * qwen3.c - Qwen3 (configuration_qwen3.py): Llama's block (llama.c), and before they are
 * turned, q and k of each head are normalized by themselves:
 *
 *     q = rms(x W_q) over the E components of a head, with the weights q_norm [E] of all heads
 *
 * Traps of the config: an absent head_dim is 128, an absent num_key_value_heads 32, whatever the
 * other sizes are; a sliding_window counts only with use_sliding_window.
 */
#include "model/config_windows.h"
#include "model/families/llama.h"

static const struct attn_config_keys keys = {
    .n_vocab = 151936,
    .d_model = 4096,
    .d_mlp = 22016,
    .n_layer = 32,
    .n_head = 32,
    .n_kv_head = 32,
    .d_head = 128,
    .n_ctx = 32768,
    .activation_key = "hidden_act",
    .activation = "silu",
    .eps_key = "rms_norm_eps",
    .eps = 1e-6,
};

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    enum attn_status status = attn_llama_read_keys(json, &keys, config, layers, err);

    config->qk_norm = ATTN_QK_NORM_PER_HEAD;
    if (status == ATTN_OK)
        status = attn_llama_read_attention_bias(json, config, err);
    if (status == ATTN_OK)
        status = attn_config_read_switched_windows(json, config, layers, err);
    return status == ATTN_OK
               ? attn_config_read_rope(json, &attn_llama_rope_keys, config, layers, err)
               : status;
}

static const struct attn_weight_rule rules[] = {
    ATTN_LLAMA_EMBEDDING, ATTN_LLAMA_INPUT_NORM,
    ATTN_LLAMA_QKV,       ATTN_LLAMA_QK_NORM("E", "E"),
    ATTN_LLAMA_OUT,       ATTN_LLAMA_POST_ATTENTION_NORM(ATTN_PART_MLP_NORM, ln2),
    ATTN_LLAMA_MLP,       ATTN_LLAMA_FINAL_NORM,
    ATTN_LLAMA_HEAD,
};

const struct attn_family attn_family_qwen3 = {.model_type = "qwen3",
                                              .read_config = read_config,
                                              .prefix = "model.",
                                              .rules = rules,
                                              .n_rule = sizeof rules / sizeof *rules,
                                              .vocabulary_key = "vocab_size",
                                              .architecture = "Qwen3For"};
