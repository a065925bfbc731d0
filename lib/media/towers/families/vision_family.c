/* vision_family.c - see vision_family.h: the rows of all families, and the readers of their keys in
 * config.json. Texts are those of the processors of transformers 5.23. */
#include "towers/families/vision_family.h"

#include "base/text/number.h"
#include "trace/site_set.h"

#include <limits.h>
#include <string.h>

extern const struct attn_family attn_family_smolvlm_vision, attn_family_gemma3_vision,
    attn_family_paligemma_vision, attn_family_qwen2_vl_vision, attn_family_qwen2_5_vl_vision,
    attn_family_qwen3_vl_vision, attn_family_llava_vision, attn_family_llava_clip_vision,
    attn_family_llava_siglip_vision, attn_family_internvl_vision, attn_family_pixtral_vision,
    attn_family_mistral3_vision, attn_family_onevision_vision;

/* Reads the side of a square: a number, or two that are equal. */
static enum attn_status read_side(const struct attn_vision_reading *reading, const char *key,
                                  size_t *side)
{
    const struct attn_node *list = attn_node_find(reading->vision, key), *at;
    int64_t number = 0, first = 0;
    size_t n = 0;

    if (!list || !attn_node_is_array(list))
        return attn_json_get_size(reading->json, reading->vision, key, 1, ATTN_MAX_WIDTH, side,
                                  reading->err);
    for (at = attn_node_first(list); at; at = attn_node_next(at), n++) {
        if (!attn_node_int(at, &number) || number < 1 || number > ATTN_MAX_WIDTH ||
            (n > 0 && number != first))
            break;
        first = number;
    }
    *side = (size_t)first;
    return n == 2 && !at ? ATTN_OK
                         : ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, key,
                                            "is not the side of a square");
}

/* Reads the sizes of pictures and patches. */
static enum attn_status read_sizes(const struct attn_vision_reading *reading)
{
    struct attn_vision_config *vision = &reading->config->vision;

    ATTN_TRY(read_side(reading, "image_size", &vision->side));
    ATTN_TRY(read_side(reading, "patch_size", &vision->patch));
    if (vision->patch > vision->side)
        return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_FORMAT, "patch_size",
                                "is %zu, larger than 'image_size', %zu", vision->patch,
                                vision->side);
    return ATTN_OK;
}

static enum attn_status read_smolvlm(const struct attn_vision_reading *reading)
{
    struct attn_vision_config *vision = &reading->config->vision;

    ATTN_TRY(read_sizes(reading));
    ATTN_TRY(attn_config_get_width(reading->json, "scale_factor", &vision->merge, reading->err));
    if (vision->side / vision->patch % vision->merge == 0)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, "scale_factor",
                            "is %zu, expected a divisor of %zu patches a side", vision->merge,
                            vision->side / vision->patch);
}

/* The config has the number of cells, not their size. */
static enum attn_status read_gemma3(const struct attn_vision_reading *reading)
{
    /* with these transformers masks cells in another way than the text */
    static const struct attn_config_extra both_ways[] = {
        {"is_causal", ATTN_WISH_FALSE},
        {"use_bidirectional_attention", ATTN_WISH_TRUE},
        {.key = NULL}};
    const struct attn_json *json = reading->json;
    struct attn_vision_config *vision = &reading->config->vision;
    size_t n_cell = 256, side = 1, n;

    ATTN_TRY(read_sizes(reading));
    n = vision->side / vision->patch;
    ATTN_TRY(attn_config_refuse(json, reading->text, both_ways, reading->err));
    ATTN_TRY(attn_config_get_width(json, "mm_tokens_per_image", &n_cell, reading->err));
    while (side * side < n_cell)
        side++;
    if (side * side != n_cell || side > n || n % side != 0)
        return ATTN_JSON_REFUSE(json, reading->err, ATTN_UNSUPPORTED, "mm_tokens_per_image",
                                "is %zu, expected a square whose root divides %zu patches a side",
                                n_cell, n);
    vision->merge = n / side;
    vision->drops_logits_cap = true;
    return ATTN_OK;
}

static enum attn_status read_paligemma(const struct attn_vision_reading *reading)
{
    /* also with Gemma 1, which has no cap alone */
    static const struct attn_config_switch caps[] = {
        ATTN_FACTOR("final_logit_softcapping", logits_cap), {.key = NULL}};

    ATTN_TRY(read_sizes(reading));
    return attn_config_read_switches(reading->json, reading->text, caps, reading->config,
                                     reading->err);
}

/* Reads `mrope_section` of the decoder: how many frequencies turn by time, row and column. In
 * Qwen3-VL the sections alternate, whatever `mrope_interleaved` is. */
static enum attn_status read_sections(const struct attn_vision_reading *reading,
                                      bool is_interleaved)
{
    const struct attn_json *json = reading->json;
    const struct attn_node *text = reading->text ? reading->text : attn_json_root(json);
    const struct attn_config *config = reading->config;
    struct attn_error *err = reading->err;
    const struct attn_node *rope, *list, *at;
    size_t sections[3] = {is_interleaved ? 24 : 16, is_interleaved ? 20 : 24,
                          is_interleaved ? 20 : 24},
           sum = 0, n = 0;
    bool has_windows = false;
    int64_t number;

    ATTN_TRY(attn_json_get_bool(json, text, "use_sliding_window", &has_windows, err));
    if (has_windows)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "use_sliding_window",
                                "is true, expected false");
    ATTN_TRY(attn_config_find_rope(json, text, &rope, err));
    list = attn_node_find(rope, "mrope_section");
    at = list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
    for (; at; at = attn_node_next(at), n++) {
        if (n == 3 || !attn_node_int(at, &number) || number < 0 || number > ATTN_MAX_LAYER)
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "mrope_section",
                                    "is not understood, expected three numbers");
        sections[n] = (size_t)number;
    }
    for (size_t i = 0; i < 3; i++)
        sum += sections[i];
    if (sum != config->rope[0].d_rotary / 2 || n % 3 != 0)
        return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "mrope_section",
                                "adds up to %zu, expected %zu, half of the width of a head", sum,
                                config->rope[0].d_rotary / 2);
    for (size_t layer = 0; layer < config->n_layer; layer++) {
        memcpy(reading->layers->rope[layer].sections, sections, sizeof sections);
        reading->layers->rope[layer].is_interleaved = is_interleaved;
    }
    return ATTN_OK;
}

/* Inserts layer LAYER of the tower, number NUMBER of its list. Trap: transformers looks for each
 * layer in the list, so numbers of no layer and repeated numbers have no effect. */
static enum attn_status add_deep(const struct attn_vision_reading *reading, int64_t layer,
                                 size_t number, size_t n_layer)
{
    struct attn_vision_config *vision = &reading->config->vision;
    size_t at = vision->n_deep;

    if (layer < 0 || (size_t)layer >= n_layer)
        return ATTN_OK;
    for (size_t i = 0; i < at; i++)
        if (vision->deep[i] == (size_t)layer)
            return ATTN_OK;
    if (at == ATTN_MOST_DEEP || at == reading->config->n_layer)
        return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED,
                                "deepstack_visual_indexes",
                                "has more than %zu of the %zu layers of the tower", at, n_layer);
    for (; at > 0 && vision->deep[at - 1] > (size_t)layer; at--) {
        vision->deep[at] = vision->deep[at - 1];
        vision->deep_numbers[at] = vision->deep_numbers[at - 1];
    }
    vision->deep[at] = (size_t)layer;
    vision->deep_numbers[at] = number;
    vision->n_deep++;
    return ATTN_OK;
}

/* Reads which layers of the tower have a connector of DeepStack. */
static enum attn_status read_deep(const struct attn_vision_reading *reading)
{
    static const char key[] = "deepstack_visual_indexes";
    static const int64_t usual[] = {8, 16, 24};
    const struct attn_node *list = attn_node_find(reading->vision, key);
    size_t n_layer = 27, n = 0;
    int64_t layer;

    ATTN_TRY(
        attn_json_get_size(reading->json, reading->vision,
                           attn_node_find(reading->vision, "depth") ? "depth" : "num_hidden_layers",
                           1, ATTN_MAX_LAYER, &n_layer, reading->err));
    for (; !list && n < sizeof usual / sizeof *usual; n++)
        ATTN_TRY(add_deep(reading, usual[n], n, n_layer));
    if (list && !attn_node_is_array(list))
        return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_FORMAT, key, "is not a list");
    for (list = list ? attn_node_first(list) : NULL; list; list = attn_node_next(list))
        if (!attn_node_int(list, &layer))
            return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_FORMAT, key,
                                    "is not a list of layers");
        else
            ATTN_TRY(add_deep(reading, layer, n++, n_layer));
    for (size_t i = reading->config->vision.n_deep; i < reading->config->n_layer; i++)
        attn_config_lack(reading->layers, i, ATTN_SITES(ATTN_SITE_DEEPSTACK));
    return ATTN_OK;
}

static enum attn_status read_qwen(const struct attn_vision_reading *reading)
{
    struct attn_vision_config *vision = &reading->config->vision;
    const bool is_deep = vision->family->part.tower == &attn_family_qwen3_vl_vision;

    ATTN_TRY(attn_json_get_size(reading->json, reading->vision, "patch_size", 1, ATTN_MAX_WIDTH,
                                &vision->patch, reading->err));
    ATTN_TRY(attn_json_get_size(reading->json, reading->vision, "spatial_merge_size", 1,
                                ATTN_MAX_LAYER, &vision->merge, reading->err));
    if (is_deep)
        ATTN_TRY(read_deep(reading));
    return read_sections(reading, is_deep);
}

/* Finds the tower by the `model_type` in `vision_config`. Without one, or without that object, it
 * is CLIP's. Sets nothing if the tower is of another type, or several layers of it are read: then
 * only texts are. */
static enum attn_status read_llava_tower(const struct attn_vision_reading *reading, size_t *n_layer,
                                         bool *has_class)
{
    static const struct {
        const char *type;
        const struct attn_family *tower;
    } towers[] = {{"clip_vision_model", &attn_family_llava_clip_vision},
                  {"siglip_vision_model", &attn_family_llava_siglip_vision}};
    const struct attn_node *layers =
        attn_node_find(attn_json_root(reading->json), "vision_feature_layer");
    struct attn_vision_config *vision = &reading->config->vision;
    const struct attn_config *usual;
    const char *type = towers[vision->family->part.tower == &attn_family_onevision_vision].type;

    ATTN_TRY(
        attn_json_get_string(reading->json, reading->vision, "model_type", &type, reading->err));
    vision->tower = reading->vision ? NULL : vision->family->part.tower;
    for (size_t i = 0; reading->vision && i < sizeof towers / sizeof *towers; i++)
        if (strcmp(type, towers[i].type) == 0)
            vision->tower = towers[i].tower;
    if (layers && attn_node_is_array(layers))
        vision->tower = NULL;
    if (!vision->tower)
        return ATTN_OK;
    usual = &vision->tower->form.defaults;
    vision->side = usual->image.height;
    vision->patch = usual->image.patch_height;
    *n_layer = usual->n_layer;
    *has_class = !usual->image.lacks_class;
    return attn_json_get_size(reading->json, reading->vision, "num_hidden_layers", 1,
                              ATTN_MAX_LAYER, n_layer, reading->err);
}

/* Reads which layer of the N_LAYER of the tower a connector reads, LAYER by default: hidden state 0
 * is the input of the first. */
static enum attn_status read_layer(const struct attn_vision_reading *reading, size_t n_layer,
                                   int64_t layer)
{
    struct attn_vision_config *vision = &reading->config->vision;

    ATTN_TRY(attn_json_get_int(reading->json, attn_json_root(reading->json), "vision_feature_layer",
                               -1 - (int64_t)n_layer, (int64_t)n_layer, &layer, reading->err));
    vision->n_above = layer < 0 ? (size_t)(-1 - layer) : n_layer - (size_t)layer;
    return ATTN_OK;
}

/* Reads which rows of a tower a connector reads, USUAL by default, and its activation.
 * HAS_CLASS: the tower has a row of [CLS], which is left out. */
static enum attn_status read_rows(const struct attn_vision_reading *reading, const char *usual,
                                  bool has_class)
{
    const struct attn_json *json = reading->json;
    const struct attn_node *root = attn_json_root(json);
    const char *expected = has_class ? "default" : "full", *rows = usual, *act_fn = "gelu";

    ATTN_TRY(
        attn_json_get_string(json, root, "vision_feature_select_strategy", &rows, reading->err));
    if (strcmp(rows, expected) != 0)
        return ATTN_JSON_REFUSE(
            json, reading->err, ATTN_UNSUPPORTED, "vision_feature_select_strategy",
            "is '%s', expected '%s' for a tower %s [CLS]", attn_quote_string(rows).text, expected,
            has_class ? "with" : "without");
    ATTN_TRY(attn_json_get_string(json, root, "projector_hidden_act", &act_fn, reading->err));
    return strcmp(act_fn, "gelu") == 0
               ? ATTN_OK
               : ATTN_JSON_REFUSE(json, reading->err, ATTN_UNSUPPORTED, "projector_hidden_act",
                                  "is '%s', expected 'gelu'", attn_quote_string(act_fn).text);
}

/* Reads whether the maps of a connector have biases, as they do by default if HAS_BIAS. */
static enum attn_status read_bias(const struct attn_vision_reading *reading, bool has_bias)
{
    ATTN_TRY(attn_json_get_bool(reading->json, attn_json_root(reading->json),
                                "multimodal_projector_bias", &has_bias, reading->err));
    reading->config->vision.lacks_bias = !has_bias;
    return ATTN_OK;
}

/* Reads the sizes of pictures that are cut into tiles, or sets the usual ones. If tiles have
 * another size there are none, which is refused when there is a picture (pixel_steps.c). */
static void read_grids(const struct attn_vision_reading *reading)
{
    static const char key[] = "image_grid_pinpoints";
    static const unsigned char of_next[][2] = {{1, 2}, {2, 1}, {2, 2}, {3, 1}, {1, 3}};
    enum { N_NEXT = sizeof of_next / sizeof *of_next, MOST = 6 };
    struct attn_vision_config *vision = &reading->config->vision;
    const bool is_next = vision->most_shrunk == 0;
    const struct attn_node *list = attn_config_find_given(attn_json_root(reading->json), key);
    const bool is_usual = !list && vision->side == (is_next ? 336 : 384);

    for (size_t i = 0; is_usual && i < (is_next ? N_NEXT : MOST * MOST); i++, vision->n_grid++) {
        vision->grids[i][0] = is_next ? of_next[i][0] : (unsigned char)(1 + i / MOST);
        vision->grids[i][1] = is_next ? of_next[i][1] : (unsigned char)(1 + i % MOST);
    }
    if (list && attn_vision_read_grids(reading->json, list, vision->side, vision, NULL) != ATTN_OK)
        vision->n_grid = 0;
}

enum attn_status attn_vision_read_grids(const struct attn_json *json, const struct attn_node *list,
                                        size_t side, struct attn_vision_config *vision,
                                        struct attn_error *err)
{
    int64_t size;

    vision->n_grid = 0;
    for (list = attn_node_is_array(list) ? attn_node_first(list) : NULL; list;
         list = attn_node_next(list), vision->n_grid++) {
        const struct attn_node *at = attn_node_is_array(list) ? attn_node_first(list) : NULL;
        size_t n = 0;

        for (; at && n < 2 && vision->n_grid < ATTN_MOST_GRID; at = attn_node_next(at), n++) {
            if (!attn_node_int(at, &size) || size < 1 || size / (int64_t)side > UCHAR_MAX ||
                size % (int64_t)side != 0)
                break;
            vision->grids[vision->n_grid][n] = (unsigned char)(size / (int64_t)side);
        }
        if (n < 2 || at)
            break;
    }
    if (!list && vision->n_grid > 0)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_UNSUPPORTED, "image_grid_pinpoints",
                            "is not a list of at most %d sizes, heights and widths in multiples of "
                            "%zu, the size of a tile",
                            ATTN_MOST_GRID, side);
}

/* Reads what OneVision and LLaVA-NeXT do with tiles. */
static enum attn_status read_tiles(const struct attn_vision_reading *reading)
{
    static const char key[] = "vision_aspect_ratio", before[] = "anyres_max_";
    struct attn_vision_config *vision = &reading->config->vision;
    const char *ratio = "anyres_max_9";
    int64_t n = 0;

    if (vision->most_shrunk > 0) {
        ATTN_TRY(attn_json_get_string(reading->json, attn_json_root(reading->json), key, &ratio,
                                      reading->err));
        if (strncmp(ratio, before, strlen(before)) != 0 ||
            !attn_parse_int(ratio + strlen(before), strlen(ratio) - strlen(before), 1,
                            ATTN_MAX_LAYER, &n))
            return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, key,
                                    "is '%s', expected 'anyres_max_' and a number",
                                    attn_quote_string(ratio).text);
        vision->most_shrunk = (size_t)n;
    }
    read_grids(reading);
    return ATTN_OK;
}

static enum attn_status read_llava(const struct attn_vision_reading *reading)
{
    struct attn_vision_config *vision = &reading->config->vision;
    const bool is_onevision = vision->family->part.tower == &attn_family_onevision_vision;
    bool has_class = false;
    size_t n_layer = 0;

    ATTN_TRY(read_llava_tower(reading, &n_layer, &has_class));
    if (!vision->tower) {
        *vision = (struct attn_vision_config){0};
        return ATTN_OK;
    }
    ATTN_TRY(read_sizes(reading));
    ATTN_TRY(read_layer(reading, n_layer, is_onevision ? -1 : -2));
    ATTN_TRY(read_rows(reading, is_onevision ? "full" : "default", has_class));
    if (vision->joins_tiles)
        ATTN_TRY(read_tiles(reading));
    return read_bias(reading, true);
}

/* Reads a Pixtral, which is a LLaVA, or a Mistral 3, whose connector merges patches. */
static enum attn_status read_pixtral(const struct attn_vision_reading *reading)
{
    struct attn_vision_config *vision = &reading->config->vision;
    const bool is_merged = vision->cells == ATTN_CELLS_MERGED;
    size_t n_layer = vision->tower->form.defaults.n_layer;
    const char *type = vision->family->tower_type;

    ATTN_TRY(
        attn_json_get_string(reading->json, reading->vision, "model_type", &type, reading->err));
    if (strcmp(type, vision->family->tower_type) != 0)
        return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, "model_type",
                                "of 'vision_config' is '%s', expected '%s'",
                                attn_quote_string(type).text, vision->family->tower_type);
    ATTN_TRY(attn_json_get_size(reading->json, reading->vision, "patch_size", 1, ATTN_MAX_LAYER,
                                &vision->patch, reading->err));
    if (is_merged)
        ATTN_TRY(attn_json_get_size(reading->json, attn_json_root(reading->json),
                                    "spatial_merge_size", 1, ATTN_MAX_LAYER, &vision->merge,
                                    reading->err));
    vision->cell_eps = reading->config->norm_eps;
    ATTN_TRY(attn_json_get_size(reading->json, reading->vision, "num_hidden_layers", 1,
                                ATTN_MAX_LAYER, &n_layer, reading->err));
    ATTN_TRY(read_layer(reading, n_layer, is_merged ? -1 : -2));
    ATTN_TRY(read_rows(reading, is_merged ? "full" : "default", false));
    return read_bias(reading, !is_merged);
}

static enum attn_status read_internvl(const struct attn_vision_reading *reading)
{
    static const char key[] = "downsample_ratio";
    struct attn_vision_config *vision = &reading->config->vision;
    size_t n_layer = vision->tower->form.defaults.n_layer;
    double ratio = 0.5;
    size_t n;

    ATTN_TRY(read_sizes(reading));
    n = vision->patch > 0 ? vision->side / vision->patch : 0;
    ATTN_TRY(attn_json_get_double(reading->json, attn_json_root(reading->json), key,
                                  1.0 / ATTN_MAX_LAYER, 1, &ratio, reading->err));
    vision->merge = (size_t)(1 / ratio);
    if (vision->merge == 0 || n % vision->merge != 0)
        return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, key,
                                "makes cells of %zu x %zu patches, expected a divisor of %zu "
                                "patches a side",
                                vision->merge, vision->merge, n);
    ATTN_TRY(attn_json_get_size(reading->json, reading->vision, "num_hidden_layers", 1,
                                ATTN_MAX_LAYER, &n_layer, reading->err));
    ATTN_TRY(read_layer(reading, n_layer, -1));
    return read_rows(reading, "default", true);
}

/* --- the rows --------------------------------------------------------------------------------- */

/* clang-format off */
#define PROCESSORS(...) .processors = (const char *const[]){__VA_ARGS__, NULL}
/* clang-format on */
#define PART(type, decoder, lacks_section, sees_prompt, ties, tower)                               \
    .part = {type, decoder, "pictures are", lacks_section, sees_prompt, ties, &(tower)}

#define FAKE "<fake_token_around_image>"
#define SMOLVLM(type, begin)                                                                       \
    PART(type, "llama", false, false, ATTN_TIES_NOT, attn_family_smolvlm_vision),                  \
        .usual = {.image_id = 128257, .side = 224, .patch = 32, .merge = 2}, .bare_patch = 32,     \
        .image_key = "image_token_id", .read = read_smolvlm,                                       \
        PROCESSORS("Idefics3ImageProcessor", "SmolVLMImageProcessor"),                             \
        .text = {.placeholder = "<image>",                                                         \
                 .bare = "<image>",                                                                \
                 .before = FAKE "<global-img>",                                                    \
                 .cell = "<image>",                                                                \
                 .after = FAKE,                                                                    \
                 .tile = FAKE,                                                                     \
                 .chat = {begin "User:<image>", "<end_of_utterance>\nAssistant:"}}

#define OF_GEMMA(token, form)                                                                      \
    .usual = {.image_id = (token), .side = 224, .patch = 16, .merge = 1, .cells = (form)},         \
    .image_key = "image_token_index"

#define QWEN_SYSTEM "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
#define QWEN_MARK "<|vision_start|><|image_pad|><|vision_end|>"
#define QWEN(type, tower, size, system)                                                            \
    PART(type, type "_text", true, false, ATTN_TIES_AS_TEXT, tower),                               \
        .usual = {.image_id = 151655, .patch = (size), .merge = 2}, .bare_patch = (size),          \
        .image_key = "image_token_id", .read = read_qwen,                                          \
        PROCESSORS("Qwen2VLImageProcessor", "Qwen2_5_VLImageProcessor"),                           \
        .text = {.placeholder = "<|image_pad|>",                                                   \
                 .bare = QWEN_MARK,                                                                \
                 .cell = "<|image_pad|>",                                                          \
                 .between = "<|vision_end|><|vision_start|>",                                      \
                 .chat = {system "<|im_start|>user\n" QWEN_MARK,                                   \
                          "<|im_end|>\n<|im_start|>assistant\n"}},                                 \
        .has_grid_positions = true

#define OF_LLAMA "llama", "USER: ", " ASSISTANT:"
#define OF_QWEN2 "qwen2", "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
#define OF_MISTRAL "mistral", "[INST] ", " [/INST]"

/* A LLaVA whose decoder is of type DECODER, and the form of its conversations. */
#define LLAVA(...) LLAVA_WITH(__VA_ARGS__)
#define LLAVA_WITH(decoder, before, after)                                                         \
    PART("llava", decoder, false, false, ATTN_TIES_AS_TEXT, attn_family_llava_vision),             \
        .name = "LLaVA", .usual = {.image_id = 32000, .merge = 1},                                 \
        PROCESSORS("CLIPImageProcessor", "LlavaImageProcessor", "SiglipImageProcessor"),           \
        OF_LLAVA(before, after)
#define LLAVA_NEXT(...) LLAVA_NEXT_WITH(__VA_ARGS__)
#define LLAVA_NEXT_WITH(decoder, before, after)                                                    \
    PART("llava_next", decoder, false, false, ATTN_TIES_NOT, attn_family_llava_vision),            \
        .name = "LLaVA-NeXT", .usual = {.image_id = 32000, .merge = 1, .joins_tiles = true},       \
        PROCESSORS("LlavaNextImageProcessor"), OF_LLAVA(before, after)
#define OF_LLAVA(before, after)                                                                    \
    .image_key = "image_token_index", .read = read_llava,                                          \
    .text = {.placeholder = "<image>",                                                             \
             .bare = "<image>",                                                                    \
             .between = "\n",                                                                      \
             .cell = "<image>",                                                                    \
             .chat = {before "<image>\n", after}}

/* An InternVL whose decoder is of type DECODER. */
#define INTERNVL(decoder)                                                                          \
    PART("internvl", decoder, false, false, ATTN_TIES, attn_family_internvl_vision),               \
        .name = "InternVL",                                                                        \
        .usual = {.image_id = 151667,                                                              \
                  .side = 448,                                                                     \
                  .patch = 14,                                                                     \
                  .merge = 2,                                                                      \
                  .cells = ATTN_CELLS_NORMED,                                                      \
                  .cell_eps = 1e-5F},                                                              \
        .bare_patch = 14, .image_key = "image_token_id", .read = read_internvl,                    \
        PROCESSORS("GotOcr2ImageProcessor"),                                                       \
        .text = {                                                                                  \
            .placeholder = "<IMG_CONTEXT>",                                                        \
            .bare = "<IMG_CONTEXT>",                                                               \
            .between = "\n",                                                                       \
            .before = "<img>",                                                                     \
            .cell = "<IMG_CONTEXT>",                                                               \
            .after = "</img>",                                                                     \
            .chat = {"<|im_start|>user\n<IMG_CONTEXT>\n", "<|im_end|>\n<|im_start|>assistant\n"}}

/* A model with Pixtral's tower: FORM of its cells of MERGE x MERGE patches of SIZE pixels. */
#define PIXTRAL(type, ties, tower, form, side, size)                                               \
    PART(type, "mistral", false, false, ties, tower),                                              \
        .tower_type = "pixtral",                                                                   \
        .usual = {.image_id = 10, .patch = (size), .merge = (side), .cells = (form)},              \
        .bare_patch = 14, .image_key = "image_token_index", .read = read_pixtral,                  \
        PROCESSORS("PixtralImageProcessor"),                                                       \
        .text = {.placeholder = "[IMG]",                                                           \
                 .bare = "[IMG]",                                                                  \
                 .cell = "[IMG]",                                                                  \
                 .row_end = "[IMG_BREAK]",                                                         \
                 .after = "[IMG_END]",                                                             \
                 .chat = {"<s>[INST][IMG]", "[/INST]"}}

static const struct attn_vision_family families[] = {
    {PART("gemma3", "gemma3_text", false, false, ATTN_TIES, attn_family_gemma3_vision),
     .name = "Gemma 3", OF_GEMMA(262144, ATTN_CELLS_AVERAGED), .bare_patch = 16,
     .read = read_gemma3, PROCESSORS("Gemma3ImageProcessor"),
     .text = {.placeholder = "<start_of_image>",
              .bare = "<start_of_image>",
              .before = "\n\n<start_of_image>",
              .cell = "<image_soft_token>",
              .after = "<end_of_image>\n\n",
              .chat = {"<bos><start_of_turn>user\n<start_of_image>",
                       "<end_of_turn>\n<start_of_turn>model\n"}},
     .opens_cells = true},
    {PART("paligemma", "gemma", false, true, ATTN_TIES, attn_family_paligemma_vision),
     .name = "PaliGemma", OF_GEMMA(256000, ATTN_CELLS_JOINED), .bare_patch = 14,
     .read = read_paligemma, PROCESSORS("SiglipImageProcessor"),
     .text = {.placeholder = "<image>",
              .bare = "<image>",
              .cell = "<image>",
              .last = "<bos>",
              .chat = {"<image>", ""},
              .end = "\n",
              .is_plain = true},
     .needs_picture = true, .first_position = 1},
    {SMOLVLM("smolvlm", "<|im_start|>"), .name = "SmolVLM"},
    {SMOLVLM("idefics3", "<|begin_of_text|>"), .name = "Idefics3"},
    {QWEN("qwen2_vl", attn_family_qwen2_vl_vision, 14, QWEN_SYSTEM), .name = "Qwen2-VL"},
    {QWEN("qwen2_5_vl", attn_family_qwen2_5_vl_vision, 14, QWEN_SYSTEM), .name = "Qwen2.5-VL"},
    {QWEN("qwen3_vl", attn_family_qwen3_vl_vision, 16, ""), .name = "Qwen3-VL"},
    {LLAVA(OF_LLAMA)},
    {LLAVA(OF_QWEN2)},
    {LLAVA(OF_MISTRAL)},
    {LLAVA_NEXT(OF_LLAMA)},
    {LLAVA_NEXT(OF_QWEN2)},
    {LLAVA_NEXT(OF_MISTRAL)},
    {PART("llava_onevision", "qwen2", false, false, ATTN_TIES_AS_TEXT,
          attn_family_onevision_vision),
     .name = "LLaVA-OneVision",
     .usual = {.image_id = 151646, .merge = 1, .joins_tiles = true, .most_shrunk = 9},
     PROCESSORS("LlavaOnevisionImageProcessor"),
     OF_LLAVA("<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"),
     .is_square_among_others = true},
    {PIXTRAL("llava", ATTN_TIES_AS_TEXT, attn_family_pixtral_vision, ATTN_CELLS_JOINED, 1, 16),
     .name = "Pixtral"},
    {PIXTRAL("mistral3", ATTN_TIES, attn_family_mistral3_vision, ATTN_CELLS_MERGED, 2, 16),
     .name = "Mistral 3"},
    {INTERNVL("qwen2")},
};

const struct attn_vision_family *attn_vision_family_at(size_t i)
{
    return i < sizeof families / sizeof *families ? &families[i] : NULL;
}

/* Returns the row of TYPE: that of its tower, else that of its decoder, else the first; or NULL. */
static const struct attn_vision_family *find_row(const struct attn_vision_reading *reading,
                                                 const char *type)
{
    const struct attn_node *node = attn_node_find(reading->vision, "model_type");
    const char *tower = node ? attn_node_string(node) : NULL;
    const struct attn_vision_family *found = NULL, *row;

    for (size_t i = 0; (row = attn_vision_family_at(i)); i++) {
        if (strcmp(row->part.type, type) != 0)
            continue;
        if (row->tower_type && tower && strcmp(row->tower_type, tower) == 0)
            return row;
        if (!found ||
            (!row->tower_type && strcmp(row->part.text_type, reading->config->model_type) == 0))
            found = row;
    }
    return found;
}

enum attn_status attn_vision_family_read(const struct attn_json *json, const char *type,
                                         const struct attn_node *text, struct attn_config *config,
                                         struct attn_config_layers *layers, struct attn_error *err)
{
    const struct attn_node *root = attn_json_root(json);
    struct attn_vision_reading reading = {
        .json = json, .text = text, .config = config, .layers = layers, .err = err};
    struct attn_vision_config *vision = &config->vision;
    const struct attn_vision_family *family;
    const char *key;
    int64_t image_id;

    ATTN_TRY(attn_config_find_object(json, root, "vision_config", &reading.vision, err));
    family = find_row(&reading, type);
    if (!family)
        return ATTN_OK;
    *vision = family->usual;
    vision->family = family;
    vision->tower = family->part.tower;
    image_id = vision->image_id;
    if (!reading.vision)
        vision->patch = family->bare_patch;
    key = family->image_key;
    ATTN_TRY(attn_config_check_alias(json, key, "image_token_id", err));
    if (!attn_config_find_given(root, key))
        key = "image_token_id";
    ATTN_TRY(attn_json_get_int(json, root, key, 0, INT32_MAX, &image_id, err));
    vision->image_id = (int32_t)image_id;
    return family->read(&reading);
}
