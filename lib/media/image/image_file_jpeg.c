/* image_file_jpeg.c - see image_file_internal.h. The only file that uses TurboJPEG, the interface
 * of libjpeg-turbo that needs no structs and no longjmp. Its default transform and upsampling are
 * those of Pillow's wheels. */
#include "image/image_file_internal.h"

#include "base/memory.h"
#include "base/os/dynamic.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "image/image_functions.h"

#include <string.h>

struct jpeg_library {
    void *library;
    ATTN_JPEG_MAP(ATTN_DYNAMIC_POINTER)
};

static const struct attn_image_library jpeg_library = {
    "JPEG", "libturbojpeg.so.0", "libturbojpeg0",
    (const char *const[]){ATTN_JPEG_MAP(ATTN_DYNAMIC_NAME) NULL}};

struct jpeg_reading {
    struct jpeg_library jpeg;
    tjhandle handle; /* owns */
    const struct attn_file *file;
    struct attn_image *image;
};

/* Stores in ERR the failure that the library reported. */
static enum attn_status report(const struct jpeg_reading *reading, struct attn_error *err)
{
    const char *text = reading->jpeg.tjGetErrorStr2(reading->handle);

    if (strstr(text, "emory"))
        return attn_error_no_memory(err);
    return attn_error_set(
        err, ATTN_FORMAT, "'%s' is no whole JPEG: %s", attn_quote_string(reading->file->path).text,
        strstr(text, "Premature end") ? "it ends too early" : attn_quote_string(text).text);
}

/* Returns A * B / 255, rounded as Pillow does. */
static unsigned multiply(unsigned a, unsigned b)
{
    const unsigned product = a * b + 128;

    return ((product >> 8) + product) >> 8;
}

/* Converts N pixels of CMYK to RGB as Pillow's convert does, which takes all CMYK as inverted, the
 * way Adobe writes it. */
static void convert_cmyk(const unsigned char *cmyk, size_t n, unsigned char *rgb)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < 3; k++) {
            const unsigned light = cmyk[4 * i + 3];

            rgb[3 * i + k] = (unsigned char)(light - multiply(255U - cmyk[4 * i + k], light));
        }
}

/* Decompresses FILE into OUT. Extra bytes between the parts of a file are common and harmless, so
 * they are no failure. */
static enum attn_status decompress(const struct jpeg_reading *reading, int format,
                                   unsigned char *out, struct attn_error *err)
{
    const struct jpeg_library *jpeg = &reading->jpeg;
    const struct attn_image *image = reading->image;

    if (jpeg->tjDecompress2(reading->handle, reading->file->data, reading->file->size, out,
                            (int)image->width, 0, (int)image->height, format,
                            ATTN_TJFLAG_LIMITSCANS) == 0 ||
        (jpeg->tjGetErrorCode(reading->handle) == ATTN_TJERR_WARNING &&
         strstr(jpeg->tjGetErrorStr2(reading->handle), "extraneous bytes")))
        return ATTN_OK;
    return report(reading, err);
}

static enum attn_status decompress_cmyk(const struct jpeg_reading *reading, struct attn_error *err)
{
    const size_t n = reading->image->width * reading->image->height;
    unsigned char *cmyk = attn_alloc_uninitialized(n, 4, err);
    enum attn_status status = cmyk ? ATTN_OK : ATTN_NO_MEMORY;

    ATTN_THEN(status, decompress(reading, ATTN_TJPF_CMYK, cmyk, err));
    if (status == ATTN_OK)
        convert_cmyk(cmyk, n, reading->image->rgb);
    attn_free(cmyk);
    return status;
}

static enum attn_status decode(const struct jpeg_reading *reading, struct attn_error *err)
{
    /* A block of 64 pixels takes at least one bit, so a byte holds at most 512 pixels; the limit is
     * higher to be safe. */
    const uint64_t most_a_byte = 1 << 13;
    const struct attn_file *file = reading->file;
    int width = 0, height = 0, sampling, colors = 0;

    /* A subsampling without a name is a failure for TurboJPEG 2, which sets the sizes before. */
    if (reading->jpeg.tjDecompressHeader3(reading->handle, file->data, file->size, &width, &height,
                                          &sampling, &colors) != 0 &&
        !strstr(reading->jpeg.tjGetErrorStr2(reading->handle), "subsampling"))
        return report(reading, err);
    if (width < 1 || height < 1 ||
        (uint64_t)width * (uint64_t)height / most_a_byte > (uint64_t)file->size)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has a header of %d x %d pixels, more than its %zu bytes can "
                              "hold",
                              attn_quote_string(file->path).text, width, height, file->size);
    ATTN_TRY(
        attn_image_allocate(file->path, (uint64_t)width, (uint64_t)height, 3, reading->image, err));
    if (colors == ATTN_TJCS_CMYK || colors == ATTN_TJCS_YCCK)
        return decompress_cmyk(reading, err);
    return decompress(reading, ATTN_TJPF_RGB, reading->image->rgb, err);
}

enum attn_status attn_image_read_jpeg(const struct attn_file *file, struct attn_image *image,
                                      struct attn_error *err)
{
    struct jpeg_reading reading = {.file = file, .image = image};
    enum attn_status status;

    ATTN_TRY(attn_image_library_open(&jpeg_library, file->path, &reading.jpeg, err));
    reading.handle = reading.jpeg.tjInitDecompress();
    status = reading.handle ? decode(&reading, err) : attn_error_no_memory(err);
    if (reading.handle)
        reading.jpeg.tjDestroy(reading.handle);
    dlclose(reading.jpeg.library);
    return status;
}
