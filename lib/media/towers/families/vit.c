/*
 * vit.c - encoders of pictures as Hugging Face writes them (configuration_vit.py, modeling_vit.py,
 * and the files of dinov2, dinov2_with_registers, and clip's tower for pictures). Every position
 * sees every position:
 *
 *     x = [cls; patches W + b] + positions, then registers are inserted after cls, without
 * positions mid = pre + scale1 * o(attention(ln(pre))) post = mid + scale2 * out(act(in(ln(mid))))
 *     f = ln(post) after the last block
 *     logits = classifier(f[0]), for DINOv2 classifier([f[0]; mean of f over the patches])
 *
 * Only DINOv2 has scale1 and scale2 [D]. CLIP normalizes x before the first block, and uses only
 * row 0 of f. SigLIP has no cls, and its rows f go to a connector (input/tower.c). Traps: files
 * have other names than transformers 5 in memory; SwiGLU uses weights_in and weights_out, in memory
 * gate_proj, up_proj and down_proj; CLIP's patches have no bias; a file saved without the
 * classifier has no logits. For positions of another grid see image_patches.c.
 */
#include "base/memory.h"
#include "families/families_internal.h"
#include "towers/image_patches.h"

#include <math.h>
#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define PATCHES(name) MATRIX(name ".weight", "DChw", ATTN_PART_EMBEDDING, patches)

#define EMBEDDING                                                                                  \
    VECTOR("embeddings.cls_token", "11D", ATTN_PART_EMBEDDING, MODEL(cls)),                        \
        PATCHES("embeddings.patch_embeddings.projection"),                                         \
        VECTOR("embeddings.patch_embeddings.projection.bias", "D", ATTN_PART_EMBEDDING,            \
               MODEL(patches.bias)),                                                               \
        TABLE("embeddings.position_embeddings", "1ID", ATTN_PART_POSITIONS, positions)

/* A map under two names: that of files, and that of transformers 5 in memory, which adapters and
 * saved state_dicts have. */
#define EITHER(name, new, shape, part, bias_shape, bias_part, map)                                 \
    {name ".weight|" new ".weight", shape, part, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map)},              \
        VECTOR(name ".bias|" new ".bias", bias_shape, bias_part, BIAS_OF(map))
#define ATTENTION(new)                                                                             \
    EITHER("encoder.layer.#.attention.attention.query", new ".#.attention.q_proj", "QD",           \
           ATTN_PART_PROJECTIONS, "Q", ATTN_PART_QKV_BIAS, q),                                     \
        EITHER("encoder.layer.#.attention.attention.key", new ".#.attention.k_proj", "KD",         \
               ATTN_PART_PROJECTIONS, "K", ATTN_PART_QKV_BIAS, k),                                 \
        EITHER("encoder.layer.#.attention.attention.value", new ".#.attention.v_proj", "WD",       \
               ATTN_PART_PROJECTIONS, "W", ATTN_PART_QKV_BIAS, v),                                 \
        EITHER("encoder.layer.#.attention.output.dense", new ".#.attention.o_proj", "DZ",          \
               ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out)
#define EITHER_NORM(name, new, part, norm)                                                         \
    VECTOR(name ".weight|" new ".weight", "D", part, NORM_W(norm)),                                \
        VECTOR(name ".bias|" new ".bias", "D", part, NORM_B(norm))

/* The classifier; also tensors for other tasks and for training, which are ignored. */
#define CLASSIFIER                                                                                 \
    CLASSES("/classifier", ATTN_PART_CLASS), IGNORED("embeddings.mask_token"),                     \
        IGNORED("pooler.dense.weight"), IGNORED("pooler.dense.bias")

#define VIT                                                                                        \
    EMBEDDING,                                                                                     \
        EITHER_NORM("encoder.layer.#.layernorm_before", "layers.#.layernorm_before",               \
                    ATTN_PART_NORM, ln1),                                                          \
        ATTENTION("layers"),                                                                       \
        EITHER_NORM("encoder.layer.#.layernorm_after", "layers.#.layernorm_after",                 \
                    ATTN_PART_MLP_NORM, ln2),                                                      \
        EITHER("encoder.layer.#.intermediate.dense", "layers.#.mlp.fc1", "FD", ATTN_PART_MLP, "F", \
               ATTN_PART_MLP_BIAS, mlp_in),                                                        \
        EITHER("encoder.layer.#.output.dense", "layers.#.mlp.fc2", "DF", ATTN_PART_MLP, "D",       \
               ATTN_PART_MLP_BIAS, mlp_out),                                                       \
        FINAL_LAYER_NORM("layernorm"), CLASSIFIER

static const struct attn_weight_rule vit_rules[] = {VIT};

static const struct attn_weight_rule deit_rules[] = {
    VECTOR("embeddings.distillation_token", "11D", ATTN_PART_REGISTERS, MODEL(registers)),
    VIT,
    MATRIX("/cls_classifier.weight", "YD", ATTN_PART_SECOND_CLASS, unembed),
    VECTOR("/cls_classifier.bias", "Y", ATTN_PART_SECOND_CLASS, MODEL(unembed.bias)),
    MATRIX("/distillation_classifier.weight", "YD", ATTN_PART_SECOND_CLASS, head),
    VECTOR("/distillation_classifier.bias", "Y", ATTN_PART_SECOND_CLASS, MODEL(head.bias)),
};

/* The MLP, plain or SwiGLU. */
#define MLP_OF_DINOV2                                                                              \
    LINEAR("encoder.layer.#.mlp.fc1", "FD", ATTN_PART_MLP_PLAIN, "F", ATTN_PART_MLP_PLAIN_BIAS,    \
           mlp_in),                                                                                \
        LINEAR("encoder.layer.#.mlp.fc2", "DF", ATTN_PART_MLP_PLAIN, "D",                          \
               ATTN_PART_MLP_PLAIN_BIAS, mlp_out),                                                 \
        LINEAR("encoder.layer.#.mlp.gate_proj", "FD", ATTN_PART_MLP_APART, "F",                    \
               ATTN_PART_MLP_APART, mlp_gate),                                                     \
        LINEAR("encoder.layer.#.mlp.up_proj", "FD", ATTN_PART_MLP_APART, "F", ATTN_PART_MLP_APART, \
               mlp_in),                                                                            \
        FUSED("encoder.layer.#.mlp.weights_in.weight", "JD", ATTN_PART_MLP_GATE, GATED_ROWS),      \
        FUSED("encoder.layer.#.mlp.weights_in.bias", "J", ATTN_PART_MLP_GATE_BIAS, GATED_ROWS),    \
        EITHER("encoder.layer.#.mlp.weights_out", "encoder.layer.#.mlp.down_proj", "DF",           \
               ATTN_PART_MLP_GATE, "D", ATTN_PART_MLP_GATE_BIAS, mlp_out)

#define SCALE(name, scale) VECTOR(name ".lambda1", "D", ATTN_PART_LAYER_SCALE, NORM_W(scale))

#define LAYERS_OF_DINOV2                                                                           \
    LAYER_NORM("encoder.layer.#.norm1", ATTN_PART_NORM, ln1), ATTENTION("encoder.layer"),          \
        SCALE("encoder.layer.#.layer_scale1", attn_scale),                                         \
        LAYER_NORM("encoder.layer.#.norm2", ATTN_PART_MLP_NORM, ln2), MLP_OF_DINOV2,               \
        SCALE("encoder.layer.#.layer_scale2", mlp_scale)

static const struct attn_weight_rule dinov2_rules[] = {
    EMBEDDING,
    LAYERS_OF_DINOV2,
    FINAL_LAYER_NORM("layernorm"),
    CLASSIFIER,
};

static const struct attn_weight_rule registers_rules[] = {
    EMBEDDING,
    VECTOR("embeddings.register_tokens", "1RD", ATTN_PART_REGISTERS, MODEL(registers)),
    LAYERS_OF_DINOV2,
    FINAL_LAYER_NORM("layernorm"),
    CLASSIFIER,
};

/* DINOv3's blocks, under the names of files and of transformers 5 in memory. */
#define BOTH(name) "layer.#." name "|model.layer.#." name
#define MAP_OF_BOTH(name, shape, part, bias_shape, bias_part, map)                                 \
    {BOTH(name ".weight"), shape, part, ATTN_WEIGHT_OUT_IN, WEIGHT_OF(map)},                       \
        VECTOR(BOTH(name ".bias"), bias_shape, bias_part, BIAS_OF(map))
#define NORM_OF_BOTH(name, part, norm)                                                             \
    VECTOR(BOTH(name ".weight"), "D", part, NORM_W(norm)),                                         \
        VECTOR(BOTH(name ".bias"), "D", part, NORM_B(norm))

static const struct attn_weight_rule dinov3_rules[] = {
    VECTOR("embeddings.cls_token", "11D", ATTN_PART_EMBEDDING, MODEL(cls)),
    PATCHES("embeddings.patch_embeddings"),
    VECTOR("embeddings.patch_embeddings.bias", "D", ATTN_PART_EMBEDDING, MODEL(patches.bias)),
    VECTOR("embeddings.register_tokens", "1RD", ATTN_PART_REGISTERS, MODEL(registers)),
    NORM_OF_BOTH("norm1", ATTN_PART_NORM, ln1),
    MAP_OF_BOTH("attention.q_proj", "QD", ATTN_PART_PROJECTIONS, "Q", ATTN_PART_OWN_QUERY_BIAS, q),
    MAP_OF_BOTH("attention.k_proj", "KD", ATTN_PART_PROJECTIONS, "K", ATTN_PART_KEY_BIAS, k),
    MAP_OF_BOTH("attention.v_proj", "WD", ATTN_PART_PROJECTIONS, "W", ATTN_PART_OWN_VALUE_BIAS, v),
    MAP_OF_BOTH("attention.o_proj", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS, out),
    VECTOR(BOTH("layer_scale1.lambda1"), "D", ATTN_PART_LAYER_SCALE, NORM_W(attn_scale)),
    NORM_OF_BOTH("norm2", ATTN_PART_MLP_NORM, ln2),
    MAP_OF_BOTH("mlp.gate_proj", "FD", ATTN_PART_MLP_GATE, "F", ATTN_PART_MLP_GATE_BIAS, mlp_gate),
    MAP_OF_BOTH("mlp.up_proj", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    MAP_OF_BOTH("mlp.down_proj", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    VECTOR(BOTH("layer_scale2.lambda1"), "D", ATTN_PART_LAYER_SCALE, NORM_W(mlp_scale)),
    FINAL_LAYER_NORM("norm"),
    IGNORED("embeddings.mask_token"),
};

#define CLIP                                                                                       \
    VECTOR("embeddings.class_embedding", "D", ATTN_PART_EMBEDDING, MODEL(cls)),                    \
        PATCHES("embeddings.patch_embedding"),                                                     \
        TABLE("embeddings.position_embedding.weight", "ID", ATTN_PART_POSITIONS, positions),       \
        MODEL_NORM("pre_layrnorm", ATTN_PART_EMBED_NORM, ln_embed), LAYERS_OF_CLIP

static const struct attn_weight_rule clip_rules[] = {
    CLIP,
    FINAL_LAYER_NORM("post_layernorm"),
    MATRIX("/visual_projection.weight", "MD", ATTN_PART_PROJECTION, projection),
    IGNORED("embeddings.position_ids"),
};

#define SIGLIP                                                                                     \
    PATCHES("embeddings.patch_embedding"),                                                         \
        VECTOR("embeddings.patch_embedding.bias", "D", ATTN_PART_EMBEDDING, MODEL(patches.bias)),  \
        TABLE("embeddings.position_embedding.weight", "ID", ATTN_PART_POSITIONS, positions),       \
        LAYERS_OF_CLIP
#define WHOLE_SIGLIP SIGLIP, FINAL_LAYER_NORM("post_layernorm"), IGNORED("embeddings.position_ids")
#define IGNORED_MAP(name) IGNORED(name ".weight"), IGNORED(name ".bias")
/* The head of SigLIP alone, which pools a picture. */
#define SIGLIP_HEAD                                                                                \
    IGNORED("head.probe"), IGNORED("head.attention.in_proj_weight"),                               \
        IGNORED("head.attention.in_proj_bias"), IGNORED_MAP("head.attention.out_proj"),            \
        IGNORED_MAP("head.layernorm"), IGNORED_MAP("head.mlp.fc1"), IGNORED_MAP("head.mlp.fc2")

static const struct attn_weight_rule siglip_rules[] = {
    WHOLE_SIGLIP,
    VECTOR("head.probe", "11D", ATTN_PART_POOL_HEAD, MODEL(pool.probe)),
    MATRIX("head.attention.in_proj_weight", "AD", ATTN_PART_POOL_HEAD, pool.qkv),
    VECTOR("head.attention.in_proj_bias", "A", ATTN_PART_POOL_HEAD, MODEL(pool.qkv.bias)),
    MATRIX("head.attention.out_proj.weight", "DD", ATTN_PART_POOL_HEAD, pool.out),
    VECTOR("head.attention.out_proj.bias", "D", ATTN_PART_POOL_HEAD, MODEL(pool.out.bias)),
    MODEL_NORM("head.layernorm", ATTN_PART_POOL_HEAD, pool.norm),
    MATRIX("head.mlp.fc1.weight", "FD", ATTN_PART_POOL_HEAD, pool.mlp_in),
    VECTOR("head.mlp.fc1.bias", "F", ATTN_PART_POOL_HEAD, MODEL(pool.mlp_in.bias)),
    MATRIX("head.mlp.fc2.weight", "DF", ATTN_PART_POOL_HEAD, pool.mlp_out),
    VECTOR("head.mlp.fc2.bias", "D", ATTN_PART_POOL_HEAD, MODEL(pool.mlp_out.bias)),
    CLASSES("/classifier", ATTN_PART_CLASS),
};

static const struct attn_weight_rule smolvlm_rules[] = {
    WHOLE_SIGLIP,
    MATRIX("/connector.modality_projection.proj.weight", "ok", ATTN_PART_CONNECTOR, connector),
};

static const struct attn_weight_rule paligemma_rules[] = {
    WHOLE_SIGLIP,
    SIGLIP_HEAD,
    MATRIX("/connector.linear.weight", "ok", ATTN_PART_CONNECTOR, connector),
    VECTOR("/connector.linear.bias", "o", ATTN_PART_CONNECTOR, MODEL(connector.bias)),
};

static const struct attn_weight_rule gemma3_rules[] = {
    WHOLE_SIGLIP,
    SIGLIP_HEAD,
    TENSOR("/connector.mm_input_projection_weight", "Do", ATTN_PART_CONNECTOR, ATTN_WEIGHT_IN_OUT,
           MODEL(connector.weight)),
    VECTOR("/connector.mm_soft_emb_norm.weight", "D", ATTN_PART_CONNECTOR, MODEL(ln_connector.w)),
};

/* The row after each line of tiles in LLaVA-NeXT and OneVision. */
#define LINE_END VECTOR("/image_newline", "o", ATTN_PART_LINE_END, MODEL(line_end))

/* The connector of LLaVA and of InternVL. */
#define TWO_LINEAR PROJECTOR("/connector.linear_1", "/connector.linear_2", "ok")

static const struct attn_weight_rule llava_clip_rules[] = {
    CLIP, IGNORED_MAP("post_layernorm"), IGNORED("embeddings.position_ids"), TWO_LINEAR, LINE_END,
};

static const struct attn_weight_rule llava_siglip_rules[] = {
    SIGLIP,
    IGNORED_MAP("post_layernorm"),
    IGNORED("embeddings.position_ids"),
    SIGLIP_HEAD,
    TWO_LINEAR,
    LINE_END,
};

/* InternVL's tower, which may have norms without biases, and its connector. */
static const struct attn_weight_rule internvl_rules[] = {
    EMBEDDING,
    VECTOR("encoder.layer.#.layernorm_before.weight", "D", ATTN_PART_NORM, NORM_W(ln1)),
    VECTOR("encoder.layer.#.layernorm_before.bias", "D", ATTN_PART_NORM_BIAS, NORM_B(ln1)),
    THREE_MAPS("encoder.layer.#.attention.", "_proj"),
    VECTOR("encoder.layer.#.attention.q_norm.weight", "y", ATTN_PART_QK_NORM, NORM_W(q_norm)),
    VECTOR("encoder.layer.#.attention.k_norm.weight", "z", ATTN_PART_QK_NORM, NORM_W(k_norm)),
    OUT_MAP("encoder.layer.#.attention.projection_layer"),
    VECTOR("encoder.layer.#.lambda_1", "D", ATTN_PART_LAYER_SCALE, NORM_W(attn_scale)),
    VECTOR("encoder.layer.#.layernorm_after.weight", "D", ATTN_PART_MLP_NORM, NORM_W(ln2)),
    VECTOR("encoder.layer.#.layernorm_after.bias", "D", ATTN_PART_MLP_NORM_BIAS, NORM_B(ln2)),
    PLAIN_MLP("encoder.layer.#.mlp.", "fc1", "fc2"),
    VECTOR("encoder.layer.#.lambda_2", "D", ATTN_PART_LAYER_SCALE, NORM_W(mlp_scale)),
    VECTOR("layernorm.weight", "D", ATTN_PART_FINAL_NORM, MODEL(ln_final.w)),
    VECTOR("layernorm.bias", "D", ATTN_PART_FINAL_NORM_BIAS, MODEL(ln_final.b)),
    VECTOR("/connector.layer_norm.weight", "k", ATTN_PART_CONNECTOR, MODEL(ln_connector.w)),
    VECTOR("/connector.layer_norm.bias", "k", ATTN_PART_CONNECTOR, MODEL(ln_connector.b)),
    TWO_LINEAR,
    IGNORED("embeddings.mask_token"),
};

/* --- configs ---------------------------------------------------------------------------------- */

static enum attn_status refuse_side(const struct attn_json *json, const char *key,
                                    struct attn_error *err)
{
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key,
                            "is a list of something else, expected pixels, or [height, width]");
}

/* Reads a size in pixels: one number for both sides, or [height, width]. If KEY is absent, both
 * stay unchanged. */
static enum attn_status read_side(const struct attn_json *json, const char *key, size_t *height,
                                  size_t *width, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *node = attn_node_find(root, key);
    size_t *const sides[] = {height, width};
    size_t n = 0;

    if (!node || attn_node_is_null(node))
        return ATTN_OK;
    if (!attn_node_is_array(node)) {
        ATTN_TRY(attn_config_get_width(json, key, height, err));
        *width = *height;
        return ATTN_OK;
    }
    for (node = attn_node_first(node); node; node = attn_node_next(node), n++) {
        int64_t side;

        if (n == 2 || !attn_node_int(node, &side) || side < 1 || side > ATTN_MAX_WIDTH)
            return refuse_side(json, key, err);
        *sides[n] = (size_t)side;
    }
    return n == 2 ? ATTN_OK : refuse_side(json, key, err);
}

/* Reads the sizes of pictures and patches. */
static enum attn_status read_image(const struct attn_json *json, struct attn_image_config *image,
                                   struct attn_error *err)
{
    size_t n;

    ATTN_TRY(read_side(json, "image_size", &image->height, &image->width, err));
    ATTN_TRY(read_side(json, "patch_size", &image->patch_height, &image->patch_width, err));
    ATTN_TRY(attn_config_get_width(json, "num_channels", &image->n_channel, err));
    if (image->patch_height > image->height || image->patch_width > image->width)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "patch_size",
                                "is %zu x %zu, larger than 'image_size', %zu x %zu",
                                image->patch_height, image->patch_width, image->height,
                                image->width);
    if (!attn_checked_mul(image->patch_height, image->patch_width, &n) ||
        !attn_checked_mul(n, image->n_channel, &n) || n > ATTN_MAX_WIDTH)
        return attn_error_set(err, ATTN_FORMAT,
                              "a patch in '%s' has %zu x %zu pixels of %zu channels, expected %d "
                              "numbers at most",
                              attn_config_quote(json).text, image->patch_height, image->patch_width,
                              image->n_channel, ATTN_MAX_WIDTH);
    if (!attn_checked_mul(image->height / image->patch_height, image->width / image->patch_width,
                          &n) ||
        n > ATTN_MAX_WIDTH)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "image_size",
                                "is %zu x %zu, which patches of %zu x %zu cut into more than %d",
                                image->height, image->width, image->patch_height,
                                image->patch_width, ATTN_MAX_WIDTH);
    return ATTN_OK;
}

static enum attn_status read_vit(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(read_image(json, &config->image, err));
    if (config->image.resample == ATTN_RESAMPLE_OTHERS && attn_image_side(&config->image) == 0)
        config->image.resample = ATTN_RESAMPLE_NONE; /* only positions of a square can be */
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    config->output = ATTN_OUTPUT_OWN; /* regardless of tie_word_embeddings */
    if (config->image.resample == ATTN_RESAMPLE_NONE)
        config->n_ctx = attn_image_n_placed(&config->image) + attn_image_n_patch(&config->image);
    ATTN_TRY(
        attn_json_get_bool(json, attn_json_root(json), "qkv_bias", &config->has_qkv_bias, err));
    config->task = ATTN_TASK_SEQUENCE;
    config->pooling = config->image.pooling;
    ATTN_TRY(attn_config_read_labels(json, config, layers, err));
    return attn_config_read_kind(json, config, err);
}

/* The keys of width, depth and heads, which all have; and of the MLP's width, which some have. */
#define NAMES                                                                                      \
    .d_model = "hidden_size", .n_layer = "num_hidden_layers", .n_head = "num_attention_heads"

static const struct attn_config_names vit_names = {NAMES, .d_mlp = "intermediate_size"};

#define BLOCK_OF_VIT                                                                               \
    ATTN_BLOCK, .is_encoder = true, .norm = ATTN_NORM_LAYERNORM,                                   \
                .positions = ATTN_POSITIONS_LEARNED, .has_qkv_bias = true, .has_out_bias = true,   \
                .has_mlp_bias = true
#define BASE .d_model = 768, .n_layer = 12, .n_head = 12
#define IMAGE_OF(edge)                                                                             \
    .n_channel = 3, .height = 224, .width = 224, .patch_height = (edge), .patch_width = (edge)
#define A_CLASSIFIER .output = ATTN_OUTPUT_OWN, .has_output_bias = true

const struct attn_family attn_family_vit = {
    FAMILY("vit", "ViT", "vit.", vit_rules), .read_config = read_vit,
    .form = {KEYS_OF_BERT, .names = &vit_names,
             .defaults = {BLOCK_OF_VIT, BASE, A_CLASSIFIER, .d_mlp = 3072, .act_fn = "gelu",
                          .norm_eps = 1e-12F, .n_ctx = SIZE_MAX,
                          .image = {IMAGE_OF(16), .resample = ATTN_RESAMPLE_OTHERS,
                                    .pooling = ATTN_POOLING_FIRST}}}};

/* --- DeiT ------------------------------------------------------------------------------------- */

/* Trap: DeiTForImageClassification reads [CLS] alone, and ...WithTeacher is the mean of two
 * classifiers, of [CLS] and of [DIST]. */
static enum attn_status read_deit(ATTN_CONFIG_ARGS)
{
    const struct attn_node *list = attn_node_find(attn_json_root(json), "architectures");
    const struct attn_node *item = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    const char *name = item ? attn_node_string(item) : NULL;

    if (name && strcmp(name, "DeiTForImageClassificationWithTeacher") == 0)
        config->image.pooling = ATTN_POOLING_FIRST_TWO;
    return read_vit(json, form, config, layers, err);
}

const struct attn_family attn_family_deit = {
    FAMILY("deit", "DeiT", "deit.", deit_rules), .read_config = read_deit,
    .form = {KEYS_OF_BERT, .names = &vit_names,
             .defaults = {BLOCK_OF_VIT, BASE, A_CLASSIFIER, .d_mlp = 3072, .act_fn = "gelu",
                          .norm_eps = 1e-12F, .n_ctx = SIZE_MAX,
                          .image = {IMAGE_OF(16), .n_register = 1, .is_distilled = true,
                                    .pooling = ATTN_POOLING_FIRST}}}};

/* --- DINOv2 ----------------------------------------------------------------------------------- */

static const struct attn_config_names dinov2_names = {NAMES};

/* Traps: the config gives the MLP's width as a ratio; SwiGLU uses two thirds of that, rounded to a
 * multiple of eight. The activation of SwiGLU is silu, whatever hidden_act is. */
static enum attn_status read_dinov2(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    double ratio = 4, width;

    ATTN_TRY(attn_json_get_double(json, root, "mlp_ratio", 0, ATTN_MAX_WIDTH, &ratio, err));
    ATTN_TRY(attn_json_get_bool(json, root, "use_swiglu_ffn", &config->has_gated_mlp, err));
    ATTN_TRY(read_vit(json, form, config, layers, err));
    width = floor((double)config->d_model * ratio);
    if (config->has_gated_mlp) {
        config->act_fn = "silu";
        width = floor((floor(width * 2 / 3) + 7) / 8) * 8;
    }
    if (width < 1 || width > (double)ATTN_MAX_WIDTH)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "mlp_ratio",
                                "is %.15g, which makes an MLP of width %.15g, expected 1 to %d",
                                ratio, width, ATTN_MAX_WIDTH);
    config->d_mlp = (size_t)width;
    return ATTN_OK;
}

#define DEFAULTS_OF_DINOV2                                                                         \
    BLOCK_OF_VIT, BASE, A_CLASSIFIER, .has_layer_scale = true, .act_fn = "gelu",                   \
                                      .norm_eps = 1e-6F, .n_ctx = SIZE_MAX

const struct attn_family attn_family_dinov2 = {
    FAMILY("dinov2", "Dinov2", "dinov2.", dinov2_rules), .read_config = read_dinov2,
    .form = {
        KEYS_OF_BERT, .names = &dinov2_names,
        .defaults = {DEFAULTS_OF_DINOV2, .image = {IMAGE_OF(14), .resample = ATTN_RESAMPLE_CUBIC,
                                                   .pooling = ATTN_POOLING_FIRST_AND_MEAN}}}};

static enum attn_status read_registers(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "num_register_tokens", 0,
                                ATTN_MAX_WIDTH, &config->image.n_register, err));
    return read_dinov2(json, form, config, layers, err);
}

const struct attn_family attn_family_dinov2_with_registers = {
    FAMILY("dinov2_with_registers", "Dinov2WithRegisters", "dinov2_with_registers.",
           registers_rules),
    .read_config = read_registers,
    .form = {KEYS_OF_BERT, .names = &dinov2_names,
             .defaults = {DEFAULTS_OF_DINOV2, .image = {IMAGE_OF(16), .n_register = 4,
                                                        .resample = ATTN_RESAMPLE_ANTIALIAS,
                                                        .pooling = ATTN_POOLING_FIRST_AND_MEAN}}}};

/* --- DINOv3 ----------------------------------------------------------------------------------- */

/* Traps: there is no table of positions, so pictures may have any size; only patches are rotated,
 * rows before columns; `pos_embed_*` apply in training alone; key_bias is false if absent. */
static enum attn_status read_dinov3(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    double theta = 100;

    ATTN_TRY(read_image(json, &config->image, err));
    ATTN_TRY(attn_json_get_size(json, root, "num_register_tokens", 0, ATTN_MAX_WIDTH,
                                &config->image.n_register, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    if (config->d_head % 4 != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "num_attention_heads",
                                "makes heads of width %zu, expected a multiple of 4",
                                config->d_head);
    ATTN_TRY(attn_json_get_double(json, root, "rope_theta", 1, 1e30, &theta, err));
    for (size_t layer = 0; layer < config->n_layer; layer++)
        layers->rope[layer] =
            (struct attn_rope){.d_rotary = config->d_head,
                               .theta = theta,
                               .sections = {0, config->d_head / 4, config->d_head / 4},
                               .is_axial = true,
                               .is_centred = true};
    config->image.height = config->image.width = 0;
    config->output = ATTN_OUTPUT_NONE;
    return ATTN_OK;
}

const struct attn_family attn_family_dinov3_vit = {
    FAMILY("dinov3_vit", "DINOv3ViT", NULL, dinov3_rules), .read_config = read_dinov3,
    .form = {
        KEYS_OF_BERT, .names = &vit_names,
        ATTN_SWITCHES(ATTN_FLAG("query_bias", has_query_bias), ATTN_FLAG("key_bias", has_key_bias),
                      ATTN_FLAG("value_bias", has_value_bias), ATTN_FLAG("proj_bias", has_out_bias),
                      ATTN_MLP_BIAS("mlp_bias"), ATTN_FLAG("use_gated_mlp", has_gated_mlp)),
        .defaults = {ATTN_BLOCK, .is_encoder = true, .norm = ATTN_NORM_LAYERNORM,
                     .positions = ATTN_POSITIONS_ROTARY, .has_query_bias = true,
                     .has_value_bias = true, .has_out_bias = true, .has_mlp_bias = true,
                     .has_layer_scale = true, .d_model = 384, .d_mlp = 1536, .n_layer = 12,
                     .n_head = 6, .act_fn = "gelu", .norm_eps = 1e-5F, .n_ctx = SIZE_MAX,
                     .image = {IMAGE_OF(16)}}}};

/* --- CLIP's tower for pictures ---------------------------------------------------------------- */

static enum attn_status read_clip(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(read_image(json, &config->image, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_config_get_width(json, "projection_dim", &config->d_projected, err));
    config->output = ATTN_OUTPUT_NONE;
    config->n_ctx = 1 + attn_image_n_patch(&config->image);
    return ATTN_OK;
}

const struct attn_family attn_family_clip_vision_model = {
    FAMILY("clip_vision_model", "CLIPVision", "vision_model.", clip_rules),
    .read_config = read_clip, .other_tower = "clip_text_model",
    .form = {KEYS_OF_BERT, .names = &vit_names,
             .defaults = {BLOCK_OF_VIT, BASE, .has_embed_norm = true, .d_projected = 512,
                          .d_mlp = 3072, .act_fn = "quick_gelu", .norm_eps = 1e-5F,
                          .image = {IMAGE_OF(32)}}}};

/* --- SigLIP, the tower of decoders that read pictures ----------------------------------------- */

static enum attn_status read_siglip(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(read_image(json, &config->image, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    config->n_ctx = attn_image_n_patch(&config->image);
    return ATTN_OK;
}

#define A_SIGLIP(edge)                                                                             \
    BLOCK_OF_VIT, .act_fn = "gelu_new", .norm_eps = 1e-6F,                                         \
                  .image = {IMAGE_OF(edge), .lacks_class = true}

const struct attn_family attn_family_smolvlm_vision = {
    FAMILY("smolvlm_vision", NULL, "tower.", smolvlm_rules), .read_config = read_siglip,
    .form = {
        KEYS_OF_BERT, .names = &vit_names,
        .defaults = {A_SIGLIP(32), .d_model = 1152, .d_mlp = 3072, .n_layer = 12, .n_head = 16}}};
static enum attn_status read_siglip_alone(ATTN_CONFIG_ARGS)
{
    bool has_head = true;

    ATTN_TRY(attn_json_get_bool(json, attn_json_root(json), "vision_use_head", &has_head, err));
    config->pool_head = has_head ? &attn_siglip_pool : NULL;
    ATTN_TRY(read_siglip(json, form, config, layers, err));
    config->d_projected = has_head ? config->d_model : 0;
    config->output = ATTN_OUTPUT_NONE;
    return ATTN_OK;
}

const struct attn_family attn_family_siglip_vision_model = {
    FAMILY("siglip_vision_model", "SiglipVision", "vision_model.", siglip_rules),
    .read_config = read_siglip_alone, .other_tower = "siglip_text_model",
    .form = {
        KEYS_OF_BERT, .names = &vit_names,
        .defaults = {A_SIGLIP(16), .d_model = 768, .d_mlp = 3072, .n_layer = 12, .n_head = 12}}};

#define FORM_OF_GEMMA                                                                              \
    .read_config = read_siglip, .form = {KEYS_OF_BERT, .names = &vit_names,                        \
                                         .defaults = {A_SIGLIP(16), .d_model = 768, .d_mlp = 3072, \
                                                      .n_layer = 12, .n_head = 12}}

const struct attn_family attn_family_paligemma_vision = {
    FAMILY("paligemma_vision", NULL, "tower.", paligemma_rules), FORM_OF_GEMMA};
const struct attn_family attn_family_gemma3_vision = {
    FAMILY("gemma3_vision", NULL, "tower.", gemma3_rules), FORM_OF_GEMMA};

/* LLaVA reads the output of a layer, without the norm after the last one. */
static enum attn_status read_llava_tower(ATTN_CONFIG_ARGS)
{
    ATTN_TRY(read_siglip(json, form, config, layers, err));
    config->n_ctx += attn_image_n_front(&config->image);
    config->has_final_norm = false;
    return ATTN_OK;
}

#define LLAVA_CLIP(edge, patch)                                                                    \
    BLOCK_OF_VIT, .has_embed_norm = true, .act_fn = "quick_gelu", .norm_eps = 1e-5F,               \
                  .image = {.n_channel = 3,                                                        \
                            .height = (edge),                                                      \
                            .width = (edge),                                                       \
                            .patch_height = (patch),                                               \
                            .patch_width = (patch)}

/* Without an object `vision_config`, and with one. */
const struct attn_family attn_family_llava_vision = {
    FAMILY("llava_vision", NULL, "tower.", llava_clip_rules), .read_config = read_llava_tower,
    .form = {KEYS_OF_BERT, .names = &vit_names,
             .defaults = {LLAVA_CLIP(336, 14), .d_model = 1024, .d_mlp = 4096, .n_layer = 24,
                          .n_head = 16}}};
const struct attn_family attn_family_llava_clip_vision = {
    FAMILY("llava_clip_vision", NULL, "tower.", llava_clip_rules), .read_config = read_llava_tower,
    .form = {KEYS_OF_BERT, .names = &vit_names,
             .defaults = {LLAVA_CLIP(224, 32), BASE, .d_mlp = 3072}}};
const struct attn_family attn_family_llava_siglip_vision = {
    FAMILY("llava_siglip_vision", NULL, "tower.", llava_siglip_rules),
    .read_config = read_llava_tower,
    .form = {KEYS_OF_BERT, .names = &vit_names, .defaults = {A_SIGLIP(16), BASE, .d_mlp = 3072}}};

/* OneVision without an object `vision_config`. */
const struct attn_family attn_family_onevision_vision = {
    FAMILY("onevision_vision", NULL, "tower.", llava_siglip_rules), .read_config = read_llava_tower,
    .form = {KEYS_OF_BERT, .names = &vit_names,
             .defaults = {BLOCK_OF_VIT, .act_fn = "gelu_new", .norm_eps = 1e-6F, .d_model = 1152,
                          .d_mlp = 4304, .n_layer = 26, .n_head = 16,
                          .image = {.n_channel = 3,
                                    .height = 384,
                                    .width = 384,
                                    .patch_height = 14,
                                    .patch_width = 14,
                                    .lacks_class = true}}}};

static const struct attn_config_extra not_of_internvl[] = {
    {"use_absolute_position_embeddings", ATTN_WISH_FALSE}, {.key = NULL}};

/* Reads whether q and k are normalized, always by RMSNorm with an epsilon of 1e-6, over all heads.
 * A layer that normalizes them is one of rotary positions that turns nothing. */
static enum attn_status read_qk_norm(const struct attn_json *json, struct attn_config *config,
                                     struct attn_error *err)
{
    bool has_norm = false;

    ATTN_TRY(attn_json_get_bool(json, attn_json_root(json), "use_qk_norm", &has_norm, err));
    if (!has_norm)
        return ATTN_OK;
    config->qk_norm = ATTN_QK_NORM_ALL_HEADS;
    config->positions = ATTN_POSITIONS_ROTARY;
    return ATTN_OK;
}

static enum attn_status read_internvl(ATTN_CONFIG_ARGS)
{
    const struct attn_node *root = attn_json_root(json);
    const char *norm = "layer_norm";
    bool has_mean = true;

    ATTN_TRY(read_siglip(json, form, config, layers, err));
    config->n_ctx += attn_image_n_front(&config->image);
    ATTN_TRY(attn_json_get_bool(json, root, "use_mean_pooling", &has_mean, err));
    config->has_final_norm = !has_mean;
    ATTN_TRY(read_qk_norm(json, config, err));
    ATTN_TRY(attn_json_get_string(json, root, "norm_type", &norm, err));
    if (strcmp(norm, "rms_norm") == 0)
        config->norm = ATTN_NORM_RMSNORM;
    else if (strcmp(norm, "layer_norm") != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "norm_type",
                                "is '%s', expected 'layer_norm' or 'rms_norm'",
                                attn_quote_string(norm).text);
    return ATTN_OK;
}

const struct attn_family attn_family_internvl_vision = {
    FAMILY("internvl_vision", NULL, "tower.", internvl_rules), .read_config = read_internvl,
    .form = {KEYS_OF_BERT, .names = &vit_names, .refused = not_of_internvl,
             ATTN_SWITCHES(ATTN_QKV_BIAS("attention_bias")),
             .defaults = {ATTN_BLOCK, .is_encoder = true, .norm = ATTN_NORM_LAYERNORM,
                          .positions = ATTN_POSITIONS_LEARNED, .has_out_bias = true,
                          .has_mlp_bias = true, .has_layer_scale = true, .d_model = 1024,
                          .d_mlp = 4096, .n_layer = 24, .n_head = 16, .act_fn = "gelu",
                          .norm_eps = 1e-6F,
                          .image = {.n_channel = 3,
                                    .height = 448,
                                    .width = 448,
                                    .patch_height = 14,
                                    .patch_width = 14}}}};
