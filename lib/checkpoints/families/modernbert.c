/*
 * modernbert.c - ModernBERT as Hugging Face writes it (configuration_modernbert.py,
 * modeling_modernbert.py). Every token sees every token, or, in most layers, those within a window
 * on both sides:
 *
 *     x = ln(word[id])
 *     mid = pre + o(attention(ln(pre))), without this norm in layer 0
 *     post = mid + o(act(u) * g),  u and g the halves of Wi ln(mid)
 *     f = ln(post) after the last block
 *     y = ln(act(dense(f))),  logits = y U^T + b
 *
 * q and k are rotated, with another theta in layers with a window. Traps: a window of
 * local_attention tokens extends half of it to each side; files have layer_norm_eps, but norm_eps
 * is read; norms have a bias only with norm_bias; Wqkv is all of q, then all of k, then all of v.
 */
#include "families/families_internal.h"

#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define NORM(name, part, norm)                                                                     \
    VECTOR(name ".weight", "D", ATTN_PART_##part, (norm) + offsetof(struct attn_norm_weights, w)), \
        VECTOR(name ".bias", "D", ATTN_PART_##part##_BIAS,                                         \
               (norm) + offsetof(struct attn_norm_weights, b))

/* The layer before the output matrix, for tokens or for classes. */
#define HEAD(part)                                                                                 \
    MATRIX("/head.dense.weight", "DD", ATTN_PART_##part, head),                                    \
        VECTOR("/head.dense.bias", "D", ATTN_PART_##part##_BIAS, MODEL(head.bias)),                \
        NORM("/head.norm", part##_NORM, MODEL(ln_head))

static const struct attn_weight_rule rules[] = {
    EMBEDDING_OF("embeddings.tok_embeddings.weight"),
    NORM("embeddings.norm", EMBED_NORM, MODEL(ln_embed)),
    NORM("layers.#.attn_norm", NORM, BLOCK(ln1)),
    {"layers.#.attn.Wqkv.weight", "AD", ATTN_PART_PROJECTIONS, ATTN_WEIGHT_QKV_ROWS, 0},
    {"layers.#.attn.Wqkv.bias", "A", ATTN_PART_QKV_BIAS, ATTN_WEIGHT_QKV_ROWS, 0},
    LINEAR("layers.#.attn.Wo", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    NORM("layers.#.mlp_norm", MLP_NORM, BLOCK(ln2)),
    {"layers.#.mlp.Wi.weight", "JD", ATTN_PART_MLP, ATTN_WEIGHT_GATED_ROWS, 0},
    {"layers.#.mlp.Wi.bias", "J", ATTN_PART_MLP_BIAS, ATTN_WEIGHT_GATED_ROWS, 0},
    LINEAR("layers.#.mlp.Wo", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    NORM("final_norm", FINAL_NORM, MODEL(ln_final)),
    HEAD(HEAD),
    HEAD(CLASS_HEAD),
    {"/decoder.weight", "VD", ATTN_PART_OUTPUT_FOUND, ATTN_WEIGHT_OUT_IN, MODEL(unembed.weight)},
    VECTOR("/decoder.bias", "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias)),
    CLASSES("/classifier", ATTN_PART_CLASS),
    CLASSES("/classifier", ATTN_PART_TOKEN_CLASS),
    CLASSES("/classifier", ATTN_PART_SPAN_CLASS),
    NOT_READ("/classifier.weight", ATTN_PART_TASK),
};

/* --- config ----------------------------------------------------------------------------------- */

static enum attn_status read_modernbert(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    const char *activation = "gelu", *pooling = "cls";

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_string(json, root, "classifier_activation", &activation, err));
    ATTN_TRY(attn_config_set_activation(json, &config->head_act_fn, "classifier_activation",
                                        activation, err));
    ATTN_TRY(attn_json_get_string(json, root, "classifier_pooling", &pooling, err));
    if (strcmp(pooling, "mean") == 0)
        config->pooling = ATTN_POOLING_MEAN;
    else if (strcmp(pooling, "cls") != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "classifier_pooling",
                                "is '%s', expected 'cls' or 'mean'",
                                attn_quote_string(pooling).text);
    return attn_config_refuse_stretched(json, config, layers, err);
}

const struct attn_family attn_family_modernbert = {
    FAMILY("modernbert", "ModernBert", "model.", rules), .read_config = read_modernbert,
    .heads = {.tasks = 1U << ATTN_TASK_SEQUENCE | 1U << ATTN_TASK_TOKENS | 1U << ATTN_TASK_SPANS,
              .pooling = ATTN_POOLING_FIRST,
              .is_in_all = true},
    .form = {
        .has_no_heads_keys = true,
        .activation_key = "hidden_activation",
        .eps_key = "norm_eps",
        ATTN_SWITCHES(
            ATTN_ATTENTION_BIAS, ATTN_MLP_BIAS("mlp_bias"),
            ATTN_FLAG("decoder_bias", has_output_bias), ATTN_FLAG("classifier_bias", has_head_bias),
            ATTN_CHOICE("norm_bias", norm, ATTN_NORM_LAYERNORM_NO_BIAS, ATTN_NORM_LAYERNORM)),
        .windows = {ATTN_WINDOWS_BY_LIST, .width = 128, .full_every = 3, .is_centered = true},
        .rope = {TURNS("global_rope_theta", 160000, 1)},
        .rope_of_windows = {TURNS("local_rope_theta", 10000, 1)},
        .defaults = {ATTN_BLOCK, .is_encoder = true, .norm = ATTN_NORM_LAYERNORM_NO_BIAS,
                     .begins_without_norm = true, .has_embed_norm = true, .has_gated_mlp = true,
                     .act_fn = "gelu", .output = ATTN_OUTPUT_TIED, .has_output_bias = true,
                     SIZES(50368, 768, 1152, 22, 12, 0, 0, 8192, 1e-5F)}}};
