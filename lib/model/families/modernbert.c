/*
 * modernbert.c - ModernBERT as Hugging Face writes it (configuration_modernbert.py,
 * modeling_modernbert.py). Every token sees every token, or in most layers those near it on both
 * sides:
 *
 *     x      = ln(word[id])
 *     mid    = pre + o(attention(ln(pre))), in layer 0 without this norm
 *     post   = mid + o(act(u) * g), u and g the halves of Wi ln(mid)
 *     f      = ln(post) after the last block
 *     y      = ln(act(dense(f))), logits = y U^T + b
 *
 * q and k are turned by their positions, in layers with a window by another theta. Traps: a window
 * of local_attention sees half of it to each side; layer_norm_eps in files is not read, norm_eps
 * is; norms have no bias unless norm_bias; Wqkv is all of q, all of k, all of v.
 */
#include "base/escape.h"
#include "model/families/families_internal.h"

/* --- tensors ---------------------------------------------------------------------------------- */

#define NORM(name, part, norm)                                                                     \
    VECTOR(name ".weight", "D", ATTN_PART_##part, (norm) + offsetof(struct attn_norm_weights, w)), \
        VECTOR(name ".bias", "D", ATTN_PART_##part##_BIAS,                                         \
               (norm) + offsetof(struct attn_norm_weights, b))

static const struct attn_weight_rule rules[] = {
    {"embeddings.tok_embeddings.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR,
     MODEL(embed)},
    NORM("embeddings.norm", EMBED_NORM, MODEL(ln_embed)),
    NORM("layers.#.attn_norm", NORM, BLOCK(ln1)),
    {"layers.#.attn.Wqkv.weight", "AD", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_ROWS, 0},
    {"layers.#.attn.Wqkv.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_VECTOR, 0},
    LINEAR("layers.#.attn.Wo", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    NORM("layers.#.mlp_norm", MLP_NORM, BLOCK(ln2)),
    {"layers.#.mlp.Wi.weight", "JD", ATTN_PART_MLP, ATTN_WEIGHT_GATED_ROWS, 0},
    {"layers.#.mlp.Wi.bias", "J", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_GATED_VECTOR, 0},
    LINEAR("layers.#.mlp.Wo", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    NORM("final_norm", FINAL_NORM, MODEL(ln_final)),
    {"/head.dense.weight", "DD", ATTN_PART_HEAD, ATTN_WEIGHT_OUT_IN, MODEL(head.weight)},
    VECTOR("/head.dense.bias", "D", ATTN_PART_HEAD_BIAS, MODEL(head.bias)),
    NORM("/head.norm", HEAD_NORM, MODEL(ln_head)),
    {"/decoder.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN, MODEL(unembed.weight)},
    VECTOR("/decoder.bias", "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias)),
    NOT_READ("/classifier.weight", ATTN_PART_TASK),
    IGNORED("/classifier.bias"),
};

/* --- config ----------------------------------------------------------------------------------- */

static enum attn_status read_modernbert(const struct attn_json *json,
                                        const struct attn_config_form *form,
                                        struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const char *activation = "gelu";
    bool has_norm_bias = false;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_bool(json, root, "norm_bias", &has_norm_bias, err));
    ATTN_TRY(attn_json_get_bool(json, root, "decoder_bias", &config->has_output_bias, err));
    ATTN_TRY(attn_json_get_bool(json, root, "classifier_bias", &config->has_head_bias, err));
    ATTN_TRY(attn_json_get_string(json, root, "classifier_activation", &activation, err));
    ATTN_TRY(attn_config_set_activation(json, &config->head_act_fn, "classifier_activation",
                                        activation, err));
    if (has_norm_bias)
        config->norm = ATTN_NORM_LAYERNORM;
    for (size_t layer = 0; layer < config->n_layer; layer++)
        if (layers->rope[layer].type != ATTN_ROPE_DEFAULT)
            return attn_error_set(err, ATTN_UNSUPPORTED,
                                  "rotary positions of layer %zu in '%s' are stretched, expected "
                                  "rope_type 'default'",
                                  layer, attn_quote_string(attn_json_name(json)).text);
    return ATTN_OK;
}

const struct attn_family attn_family_modernbert = {
    FAMILY("modernbert", "ModernBert", "model.", rules), .read_config = read_modernbert,
    .form = {.has_no_heads_keys = true,
             .activation_key = "hidden_activation",
             .eps_key = "norm_eps",
             .has_attention_bias_key = true,
             .has_mlp_bias_key = true,
             .windows = {ATTN_WINDOWS_BY_LIST, .width = 128, .full_every = 3, .is_centered = true},
             .rope = {"global_rope_theta", 160000, "partial_rotary_factor", 1},
             .rope_of_windows = {"local_rope_theta", 10000, "partial_rotary_factor", 1},
             .defaults = {.is_encoder = true,
                          .norm = ATTN_NORM_LAYERNORM_NO_BIAS,
                          .norm_eps = 1e-5F,
                          .begins_without_norm = true,
                          .has_embed_norm = true,
                          .has_final_norm = true,
                          .has_projections = true,
                          .has_out_proj = true,
                          .has_residual = true,
                          .has_gated_mlp = true,
                          .act_fn = "gelu",
                          .output = ATTN_OUTPUT_TIED,
                          .has_output_bias = true,
                          .n_vocab = 50368,
                          .d_model = 768,
                          .d_mlp = 1152,
                          .n_layer = 22,
                          .n_head = 12,
                          .n_ctx = 8192}}};
