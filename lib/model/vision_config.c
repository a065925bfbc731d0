/* vision_config.c - reads vision_config.h's part of a config.json. */
#include "model/config_internal.h"

#include "base/status_internal.h"

#include <string.h>

/* The keys of a type, and their values if they are missing. */
static const struct form {
    struct attn_vision_config usual;
    size_t bare_patch; /* the side of a patch if `vision_config` is missing */
    const char *image_id;
} forms[] = {
    {{ATTN_VISION_SMOLVLM, "smolvlm", 128257, 224, 32, 2, 0}, 32, "image_token_id"},
    {{ATTN_VISION_SMOLVLM, "idefics3", 128257, 224, 32, 2, 0}, 32, "image_token_id"},
    {{ATTN_VISION_GEMMA3, "gemma3", 262144, 224, 16, 1, 0}, 16, "image_token_index"},
    {{ATTN_VISION_PALIGEMMA, "paligemma", 256000, 224, 16, 1, 0}, 14, "image_token_index"},
    {{ATTN_VISION_QWEN, "qwen2_vl", 151655, 0, 14, 2, 0}, 14, "image_token_id"},
    {{ATTN_VISION_QWEN, "qwen2_5_vl", 151655, 0, 14, 2, 0}, 14, "image_token_id"},
};

/* With these transformers masks the cells of Gemma 3 in another way than the text. */
static const struct attn_config_extra both_ways[] = {
    {"is_causal", ATTN_WISH_FALSE}, {"use_bidirectional_attention", ATTN_WISH_TRUE}, {.key = NULL}};
static const struct attn_config_switch caps[] = {ATTN_FACTOR("final_logit_softcapping", logits_cap),
                                                 {.key = NULL}};

/* Sets the side of a cell of Gemma 3, whose config has the number of cells. */
static enum attn_status read_n_cell(const struct attn_json *json, struct attn_vision_config *vision,
                                    struct attn_error *err)
{
    const size_t n = vision->side / vision->patch;
    size_t n_cell = 256, side = 1;

    ATTN_TRY(attn_config_get_width(json, "mm_tokens_per_image", &n_cell, err));
    while (side * side < n_cell)
        side++;
    if (side * side != n_cell || side > n || n % side != 0)
        return attn_json_refuse(json, err, ATTN_UNSUPPORTED, "mm_tokens_per_image",
                                "is %zu, expected a square whose root divides %zu patches a side",
                                n_cell, n);
    vision->merge = n / side;
    return ATTN_OK;
}

/* Reads the sizes in `vision_config`, the OBJECT, which may be NULL. */
static enum attn_status read_sizes(const struct attn_json *json, const struct attn_node *object,
                                   struct attn_vision_config *vision, struct attn_error *err)
{
    const bool is_qwen = vision->family == ATTN_VISION_QWEN;

    if (!is_qwen)
        ATTN_TRY(
            attn_json_get_size(json, object, "image_size", 1, ATTN_MAX_WIDTH, &vision->side, err));
    ATTN_TRY(
        attn_json_get_size(json, object, "patch_size", 1, ATTN_MAX_WIDTH, &vision->patch, err));
    if (is_qwen)
        return attn_json_get_size(json, object, "spatial_merge_size", 1, ATTN_MAX_LAYER,
                                  &vision->merge, err);
    if (vision->patch > vision->side)
        return attn_json_refuse(json, err, ATTN_FORMAT, "patch_size",
                                "is %zu, larger than 'image_size', %zu", vision->patch,
                                vision->side);
    return ATTN_OK;
}

/* Reads `mrope_section` of the decoder TEXT: how many frequencies turn by time, row and column. */
static enum attn_status read_sections(const struct attn_json *json, const struct attn_node *text,
                                      const struct attn_config *config,
                                      struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *rope, *list, *at;
    size_t sections[3] = {16, 24, 24}, sum = 0, n = 0;
    bool has_windows = false;
    int64_t number;

    ATTN_TRY(attn_json_get_bool(json, text, "use_sliding_window", &has_windows, err));
    if (has_windows)
        return attn_json_refuse(json, err, ATTN_UNSUPPORTED, "use_sliding_window",
                                "is true, expected false");
    ATTN_TRY(attn_config_find_rope(json, text, &rope, err));
    list = attn_node_find(rope, "mrope_section");
    at = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    for (; at; at = attn_node_next(at), n++) {
        if (n == 3 || !attn_node_int(at, &number) || number < 0 || number > ATTN_MAX_LAYER)
            return attn_json_refuse(json, err, ATTN_FORMAT, "mrope_section",
                                    "is not understood, expected three numbers");
        sections[n] = (size_t)number;
    }
    for (size_t i = 0; i < 3; i++)
        sum += sections[i];
    if (sum != config->rope[0].d_rotary / 2 || n % 3 != 0)
        return attn_json_refuse(json, err, ATTN_UNSUPPORTED, "mrope_section",
                                "adds up to %zu, expected %zu, half of the width of a head", sum,
                                config->rope[0].d_rotary / 2);
    for (size_t layer = 0; layer < config->n_layer; layer++)
        memcpy(layers->rope[layer].sections, sections, sizeof sections);
    return ATTN_OK;
}

enum attn_status attn_vision_config_read(const struct attn_json *json, const char *type,
                                         const struct attn_node *text, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json), *object = NULL;
    struct attn_vision_config *vision = &config->vision;
    const struct form *form = NULL;
    int64_t image_id;
    const char *key;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        form = strcmp(forms[i].usual.type, type) == 0 ? &forms[i] : form;
    if (!form)
        return ATTN_OK;
    *vision = form->usual;
    image_id = vision->image_id;
    ATTN_TRY(attn_config_find_object(json, root, "vision_config", &object, err));
    if (!object)
        vision->patch = form->bare_patch;
    key = form->image_id;
    ATTN_TRY(attn_config_check_alias(json, key, "image_token_id", err));
    if (!attn_config_find_given(root, key))
        key = "image_token_id";
    ATTN_TRY(attn_json_get_int(json, root, key, 0, INT32_MAX, &image_id, err));
    vision->image_id = (int32_t)image_id;
    ATTN_TRY(read_sizes(json, object, vision, err));
    if (vision->family == ATTN_VISION_QWEN)
        return read_sections(json, text ? text : root, config, layers, err);
    if (vision->family == ATTN_VISION_GEMMA3) {
        ATTN_TRY(attn_config_refuse(json, text, both_ways, err));
        return read_n_cell(json, vision, err);
    }
    if (vision->family == ATTN_VISION_PALIGEMMA) /* also with Gemma 1, which has no cap alone */
        return attn_config_read_switches(json, text, caps, config, err);
    if (vision->family != ATTN_VISION_SMOLVLM)
        return ATTN_OK;
    ATTN_TRY(attn_config_get_width(json, "scale_factor", &vision->merge, err));
    if (vision->side / vision->patch % vision->merge == 0)
        return ATTN_OK;
    return attn_json_refuse(json, err, ATTN_UNSUPPORTED, "scale_factor",
                            "is %zu, expected a divisor of %zu patches a side", vision->merge,
                            vision->side / vision->patch);
}
