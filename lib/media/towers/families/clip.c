/*
 * clip.c - CLIP as Hugging Face writes it (configuration_clip.py, modeling_clip.py): two models in
 * one directory, or one of them alone. The text model is causal:
 *
 *     x = word[id] + position[p]
 *     mid = pre + o(attention(ln(pre)))
 *     post = mid + fc2(act(fc1(ln(mid))))
 *     f = ln(post) after the last block
 *     text_embed = W f[end of text]
 *
 * SigLIP differs (modeling_siglip.py): its text model is no decoder, text_embed is computed from
 * the last row, which is a token of padding in published models, and labels have a probability
 * each.
 *
 * Traps: there are no logits. All files of 2021 have eos_token_id 2, which is not the end of their
 * texts: for these the row of the largest id is used. If there are two towers, the model's
 * projection_dim applies, not that of text_config.
 */
#include "families/families_internal.h"

enum { OLD_END_OF_TEXT = 2 };

static const struct attn_weight_rule text_rules[] = {
    EMBEDDING_OF("embeddings.token_embedding.weight"),
    TABLE("embeddings.position_embedding.weight", "PD", ATTN_PART_POSITIONS, positions),
    LAYERS_OF_CLIP,
    FINAL_LAYER_NORM("final_layer_norm"),
    MATRIX("/text_projection.weight", "MD", ATTN_PART_PROJECTION, projection),
    TABLE("/logit_scale", "", ATTN_PART_LOGIT_SCALE, logit_scale),
    IGNORED("embeddings.position_ids"),
};

static enum attn_status read_text(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    int64_t end = config->projected_id;

    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_config_get_width(json, "projection_dim", &config->d_projected, err));
    ATTN_TRY(attn_json_get_int(json, root, "eos_token_id", 0, ATTN_MAX_VOCAB, &end, err));
    config->projected_id = end == OLD_END_OF_TEXT ? ATTN_LARGEST_ID : (int32_t)end;
    config->output = ATTN_OUTPUT_NONE;
    return ATTN_OK;
}

const struct attn_family attn_family_clip_text_model = {
    FAMILY("clip_text_model", "CLIPText", "text_model.", text_rules), .read_config = read_text,
    .other_tower = "clip_vision_model",
    .form = {KEYS_OF_BERT,
             .defaults = {ATTN_BLOCK, .norm = ATTN_NORM_LAYERNORM,
                          .positions = ATTN_POSITIONS_LEARNED, .has_qkv_bias = true,
                          .has_out_bias = true, .has_mlp_bias = true, .act_fn = "quick_gelu",
                          .d_projected = 512, .projected_id = 49407,
                          SIZES(49408, 512, 2048, 12, 8, 0, 0, 77, 1e-5F)}}};

/* The model with both towers. */
const struct attn_family attn_family_clip = {.model_type = "clip",
                                             .architecture = "CLIPModel",
                                             .form.defaults.d_projected = 512,
                                             .towers = {"clip_text_model", "clip_vision_model"},
                                             .vocabulary_key = "vocab_size"};

/* --- SigLIP ----------------------------------------------------------------------------------- */

static const struct attn_weight_rule siglip_rules[] = {
    EMBEDDING_OF("embeddings.token_embedding.weight"),
    TABLE("embeddings.position_embedding.weight", "PD", ATTN_PART_POSITIONS, positions),
    LAYERS_OF_CLIP,
    FINAL_LAYER_NORM("final_layer_norm"),
    MATRIX("head.weight", "MD", ATTN_PART_PROJECTION, projection),
    VECTOR("head.bias", "M", ATTN_PART_PROJECTION, MODEL(projection.bias)),
    TABLE("/logit_scale", "1", ATTN_PART_LOGIT_SCALE, logit_scale),
    VECTOR("/logit_bias", "1", ATTN_PART_LOGIT_SCALE, MODEL(logit_bias)),
    IGNORED("embeddings.position_ids"),
};

static enum attn_status read_siglip(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    config->d_projected = config->d_model;
    config->projected_id = ATTN_LAST_ROW;
    config->output = ATTN_OUTPUT_NONE;
    return attn_config_get_width(json, "projection_size", &config->d_projected, err);
}

const struct attn_family attn_family_siglip_text_model = {
    FAMILY("siglip_text_model", "SiglipText", "text_model.", siglip_rules),
    .read_config = read_siglip, .other_tower = "siglip_vision_model",
    .form = {KEYS_OF_BERT,
             .defaults = {ATTN_BLOCK, .is_encoder = true, .norm = ATTN_NORM_LAYERNORM,
                          .positions = ATTN_POSITIONS_LEARNED, .has_qkv_bias = true,
                          .has_out_bias = true, .has_mlp_bias = true, .act_fn = "gelu_new",
                          SIZES(32000, 768, 3072, 12, 12, 0, 0, 64, 1e-6F)}}};

/* Lets CONFIG, that of the tower, classify the mean of its rows instead of what its head pools. */
static enum attn_status read_classifier(const struct attn_json *json, struct attn_config *config,
                                        struct attn_config_layers *layers, struct attn_error *err)
{
    config->pool_head = NULL;
    config->d_projected = 0;
    config->output = ATTN_OUTPUT_OWN;
    config->has_output_bias = true;
    config->task = ATTN_TASK_SEQUENCE;
    config->pooling = config->image.pooling = ATTN_POOLING_MEAN;
    ATTN_TRY(attn_config_read_labels(json, config, layers, err));
    ATTN_TRY(attn_config_read_kind(json, config, err));
    return attn_config_check(json, config, err);
}

const struct attn_family attn_family_siglip = {
    .model_type = "siglip",
    .architecture = "SiglipModel",
    .towers = {"siglip_text_model", "siglip_vision_model"},
    .classifier = "SiglipForImageClassification",
    .read_classifier = read_classifier,
    .vocabulary_key = "vocab_size"};
