/*
 * olmo2.c - OLMo 2 (configuration_olmo2.py, modeling_olmo2.py): Llama's parts (llama.c)
 * with norms behind what they were before, and over all heads of q and k at once:
 *
 *     q    = rms(pre W_q) over H*E components, k = rms(pre W_k) over G*E; then they are turned
 *     mid  = pre + rms(o(attention(pre)))
 *     post = mid + rms(down(act(gate(mid)) * up(mid)))
 */
#include "model/families/llama.h"

static const struct attn_config_keys keys = {
    .n_vocab = 50304,
    .d_model = 4096,
    .d_mlp = 11008,
    .n_layer = 32,
    .n_head = 32,
    .n_ctx = 2048,
    .activation_key = "hidden_act",
    .activation = "silu",
    .eps_key = "rms_norm_eps",
    .eps = 1e-5,
};

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    enum attn_status status = attn_llama_read_keys(json, &keys, config, layers, err);

    config->norm_place = ATTN_NORM_BEHIND;
    config->qk_norm = ATTN_QK_NORM_ALL_HEADS;
    if (status == ATTN_OK)
        status = attn_llama_read_attention_bias(json, config, err);
    return status == ATTN_OK
               ? attn_config_read_rope(json, &attn_llama_rope_keys, config, layers, err)
               : status;
}

static const struct attn_weight_rule rules[] = {
    ATTN_LLAMA_EMBEDDING,
    ATTN_LLAMA_QKV,
    ATTN_LLAMA_QK_NORM("Q", "K"),
    ATTN_LLAMA_OUT,
    ATTN_LLAMA_POST_ATTENTION_NORM(ATTN_PART_NORM_BEHIND, ln1_behind),
    ATTN_LLAMA_MLP,
    ATTN_LLAMA_FEEDFORWARD_NORM_BEHIND,
    ATTN_LLAMA_FINAL_NORM,
    ATTN_LLAMA_HEAD,
};

const struct attn_family attn_family_olmo2 = {.model_type = "olmo2",
                                              .read_config = read_config,
                                              .prefix = "model.",
                                              .rules = rules,
                                              .n_rule = sizeof rules / sizeof *rules,
                                              .vocabulary_key = "vocab_size",
                                              .architecture = "Olmo2For"};
