/*
 * gemma3_text.c - Gemma 3 of 270M and 1B, which have no images (configuration_gemma3.py,
 * modeling_gemma3.py): Gemma 2's block (gemma2.c) without a cap of the scores, and before
 * they are turned, q and k of each head are normalized by themselves, times 1 + w.
 *
 * Every sixth layer looks at all keys; its positions turn with another theta than those of layers
 * with a window. Traps of the config: attn_logit_softcapping is written and not used; scaling of
 * the positions is that of layers without a window.
 */
#include "model/families/gemma2.h"
#include "model/families/llama.h"

static const struct attn_config_keys keys = {
    .n_vocab = 262208,
    .d_model = 2304,
    .d_mlp = 9216,
    .n_layer = 26,
    .n_head = 8,
    .n_kv_head = 4,
    .d_head = 256,
    .n_ctx = 131072,
    .is_divided = true,
    .is_tied = true,
    .activation_key = "hidden_activation",
    .activation = "gelu_pytorch_tanh",
    .eps_key = "rms_norm_eps",
    .eps = 1e-6,
};

static const struct attn_rope_keys global = {"rope_theta", 1e6, "partial_rotary_factor", 1};
static const struct attn_rope_keys local = {"rope_local_base_freq", 1e4, "partial_rotary_factor",
                                            1};

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    struct attn_windows windows = {.width = 4096, .full_every = 6};
    enum attn_status status = attn_gemma_read_keys(json, &keys, config, layers, err);

    config->qk_norm = ATTN_QK_NORM_PER_HEAD;
    if (status == ATTN_OK)
        status = attn_json_get_size(json, attn_json_root(json), "sliding_window_pattern", 1,
                                    ATTN_MAX_LAYER, &windows.full_every, err);
    if (status == ATTN_OK)
        status = attn_gemma_read_final_cap(json, config, err);
    if (status == ATTN_OK)
        status = attn_gemma_read_windows(json, windows, config, layers, err);
    return status == ATTN_OK
               ? attn_config_read_rope_of_windows(json, &global, &local, config, layers, err)
               : status;
}

static const struct attn_weight_rule rules[] = {
    ATTN_LLAMA_EMBEDDING,
    ATTN_LLAMA_INPUT_NORM,
    ATTN_LLAMA_QKV,
    ATTN_LLAMA_QK_NORM("E", "E"),
    ATTN_LLAMA_OUT,
    ATTN_LLAMA_POST_ATTENTION_NORM(ATTN_PART_NORM_BEHIND, ln1_behind),
    ATTN_LLAMA_FEEDFORWARD_NORM_BEFORE,
    ATTN_LLAMA_MLP,
    ATTN_LLAMA_FEEDFORWARD_NORM_BEHIND,
    ATTN_LLAMA_FINAL_NORM,
    ATTN_LLAMA_HEAD,
};

const struct attn_family attn_family_gemma3_text = {.model_type = "gemma3_text",
                                                    .read_config = read_config,
                                                    .prefix = "model.",
                                                    .rules = rules,
                                                    .n_rule = sizeof rules / sizeof *rules,
                                                    .vocabulary_key = "vocab_size",
                                                    .architecture = "Gemma3ForCausalLM"};
