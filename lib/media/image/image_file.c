/* image_file.c - see image_file_internal.h: detects the format of a file, and reads arrays. */
#include "image/image_file_internal.h"

#include "base/status_internal.h"
#include "base/text/escape.h"
#include "formats/npy.h"
#include "formats/tensor_files_internal.h"

#include <stdbool.h>
#include <string.h>

/* --- Arrays --------------------------------------------------------------------------------- */

/* Reads *npy as a picture into IMAGE, or as values into VALUES. Takes *npy over. */
static enum attn_status read_array_file(const char *path, struct attn_npy_file **npy,
                                        struct attn_image *image, struct attn_ndarray *values,
                                        struct attn_error *err)
{
    const struct attn_tensor array = attn_npy_tensor(*npy);
    const enum attn_dtype dtype = array.dtype;
    const size_t *shape = array.shape;
    char text[ATTN_SHAPE_TEXT_SIZE];

    if (dtype == ATTN_DTYPE_U8 && array.rank == 3 && shape[2] == 3 && shape[0] > 0 &&
        shape[1] > 0) {
        ATTN_TRY(attn_image_allocate(path, shape[1], shape[0], 3, image, err));
        attn_npy_read_bytes(*npy, image->rgb);
        return ATTN_OK;
    }
    if (values && (dtype == ATTN_DTYPE_F32 || dtype == ATTN_DTYPE_F64 || dtype == ATTN_DTYPE_F16))
        return attn_ndarray_take(path, npy, 3, "[C, H, W]", values, err);
    return attn_error_set(err, ATTN_INVALID, "'%s' holds %s of the shape %s, expected %s",
                          attn_quote_string(path).text, attn_npy_dtype_name(*npy),
                          attn_shape_text(array.rank, shape, text),
                          values ? "a picture, uint8 [H, W, 3], or its values, float32 [C, H, W]"
                                 : "a picture, uint8 [H, W, 3]");
}

static enum attn_status read_array(const char *path, struct attn_file *file,
                                   struct attn_image *image, struct attn_ndarray *values,
                                   struct attn_error *err)
{
    struct attn_npy_file *npy;
    enum attn_status status;

    ATTN_TRY(attn_npy_take(file, ATTN_NPY_NUMBERS, &npy, err));
    status = read_array_file(path, &npy, image, values, err);
    attn_npy_free(npy);
    return status;
}

/* --- All formats ------------------------------------------------------------------------------ */

static bool begins_with(const struct attn_file *file, const char *magic, size_t size)
{
    return file->size >= size && memcmp(file->data, magic, size) == 0;
}

/* Whether FILE begins as WAV, FLAC, OGG, AIFF or MP3. */
static bool is_sound(const struct attn_file *file)
{
    const unsigned char *bytes = file->data;

    if (begins_with(file, "RIFF", 4) || begins_with(file, "FORM", 4))
        return file->size >= 12 &&
               (memcmp(bytes + 8, "WAVE", 4) == 0 || memcmp(bytes + 8, "AIF", 3) == 0);
    return begins_with(file, "fLaC", 4) || begins_with(file, "OggS", 4) ||
           begins_with(file, "ID3", 3) ||
           (file->size >= 2 && bytes[0] == 0xff && (bytes[1] & 0xe0) == 0xe0);
}

static enum attn_status read_file(const char *path, struct attn_file *file,
                                  struct attn_image *image, struct attn_ndarray *values,
                                  struct attn_error *err)
{
    const bool is_webp =
        begins_with(file, "RIFF", 4) && file->size >= 12 && memcmp(file->data + 8, "WEBP", 4) == 0;
    const bool is_png = begins_with(file, "\x89PNG\r\n\x1a\n", 8);

    if (is_png || is_webp || begins_with(file, "\xff\xd8\xff", 3)) {
        ATTN_TRY((is_png    ? attn_image_read_png
                  : is_webp ? attn_image_read_webp
                            : attn_image_read_jpeg)(file, image, err));
        return attn_image_turn(image, attn_image_orientation(file->data, file->size), err);
    }
    if (begins_with(file, "\x93NUMPY", 6))
        return read_array(path, file, image, values, err);
    if (file->size == 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' is empty, expected a PNG, a JPEG, a WebP or a .npy file",
                              attn_quote_string(path).text);
    if (is_sound(file)) {
        attn_error_set(err, ATTN_FORMAT,
                       "'%s' is a sound, expected a picture: a PNG, a JPEG, a WebP or a .npy file",
                       attn_quote_string(path).text);
        attn_error_hint(err, "a model that hears, such as Whisper, takes it");
        return ATTN_FORMAT;
    }
    attn_error_set(err, ATTN_FORMAT,
                   "'%s' begins with '%s', expected a PNG, a JPEG, a WebP or a .npy file",
                   attn_quote_string(path).text,
                   attn_quote((const char *)file->data, file->size < 8 ? file->size : 8).text);
    attn_error_hint(err, "of others an array: np.save('FILE.npy', "
                         "np.array(image.convert('RGB')))");
    return ATTN_FORMAT;
}

enum attn_status attn_image_read_file(const char *path, struct attn_file *file,
                                      struct attn_image *image, struct attn_ndarray *values,
                                      struct attn_error *err)
{
    struct attn_image made = {.permit = image->permit, .lays_on_white = image->lays_on_white};

    ATTN_RETURN_FILLED(read_file(path, file, &made, values, err), image, made, attn_image_release);
}

enum attn_status attn_image_read(const char *path, struct attn_image *image,
                                 struct attn_ndarray *values, struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    ATTN_TRY(attn_file_open(path, ATTN_READ, &file, err));
    status = attn_image_read_file(path, &file, image, values, err);
    attn_file_release(&file);
    return status;
}
