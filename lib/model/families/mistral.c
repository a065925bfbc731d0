/*
 * mistral.c - Mistral (configuration_mistral.py): Llama's block (llama.c) without
 * biases, and in all layers a window.
 *
 * Traps of the config: an absent sliding_window is 4096, null is none; an absent
 * num_key_value_heads is 8.
 */
#include "model/config_windows.h"
#include "model/families/llama.h"

static const struct attn_config_keys keys = {
    .n_vocab = 32000,
    .d_model = 4096,
    .d_mlp = 14336,
    .n_layer = 32,
    .n_head = 32,
    .n_kv_head = 8,
    .n_ctx = 131072,
    .activation_key = "hidden_act",
    .activation = "silu",
    .eps_key = "rms_norm_eps",
    .eps = 1e-6,
};

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *given = attn_node_find(root, "sliding_window");
    struct attn_windows windows = {.width = given ? 0 : 4096};

    ATTN_TRY(attn_llama_read_keys(json, &keys, config, layers, err));
    ATTN_TRY(
        attn_json_get_size(json, root, "sliding_window", 1, ATTN_MAX_CTX, &windows.width, err));
    attn_config_set_windows(&windows, config, layers);
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

const struct attn_family attn_family_mistral = {.model_type = "mistral",
                                                .read_config = read_config,
                                                .prefix = "model.",
                                                .rules = rules,
                                                .n_rule = sizeof rules / sizeof *rules,
                                                .vocabulary_key = "vocab_size",
                                                .architecture = "MistralFor"};
