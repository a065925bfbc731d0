/* pixel_steps.c - see pixel_steps.h. Defaults and order of the steps are those of the image
 * processors of transformers 5.23 that resize with Pillow. */
#include "towers/pixel_steps.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/text/fixed_text.h"
#include "formats/json.h"
#include "gguf/gguf.h"
#include "model/model_internal.h"
#include "towers/families/gguf_projector.h"
#include "towers/families/vision_family.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FILE_NAME "preprocessor_config.json"
#define JOINT_NAME "processor_config.json"

enum { SIZE_MAX_SIDE = 1 << 16, N_CHANNEL = 3, MOST_TILE = 1024 };

/* How the size of a picture is chosen. */
enum sizing {
    SIZED_BY_SIDES, /* both sides are given */
    SIZED_BY_CROP,  /* the shorter side is given, and the middle is kept */
    SIZED_BY_TILES, /* the longer side is given, and tiles are cut from the picture */
    SIZED_BY_GRID,  /* the ratio of the sides chooses a grid of tiles */
    SIZED_BY_LIST,  /* the size chooses one of the model's grids of tiles */
    SIZED_BY_AREA,  /* a number of pixels, in the proportions of the picture */
    SIZED_BY_EDGE   /* at most the longer side, in the proportions of the picture */
};

/* An image processor of transformers, which wrote a file. */
static const struct processor {
    const char *names[4]; /* its classes, without endings; ended by NULL */
    enum attn_image_filter filter;
    enum sizing sizing;
    bool is_square;       /* a number for `size` means both sides */
    bool has_clip_values; /* the mean and the deviation of CLIP's pictures, else 0.5 */
    bool may_pad;         /* `do_pad` makes the picture a square */
} processors[] = {
    {{"ViTImageProcessor", "ViTFeatureExtractor"},
     ATTN_IMAGE_BILINEAR,
     SIZED_BY_SIDES,
     .is_square = true},
    {{"CLIPImageProcessor", "BitImageProcessor", "CLIPFeatureExtractor"},
     ATTN_IMAGE_BICUBIC,
     SIZED_BY_CROP,
     .has_clip_values = true},
    {{"LlavaImageProcessor"},
     ATTN_IMAGE_BICUBIC,
     SIZED_BY_CROP,
     .has_clip_values = true,
     .may_pad = true},
    {{"Idefics3ImageProcessor", "SmolVLMImageProcessor"},
     ATTN_IMAGE_LANCZOS,
     .sizing = SIZED_BY_TILES},
    {{"GotOcr2ImageProcessor"},
     ATTN_IMAGE_BICUBIC,
     SIZED_BY_GRID,
     .is_square = true,
     .has_clip_values = true},
    {{"LlavaNextImageProcessor"}, ATTN_IMAGE_BICUBIC, SIZED_BY_LIST, .has_clip_values = true},
    {{"LlavaOnevisionImageProcessor"}, ATTN_IMAGE_BICUBIC, SIZED_BY_LIST, .has_clip_values = true},
    {{"Gemma3ImageProcessor"}, ATTN_IMAGE_BILINEAR, SIZED_BY_SIDES, .is_square = true},
    {{"SiglipImageProcessor"}, ATTN_IMAGE_BICUBIC, .sizing = SIZED_BY_SIDES},
    {{"PixtralImageProcessor"}, ATTN_IMAGE_BICUBIC, SIZED_BY_EDGE, .has_clip_values = true},
    {{"Qwen2VLImageProcessor", "Qwen2_5_VLImageProcessor"},
     ATTN_IMAGE_BICUBIC,
     SIZED_BY_AREA,
     .has_clip_values = true},
};

enum { PROCESSOR_VIT = 0, N_PROCESSOR = sizeof processors / sizeof *processors };

/* The classes of encoders that read pictures alone. */
static const char *const of_encoders[] = {"ViTImageProcessor", "CLIPImageProcessor",
                                          "BitImageProcessor", NULL};

/* Returns the steps of PROCESSOR for pictures of HEIGHT x WIDTH. */
static struct attn_pixel_steps make_defaults(const struct processor *processor, size_t height,
                                             size_t width)
{
    struct attn_pixel_steps steps = {.lays_on_white = processor != &processors[PROCESSOR_VIT],
                                     .has_resize = true,
                                     .has_rescale = true,
                                     .has_normalize = true,
                                     .height = height,
                                     .width = width,
                                     .filter = processor->filter,
                                     .has_crop = processor->sizing == SIZED_BY_CROP,
                                     .crop_height = height,
                                     .crop_width = width,
                                     .factor = 1.0 / 255,
                                     .mean = {0.5F, 0.5F, 0.5F},
                                     .std = {0.5F, 0.5F, 0.5F}};

    if (steps.has_crop)
        steps.shortest_edge = height < width ? height : width;
    if (processor->has_clip_values) {
        memcpy(steps.mean, (float[]){0.48145466F, 0.4578275F, 0.40821073F}, sizeof steps.mean);
        memcpy(steps.std, (float[]){0.26862954F, 0.26130258F, 0.27577711F}, sizeof steps.std);
    }
    if (processor->sizing == SIZED_BY_TILES) {
        steps.longest_edge = 4 * width;
        steps.has_tiles = true;
    }
    if (processor->sizing == SIZED_BY_GRID) {
        steps.least_tile = 1, steps.most_tile = 12;
        steps.has_tiles = true;
    }
    steps.has_tiles = steps.has_tiles || processor->sizing == SIZED_BY_LIST;
    if (processor->sizing == SIZED_BY_AREA)
        steps.limits = (struct attn_picture_limits){28, 56 * 56, 28 * 28 * 1280};
    if (processor->sizing == SIZED_BY_EDGE)
        steps.limits.factor = 16, steps.most_edge = 1024;
    return steps;
}

/* Whether TYPE is the class NAME, or one of its variants. */
static bool is_class(const char *type, const char *name)
{
    const size_t n = strlen(name);

    return strncmp(type, name, n) == 0 &&
           (type[n] == '\0' || strcmp(type + n, "Fast") == 0 || strcmp(type + n, "Pil") == 0);
}

/* Returns the processor that has the class TYPE, or a variant of it; NULL if none has. */
static const struct processor *find_class(const char *type)
{
    for (size_t i = 0; i < N_PROCESSOR; i++)
        for (const char *const *name = processors[i].names; *name; name++)
            if (is_class(type, *name))
                return &processors[i];
    return NULL;
}

/* Returns the image processor that models of this family were trained with. */
static const struct processor *processor_of(const struct attn_model *model)
{
    const struct attn_config *config = attn_model_config(model);
    const struct attn_vision_family *family = config->vision.family;

    return find_class(family                                   ? family->processors[0]
                      : strcmp(config->model_type, "vit") == 0 ? of_encoders[0]
                                                               : of_encoders[1]);
}

/* The file that is being read. */
struct steps_reading {
    const struct attn_json *json;
    const struct attn_node *root; /* the object that has the keys */
    const struct attn_vision_config *vision;
    struct attn_error *err;
};

static enum attn_status refuse(const struct steps_reading *reading, const char *key,
                               const char *found, const char *expected)
{
    return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, key,
                            "is %s, expected %s", found, expected);
}

static const struct attn_node *find(const struct steps_reading *reading, const char *key)
{
    const struct attn_node *node = attn_node_find(reading->root, key);

    return node && !attn_node_is_null(node) ? node : NULL;
}

/* Finds which image processor wrote the file. *processor stays if the file does not say. */
static enum attn_status read_processor(const struct steps_reading *reading,
                                       const struct processor **processor)
{
    const char *key =
        find(reading, "image_processor_type") ? "image_processor_type" : "feature_extractor_type";
    const struct attn_vision_family *family = reading->vision->family;
    const char *const *names = family ? family->processors : of_encoders;
    const struct processor *found;
    const char *type = NULL;
    char expected[200] = "";
    size_t used = 0;

    ATTN_TRY(attn_json_get_string(reading->json, reading->root, key, &type, reading->err));
    if (!type)
        return ATTN_OK;
    found = find_class(type);
    for (size_t i = 0; names[i]; i++)
        if (found && find_class(names[i]) == found) {
            *processor = found;
            return ATTN_OK;
        }
    for (size_t i = 0; names[i]; i++)
        attn_fixed_text_append(expected, sizeof expected, &used, "%s%s",
                               i == 0         ? ""
                               : names[i + 1] ? ", "
                                              : " or ",
                               names[i]);
    return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, key,
                            "is '%s', expected %s", attn_quote_string(type).text, expected);
}

/* Reads a flag. Null means off, as in the image processors. */
static enum attn_status read_flag(const struct steps_reading *reading, const char *key, bool *flag)
{
    const struct attn_node *node = attn_node_find(reading->root, key);

    if (node && attn_node_is_null(node))
        *flag = false;
    return attn_json_get_bool(reading->json, reading->root, key, flag, reading->err);
}

static enum attn_status read_side(const struct steps_reading *reading,
                                  const struct attn_node *object, const char *key, size_t *side)
{
    return attn_json_get_size(reading->json, object, key, 1, SIZE_MAX_SIDE, side, reading->err);
}

/* Reads the size of KEY, a number or an object. If EDGE is not NULL, a shortest edge is stored in
 * *edge, and then *height and *width stay as they are. IS_SQUARE: a number means both sides; else
 * it means the shortest edge. */
static enum attn_status read_size(const struct steps_reading *reading, const char *key,
                                  bool is_square, size_t *edge, size_t *height, size_t *width)
{
    const char *expected =
        edge ? "a number, or shortest_edge, or height and width" : "a number, or height and width";
    const struct attn_node *node = find(reading, key);
    size_t number = 0;

    if (!node)
        return ATTN_OK;
    if (!attn_node_is_object(node)) {
        ATTN_TRY(read_side(reading, reading->root, key, &number));
        if (edge)
            *edge = is_square ? 0 : number;
        *height = *width = number;
        return ATTN_OK;
    }
    for (const struct attn_node *at = attn_node_first(node); at; at = attn_node_next(at)) {
        const char *name = attn_node_key(at);

        if (!attn_node_is_null(at) && strcmp(name, "height") != 0 && strcmp(name, "width") != 0 &&
            (!edge || strcmp(name, "shortest_edge") != 0))
            return attn_error_set(reading->err, ATTN_UNSUPPORTED,
                                  "'%s' of '%s' in '%s' is not known, expected %s",
                                  attn_quote_string(name).text, key,
                                  attn_quote_string(attn_json_name(reading->json)).text, expected);
    }
    if (edge) {
        *edge = 0;
        ATTN_TRY(read_side(reading, node, "shortest_edge", edge));
        if (*edge > 0)
            return ATTN_OK;
    }
    *height = *width = 0;
    ATTN_TRY(read_side(reading, node, "height", height));
    ATTN_TRY(read_side(reading, node, "width", width));
    return *height > 0 && *width > 0 ? ATTN_OK
                                     : ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_FORMAT,
                                                        key, "has no size, expected %s", expected);
}

/* Reads a number for each channel, or one number for all of them. */
static enum attn_status read_channels(const struct steps_reading *reading, const char *key,
                                      double min, float values[N_CHANNEL])
{
    const struct attn_node *node = find(reading, key);
    const struct attn_node *at = node && attn_node_is_array(node) ? attn_node_first(node) : NULL;
    double number;

    if (!node)
        return ATTN_OK;
    for (size_t i = 0; i < N_CHANNEL; i++) {
        const struct attn_node *item = attn_node_is_array(node) ? at : node;

        if (!item || !attn_node_double(item, &number) || number < min || number > (double)FLT_MAX)
            break;
        values[i] = (float)number;
        at = at ? attn_node_next(at) : NULL;
        if (i == N_CHANNEL - 1 && !at)
            return ATTN_OK;
    }
    return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_FORMAT, key,
                            "is not understood, expected %d numbers%s", N_CHANNEL,
                            min > 0 ? " above 0" : "");
}

static enum attn_status read_filter(const struct steps_reading *reading,
                                    enum attn_image_filter *filter)
{
    int64_t number = *filter;

    ATTN_TRY(
        attn_json_get_int(reading->json, reading->root, "resample", 0, 5, &number, reading->err));
    if (number < ATTN_IMAGE_LANCZOS || number > ATTN_IMAGE_BICUBIC)
        return refuse(reading, "resample",
                      number == 0   ? "0 (nearest)"
                      : number == 4 ? "4 (box)"
                                    : "5 (Hamming)",
                      "1 (Lanczos), 2 (bilinear) or 3 (bicubic)");
    *filter = (enum attn_image_filter)number;
    return ATTN_OK;
}

/* Reads the only member of the object KEY, `longest_edge`, into *edge. */
static enum attn_status read_edge(const struct steps_reading *reading, const char *key,
                                  size_t *edge)
{
    const struct attn_node *node = find(reading, key);
    const struct attn_node *first =
        node && attn_node_is_object(node) ? attn_node_first(node) : NULL;

    if (!node)
        return ATTN_OK;
    if (!first || attn_node_next(first) || strcmp(attn_node_key(first), "longest_edge") != 0)
        return refuse(reading, key, "not understood", "longest_edge");
    return read_side(reading, node, "longest_edge", edge);
}

/* Reads the sizes of pictures that keep their proportions. */
static enum attn_status read_limits(const struct steps_reading *reading,
                                    struct attn_picture_limits *limits)
{
    static const char *const names[2][2] = {{"shortest_edge", "min_pixels"},
                                            {"longest_edge", "max_pixels"}};
    const struct attn_vision_config *vision = reading->vision;
    const struct attn_node *size = find(reading, "size");
    double *const numbers[2] = {&limits->min_pixels, &limits->max_pixels};
    size_t patch = 14, merge = 2;

    if (size && !attn_node_is_object(size))
        return refuse(reading, "size", "no object", "shortest_edge and longest_edge");
    for (const struct attn_node *at = size ? attn_node_first(size) : NULL; at;
         at = attn_node_next(at))
        if (attn_node_is_null(at) || (strcmp(attn_node_key(at), names[0][0]) != 0 &&
                                      strcmp(attn_node_key(at), names[1][0]) != 0))
            return refuse(reading, "size", "not understood", "shortest_edge and longest_edge");
    for (size_t i = 0; size && i < 2; i++) /* the number at the top replaces that of `size` */
        if (!attn_node_find(size, names[i][0]) && !find(reading, names[i][1]))
            return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED, "size",
                                    "has no '%s', expected shortest_edge and longest_edge",
                                    names[i][0]);
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < 2; k++)
            ATTN_TRY(attn_json_get_double(reading->json, k == 0 ? size : reading->root, names[i][k],
                                          1, (double)ATTN_IMAGE_MAX_PIXELS, numbers[i],
                                          reading->err));
    ATTN_TRY(read_side(reading, reading->root, "patch_size", &patch));
    ATTN_TRY(read_side(reading, reading->root, "merge_size", &merge));
    limits->factor = patch * merge;
    if (patch == vision->patch && merge == vision->merge)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED,
                            patch == vision->patch ? "merge_size" : "patch_size",
                            "is %zu, expected %zu, as in config.json",
                            patch == vision->patch ? merge : patch,
                            patch == vision->patch ? vision->merge : vision->patch);
}

/* Reads the size of the picture, and that of its middle. IS_SQUARE: as for read_size. */
static enum attn_status read_crop(const struct steps_reading *reading, bool is_square,
                                  struct attn_pixel_steps *steps)
{
    ATTN_TRY(read_flag(reading, "do_center_crop", &steps->has_crop));
    ATTN_TRY(read_size(reading, "size", is_square, &steps->shortest_edge, &steps->height,
                       &steps->width));
    return read_size(reading, "crop_size", true, NULL, &steps->crop_height, &steps->crop_width);
}

/* Returns the size of a tile, or of a picture after the last step. */
static struct attn_picture_size last_size(const struct attn_pixel_steps *steps)
{
    if (steps->has_crop)
        return (struct attn_picture_size){steps->crop_height, steps->crop_width};
    return (struct attn_picture_size){steps->height, steps->width};
}

static enum attn_status refuse_flag(const struct steps_reading *reading, const char *key)
{
    bool is_set = false;

    ATTN_TRY(read_flag(reading, key, &is_set));
    return is_set ? refuse(reading, key, "true", "false") : ATTN_OK;
}

/* Reads the sizes of pictures that are laid onto one of the model's grids of tiles. A tile is
 * resized and cropped to its own size. */
static enum attn_status read_grid_sizes(const struct steps_reading *reading,
                                        struct attn_pixel_steps *steps)
{
    static const char key[] = "image_grid_pinpoints";
    const struct attn_vision_config *vision = reading->vision;
    const struct attn_node *list = find(reading, key);
    struct attn_vision_config found = *vision;
    size_t edge = 0, height, width;

    if (vision->n_grid == 0)
        return attn_error_set(reading->err, ATTN_UNSUPPORTED,
                              "'%s' in config.json is no list of at most %d heights and widths in "
                              "multiples of 'image_size', %zu",
                              key, ATTN_MOST_GRID, vision->side);
    steps->grids = vision;
    steps->height = steps->width = height = width = vision->side;
    ATTN_TRY(read_size(reading, "crop_size", true, NULL, &height, &width));
    ATTN_TRY(read_size(reading, "size", false, &edge, &steps->height, &steps->width));
    if (edge > 0)
        steps->height = steps->width = edge;
    if (height != vision->side || width != vision->side)
        return refuse(reading, "crop_size", "of another size", "'image_size' in config.json");
    if (list)
        ATTN_TRY(attn_vision_read_grids(reading->json, list, vision->side, &found, reading->err));
    return found.n_grid == vision->n_grid &&
                   memcmp(found.grids, vision->grids, sizeof *found.grids * found.n_grid) == 0
               ? ATTN_OK
               : refuse(reading, key, "not that of config.json", "the same list");
}

/* Reads the sizes of pictures in prompts. They must be those of the model. IS_SQUARE: as for
 * read_size. */
static enum attn_status read_prompt_sizes(const struct steps_reading *reading, bool is_square,
                                          struct attn_pixel_steps *steps)
{
    const bool may_crop = steps->has_crop;
    struct attn_picture_size last;
    const struct attn_node *size = find(reading, "size");
    const size_t side = reading->vision->side;
    const bool has_tiles = steps->has_tiles;

    ATTN_TRY(refuse_flag(reading, "do_pan_and_scan"));
    if (!may_crop && !reading->vision->joins_tiles)
        ATTN_TRY(refuse_flag(reading, "do_center_crop"));
    if (steps->most_edge > 0) { /* `patch_size` does not count beside a text */
        steps->limits.factor = reading->vision->patch * reading->vision->merge;
        return read_edge(reading, "size", &steps->most_edge);
    }
    if (steps->limits.factor > 0)
        return read_limits(reading, &steps->limits);
    if (reading->vision->joins_tiles) {
        ATTN_TRY(read_grid_sizes(reading, steps));
    } else if (steps->most_tile > 0) { /* `crop_to_patches` does not count beside a text */
        steps->height = steps->width = 384;
        ATTN_TRY(read_size(reading, "size", true, NULL, &steps->height, &steps->width));
        ATTN_TRY(attn_json_get_size(reading->json, reading->root, "min_patches", 1, MOST_TILE,
                                    &steps->least_tile, reading->err));
        ATTN_TRY(attn_json_get_size(reading->json, reading->root, "max_patches", 1, MOST_TILE,
                                    &steps->most_tile, reading->err));
    } else if (has_tiles) {
        steps->height = steps->width = 364;
        steps->longest_edge = 4 * steps->width;
        ATTN_TRY(read_edge(reading, "size", &steps->longest_edge));
        ATTN_TRY(read_edge(reading, "max_image_size", &steps->height));
        ATTN_TRY(read_flag(reading, "do_image_splitting", &steps->has_tiles));
        steps->width = steps->height;
    } else if (may_crop) {
        ATTN_TRY(read_crop(reading, is_square, steps));
    } else {
        ATTN_TRY(read_size(reading, "size", true, NULL, &steps->height, &steps->width));
        if (!is_square && size && !attn_node_is_object(size))
            return refuse(reading, "size", "a shortest edge", "height and width");
    }
    last = last_size(steps);
    if (last.height == side && last.width == side)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(reading->json, reading->err, ATTN_UNSUPPORTED,
                            has_tiles && steps->most_tile == 0 && !steps->grids ? "max_image_size"
                            : steps->has_crop                                   ? "crop_size"
                                                                                : "size",
                            "is %zu x %zu, expected 'image_size' in config.json, %zu x %zu",
                            last.width, last.height, side, side);
}

static enum attn_status read_steps(const struct steps_reading *reading,
                                   const struct attn_model *model, struct attn_pixel_steps *steps)
{
    enum { SIZE = 224 }; /* does not depend on the model */
    const struct processor *processor = processor_of(model);
    const bool is_in_prompt = reading->vision->family;
    bool is_square, has_padding = false;

    ATTN_TRY(read_processor(reading, &processor));
    *steps = make_defaults(processor, SIZE, SIZE);
    steps->is_given = true;
    steps->is_in_prompt = is_in_prompt;
    is_square = processor->is_square;
    ATTN_TRY(read_flag(reading, "do_pad", &has_padding));
    steps->makes_square = has_padding && processor->may_pad;
    if (has_padding && !steps->makes_square && !steps->has_tiles && /* tiles have one size */
        steps->most_edge == 0)                                      /* a batch is padded */
        return refuse(reading, "do_pad", "true", "false");
    ATTN_TRY(read_flag(reading, "default_to_square", &is_square));
    ATTN_TRY(read_flag(reading, "do_convert_rgb", &steps->lays_on_white));
    ATTN_TRY(read_flag(reading, "do_resize", &steps->has_resize));
    ATTN_TRY(read_flag(reading, "do_rescale", &steps->has_rescale));
    ATTN_TRY(read_flag(reading, "do_normalize", &steps->has_normalize));
    if (is_in_prompt) {
        ATTN_TRY(read_prompt_sizes(reading, is_square, steps));
    } else {
        ATTN_TRY(read_crop(reading, is_square, steps));
    }
    ATTN_TRY(read_filter(reading, &steps->filter));
    ATTN_TRY(attn_json_get_double(reading->json, reading->root, "rescale_factor", -(double)FLT_MAX,
                                  (double)FLT_MAX, &steps->factor, reading->err));
    ATTN_TRY(read_channels(reading, "image_mean", -(double)FLT_MAX, steps->mean));
    return read_channels(reading, "image_std", (double)FLT_MIN, steps->std);
}

/* Whether a number of `resample` in FILE is written with a point, as 1.0: Python's float, which the
 * image processors take for bilinear. */
static bool has_real_filter(const struct attn_file *file)
{
    static const char key[] = "\"resample\"";
    const size_t n = sizeof key - 1;

    for (size_t i = 0; i + n < file->size; i++) {
        const unsigned char *text = file->data;

        if (memcmp(text + i, key, n) != 0)
            continue;
        for (i += n; i < file->size && strchr(" \t\r\n:0123456789-", text[i]) && text[i];)
            i++;
        if (i < file->size && (text[i] == '.' || text[i] == 'e' || text[i] == 'E'))
            return true;
    }
    return false;
}

/* Reads STEPS from FILE, or from its object `image_processor` if IS_JOINT. Without such an object
 * STEPS stays as it is. */
static enum attn_status read_file(const struct attn_file *file, bool is_joint,
                                  const struct attn_model *model, struct attn_pixel_steps *steps,
                                  struct attn_error *err)
{
    struct steps_reading reading = {.vision = &attn_model_config(model)->vision, .err = err};
    struct attn_json *json = NULL;
    enum attn_status status = attn_json_parse(file, &json, err);
    const bool is_real = has_real_filter(file);

    if (status == ATTN_OK) {
        reading.json = json;
        if (is_real)
            status = refuse(&reading, "resample", "not an integer", "1, 2 or 3 without a point");
    }
    if (status == ATTN_OK) {
        reading.root = attn_json_root(json);
        reading.root = is_joint ? find(&reading, "image_processor") : reading.root;
        if (reading.root)
            status = read_steps(&reading, model, steps);
    }
    attn_json_free(json);
    return status;
}

/* Reads STEPS from the file NAME of SOURCE, if it has one, as read_file does. */
static enum attn_status read_part(const struct attn_source *source, const char *name, bool is_joint,
                                  const struct attn_model *model, struct attn_pixel_steps *steps,
                                  struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    if (!attn_source_has_part(source, name))
        return ATTN_OK;
    ATTN_TRY(attn_file_read_part(source, name, &file, err));
    status = read_file(&file, is_joint, model, steps, err);
    attn_file_release(&file);
    return status;
}

/* Reads STEPS from the GGUF file of the tower of MODEL. */
static enum attn_status read_gguf(const struct attn_model *model, struct attn_pixel_steps *steps,
                                  struct attn_error *err)
{
    const struct attn_bundle *gguf = model->projector;
    struct attn_file file = {.storage = ATTN_FILE_BORROWED};
    struct attn_buffer json = {0};
    enum attn_status status = attn_gguf_projector_write_steps(gguf, &json, err);

    file.data = (const unsigned char *)json.data, file.size = json.size;
    file.path = (char *)(uintptr_t)attn_gguf_path(gguf);
    ATTN_THEN(status, read_file(&file, false, model, steps, err));
    attn_buffer_release(&json);
    return status;
}

enum attn_status attn_pixel_steps_create(const struct attn_source *source,
                                         const struct attn_model *model,
                                         struct attn_pixel_steps **steps, struct attn_error *err)
{
    const struct attn_config *config = attn_model_config(model);
    const struct attn_vision_config *vision = &config->vision;
    const bool is_in_prompt = vision->family;
    struct attn_pixel_steps found =
        make_defaults(processor_of(model), is_in_prompt ? vision->side : config->image.height,
                      is_in_prompt ? vision->side : config->image.width);
    struct attn_pixel_steps *made;

    found.is_in_prompt = is_in_prompt;
    found.grids = vision->joins_tiles ? vision : NULL;
    if (found.limits.factor > 0)
        found.limits.factor = vision->patch * vision->merge;
    if (model->projector)
        ATTN_TRY(read_gguf(model, &found, err));
    if (!found.is_given)
        ATTN_TRY(read_part(source, JOINT_NAME, true, model, &found, err));
    if (!found.is_given)
        ATTN_TRY(read_part(source, FILE_NAME, false, model, &found, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    found.most_cell = config->n_ctx;
    *made = found;
    *steps = made;
    return ATTN_OK;
}

/* Computes the size at which the shorter side of IMAGE is `shortest_edge`. */
static enum attn_status find_shortest(const struct attn_pixel_steps *steps,
                                      const struct attn_image *image, const char *name,
                                      struct attn_picture_size *size, struct attn_error *err)
{
    const size_t edge = steps->shortest_edge;
    const bool is_wide = image->width > image->height;
    const size_t shorter = is_wide ? image->height : image->width;
    const size_t longer = is_wide ? image->width : image->height;
    /* the product has no rounding error */
    const double exact = (double)edge * (double)longer / (double)shorter;

    if (exact * (double)edge > (double)ATTN_IMAGE_MAX_PIXELS)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has %zu x %zu pixels, too narrow to be resized to %zu on its "
                              "shorter side",
                              attn_quote_string(name).text, image->width, image->height, edge);
    size->height = is_wide ? edge : (size_t)exact;
    size->width = is_wide ? (size_t)exact : edge;
    return ATTN_OK;
}

/* Computes the size to which IMAGE is resized. */
static enum attn_status find_size(const struct attn_pixel_steps *steps,
                                  const struct attn_image *image, const char *name,
                                  struct attn_picture_size *size, struct attn_error *err)
{
    enum { MOST_RATIO = 200 };
    const size_t height = image->height, width = image->width;

    *size = (struct attn_picture_size){steps->height, steps->width};
    if (steps->shortest_edge > 0)
        return find_shortest(steps, image, name, size, err);
    if (steps->longest_edge > 0)
        *size = attn_picture_scale((struct attn_picture_size){height, width}, steps->longest_edge);
    if (steps->limits.factor == 0)
        return ATTN_OK;
    if (steps->most_edge == 0 && (height > MOST_RATIO * width || width > MOST_RATIO * height))
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has %zu x %zu pixels, expected a longer side of at most %d "
                              "times the shorter one",
                              attn_quote_string(name).text, width, height, MOST_RATIO);
    *size = (struct attn_picture_size){height, width};
    *size = steps->most_edge > 0
                ? attn_picture_reduce(*size, steps->most_edge, steps->limits.factor)
                : attn_picture_round(*size, &steps->limits);
    if (size->height == 0 || size->width == 0)
        return attn_error_set(
            err, ATTN_INVALID,
            "'%s' has %zu x %zu pixels, of which a side vanishes where the longer "
            "one is reduced to %zu",
            attn_quote_string(name).text, width, height, steps->most_edge);
    /* otherwise a picture of gigabytes would be made for a text that is too long for the model */
    if (size->height / steps->limits.factor * (size->width / steps->limits.factor) >
        steps->most_cell)
        return attn_error_set(
            err, ATTN_INVALID,
            "'%s' is resized to %zu x %zu pixels, which are more cells than the %zu "
            "tokens that the model takes",
            attn_quote_string(name).text, size->width, size->height, steps->most_cell);
    return ATTN_OK;
}

/* Returns the index, in a line of N_IN pixels, of pixel 0 of its middle N_OUT; negative: before the
 * line. */
static ptrdiff_t find_shift(size_t n_in, size_t n_out)
{
    return n_in >= n_out ? (ptrdiff_t)((n_in - n_out) / 2) : -(ptrdiff_t)((n_out - n_in + 1) / 2);
}

/* Copies IMAGE onto ONTO, its first pixel to row TOP and column LEFT; leaves out what lies outside.
 */
static void lay(const struct attn_image *image, ptrdiff_t top, ptrdiff_t left,
                const struct attn_image *onto)
{
    const size_t first = left > 0 ? (size_t)left : 0, skipped = left < 0 ? (size_t)-left : 0;
    const size_t room = onto->width - first, n = image->width - skipped;

    for (size_t y = 0; y < image->height; y++) {
        const ptrdiff_t row = (ptrdiff_t)y + top;

        if (row >= 0 && (size_t)row < onto->height)
            memcpy(onto->rgb + ((size_t)row * onto->width + first) * 3,
                   image->rgb + (y * image->width + skipped) * 3, (n < room ? n : room) * 3);
    }
}

/* Copies the middle of IMAGE to RGB [crop_height, crop_width, 3]. Pixels outside IMAGE stay 0. */
static void crop(const struct attn_pixel_steps *steps, const struct attn_image *image,
                 unsigned char *rgb)
{
    lay(image, -find_shift(image->height, steps->crop_height),
        -find_shift(image->width, steps->crop_width),
        &(struct attn_image){.height = steps->crop_height, .width = steps->crop_width, .rgb = rgb});
}

/* Computes VALUES [3, H, W] from the rows of RGB, which are STRIDE pixels long. */
static void make_values(const struct attn_pixel_steps *steps, const unsigned char *rgb,
                        size_t stride, const struct attn_pixels *pixels, float *values)
{
    for (size_t k = 0; k < N_CHANNEL; k++) {
        float table[256];

        for (int byte = 0; byte < 256; byte++) {
            table[byte] = (float)byte;
            if (steps->has_rescale)
                table[byte] = (float)(byte * steps->factor);
            if (steps->has_normalize)
                table[byte] = (table[byte] - steps->mean[k]) / steps->std[k];
        }
        for (size_t y = 0; y < pixels->height; y++)
            for (size_t x = 0; x < pixels->width; x++)
                *values++ = table[rgb[3 * (y * stride + x) + k]];
    }
}

/* A picture on its way through the steps. */
struct canvas {
    const struct attn_pixel_steps *steps;
    const struct attn_image *image; /* the given one, or `made` */
    struct attn_image made;         /* owns */
};

/* Takes NEXT over in place of the picture. */
static enum attn_status take_over(struct canvas *canvas, struct attn_image next)
{
    attn_image_release(&canvas->made);
    canvas->made = next;
    canvas->image = &canvas->made;
    return ATTN_OK;
}

static enum attn_status resize(struct canvas *canvas, struct attn_picture_size size,
                               struct attn_error *err)
{
    struct attn_image next = {0};

    ATTN_TRY(attn_image_resize(canvas->image, size.height, size.width, canvas->steps->filter, &next,
                               err));
    return take_over(canvas, next);
}

/* Makes the picture NAME a square, with the mean color beside it. */
static enum attn_status make_square(struct canvas *canvas, const char *name, struct attn_error *err)
{
    const struct attn_image *given = canvas->image;
    const size_t side = given->height > given->width ? given->height : given->width;
    struct attn_image next = {0};

    ATTN_TRY(attn_image_allocate(name, side, side, 3, &next, err));
    for (size_t i = 0; i < 3 * side * side; i++)
        next.rgb[i] = (unsigned char)fmin(fmax(255 * (double)canvas->steps->mean[i % 3], 0), 255);
    lay(given, (ptrdiff_t)((side - given->height) / 2), (ptrdiff_t)((side - given->width) / 2),
        &next);
    return take_over(canvas, next);
}

/* Keeps the middle of the picture. */
static enum attn_status keep_middle(struct canvas *canvas, struct attn_error *err)
{
    const struct attn_pixel_steps *steps = canvas->steps;
    struct attn_image next = {.height = steps->crop_height, .width = steps->crop_width};

    ATTN_TRY(ATTN_NEW(next.rgb, attn_alloc(attn_size_mul(next.height, next.width), 3, err)));
    crop(steps, canvas->image, next.rgb);
    return take_over(canvas, next);
}

static enum attn_status allocate_values(struct attn_pixels *pixels, struct attn_error *err)
{
    const size_t n = attn_size_mul(attn_size_mul(pixels->height, pixels->width),
                                   pixels->n_picture > 0 ? pixels->n_picture : 1);

    return ATTN_NEW(pixels->values,
                    attn_alloc_uninitialized(n, N_CHANNEL * sizeof *pixels->values, err));
}

/* Does the steps for an encoder of pictures. The caller releases CANVAS and PIXELS, also after a
 * failure, here and below. */
static enum attn_status do_steps(struct canvas *canvas, const char *name,
                                 struct attn_pixels *pixels, struct attn_error *err)
{
    const struct attn_pixel_steps *steps = canvas->steps;
    struct attn_picture_size size;

    if (steps->has_resize) {
        ATTN_TRY(find_size(steps, canvas->image, name, &size, err));
        ATTN_TRY(resize(canvas, size, err));
    }
    pixels->n_channel = N_CHANNEL;
    pixels->height = steps->has_crop ? steps->crop_height : canvas->image->height;
    pixels->width = steps->has_crop ? steps->crop_width : canvas->image->width;
    ATTN_TRY(
        ATTN_NEW(pixels->shown, attn_alloc(attn_size_mul(pixels->height, pixels->width), 3, err)));
    ATTN_TRY(allocate_values(pixels, err));
    if (steps->has_crop)
        crop(steps, canvas->image, pixels->shown);
    else
        memcpy(pixels->shown, canvas->image->rgb, pixels->height * pixels->width * 3);
    make_values(steps, pixels->shown, pixels->width, pixels, pixels->values);
    return ATTN_OK;
}

/* Keeps IMAGE, reduced, to be shown. */
static enum attn_status keep_shown(const struct attn_image *image, struct attn_pixels *pixels,
                                   struct attn_error *err)
{
    enum { MOST = 720 };
    const size_t longer = image->width > image->height ? image->width : image->height;
    const double scale = longer > MOST ? (double)MOST / (double)longer : 1;
    struct attn_image reduced = {0};

    ATTN_TRY(attn_image_resize(image, (size_t)fmax(1, (double)image->height * scale),
                               (size_t)fmax(1, (double)image->width * scale), ATTN_IMAGE_BILINEAR,
                               &reduced, err));
    pixels->shown_height = reduced.height;
    pixels->shown_width = reduced.width;
    pixels->shown = reduced.rgb;
    return ATTN_OK;
}

enum attn_status attn_pixel_steps_check_size(const struct attn_pixel_steps *steps, const char *name,
                                             size_t height, size_t width, struct attn_error *err)
{
    const struct attn_quote quote = attn_quote_string(name);
    const size_t factor = steps->limits.factor;
    const struct attn_picture_size last = last_size(steps);

    if (factor > 0 ? height % factor == 0 && width % factor == 0
                   : height == last.height && width == last.width)
        return ATTN_OK;
    if (factor > 0)
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' has %zu x %zu pixels, expected multiples of %zu", quote.text,
                              width, height, factor);
    return attn_error_set(err, ATTN_INVALID, "'%s' has %zu x %zu pixels, expected %zu x %zu",
                          quote.text, width, height, last.width, last.height);
}

bool attn_pixel_steps_cut(const struct attn_pixel_steps *steps)
{
    return steps->has_tiles &&
           (steps->grids           ? true
            : steps->most_tile > 0 ? steps->most_tile > 1
                                   : !steps->has_resize || steps->longest_edge > steps->height);
}

/* Lays the picture onto the middle of a black one of SIZE. */
static enum attn_status lay_in_middle(struct canvas *canvas, struct attn_picture_size size,
                                      struct attn_error *err)
{
    const struct attn_image *given = canvas->image;
    struct attn_image next = {.height = size.height, .width = size.width};

    ATTN_TRY(ATTN_NEW(next.rgb, attn_alloc(attn_size_mul(size.height, size.width), 3, err)));
    lay(given, (ptrdiff_t)((size.height - given->height) / 2),
        (ptrdiff_t)((size.width - given->width) / 2), &next);
    return take_over(canvas, next);
}

/* Resizes the picture, of *size, to tiles that lie side by side. */
static enum attn_status fill_tiles(struct canvas *canvas, struct attn_picture_size *size,
                                   struct attn_error *err)
{
    const struct attn_pixel_steps *steps = canvas->steps;
    const size_t side = steps->height;
    struct attn_picture_size grid;

    if (steps->grids) {
        grid = attn_picture_best_grid(*size, side, steps->grids->grids, steps->grids->n_grid);
        grid = (struct attn_picture_size){grid.height * side, grid.width * side};
        ATTN_TRY(resize(canvas, attn_picture_fit(*size, grid), err));
        *size = grid;
        return lay_in_middle(canvas, grid, err);
    }
    if (steps->most_tile > 0) {
        grid = attn_picture_choose_grid(*size, side, steps->least_tile, steps->most_tile);
        *size = (struct attn_picture_size){grid.height * side, grid.width * side};
    } else {
        *size = attn_picture_fill_tiles(*size, side);
    }
    return resize(canvas, *size, err);
}

/* Does the steps for a picture in a prompt. Tiles are cut from the picture at a multiple of their
 * size; the whole picture is that one reduced again, or the given one if the tiles are a grid. */
static enum attn_status do_prompt_steps(struct canvas *canvas, bool lacks_tiles, const char *name,
                                        struct attn_pixels *pixels, struct attn_error *err)
{
    const struct attn_pixel_steps *steps = canvas->steps;
    const struct attn_image *given = canvas->image;
    const size_t side = steps->height;
    const bool has_tiles = steps->has_tiles && !lacks_tiles,
               is_grid = steps->most_tile > 0 || steps->grids;
    struct attn_picture_size size = {given->height, given->width};
    size_t n_tile = 0, n_value;
    bool is_reduced;

    pixels->given_height = size.height;
    pixels->given_width = size.width;
    if (!steps->has_crop)
        ATTN_TRY(keep_shown(canvas->image, pixels, err));
    if (steps->makes_square)
        ATTN_TRY(make_square(canvas, name, err));
    if (steps->has_resize && !(has_tiles && is_grid)) {
        ATTN_TRY(find_size(steps, canvas->image, name, &size, err));
        ATTN_TRY(resize(canvas, size, err));
    }
    if (steps->has_crop) { /* cells are those of the middle, which is shown then */
        ATTN_TRY(keep_middle(canvas, err));
        ATTN_TRY(keep_shown(canvas->image, pixels, err));
        size = last_size(steps);
    }
    if (has_tiles) {
        ATTN_TRY(fill_tiles(canvas, &size, err));
        n_tile = size.height / side * (size.width / side);
        n_tile = n_tile > 1 || steps->grids ? n_tile : 0;
    }
    is_reduced = steps->longest_edge > 0 || (is_grid && n_tile > 0);
    if (is_reduced)
        size = (struct attn_picture_size){side, side};
    ATTN_TRY(attn_pixel_steps_check_size(steps, name, size.height, size.width, err));
    pixels->n_channel = N_CHANNEL;
    pixels->height = size.height;
    pixels->width = size.width;
    pixels->n_picture = n_tile + 1;
    pixels->tile_rows = n_tile > 0 ? canvas->image->height / side : 0;
    pixels->tile_cols = n_tile > 0 ? canvas->image->width / side : 0;
    ATTN_TRY(allocate_values(pixels, err));
    n_value = N_CHANNEL * size.height * size.width;
    for (size_t i = 0; i < n_tile; i++) {
        const size_t row = i / pixels->tile_cols * side, column = i % pixels->tile_cols * side;
        const size_t stride = canvas->image->width;

        make_values(steps, canvas->image->rgb + 3 * (row * stride + column), stride, pixels,
                    pixels->values + i * n_value);
    }
    if (n_tile > 0 && is_grid)
        canvas->image = given;
    if (is_reduced)
        ATTN_TRY(resize(canvas, size, err));
    make_values(steps, canvas->image->rgb, size.width, pixels, pixels->values + n_tile * n_value);
    return ATTN_OK;
}

enum attn_status attn_pixel_steps_do(const struct attn_pixel_steps *steps, bool lacks_tiles,
                                     const struct attn_image *image, const char *name,
                                     struct attn_pixels *pixels, struct attn_error *err)
{
    struct attn_pixels made = {0};
    struct canvas canvas = {.steps = steps, .image = image};
    const enum attn_status status = steps->is_in_prompt
                                        ? do_prompt_steps(&canvas, lacks_tiles, name, &made, err)
                                        : do_steps(&canvas, name, &made, err);

    attn_image_release(&canvas.made);
    if (status != ATTN_OK) {
        attn_free(made.shown);
        attn_free(made.values);
        return status;
    }
    *pixels = made;
    return ATTN_OK;
}
