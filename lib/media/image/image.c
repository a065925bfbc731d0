#include "image/image.h"

#include "base/memory.h"
#include "base/text/escape.h"

enum attn_status attn_image_permit_take(struct attn_image_permit *permit, size_t n,
                                        struct attn_error *err)
{
    if (!permit || permit->is_held || n <= ATTN_IMAGE_LARGE_PIXELS)
        return ATTN_OK;
    attn_monitor_enter(permit->monitor);
    permit->is_held = true;
    return attn_is_canceled(permit->cancel) ? attn_error_set(err, ATTN_CANCELED, "canceled")
                                            : ATTN_OK;
}

void attn_image_permit_give_back(struct attn_image_permit *permit)
{
    if (permit->is_held)
        attn_monitor_leave(permit->monitor);
    permit->is_held = false;
}

enum attn_status attn_image_check_size(const char *name, uint64_t width, uint64_t height,
                                       struct attn_error *err)
{
    const uint64_t n = attn_saturated_mul(width, height);
    const uint64_t memory = attn_memory_of_machine() / 4 / 3;
    const uint64_t most = memory < ATTN_IMAGE_MAX_PIXELS ? memory : ATTN_IMAGE_MAX_PIXELS;

    if (width > ATTN_IMAGE_MAX_SIDE || height > ATTN_IMAGE_MAX_SIDE)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has %llu x %llu pixels, expected at most %d a side",
                              attn_quote_string(name).text, (unsigned long long)width,
                              (unsigned long long)height, ATTN_IMAGE_MAX_SIDE);
    if (n > most)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "'%s' has %llu x %llu pixels, expected at most %llu%s",
                              attn_quote_string(name).text, (unsigned long long)width,
                              (unsigned long long)height, (unsigned long long)most,
                              memory < ATTN_IMAGE_MAX_PIXELS ? ", by this machine's memory" : "");
    return ATTN_OK;
}

enum attn_status attn_image_allocate(const char *path, uint64_t width, uint64_t height,
                                     size_t n_byte, struct attn_image *image,
                                     struct attn_error *err)
{
    ATTN_TRY(attn_image_check_size(path, width, height, err));
    ATTN_TRY(attn_image_permit_take(image->permit, (size_t)(width * height), err));
    ATTN_TRY(ATTN_NEW(image->rgb, attn_alloc_uninitialized((size_t)(width * height), n_byte, err)));
    image->width = (size_t)width;
    image->height = (size_t)height;
    return ATTN_OK;
}

/* Returns COLOR of opacity ALPHA on white, rounded as Pillow's alpha_composite does it. */
static unsigned char lay_on_white(unsigned color, unsigned alpha)
{
    const uint32_t sum = (color * alpha + 255 * (255 - alpha)) * 128 + 128 * 128;

    return (unsigned char)((((sum >> 8) + sum) >> 8) >> 7);
}

void attn_image_take_alpha(struct attn_image *image)
{
    const size_t n = image->height * image->width;

    for (size_t i = 0; i < n; i++) {
        const unsigned char *from = image->rgb + 4 * i;
        const unsigned alpha = from[3];

        image->is_transparent |= alpha < 255;
        for (size_t k = 0; k < 3; k++)
            image->rgb[3 * i + k] = image->lays_on_white ? lay_on_white(from[k], alpha) : from[k];
    }
}

void attn_image_release(struct attn_image *image)
{
    if (!image)
        return;
    attn_free(image->rgb);
    *image = (struct attn_image){0};
}
