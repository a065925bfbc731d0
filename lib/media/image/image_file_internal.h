/* image_file_internal.h - the steps of reading pictures: formats, orientation; and resizing. */
#pragma once

#include "base/file.h"
#include "image/image.h"

/*
 * Reads pictures: PNG, JPEG, WebP, and numpy's arrays.
 *
 *     struct attn_image image = {0};
 *     attn_image_read("cat.png", &image, NULL, &err);
 *     ... image.rgb[(y * image.width + x) * 3] ...
 *     attn_image_release(&image);
 *
 * The format is found from the first bytes of a file, not from its name. Grey, palette, alpha and
 * 16 bits for each channel become RGB as in Pillow 12: transparent pixels are laid on white
 * (`lays_on_white`, which the image processors of transformers do), or else alpha is dropped, as
 * convert("RGB") does; of 16 bits the high byte is used. A picture is rotated as its Exif data say.
 */

struct attn_ndarray; /* Declared in formats/ndarray.h. */

/*
 * Reads PATH: a PNG, a JPEG, a WebP, or a .npy file of uint8 [H, W, 3] into IMAGE. A .npy file of
 * floats [C, H, W] is read into VALUES, unless that is NULL; IMAGE then stays empty.
 *
 * ATTN_IO if the file cannot be read or the library for its format is not installed; ATTN_FORMAT
 * for other, damaged or truncated files; ATTN_UNSUPPORTED for more than ATTN_IMAGE_MAX_PIXELS or
 * more than a quarter of the machine's memory; ATTN_INVALID for arrays of other types and shapes;
 * ATTN_CANCELED if the permit of IMAGE is canceled. IMAGE and VALUES are unchanged on failure.
 */
enum attn_status attn_image_read(const char *path, struct attn_image *image,
                                 struct attn_ndarray *values, struct attn_error *err);

/* Each reads FILE, which begins with the signature of the format, into IMAGE. IMAGE is {0} before;
 * after a failure it may own memory, which the caller releases. */
enum attn_status attn_image_read_png(const struct attn_file *file, struct attn_image *image,
                                     struct attn_error *err);
enum attn_status attn_image_read_jpeg(const struct attn_file *file, struct attn_image *image,
                                      struct attn_error *err);
enum attn_status attn_image_read_webp(const struct attn_file *file, struct attn_image *image,
                                      struct attn_error *err);

/* A system library that reads one format. */
struct attn_image_library {
    const char *format;           /* such as "PNG" */
    const char *name;             /* such as "libpng16.so.16" */
    const char *package;          /* the Debian package that has it */
    const char *const *functions; /* their names, ended by NULL */
};

/* Opens LIBRARY to read the picture PATH, and fills the struct INTO (attn_dynamic_open). ATTN_IO if
 * the library is not installed. */
enum attn_status attn_image_library_open(const struct attn_image_library *library, const char *path,
                                         void *into, struct attn_error *err);

/* As attn_image_read, for a FILE that is open; it may be taken over, and then becomes zero. */
enum attn_status attn_image_read_file(const char *path, struct attn_file *file,
                                      struct attn_image *image, struct attn_ndarray *values,
                                      struct attn_error *err);

/* --- Orientation ------------------------------------------------------------------------------ */

/* A camera writes the rows of a JPEG in the order of its sensor, and the orientation, 1 to 8, in
 * the Exif data (a small TIFF, in APP1, or in the chunk EXIF of a WebP, eXIf of a PNG), or, in
 * files without it there, as an attribute of XMP. A picture with orientation 6 has to be rotated
 * clockwise by 90 degrees. */

/* Returns the orientation, 1 to 8, of the PNG, JPEG or WebP in DATA [size]. 1, which means not
 * rotated, if it is missing or invalid. */
int attn_image_orientation(const unsigned char *data, size_t size);

/* Finds the first chunk NAME of the PNG in DATA [size]: *chunk [*n]. Returns false if it has none.
 */
bool attn_image_find_chunk(const unsigned char *data, size_t size, const char *name,
                           const unsigned char **chunk, size_t *n);

/* Rotates and mirrors IMAGE as ORIENTATION requires. IMAGE is unchanged on failure. */
enum attn_status attn_image_turn(struct attn_image *image, int orientation, struct attn_error *err);

/* --- Resizing in integers, to the same bits as Pillow 12.1 ------------------------------------ */

/* The filters, with the numbers that Pillow gives them. */
enum attn_image_filter {
    ATTN_IMAGE_LANCZOS = 1,
    ATTN_IMAGE_BILINEAR = 2,
    ATTN_IMAGE_BICUBIC = 3,
};

/* Resizes IMAGE to HEIGHT x WIDTH; no size is 0. The caller releases *resized. ATTN_UNSUPPORTED if
 * the result or the intermediate image has more than ATTN_IMAGE_MAX_PIXELS. */
enum attn_status attn_image_resize(const struct attn_image *image, size_t height, size_t width,
                                   enum attn_image_filter filter, struct attn_image *resized,
                                   struct attn_error *err);
