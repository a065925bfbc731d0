/* image_file_webp.c - see image_file_internal.h. The only file that uses libwebp. It uses the
 * incremental interface, which needs no structs and reports why a file is refused, but gives it the
 * whole file at once. For a lossless picture libwebp allocates 4 bytes for each pixel besides ours.
 */
#include "image/image_file_internal.h"

#include "base/os/dynamic.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "image/image_functions.h"

#include <stdbool.h>
#include <string.h>

struct webp_library {
    void *library;
    ATTN_WEBP_MAP(ATTN_DYNAMIC_POINTER)
};

static const struct attn_image_library webp_library = {
    "WebP", "libwebp.so.7", "libwebp7",
    (const char *const[]){ATTN_WEBP_MAP(ATTN_DYNAMIC_NAME) NULL}};

/* Stores in ERR the failure that STATUS of libwebp means. */
static enum attn_status report(const char *path, unsigned status, struct attn_error *err)
{
    if (status == ATTN_VP8_OUT_OF_MEMORY)
        return attn_error_no_memory(err);
    if (status == ATTN_VP8_UNSUPPORTED)
        return attn_error_set(err, ATTN_UNSUPPORTED, "'%s' is an animation, expected one picture",
                              attn_quote_string(path).text);
    return attn_error_set(err, ATTN_FORMAT, "'%s' is no whole WebP: %s",
                          attn_quote_string(path).text,
                          status == ATTN_VP8_SUSPENDED ? "it ends too early" : "it is damaged");
}

/* Whether the header of FILE announces alpha: a bit of the chunk VP8X, or of VP8L. */
static bool has_alpha(const struct attn_file *file)
{
    const size_t at = file->size > 24 && memcmp(file->data + 12, "VP8L", 4) == 0 ? 24 : 20;

    return file->size > at && (at == 24 || memcmp(file->data + 12, "VP8X", 4) == 0) &&
           (file->data[at] & 0x10) != 0;
}

static enum attn_status decode(const struct webp_library *webp, const struct attn_file *file,
                               struct attn_image *image, struct attn_error *err)
{
    /* A lossless picture of one color takes only 40 bytes. A picture with many more pixels for each
     * byte than a photograph is refused, unless it is small. */
    const uint64_t few = 1 << 24, most_a_byte = 1 << 13;
    const size_t n_byte = has_alpha(file) ? 4 : 3;
    int width = 0, height = 0;
    unsigned status;
    struct WebPIDecoder *decoder;
    size_t row;

    if (!webp->WebPGetInfo(file->data, file->size, &width, &height) || width < 1 || height < 1)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has no whole header of a WebP",
                              attn_quote_string(file->path).text);
    if ((uint64_t)width * (uint64_t)height > few &&
        (uint64_t)width * (uint64_t)height / most_a_byte > (uint64_t)file->size)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has a header of %d x %d pixels, more than its %zu bytes are "
                              "trusted with",
                              attn_quote_string(file->path).text, width, height, file->size);
    ATTN_TRY(
        attn_image_allocate(file->path, (uint64_t)width, (uint64_t)height, n_byte, image, err));
    row = image->width * n_byte;
    decoder = webp->WebPINewRGB(n_byte == 4 ? ATTN_WEBP_RGBA : ATTN_WEBP_RGB, image->rgb,
                                row * image->height, (int)row);
    if (!decoder)
        return attn_error_no_memory(err);
    status = webp->WebPIUpdate(decoder, file->data, file->size);
    webp->WebPIDelete(decoder);
    if (status != ATTN_VP8_OK)
        return report(file->path, status, err);
    if (n_byte == 4)
        attn_image_take_alpha(image);
    return ATTN_OK;
}

enum attn_status attn_image_read_webp(const struct attn_file *file, struct attn_image *image,
                                      struct attn_error *err)
{
    struct webp_library webp;
    enum attn_status status;

    ATTN_TRY(attn_image_library_open(&webp_library, file->path, &webp, err));
    status = decode(&webp, file, image, err);
    dlclose(webp.library);
    return status;
}
