/*
 * qwen_vision.c - the towers of Qwen2-VL, Qwen2.5-VL and Qwen3-VL (modeling_qwen2_vl.py,
 * modeling_qwen2_5_vl.py, modeling_qwen3_vl.py), whose rows go to a connector (input/tower.c):
 *
 *     x = patches W, each patch as temporal_patch_size equal frames
 *     mid = pre + proj(attention(norm1(pre)))
 *     post = mid + mlp(norm2(mid)),  f = ln_q(post) after the last block
 *
 * q and k are rotated by row and column. In Qwen2.5-VL norms are RMSNorm, the MLP is gated, and
 * patches see only those of their window, but for the layers of fullatt_block_indexes: a mask
 * matrix, which is made for each picture. Qwen3-VL adds learned positions to the patches, and has
 * connectors that read earlier layers (DeepStack).
 */
#include "families/families_internal.h"

/* --- tensors ---------------------------------------------------------------------------------- */

#define BLOCKS                                                                                     \
    FUSED("blocks.#.attn.qkv.weight", "AD", ATTN_PART_PROJECTIONS, QKV_ROWS),                      \
        FUSED("blocks.#.attn.qkv.bias", "A", ATTN_PART_QKV_BIAS, QKV_ROWS),                        \
        OUT_MAP("blocks.#.attn.proj")
#define CONNECTOR                                                                                  \
    TWO_MAPS("merger.mlp.0", "merger.mlp.2", ATTN_PART_CONNECTOR, connector_in, connector)
#define PATCHES MATRIX("patch_embed.proj.weight", "DCihw", ATTN_PART_EMBEDDING, patches)

static const struct attn_weight_rule qwen2_rules[] = {
    PATCHES,
    LAYER_NORM("blocks.#.norm1", ATTN_PART_NORM, ln1),
    BLOCKS,
    LAYER_NORM("blocks.#.norm2", ATTN_PART_MLP_NORM, ln2),
    PLAIN_MLP("blocks.#.mlp.", "fc1", "fc2"),
    FINAL_LAYER_NORM("merger.ln_q"),
    CONNECTOR,
};

static const struct attn_weight_rule qwen3_rules[] = {
    PATCHES,
    VECTOR("patch_embed.proj.bias", "D", ATTN_PART_EMBEDDING, MODEL(patches.bias)),
    TABLE("pos_embed.weight", "ID", ATTN_PART_POSITIONS, positions),
    LAYER_NORM("blocks.#.norm1", ATTN_PART_NORM, ln1),
    BLOCKS,
    LAYER_NORM("blocks.#.norm2", ATTN_PART_MLP_NORM, ln2),
    PLAIN_MLP("blocks.#.mlp.", "linear_fc1", "linear_fc2"),
    FINAL_LAYER_NORM("merger.norm"),
    TWO_MAPS("merger.linear_fc1", "merger.linear_fc2", ATTN_PART_CONNECTOR, connector_in,
             connector),
    VECTOR("deepstack_merger_list.@.norm.weight", "k", ATTN_PART_DEEP, MODEL(deep[0].norm.w)),
    VECTOR("deepstack_merger_list.@.norm.bias", "k", ATTN_PART_DEEP, MODEL(deep[0].norm.b)),
    TWO_MAPS("deepstack_merger_list.@.linear_fc1", "deepstack_merger_list.@.linear_fc2",
             ATTN_PART_DEEP, deep[0].in, deep[0].out),
};

static const struct attn_weight_rule qwen2_5_rules[] = {
    PATCHES,
    VECTOR("blocks.#.norm1.weight", "D", ATTN_PART_NORM, NORM_W(ln1)),
    BLOCKS,
    VECTOR("blocks.#.norm2.weight", "D", ATTN_PART_MLP_NORM, NORM_W(ln2)),
    LINEAR("blocks.#.mlp.gate_proj", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS,
           mlp_gate),
    LINEAR("blocks.#.mlp.up_proj", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    LINEAR("blocks.#.mlp.down_proj", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    VECTOR("merger.ln_q.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    CONNECTOR,
};

/* --- configs ---------------------------------------------------------------------------------- */

static const struct attn_config_names qwen2_names = {.d_model = "embed_dim",
                                                     .n_layer = "depth",
                                                     .n_head = "num_heads"},
                                      qwen2_5_names = {.d_model = "hidden_size",
                                                       .n_layer = "depth",
                                                       .n_head = "num_heads",
                                                       .d_mlp = "intermediate_size"};

/* Lets the patches of layers with windows see only those of their window: a block of a grid, whose
 * columns the picture sets. */
static enum attn_status read_windows(const struct attn_json *json, struct attn_config *config,
                                     struct attn_config_layers *layers, struct attn_error *err)
{
    static const int64_t usual[] = {7, 15, 23, 31};
    const struct attn_node *root = attn_json_root(json);
    const struct attn_node *list = attn_node_find(root, "fullatt_block_indexes");
    size_t window = 112, merge = 2;
    int64_t layer;

    ATTN_TRY(attn_json_get_size(json, root, "window_size", 1, ATTN_MAX_WIDTH, &window, err));
    ATTN_TRY(attn_json_get_size(json, root, "spatial_merge_size", 1, ATTN_MAX_LAYER, &merge, err));
    window = window / merge / config->image.patch_height;
    for (size_t i = 0; i < config->n_layer; i++) {
        layers->attention[i].kind = ATTN_ATTENTION_BLOCK;
        layers->attention[i].count = (window > 0 ? window : 1) * merge;
    }
    for (size_t i = 0; !list && i < sizeof usual / sizeof *usual; i++)
        if ((size_t)usual[i] < config->n_layer)
            layers->attention[usual[i]].kind = ATTN_ATTENTION_FULL;
    if (list && !attn_node_is_array(list))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "fullatt_block_indexes",
                                "is not a list of layers");
    for (list = list ? attn_node_first(list) : NULL; list; list = attn_node_next(list)) {
        if (!attn_node_int(list, &layer) || layer < 0 || layer > ATTN_MAX_LAYER)
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "fullatt_block_indexes",
                                    "is not a list of layers");
        if ((size_t)layer < config->n_layer)
            layers->attention[layer].kind = ATTN_ATTENTION_FULL;
    }
    return ATTN_OK;
}

/* Reads the number of learned positions, those of a square of patches. */
static enum attn_status read_places(const struct attn_json *json, struct attn_image_config *image,
                                    struct attn_error *err)
{
    static const char key[] = "num_position_embeddings";
    size_t n = 2304, side = 1;

    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), key, 1, ATTN_MAX_CTX, &n, err));
    while (side * side < n)
        side++;
    image->height = image->width = side * image->patch_height;
    return side * side == n
               ? ATTN_OK
               : ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, key, "is %zu, expected a square", n);
}

static enum attn_status read_qwen(ATTN_CONFIG_ARGS)
{
    struct attn_image_config *image = &config->image;
    const size_t most = ATTN_MAX_LAYER;
    const struct attn_node *root = attn_json_root(json);
    double ratio = 4;

    ATTN_TRY(attn_json_get_size(json, root, "patch_size", 1, most, &image->patch_height, err));
    ATTN_TRY(attn_json_get_size(json, root, "temporal_patch_size", 1, most, &image->n_frame, err));
    image->patch_width = image->patch_height;
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_double(json, root, "mlp_ratio", 0.001, ATTN_MAX_LAYER, &ratio, err));
    if (!form->names->d_mlp)
        config->d_mlp = (size_t)((double)config->d_model * ratio);
    if (image->resample == ATTN_RESAMPLE_CORNERS)
        ATTN_TRY(read_places(json, image, err));
    if (config->d_head % 4 != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, form->names->n_head,
                                "makes heads of width %zu, expected a multiple of 4",
                                config->d_head);
    ATTN_TRY(attn_config_turn_patches(
        json,
        (struct attn_rope){.sections = {0, config->d_head / 4, config->d_head / 4},
                           .is_axial = true},
        config, layers, err));
    return config->has_gated_mlp ? read_windows(json, config, layers, err) : ATTN_OK;
}

/* No key changes the epsilon of the norms, 1e-6. */
#define KEYS_OF_QWEN .has_no_heads_keys = true, .activation_key = "hidden_act"
#define A_QWEN(patch, depth)                                                                       \
    ATTN_BLOCK, .is_encoder = true, .positions = ATTN_POSITIONS_ROTARY, .has_qkv_bias = true,      \
                .has_out_bias = true, .has_mlp_bias = true, .n_layer = (depth), .n_head = 16,      \
                .n_ctx = SIZE_MAX, .norm_eps = 1e-6F, .image.n_channel = 3,                        \
                .image.patch_height = (patch), .image.patch_width = (patch),                       \
                .image.lacks_class = true, .image.n_frame = 2

const struct attn_family attn_family_qwen2_vl_vision = {
    FAMILY("qwen2_vl_vision", NULL, "tower.", qwen2_rules), .read_config = read_qwen,
    .form = {KEYS_OF_QWEN, .names = &qwen2_names,
             .defaults = {A_QWEN(14, 32), .norm = ATTN_NORM_LAYERNORM, .d_model = 1280,
                          .act_fn = "quick_gelu"}}};
const struct attn_family attn_family_qwen2_5_vl_vision = {
    FAMILY("qwen2_5_vl_vision", NULL, "tower.", qwen2_5_rules), .read_config = read_qwen,
    .form = {KEYS_OF_QWEN, .names = &qwen2_5_names,
             .defaults = {A_QWEN(14, 32), .norm = ATTN_NORM_RMSNORM, .has_gated_mlp = true,
                          .d_model = 3584, .d_mlp = 3420, .act_fn = "silu"}}};
const struct attn_family attn_family_qwen3_vl_vision = {
    FAMILY("qwen3_vl_vision", NULL, "tower.", qwen3_rules), .read_config = read_qwen,
    .form = {KEYS_OF_QWEN, .names = &qwen2_5_names,
             .defaults = {A_QWEN(16, 27), .image.resample = ATTN_RESAMPLE_CORNERS,
                          .norm = ATTN_NORM_LAYERNORM, .d_model = 1152, .d_mlp = 4304,
                          .act_fn = "gelu_pytorch_tanh"}}};
