#include "towers/pixels_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/given.h"
#include "formats/ndarray.h"
#include "image/image_file_internal.h"
#include "towers/pixel_steps.h"

#include <math.h>
#include <string.h>

enum attn_status attn_pixels_check_size(const struct attn_pixels *pixels, const char *name,
                                        struct attn_error *err)
{
    ATTN_NEED(err, pixels, name);
    return attn_image_check_size(name, pixels->width, pixels->height, err);
}

/* Checks that the model reads three channels, as a picture has. */
static enum attn_status check_channels(const struct attn_pixel_maker *maker, const char *name,
                                       struct attn_error *err)
{
    const size_t n_channel = attn_model_config(maker->model)->image.n_channel;

    if (n_channel == 3 || maker->steps->is_in_prompt)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "'%s' reads %zu channel%s, and '%s' has red, green and blue",
                   attn_quote_string(attn_model_name(maker->model)).text, n_channel,
                   n_channel == 1 ? "" : "s", attn_quote_string(name).text);
    return attn_error_hint(err, "an array of floats [C, H, W] gives other channels");
}

/* Fails, at ATTN_STAGE_MODEL, if the steps could not be read. */
static enum attn_status check_steps(const struct attn_pixel_maker *maker, struct attn_error *err)
{
    return maker->steps
               ? ATTN_OK
               : attn_error_at(attn_error_copy(err, &maker->failure), ATTN_STAGE_MODEL, err);
}

static struct attn_image_permit permit_of(const struct attn_pixel_maker *maker)
{
    return (struct attn_image_permit){.monitor = maker->large, .cancel = maker->cancel};
}

/* Makes PIXELS from the bytes RGB. IMAGE has the size of the picture and a permit. */
static enum attn_status make_pixels(const struct attn_pixel_maker *maker, const unsigned char *rgb,
                                    struct attn_image *image, struct attn_pixels *pixels,
                                    struct attn_error *err)
{
    const size_t n = image->height * image->width;

    ATTN_TRY(attn_image_permit_take(image->permit, n, err));
    ATTN_TRY(ATTN_NEW(image->rgb, attn_alloc_uninitialized(n, 3, err)));
    memcpy(image->rgb, rgb, n * 3);
    return attn_pixel_steps_do(maker->steps, maker->lacks_tiles, image, "image", pixels, err);
}

enum attn_status attn_pixel_maker_make(const struct attn_pixel_maker *maker,
                                       const unsigned char *rgb, size_t height, size_t width,
                                       struct attn_pixels *pixels, struct attn_error *err)
{
    struct attn_image_permit permit;
    struct attn_image image = {.height = height, .width = width, .permit = &permit};
    enum attn_status status;

    ATTN_TRY(check_steps(maker, err));
    ATTN_TRY(check_channels(maker, "rgb", err));
    if (height == 0 || width == 0)
        return attn_refuse(err, ATTN_STAGE_INPUT, "`image` has %zu x %zu pixels, expected some",
                           width, height);
    ATTN_TRY(attn_image_check_size("image", width, height, err));
    permit = permit_of(maker);
    status = make_pixels(maker, rgb, &image, pixels, err);
    attn_image_release(&image);
    attn_image_permit_give_back(&permit);
    return status;
}

/* Converts the values to bytes, so that the smallest becomes 0 and the largest finite one 255: RGB
 * [n, 3] from the first three channels, or from the only one. */
static void stretch(const struct attn_pixels *pixels, unsigned char *rgb)
{
    const size_t n = pixels->height * pixels->width;
    float min = INFINITY, max = -INFINITY;

    for (size_t i = 0; i < n * pixels->n_channel; i++)
        if (isfinite(pixels->values[i])) {
            min = fminf(min, pixels->values[i]);
            max = fmaxf(max, pixels->values[i]);
        }
    for (size_t i = 0; i < 3 * n; i++) {
        const size_t channel = pixels->n_channel >= 3 ? i % 3 : 0;
        const double value = ((double)pixels->values[channel * n + i / 3] - (double)min) /
                             ((double)max - (double)min);

        rgb[i] = (unsigned char)(value > 0 ? (value < 1 ? value : 1) * 255 + 0.5 : 0);
    }
}

enum attn_status attn_pixel_maker_check(const struct attn_pixel_maker *maker, const char *name,
                                        struct attn_pixels *pixels, struct attn_error *err)
{
    ATTN_TRY(check_steps(maker, err));
    if (!maker->steps->is_in_prompt)
        return ATTN_OK;
    if (pixels->n_channel != 3)
        return attn_error_set(err, ATTN_INVALID, "'%s' has %zu channel%s, expected 3",
                              attn_quote_string(name).text, pixels->n_channel,
                              pixels->n_channel == 1 ? "" : "s");
    pixels->n_picture = 1;
    pixels->given_height = pixels->shown_height = pixels->height;
    pixels->given_width = pixels->shown_width = pixels->width;
    return attn_pixel_steps_check_size(maker->steps, name, pixels->height, pixels->width, err);
}

/* Makes PIXELS from ARRAY [C, H, W], whose numbers are the values themselves. */
static enum attn_status use_values(const struct attn_pixel_maker *maker,
                                   const struct attn_ndarray *array, struct attn_pixels *pixels,
                                   struct attn_error *err)
{
    const size_t n = array->shape[1] * array->shape[2];
    struct attn_pixels made = {
        .n_channel = array->shape[0], .height = array->shape[1], .width = array->shape[2]};

    ATTN_TRY(attn_pixel_maker_check(maker, array->name, &made, err));
    made.values = attn_alloc_uninitialized(n * made.n_channel, sizeof *made.values, err);
    made.shown = attn_alloc_uninitialized(n, 3, err);
    if (!made.values || !made.shown) {
        attn_pixels_release(&made);
        return ATTN_NO_MEMORY;
    }
    memcpy(made.values, array->data, n * made.n_channel * sizeof *made.values);
    stretch(&made, made.shown);
    *pixels = made;
    return ATTN_OK;
}

enum attn_status attn_pixel_maker_read(const struct attn_pixel_maker *maker, const char *path,
                                       struct attn_notes notes, struct attn_pixels *pixels,
                                       bool *is_made, struct attn_error *err)
{
    struct attn_ndarray values = {0};
    struct attn_image_permit permit = permit_of(maker);
    struct attn_image image = {.permit = &permit};
    enum attn_status status;

    ATTN_TRY(check_steps(maker, err));
    image.lays_on_white = maker->steps->lays_on_white;
    status = attn_image_read(path, &image, &values, err);
    *is_made = image.rgb;
    if (status == ATTN_OK && image.is_transparent)
        attn_note(notes.on_note, notes.user, ATTN_NOTE_TRANSPARENT,
                  image.lays_on_white
                      ? "'%s' is transparent: it is laid on white, as the model's "
                        "image processor does"
                      : "'%s' is transparent: its alpha is dropped, for the model's "
                        "image processor reads RGB alone",
                  attn_quote_string(path).text);
    if (status == ATTN_OK && !image.rgb)
        status = use_values(maker, &values, pixels, err);
    else if (status == ATTN_OK)
        status = check_channels(maker, path, err);
    if (status == ATTN_OK && image.rgb)
        status = attn_pixel_steps_do(maker->steps, maker->lacks_tiles, &image, path, pixels, err);
    attn_image_release(&image);
    attn_ndarray_release(&values);
    attn_image_permit_give_back(&permit);
    return status;
}

void attn_pixels_release(struct attn_pixels *pixels)
{
    if (!pixels)
        return;
    attn_free(pixels->values);
    attn_free(pixels->shown);
    *pixels = (struct attn_pixels){0};
}
