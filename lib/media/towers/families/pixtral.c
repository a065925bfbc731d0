/*
 * pixtral.c - the tower of Pixtral and Mistral 3 (modeling_pixtral.py, modeling_mistral3.py), whose
 * rows go to a connector (towers/connector.c):
 *
 *     x = norm(patches W)
 *     mid = pre + o(attention(attention_norm(pre)))
 *     f = mid + down(act(gate(ffn_norm(mid))) * up(ffn_norm(mid)))
 *
 * All norms are RMSNorms of epsilon 1e-5, and no map has a bias. q and k are rotated by row and
 * column, whose frequencies take turns: the first, third, ... are of the row. Nothing comes after
 * the last block.
 */
#include "families/families_internal.h"

#define LAYER "transformer.layers.#."
#define TOWER                                                                                      \
    MATRIX("patch_conv.weight", "DChw", ATTN_PART_EMBEDDING, patches),                             \
        VECTOR("ln_pre.weight", "D", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w)),                     \
        VECTOR(LAYER "attention_norm.weight", "D", ATTN_PART_NORM, NORM_W(ln1)),                   \
        THREE_MAPS(LAYER "attention.", "_proj"), OUT_MAP(LAYER "attention.o_proj"),                \
        VECTOR(LAYER "ffn_norm.weight", "D", ATTN_PART_MLP_NORM, NORM_W(ln2)),                     \
        LINEAR(LAYER "feed_forward.gate_proj", "FD", ATTN_PART_MLP_GATE, "F",                      \
               ATTN_PART_MLP_GATE_BIAS, mlp_gate),                                                 \
        PLAIN_MLP(LAYER "feed_forward.", "up_proj", "down_proj")

static const struct attn_weight_rule pixtral_rules[] = {
    TOWER,
    PROJECTOR("/connector.linear_1", "/connector.linear_2", "ok"),
};

static const struct attn_weight_rule mistral3_rules[] = {
    TOWER,
    VECTOR("/connector.norm.weight", "D", ATTN_PART_CONNECTOR, MODEL(ln_connector.w)),
    MATRIX("/connector.patch_merger.merging_layer.weight", "Dk", ATTN_PART_CONNECTOR,
           connector_merge),
    PROJECTOR("/connector.linear_1", "/connector.linear_2", "oD"),
};

static const struct attn_config_names names = {.d_model = "hidden_size",
                                               .d_mlp = "intermediate_size",
                                               .n_layer = "num_hidden_layers",
                                               .n_head = "num_attention_heads"};

static enum attn_status read_pixtral(ATTN_CONFIG_ARGS)
{
    struct attn_image_config *image = &config->image;
    const struct attn_node *root = attn_json_root(json);

    ATTN_TRY(
        attn_json_get_size(json, root, "patch_size", 1, ATTN_MAX_LAYER, &image->patch_height, err));
    image->patch_width = image->patch_height;
    ATTN_TRY(attn_config_get_width(json, "num_channels", &image->n_channel, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (config->d_head % 2 != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, names.n_head,
                                "makes heads of width %zu, expected an even number",
                                config->d_head);
    return attn_config_turn_patches(
        json,
        (struct attn_rope){.sections = {0, (config->d_head + 2) / 4, config->d_head / 4},
                           .is_alternating = true},
        config, layers, err);
}

#define FORM_OF_PIXTRAL                                                                            \
    .read_config = read_pixtral,                                                                   \
    .form = {.has_no_heads_keys = true,                                                            \
             .activation_key = "hidden_act",                                                       \
             .names = &names,                                                                      \
             .defaults = {                                                                         \
                 .has_projections = true,                                                          \
                 .has_out_proj = true,                                                             \
                 .has_residual = true,                                                             \
                 .is_encoder = true,                                                               \
                 .norm = ATTN_NORM_RMSNORM,                                                        \
                 .has_embed_norm = true,                                                           \
                 .positions = ATTN_POSITIONS_ROTARY,                                               \
                 .has_gated_mlp = true,                                                            \
                 .d_model = 1024,                                                                  \
                 .d_mlp = 4096,                                                                    \
                 .n_layer = 24,                                                                    \
                 .n_head = 16,                                                                     \
                 .n_ctx = SIZE_MAX,                                                                \
                 .norm_eps = 1e-5F,                                                                \
                 .act_fn = "gelu",                                                                 \
                 .image = {                                                                        \
                     .n_channel = 3, .patch_height = 16, .patch_width = 16, .lacks_class = true}}}

const struct attn_family attn_family_pixtral_vision = {
    FAMILY("pixtral_vision", NULL, "tower.", pixtral_rules), FORM_OF_PIXTRAL};
const struct attn_family attn_family_mistral3_vision = {
    FAMILY("mistral3_vision", NULL, "tower.", mistral3_rules), FORM_OF_PIXTRAL};
