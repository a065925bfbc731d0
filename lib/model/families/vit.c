/*
 * vit.c - encoders of pictures as Hugging Face writes them (configuration_vit.py, modeling_vit.py,
 * and the files of dinov2, dinov2_with_registers, and clip's tower of pictures). Every position
 * sees every position:
 *
 *     x    = [cls; patches W + b] + positions, then the registers after cls, without positions
 *     mid  = pre + scale1 * o(attention(ln(pre)))
 *     post = mid + scale2 * out(act(in(ln(mid))))
 *     f    = ln(post) after the last block
 *     logits = classifier(f[0]), for DINOv2 classifier([f[0]; mean of f over the patches])
 *
 * Only DINOv2 has scale1 and scale2 [D]. CLIP normalizes x before the first block, and its f is
 * only read in row 0. Traps: names in files differ from those of transformers 5; SwiGLU has
 * weights_in and weights_out; patches of CLIP have no bias; a file that was saved without the
 * classifier has no logits. Positions of another grid: image.c.
 */
#include "base/escape.h"
#include "base/memory.h"
#include "model/families/families_internal.h"
#include "model/image_patches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- tensors ---------------------------------------------------------------------------------- */

#define VALUES(name, shape, part, place)                                                           \
    {                                                                                              \
        name, shape, part, ATTN_WEIGHT_TENSOR, place                                               \
    }
#define PATCHES(name)                                                                              \
    {                                                                                              \
        name ".weight", "DChw", ATTN_PART_EMBEDDING, ATTN_WEIGHT_OUT_IN, MODEL(patches.weight)     \
    }

#define EMBEDDING                                                                                  \
    VECTOR("embeddings.cls_token", "11D", ATTN_PART_EMBEDDING, MODEL(cls)),                        \
        PATCHES("embeddings.patch_embeddings.projection"),                                         \
        VECTOR("embeddings.patch_embeddings.projection.bias", "D", ATTN_PART_EMBEDDING,            \
               MODEL(patches.bias)),                                                               \
        VALUES("embeddings.position_embeddings", "1ID", ATTN_PART_POSITIONS, MODEL(positions))

#define ATTENTION                                                                                  \
    LINEAR("encoder.layer.#.attention.attention.query", "QD", ATTN_PART_PROJECTIONS, "Q",          \
           ATTN_PART_QKV_BIAS, q),                                                                 \
        LINEAR("encoder.layer.#.attention.attention.key", "KD", ATTN_PART_PROJECTIONS, "K",        \
               ATTN_PART_QKV_BIAS, k),                                                             \
        LINEAR("encoder.layer.#.attention.attention.value", "WD", ATTN_PART_PROJECTIONS, "W",      \
               ATTN_PART_QKV_BIAS, v),                                                             \
        LINEAR("encoder.layer.#.attention.output.dense", "DZ", ATTN_PART_OUT_PROJ, "D",            \
               ATTN_PART_OUT_BIAS, out)

/* The classifier; and tensors of other tasks and of training, which are ignored. */
#define CLASSIFIER                                                                                 \
    {"/classifier.weight", "VL", ATTN_PART_OUTPUT, ATTN_WEIGHT_OUT_IN, MODEL(unembed.weight)},     \
        VECTOR("/classifier.bias", "V", ATTN_PART_OUTPUT_BIAS, MODEL(unembed.bias)),               \
        IGNORED("embeddings.mask_token"), IGNORED("pooler.dense.weight"),                          \
        IGNORED("pooler.dense.bias")

static const struct attn_weight_rule vit_rules[] = {
    EMBEDDING,
    LAYER_NORM("encoder.layer.#.layernorm_before", ATTN_PART_NORM, ln1),
    ATTENTION,
    LAYER_NORM("encoder.layer.#.layernorm_after", ATTN_PART_MLP_NORM, ln2),
    LINEAR("encoder.layer.#.intermediate.dense", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS,
           mlp_in),
    LINEAR("encoder.layer.#.output.dense", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    FINAL_LAYER_NORM("layernorm"),
    CLASSIFIER,
};

/* Plain, or SwiGLU. */
#define MLP_OF_DINOV2                                                                              \
    LINEAR("encoder.layer.#.mlp.fc1", "FD", ATTN_PART_MLP_PLAIN, "F", ATTN_PART_MLP_PLAIN_BIAS,    \
           mlp_in),                                                                                \
        LINEAR("encoder.layer.#.mlp.fc2", "DF", ATTN_PART_MLP_PLAIN, "D",                          \
               ATTN_PART_MLP_PLAIN_BIAS, mlp_out),                                                 \
        {"encoder.layer.#.mlp.weights_in.weight", "JD", ATTN_PART_MLP_GATE,                        \
         ATTN_WEIGHT_GATED_ROWS, 0},                                                               \
        {"encoder.layer.#.mlp.weights_in.bias", "J", ATTN_PART_MLP_GATE_BIAS,                      \
         ATTN_WEIGHT_GATED_VECTOR, 0},                                                             \
        LINEAR("encoder.layer.#.mlp.weights_out", "DF", ATTN_PART_MLP_GATE, "D",                   \
               ATTN_PART_MLP_GATE_BIAS, mlp_out)

#define SCALE(name, scale) VECTOR(name ".lambda1", "D", ATTN_PART_LAYER_SCALE, NORM_W(scale))

#define LAYERS_OF_DINOV2                                                                           \
    LAYER_NORM("encoder.layer.#.norm1", ATTN_PART_NORM, ln1), ATTENTION,                           \
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

static const struct attn_weight_rule clip_rules[] = {
    VECTOR("embeddings.class_embedding", "D", ATTN_PART_EMBEDDING, MODEL(cls)),
    PATCHES("embeddings.patch_embedding"),
    VALUES("embeddings.position_embedding.weight", "ID", ATTN_PART_POSITIONS, MODEL(positions)),
    VECTOR("pre_layrnorm.weight", "D", ATTN_PART_EMBED_NORM, MODEL(ln_embed.w)),
    VECTOR("pre_layrnorm.bias", "D", ATTN_PART_EMBED_NORM, MODEL(ln_embed.b)),
    LAYER_NORM("encoder.layers.#.layer_norm1", ATTN_PART_NORM, ln1),
    LINEAR("encoder.layers.#.self_attn.q_proj", "QD", ATTN_PART_PROJECTIONS, "Q",
           ATTN_PART_QKV_BIAS, q),
    LINEAR("encoder.layers.#.self_attn.k_proj", "KD", ATTN_PART_PROJECTIONS, "K",
           ATTN_PART_QKV_BIAS, k),
    LINEAR("encoder.layers.#.self_attn.v_proj", "WD", ATTN_PART_PROJECTIONS, "W",
           ATTN_PART_QKV_BIAS, v),
    LINEAR("encoder.layers.#.self_attn.out_proj", "DZ", ATTN_PART_OUT_PROJ, "D", ATTN_PART_OUT_BIAS,
           out),
    LAYER_NORM("encoder.layers.#.layer_norm2", ATTN_PART_MLP_NORM, ln2),
    LINEAR("encoder.layers.#.mlp.fc1", "FD", ATTN_PART_MLP, "F", ATTN_PART_MLP_BIAS, mlp_in),
    LINEAR("encoder.layers.#.mlp.fc2", "DF", ATTN_PART_MLP, "D", ATTN_PART_MLP_BIAS, mlp_out),
    FINAL_LAYER_NORM("post_layernorm"),
    {"/visual_projection.weight", "MD", ATTN_PART_PROJECTION, ATTN_WEIGHT_OUT_IN,
     MODEL(projection.weight)},
    IGNORED("embeddings.position_ids"),
};

/* --- configs ---------------------------------------------------------------------------------- */

static enum attn_status refuse_side(const struct attn_json *json, const char *key,
                                    struct attn_error *err)
{
    return attn_error_set(err, ATTN_FORMAT,
                          "'%s' in '%s' is a list of something else, expected pixels, or [height, "
                          "width]",
                          key, attn_quote_string(attn_json_name(json)).text);
}

/* A size in pixels, of both sides or [height, width]; absent, both stay. */
static enum attn_status read_side(const struct attn_json *json, const char *key, size_t *height,
                                  size_t *width, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *node = attn_node_find(root, key);
    size_t *const sides[] = {height, width};
    size_t n = 0;

    if (!node || attn_node_is_null(node))
        return ATTN_OK;
    if (!attn_node_is_array(node)) {
        ATTN_TRY(attn_json_get_size(json, root, key, 1, ATTN_MAX_WIDTH, height, err));
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

/* The sizes of pictures and patches. */
static enum attn_status read_image(const struct attn_json *json, struct attn_image_config *image,
                                   struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    const char *name = attn_json_name(json);
    size_t n;

    ATTN_TRY(read_side(json, "image_size", &image->height, &image->width, err));
    ATTN_TRY(read_side(json, "patch_size", &image->patch_height, &image->patch_width, err));
    ATTN_TRY(
        attn_json_get_size(json, root, "num_channels", 1, ATTN_MAX_WIDTH, &image->n_channel, err));
    if (image->patch_height > image->height || image->patch_width > image->width)
        return attn_error_set(err, ATTN_FORMAT,
                              "'patch_size' in '%s' is %zu x %zu, larger than 'image_size', %zu x "
                              "%zu",
                              attn_quote_string(name).text, image->patch_height, image->patch_width,
                              image->height, image->width);
    if (!attn_checked_mul(image->patch_height, image->patch_width, &n) ||
        !attn_checked_mul(n, image->n_channel, &n) || n > ATTN_MAX_WIDTH)
        return attn_error_set(err, ATTN_FORMAT,
                              "a patch in '%s' has %zu x %zu pixels of %zu channels, expected %d "
                              "numbers at most",
                              attn_quote_string(name).text, image->patch_height, image->patch_width,
                              image->n_channel, ATTN_MAX_WIDTH);
    if (!attn_checked_mul(image->height / image->patch_height, image->width / image->patch_width,
                          &n) ||
        n > ATTN_MAX_WIDTH)
        return attn_error_set(err, ATTN_FORMAT,
                              "'image_size' in '%s' is %zu x %zu, which patches of %zu x %zu cut "
                              "into more than %d",
                              attn_quote_string(name).text, image->height, image->width,
                              image->patch_height, image->patch_width, ATTN_MAX_WIDTH);
    return ATTN_OK;
}

/* Whether NODE is the label of a number below N: that is *I. */
static bool is_label(const struct attn_node *node, size_t n, size_t *i)
{
    const char *key = attn_node_key(node);
    const size_t n_digit = strspn(key, "0123456789");

    if (n_digit == 0 || n_digit > 9 || key[n_digit] != '\0' || !attn_node_string(node))
        return false;
    *i = strtoul(key, NULL, 10);
    return *i < n;
}

/* The labels of a classifier: as many as id2label has, or num_labels. */
static enum attn_status read_labels(const struct attn_json *json, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *map = attn_node_find(root, "id2label");
    size_t n = 0, n_byte = 0, used = 0;

    config->n_vocab = 2; /* as transformers has it */
    ATTN_TRY(
        attn_json_get_size(json, root, "num_labels", 1, ATTN_MAX_VOCAB, &config->n_vocab, err));
    if (!map || !attn_node_is_object(map) || !attn_node_first(map))
        return ATTN_OK;
    for (const struct attn_node *node = attn_node_first(map); node; node = attn_node_next(node)) {
        const char *text = attn_node_string(node);

        n_byte += text ? strlen(text) + 1 : 1;
        n++;
    }
    config->n_vocab = n;
    layers->labels = attn_alloc(n, sizeof *layers->labels, err);
    layers->label_text = attn_alloc(n_byte, 1, err);
    if (!layers->labels || !layers->label_text)
        return ATTN_NO_MEMORY;
    for (const struct attn_node *node = attn_node_first(map); node; node = attn_node_next(node)) {
        const char *key = attn_node_key(node), *text = attn_node_string(node);
        size_t i;

        if (!is_label(node, n, &i) || layers->labels[i])
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' of 'id2label' in '%s' is not the text of a number below "
                                  "%zu",
                                  attn_quote_string(key).text,
                                  attn_quote_string(attn_json_name(json)).text, n);
        layers->labels[i] = memcpy(layers->label_text + used, text, strlen(text) + 1);
        used += strlen(text) + 1;
    }
    config->labels = layers->labels;
    return ATTN_OK;
}

static enum attn_status read_vit(const struct attn_json *json, const struct attn_config_form *form,
                                 struct attn_config *config, struct attn_config_layers *layers,
                                 struct attn_error *err)
{
    ATTN_TRY(read_image(json, &config->image, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    config->output = ATTN_OUTPUT_OWN; /* regardless of tie_word_embeddings */
    if (config->image.resample == ATTN_RESAMPLE_NONE)
        config->n_ctx = 1 + attn_image_n_patch(&config->image);
    ATTN_TRY(
        attn_json_get_bool(json, attn_json_root(json), "qkv_bias", &config->has_qkv_bias, err));
    return read_labels(json, config, layers, err);
}

/* Width, depth and heads, which all have; the MLP's width, which some have. */
#define SIZES                                                                                      \
    .d_model = {.name = "hidden_size"}, .n_layer = {.name = "num_hidden_layers"},                  \
    .n_head = {.name = "num_attention_heads"}

static const struct attn_config_names vit_names = {SIZES, .d_mlp = {.name = "intermediate_size"}};

#define BLOCK_OF_VIT                                                                               \
    .is_encoder = true, .norm = ATTN_NORM_LAYERNORM, .has_final_norm = true,                       \
    .positions = ATTN_POSITIONS_LEARNED, .has_projections = true, .has_qkv_bias = true,            \
    .has_out_proj = true, .has_out_bias = true, .has_mlp_bias = true, .has_residual = true
#define BASE .d_model = 768, .n_layer = 12, .n_head = 12
#define IMAGE_OF(edge)                                                                             \
    .n_channel = 3, .height = 224, .width = 224, .patch_height = (edge), .patch_width = (edge)
#define KEYS .has_no_heads_keys = true, .activation_key = "hidden_act", .eps_key = "layer_norm_eps"
#define A_CLASSIFIER .output = ATTN_OUTPUT_OWN, .has_output_bias = true

const struct attn_family attn_family_vit = {
    FAMILY("vit", "ViT", "vit.", vit_rules), .read_config = read_vit,
    .form = {KEYS, .names = &vit_names,
             .defaults = {BLOCK_OF_VIT, BASE, A_CLASSIFIER, .d_mlp = 3072, .act_fn = "gelu",
                          .norm_eps = 1e-12F,
                          .image = {IMAGE_OF(16), .pooling = ATTN_POOLING_FIRST}}}};

/* --- DINOv2 ----------------------------------------------------------------------------------- */

static const struct attn_config_names dinov2_names = {SIZES};

/* Traps: the MLP's width is a ratio; for SwiGLU two thirds of it, rounded to multiples of eight,
 * and its activation is silu, whatever hidden_act is. */
static enum attn_status read_dinov2(const struct attn_json *json,
                                    const struct attn_config_form *form, struct attn_config *config,
                                    struct attn_config_layers *layers, struct attn_error *err)
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
        return attn_error_set(err, ATTN_FORMAT,
                              "'mlp_ratio' in '%s' is %.15g, which makes an MLP of width %.15g, "
                              "expected 1 to %d",
                              attn_quote_string(attn_json_name(json)).text, ratio, width,
                              ATTN_MAX_WIDTH);
    config->d_mlp = (size_t)width;
    return ATTN_OK;
}

#define DEFAULTS_OF_DINOV2                                                                         \
    BLOCK_OF_VIT, BASE, A_CLASSIFIER, .has_layer_scale = true, .act_fn = "gelu",                   \
                                      .norm_eps = 1e-6F, .n_ctx = SIZE_MAX

const struct attn_family attn_family_dinov2 = {
    FAMILY("dinov2", "Dinov2", "dinov2.", dinov2_rules), .read_config = read_dinov2,
    .form = {
        KEYS, .names = &dinov2_names,
        .defaults = {DEFAULTS_OF_DINOV2, .image = {IMAGE_OF(14), .resample = ATTN_RESAMPLE_CUBIC,
                                                   .pooling = ATTN_POOLING_FIRST_AND_MEAN}}}};

static enum attn_status read_registers(const struct attn_json *json,
                                       const struct attn_config_form *form,
                                       struct attn_config *config,
                                       struct attn_config_layers *layers, struct attn_error *err)
{
    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "num_register_tokens", 0,
                                ATTN_MAX_WIDTH, &config->image.n_register, err));
    return read_dinov2(json, form, config, layers, err);
}

const struct attn_family attn_family_dinov2_with_registers = {
    FAMILY("dinov2_with_registers", "Dinov2WithRegisters", "dinov2_with_registers.",
           registers_rules),
    .read_config = read_registers,
    .form = {KEYS, .names = &dinov2_names,
             .defaults = {DEFAULTS_OF_DINOV2, .image = {IMAGE_OF(16), .n_register = 4,
                                                        .resample = ATTN_RESAMPLE_ANTIALIAS,
                                                        .pooling = ATTN_POOLING_FIRST_AND_MEAN}}}};

/* --- CLIP's tower of pictures ----------------------------------------------------------------- */

static enum attn_status read_clip(const struct attn_json *json, const struct attn_config_form *form,
                                  struct attn_config *config, struct attn_config_layers *layers,
                                  struct attn_error *err)
{
    ATTN_TRY(read_image(json, &config->image, err));
    ATTN_TRY(attn_config_read_form(json, form, config, layers, err));
    ATTN_TRY(attn_json_get_size(json, attn_json_root(json), "projection_dim", 1, ATTN_MAX_WIDTH,
                                &config->d_projected, err));
    config->output = ATTN_OUTPUT_NONE;
    config->n_ctx = 1 + attn_image_n_patch(&config->image);
    return ATTN_OK;
}

const struct attn_family attn_family_clip_vision_model = {
    FAMILY("clip_vision_model", "CLIPVision", "vision_model.", clip_rules),
    .read_config = read_clip, .other_tower = "clip_text_model",
    .form = {KEYS, .names = &vit_names,
             .defaults = {BLOCK_OF_VIT, BASE, .has_embed_norm = true, .d_projected = 512,
                          .d_mlp = 3072, .act_fn = "quick_gelu", .norm_eps = 1e-5F,
                          .image = {IMAGE_OF(32)}}}};
