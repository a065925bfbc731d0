/* pixel_steps.c - see pixel_steps.h. Defaults and order of the steps are those of the image
 * processors of transformers 5.23 that resize with Pillow. */
#include "input/pixel_steps.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/json.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define FILE_NAME "preprocessor_config.json"

enum { SIZE_MAX_SIDE = 1 << 16, N_CHANNEL = 3 };

/* The image processor that wrote a file. */
enum processor { PROCESSOR_VIT, PROCESSOR_CLIP };

static struct attn_pixel_steps make_defaults(enum processor processor, size_t height, size_t width)
{
    struct attn_pixel_steps steps = {.has_resize = true,
                                     .has_rescale = true,
                                     .has_normalize = true,
                                     .height = height,
                                     .width = width,
                                     .filter = ATTN_IMAGE_BILINEAR,
                                     .crop_height = height,
                                     .crop_width = width,
                                     .factor = 1.0 / 255,
                                     .mean = {0.5F, 0.5F, 0.5F},
                                     .std = {0.5F, 0.5F, 0.5F}};

    if (processor == PROCESSOR_VIT)
        return steps;
    steps.has_crop = true;
    steps.shortest_edge = height < width ? height : width;
    steps.filter = ATTN_IMAGE_BICUBIC;
    memcpy(steps.mean, (float[]){0.48145466F, 0.4578275F, 0.40821073F}, sizeof steps.mean);
    memcpy(steps.std, (float[]){0.26862954F, 0.26130258F, 0.27577711F}, sizeof steps.std);
    return steps;
}

/* Returns the image processor that models of this family were trained with. */
static enum processor processor_of(const struct attn_model *model)
{
    return strcmp(attn_model_config(model)->model_type, "vit") == 0 ? PROCESSOR_VIT
                                                                    : PROCESSOR_CLIP;
}

/* The file that is being read. */
struct steps_reading {
    const struct attn_json *json;
    const struct attn_node *root;
    struct attn_error *err;
};

static enum attn_status refuse(const struct steps_reading *reading, const char *key,
                               const char *found, const char *expected)
{
    return attn_json_refuse(reading->json, reading->err, ATTN_UNSUPPORTED, key,
                            "is %s, expected %s", found, expected);
}

static const struct attn_node *find(const struct steps_reading *reading, const char *key)
{
    const struct attn_node *node = attn_node_find(reading->root, key);

    return node && !attn_node_is_null(node) ? node : NULL;
}

/* Finds which image processor wrote the file. *processor stays if the file does not say. */
static enum attn_status read_processor(const struct steps_reading *reading,
                                       enum processor *processor)
{
    static const struct {
        const char *name;
        enum processor processor;
    } names[] = {{"ViTImageProcessor", PROCESSOR_VIT},
                 {"ViTFeatureExtractor", PROCESSOR_VIT},
                 {"CLIPImageProcessor", PROCESSOR_CLIP},
                 {"CLIPFeatureExtractor", PROCESSOR_CLIP},
                 {"BitImageProcessor", PROCESSOR_CLIP}};
    const char *key =
        find(reading, "image_processor_type") ? "image_processor_type" : "feature_extractor_type";
    const char *type = NULL;

    ATTN_TRY(attn_json_get_string(reading->json, reading->root, key, &type, reading->err));
    for (size_t i = 0; type && i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i].name);

        if (strncmp(type, names[i].name, n) == 0 &&
            (type[n] == '\0' || strcmp(type + n, "Fast") == 0 || strcmp(type + n, "Pil") == 0)) {
            *processor = names[i].processor;
            return ATTN_OK;
        }
    }
    if (!type)
        return ATTN_OK;
    return attn_json_refuse(
        reading->json, reading->err, ATTN_UNSUPPORTED, key,
        "is '%s', expected ViTImageProcessor, CLIPImageProcessor or BitImageProcessor",
        attn_quote_string(type).text);
}

static enum attn_status read_flag(const struct steps_reading *reading, const char *key, bool *flag)
{
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
                                     : attn_json_refuse(reading->json, reading->err, ATTN_FORMAT,
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
    return attn_json_refuse(reading->json, reading->err, ATTN_FORMAT, key,
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

static enum attn_status read_steps(const struct steps_reading *reading,
                                   const struct attn_model *model, struct attn_pixel_steps *steps)
{
    enum { SIZE = 224 }; /* does not depend on the model */
    enum processor processor = processor_of(model);
    bool is_square, has_padding = false;

    ATTN_TRY(read_processor(reading, &processor));
    *steps = make_defaults(processor, SIZE, SIZE);
    steps->is_given = true;
    is_square = processor == PROCESSOR_VIT;
    ATTN_TRY(read_flag(reading, "do_pad", &has_padding));
    if (has_padding)
        return refuse(reading, "do_pad", "true", "false");
    ATTN_TRY(read_flag(reading, "default_to_square", &is_square));
    ATTN_TRY(read_flag(reading, "do_resize", &steps->has_resize));
    ATTN_TRY(read_flag(reading, "do_center_crop", &steps->has_crop));
    ATTN_TRY(read_flag(reading, "do_rescale", &steps->has_rescale));
    ATTN_TRY(read_flag(reading, "do_normalize", &steps->has_normalize));
    ATTN_TRY(read_size(reading, "size", is_square, &steps->shortest_edge, &steps->height,
                       &steps->width));
    ATTN_TRY(read_size(reading, "crop_size", true, NULL, &steps->crop_height, &steps->crop_width));
    ATTN_TRY(read_filter(reading, &steps->filter));
    ATTN_TRY(attn_json_get_double(reading->json, reading->root, "rescale_factor", -(double)FLT_MAX,
                                  (double)FLT_MAX, &steps->factor, reading->err));
    ATTN_TRY(read_channels(reading, "image_mean", -(double)FLT_MAX, steps->mean));
    return read_channels(reading, "image_std", (double)FLT_MIN, steps->std);
}

static enum attn_status read_file(const struct attn_source *source, const struct attn_model *model,
                                  struct attn_pixel_steps *steps, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_json *json = NULL;
    enum attn_status status;

    ATTN_TRY(attn_file_read_part(source, FILE_NAME, &file, err));
    status = attn_json_parse(&file, &json, err);
    attn_file_release(&file);
    if (status == ATTN_OK)
        status = read_steps(&(struct steps_reading){json, attn_json_root(json), err}, model, steps);
    attn_json_free(json);
    return status;
}

enum attn_status attn_pixel_steps_create(const struct attn_source *source,
                                         const struct attn_model *model,
                                         struct attn_pixel_steps **steps, struct attn_error *err)
{
    const struct attn_image_config *image = &attn_model_config(model)->image;
    struct attn_pixel_steps found = make_defaults(processor_of(model), image->height, image->width);
    struct attn_pixel_steps *made;

    if (attn_source_has_part(source, FILE_NAME))
        ATTN_TRY(read_file(source, model, &found, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    *made = found;
    *steps = made;
    return ATTN_OK;
}

/* Computes the size to which IMAGE is resized. */
static enum attn_status find_size(const struct attn_pixel_steps *steps,
                                  const struct attn_image *image, const char *name, size_t *height,
                                  size_t *width, struct attn_error *err)
{
    const size_t edge = steps->shortest_edge;
    const bool is_wide = image->width > image->height;
    const size_t shorter = is_wide ? image->height : image->width;
    const size_t longer = is_wide ? image->width : image->height;
    double exact;

    *height = steps->height;
    *width = steps->width;
    if (edge == 0)
        return ATTN_OK;
    exact = (double)edge * (double)longer / (double)shorter; /* the product has no rounding error */
    if (exact * (double)edge <= (double)ATTN_IMAGE_MAX_PIXELS) {
        *height = is_wide ? edge : (size_t)exact;
        *width = is_wide ? (size_t)exact : edge;
        return ATTN_OK;
    }
    return attn_error_set(err, ATTN_UNSUPPORTED,
                          "'%s' has %zu x %zu pixels, too narrow to be resized to %zu on its "
                          "shorter side",
                          attn_quote_string(name).text, image->width, image->height, edge);
}

/* Returns the index, in a line of N_IN pixels, of pixel 0 of its middle N_OUT; negative: before the
 * line. */
static ptrdiff_t find_shift(size_t n_in, size_t n_out)
{
    return n_in >= n_out ? (ptrdiff_t)((n_in - n_out) / 2) : -(ptrdiff_t)((n_out - n_in + 1) / 2);
}

/* Copies the middle of IMAGE to RGB [crop_height, crop_width, 3]. Pixels outside IMAGE stay 0. */
static void crop(const struct attn_pixel_steps *steps, const struct attn_image *image,
                 unsigned char *rgb)
{
    const ptrdiff_t top = find_shift(image->height, steps->crop_height);
    const ptrdiff_t left = find_shift(image->width, steps->crop_width);
    const size_t first = left < 0 ? (size_t)-left : 0;
    const size_t n = steps->crop_width < image->width ? steps->crop_width : image->width;

    for (size_t y = 0; y < image->height; y++) {
        const ptrdiff_t row = (ptrdiff_t)y - top;
        const size_t from = y * image->width + (left > 0 ? (size_t)left : 0);

        if (row >= 0 && (size_t)row < steps->crop_height)
            memcpy(rgb + ((size_t)row * steps->crop_width + first) * 3, image->rgb + from * 3,
                   n * 3);
    }
}

/* Computes the values [3, H, W] from the bytes pixels->shown. */
static void make_values(const struct attn_pixel_steps *steps, const struct attn_pixels *pixels)
{
    const size_t n = pixels->height * pixels->width;

    for (size_t k = 0; k < N_CHANNEL; k++) {
        float table[256];

        for (int byte = 0; byte < 256; byte++) {
            table[byte] = (float)byte;
            if (steps->has_rescale)
                table[byte] = (float)(byte * steps->factor);
            if (steps->has_normalize)
                table[byte] = (table[byte] - steps->mean[k]) / steps->std[k];
        }
        for (size_t i = 0; i < n; i++)
            pixels->values[k * n + i] = table[pixels->shown[3 * i + k]];
    }
}

/* Does the steps with IMAGE. RESIZED gets the resized picture and PIXELS the result; the caller
 * releases both, also after a failure. */
static enum attn_status do_steps(const struct attn_pixel_steps *steps,
                                 const struct attn_image *image, const char *name,
                                 struct attn_image *resized, struct attn_pixels *pixels,
                                 struct attn_error *err)
{
    size_t height, width, n;

    if (steps->has_resize) {
        ATTN_TRY(find_size(steps, image, name, &height, &width, err));
        ATTN_TRY(attn_image_resize(image, height, width, steps->filter, resized, err));
        image = resized;
    }
    pixels->n_channel = N_CHANNEL;
    pixels->height = steps->has_crop ? steps->crop_height : image->height;
    pixels->width = steps->has_crop ? steps->crop_width : image->width;
    n = attn_size_mul(pixels->height, pixels->width);
    pixels->shown = attn_alloc(n, 3, err);
    pixels->values = attn_alloc_uninitialized(n, N_CHANNEL * sizeof *pixels->values, err);
    if (!pixels->shown || !pixels->values)
        return ATTN_NO_MEMORY;
    if (steps->has_crop)
        crop(steps, image, pixels->shown);
    else
        memcpy(pixels->shown, image->rgb, n * 3);
    make_values(steps, pixels);
    return ATTN_OK;
}

enum attn_status attn_pixel_steps_do(const struct attn_pixel_steps *steps,
                                     const struct attn_image *image, const char *name,
                                     struct attn_pixels *pixels, struct attn_error *err)
{
    struct attn_pixels made = {0};
    struct attn_image resized = {0};
    const enum attn_status status = do_steps(steps, image, name, &resized, &made, err);

    attn_image_release(&resized);
    if (status != ATTN_OK) {
        attn_free(made.shown);
        attn_free(made.values);
        return status;
    }
    *pixels = made;
    return ATTN_OK;
}
