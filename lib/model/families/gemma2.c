/*
 * gemma2.c - Gemma 2 (configuration_gemma2.py, modeling_gemma2.py): Llama's parts
 * (llama.c), with norms before and behind attention and MLP:
 *
 *     x    = embed[id] * sqrt(D), in float32
 *     mid  = pre + rms(o(attention(rms(pre))))
 *     post = mid + rms(down(act(gate(n)) * up(n))),  n = rms(mid)
 *     scores = cap * tanh(q.k / sqrt(query_pre_attn_scalar) / cap), before the mask
 *     logits = cap * tanh(x W_U / cap)
 *
 * Every norm multiplies by 1 + w. Every second layer, beginning with the first, has a window.
 */
#include "model/families/gemma2.h"

#include "model/config_windows.h"
#include "model/families/llama.h"

#include <math.h>

static const struct attn_config_keys keys = {
    .n_vocab = 256000,
    .d_model = 2304,
    .d_mlp = 9216,
    .n_layer = 26,
    .n_head = 8,
    .n_kv_head = 4,
    .d_head = 256,
    .n_ctx = 8192,
    .is_divided = true,
    .is_tied = true,
    .activation_key = "hidden_activation",
    .activation = "gelu_pytorch_tanh",
    .eps_key = "rms_norm_eps",
    .eps = 1e-6,
};

/* A cap: absent it is what it was, null is none. */
static enum attn_status read_cap(const struct attn_json *json, const char *key, double *cap,
                                 struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *node = attn_node_find(root, key);

    if (node && attn_node_is_null(node)) {
        *cap = 0;
        return ATTN_OK;
    }
    return attn_json_get_double(json, root, key, 1e-6, 1e30, cap, err);
}

enum attn_status attn_gemma_read_final_cap(const struct attn_json *json, struct attn_config *config,
                                           struct attn_error *err)
{
    return read_cap(json, "final_logit_softcapping", &config->logits_cap, err);
}

enum attn_status attn_gemma_read_keys(const struct attn_json *json,
                                      const struct attn_config_keys *given,
                                      struct attn_config *config, struct attn_config_layers *layers,
                                      struct attn_error *err)
{
    double scalar = 256;
    enum attn_status status = attn_llama_read_keys(json, given, config, layers, err);

    config->norm = ATTN_NORM_RMSNORM_PLUS_ONE;
    config->norm_place = ATTN_NORM_AROUND;
    config->embed_scale = sqrt((double)config->d_model);
    if (status == ATTN_OK)
        status = attn_llama_read_attention_bias(json, config, err);
    if (status == ATTN_OK)
        status = attn_json_get_double(json, attn_json_root(json), "query_pre_attn_scalar", 1e-6,
                                      1e30, &scalar, err);
    if (status != ATTN_OK)
        return status;
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        layers->attention[layer].is_scaled = false;
        layers->attention[layer].factor = 1 / sqrt(scalar);
    }
    return ATTN_OK;
}

enum attn_status attn_gemma_read_windows(const struct attn_json *json, struct attn_windows windows,
                                         struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "sliding_window", 1, ATTN_MAX_CTX,
                                &windows.width, err));
    return attn_config_read_windows(json, &windows, config, layers, err);
}

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_windows windows = {.width = 4096, .full_every = 2};
    double score_cap = 50;
    enum attn_status status = attn_gemma_read_keys(json, &keys, config, layers, err);

    if (status == ATTN_OK)
        status = read_cap(json, "attn_logit_softcapping", &score_cap, err);
    config->logits_cap = 30;
    if (status == ATTN_OK)
        status = attn_gemma_read_final_cap(json, config, err);
    if (status == ATTN_OK)
        status = attn_gemma_read_windows(json, windows, config, layers, err);
    if (status != ATTN_OK)
        return status;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].score_cap = score_cap;
    return attn_config_read_rope(json, &attn_llama_rope_keys, config, layers, err);
}

static const struct attn_weight_rule rules[] = {
    ATTN_LLAMA_EMBEDDING,
    ATTN_LLAMA_INPUT_NORM,
    ATTN_LLAMA_QKV,
    ATTN_LLAMA_OUT,
    ATTN_LLAMA_POST_ATTENTION_NORM(ATTN_PART_NORM_BEHIND, ln1_behind),
    ATTN_LLAMA_FEEDFORWARD_NORM_BEFORE,
    ATTN_LLAMA_MLP,
    ATTN_LLAMA_FEEDFORWARD_NORM_BEHIND,
    ATTN_LLAMA_FINAL_NORM,
    ATTN_LLAMA_HEAD,
};

const struct attn_family attn_family_gemma2 = {.model_type = "gemma2",
                                               .read_config = read_config,
                                               .prefix = "model.",
                                               .rules = rules,
                                               .n_rule = sizeof rules / sizeof *rules,
                                               .vocabulary_key = "vocab_size",
                                               .architecture = "Gemma2For"};
