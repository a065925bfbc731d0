/*
 * gpt2.c - GPT-2 as Hugging Face writes it (configuration_gpt2.py, modeling_gpt2.py).
 *
 * Traps of the config, with its defaults and aliases: n_inner null means 4 * n_embd; old files have
 * n_ctx instead of n_positions; an lm_head.weight in the file wins over tie_word_embeddings;
 * reorder_and_upcast_attn changes nothing in float32.
 *
 * Traps of the names: the block's matrices are Conv1D, stored [in, out]; c_attn is q, k and v side
 * by side, heads contiguous inside each; lm_head is an nn.Linear, stored [out, in], and usually
 * absent because it is tied to wte. Files saved from GPT2LMHeadModel put "transformer." in front of
 * everything but lm_head; attn.bias is a mask, not a bias.
 */
#include "model/families/gpt2.h"

#include "base/escape.h"
#include "base/status_internal.h"
#include "model/config_extras.h"

enum attn_status attn_gpt2_get_size(const struct attn_json *json, const char *key,
                                    const char *alias, size_t max, size_t *value,
                                    struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *node = attn_node_find(root, key);

    if (!node || attn_node_is_null(node))
        key = alias;
    return attn_json_get_size(json, root, key, 1, max, value, err);
}

static enum attn_status read_sizes(const struct attn_json *json, struct attn_config *config,
                                   struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    size_t n_embd = 768;
    enum attn_status status;

    config->n_layer = 12, config->n_head = 12, config->n_ctx = 1024, config->n_vocab = 50257;
    status = attn_gpt2_get_size(json, "n_embd", "hidden_size", ATTN_MAX_WIDTH, &n_embd, err);
    if (status == ATTN_OK)
        status = attn_gpt2_get_size(json, "n_layer", "num_hidden_layers", ATTN_MAX_LAYER,
                                    &config->n_layer, err);
    if (status == ATTN_OK)
        status = attn_gpt2_get_size(json, "n_head", "num_attention_heads", ATTN_MAX_WIDTH,
                                    &config->n_head, err);
    if (status == ATTN_OK)
        status =
            attn_json_get_size(json, root, "vocab_size", 1, ATTN_MAX_VOCAB, &config->n_vocab, err);
    if (status == ATTN_OK)
        status = attn_json_get_size(json, root, "n_ctx", 1, ATTN_MAX_CTX, &config->n_ctx, err);
    if (status == ATTN_OK)
        status = attn_gpt2_get_size(json, "n_positions", "max_position_embeddings", ATTN_MAX_CTX,
                                    &config->n_ctx, err);
    config->d_mlp = 4 * n_embd;
    if (status == ATTN_OK)
        status = attn_json_get_size(json, root, "n_inner", 1, ATTN_MAX_WIDTH, &config->d_mlp, err);
    if (status != ATTN_OK)
        return status;
    if (n_embd % config->n_head != 0) {
        attn_error_set(err, ATTN_FORMAT, "n_head %zu does not divide n_embd %zu in '%s'",
                       config->n_head, n_embd, attn_quote_string(attn_json_name(json)).text);
        attn_error_hint(err, "n_head %zu divides it",
                        attn_config_nearest_divisor(n_embd, config->n_head));
        return ATTN_FORMAT;
    }
    config->n_kv_head = config->n_head;
    config->d_model = config->d_source = n_embd;
    config->d_head = config->d_value = n_embd / config->n_head;
    return ATTN_OK;
}

static enum attn_status read_attention(const struct attn_json *json, struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    struct attn_attention attention = {
        .kind = ATTN_ATTENTION_FULL, .mask = ATTN_MASK_CAUSAL, .is_scaled = true, .factor = 1};
    bool is_by_layer = false;
    enum attn_status status =
        attn_json_get_bool(json, root, "scale_attn_weights", &attention.is_scaled, err);

    if (status == ATTN_OK)
        status =
            attn_json_get_bool(json, root, "scale_attn_by_inverse_layer_idx", &is_by_layer, err);
    if (status == ATTN_OK)
        status = attn_config_allocate_layers(config, layers, &attention, err);
    if (status != ATTN_OK || !is_by_layer)
        return status;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->attention[layer].factor = 1.0 / (double)(layer + 1);
    return ATTN_OK;
}

static enum attn_status read_config(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const char *activation = "gelu_new";
    double eps = 1e-5;
    bool is_tied = true;
    enum attn_status status = attn_config_refuse_extras(json, err);

    config->norm = ATTN_NORM_LAYERNORM;
    config->positions = ATTN_POSITIONS_LEARNED;
    config->has_final_norm = config->has_projections = config->has_qkv_bias = true;
    config->has_out_proj = config->has_out_bias = config->has_residual = true;
    config->has_mlp_bias = true;
    if (status == ATTN_OK)
        status = read_sizes(json, config, err);
    if (status == ATTN_OK)
        status = attn_json_get_string(json, root, "activation_function", &activation, err);
    if (status == ATTN_OK)
        status = attn_config_set_activation(json, config, "activation_function", activation, err);
    if (status == ATTN_OK)
        status = attn_json_get_double(json, root, "layer_norm_epsilon", 0, 1, &eps, err);
    if (status == ATTN_OK)
        status = attn_json_get_bool(json, root, "tie_word_embeddings", &is_tied, err);
    if (status == ATTN_OK)
        status = read_attention(json, config, layers, err);
    config->norm_eps = (float)eps;
    config->output = is_tied ? ATTN_OUTPUT_TIED : ATTN_OUTPUT_OWN;
    return status;
}

/* --- tensors ---------------------------------------------------------------------------------- */

static const struct attn_weight_rule rules[] = {
    ATTN_GPT2_EMBEDDINGS,
    ATTN_GPT2_NORM_1,
    {"h.#.attn.c_attn.weight", "DA", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_MATRIX, 0},
    {"h.#.attn.c_attn.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_VECTOR, 0},
    {"h.#.attn.c_proj.weight", "DD", ATTN_PART_OUT_PROJ, ATTN_WEIGHT_IN_OUT,
     ATTN_GPT2_B(out.weight)},
    {"h.#.attn.c_proj.bias", "D", ATTN_PART_OUT_BIAS, ATTN_WEIGHT_VECTOR, ATTN_GPT2_B(out.bias)},
    ATTN_GPT2_NORM_2,
    ATTN_GPT2_MLP(ATTN_WEIGHT_IN_OUT, "DF", "FD"),
    ATTN_GPT2_END,
    {"h.#.attn.bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
    {"h.#.attn.masked_bias", "", ATTN_PART_IGNORED, ATTN_WEIGHT_TENSOR, 0},
};

const struct attn_family attn_family_gpt2 = {.model_type = "gpt2",
                                             .read_config = read_config,
                                             .prefix = "transformer.",
                                             .rules = rules,
                                             .n_rule = sizeof rules / sizeof *rules,
                                             .vocabulary_key = "vocab_size",
                                             .architecture = "GPT2"};
