/*
 * clip.c - CLIP as Hugging Face writes it (configuration_clip.py, modeling_clip.py): two models of
 * one directory, or one of them by itself. The text's is causal:
 *
 *     x          = word[id] + position[p]
 *     mid        = pre + o(attention(ln(pre)))
 *     post       = mid + fc2(act(fc1(ln(mid))))
 *     f          = ln(post) after the last block
 *     text_embed = W f[end of text]
 *
 * Traps: it has no logits. eos_token_id 2, which is in all files of 2021, is not the end of their
 * texts: then the row of the largest id is used. projection_dim of text_config is not read where
 * there are two towers, the model's is.
 */
#include "model/families/families_internal.h"

enum { OLD_END_OF_TEXT = 2 };

#define LAYER "encoder.layers.#."

static const struct attn_weight_rule text_rules[] = {
    {"embeddings.token_embedding.weight", "VD", ATTN_PART_EMBEDDING, ATTN_WEIGHT_TENSOR,
     MODEL(embed)},
    {"embeddings.position_embedding.weight", "PD", ATTN_PART_POSITIONS, ATTN_WEIGHT_TENSOR,
     MODEL(positions)},
    LAYER_NORM(LAYER "layer_norm1", ATTN_PART_NORM, ln1),
    LINEAR(LAYER "self_attn.q_proj", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),
    LINEAR(LAYER "self_attn.k_proj", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),
    LINEAR(LAYER "self_attn.v_proj", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),
    LINEAR(LAYER "self_attn.out_proj", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    LAYER_NORM(LAYER "layer_norm2", ATTN_PART_MLP_NORM, ln2),
    LINEAR(LAYER "mlp.fc1", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    LINEAR(LAYER "mlp.fc2", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    FINAL_LAYER_NORM("final_layer_norm"),
    {"/text_projection.weight", "MD", ATTN_PART_PROJECTION, ATTN_WEIGHT_OUT_IN,
     MODEL(projection.weight)},
    {"/logit_scale", "", ATTN_PART_LOGIT_SCALE, ATTN_WEIGHT_TENSOR, MODEL(logit_scale)},
    IGNORED("embeddings.position_ids"),
};

static enum attn_status read_text(const struct attn_json *json, const struct attn_config_form *form,
                                  struct attn_config *config, struct attn_config_layers *layers,
                                  struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    int64_t end = config->projected_id;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_size(json, root, "projection_dim", 1, ATTN_MAX_WIDTH,
                                &config->d_projected, err));
    ATTN_TRY(attn_json_get_int(json, root, "eos_token_id", 0, ATTN_MAX_VOCAB, &end, err));
    config->projected_id = end == OLD_END_OF_TEXT ? ATTN_LARGEST_ID : (int32_t)end;
    config->output = ATTN_OUTPUT_NONE;
    return ATTN_OK;
}

const struct attn_family attn_family_clip_text_model = {
    FAMILY("clip_text_model", "CLIPText", "text_model.", text_rules), .read_config = read_text,
    .other_tower = "clip_vision_model",
    .form = {.has_no_heads_keys = true,
             .activation_key = "hidden_act",
             .eps_key = "layer_norm_eps",
             .defaults = {.norm = ATTN_NORM_LAYERNORM,
                          .norm_eps = 1e-5F,
                          .has_final_norm = true,
                          .positions = ATTN_POSITIONS_LEARNED,
                          .has_projections = true,
                          .has_qkv_bias = true,
                          .has_out_proj = true,
                          .has_out_bias = true,
                          .has_mlp_bias = true,
                          .has_residual = true,
                          .act_fn = "quick_gelu",
                          .d_projected = 512,
                          .projected_id = 49407,
                          .n_vocab = 49408,
                          .d_model = 512,
                          .d_mlp = 2048,
                          .n_layer = 12,
                          .n_head = 8,
                          .n_ctx = 77}}};

/* Two towers. */
const struct attn_family attn_family_clip = {.model_type = "clip",
                                             .architecture = "CLIPModel",
                                             .towers = {"clip_text_model", "clip_vision_model"},
                                             .vocabulary_key = "vocab_size"};
