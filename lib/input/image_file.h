/*
 * image_file.h - reads pictures: PNG, JPEG, WebP, and numpy's arrays. Only for the library.
 *
 *     struct attn_image image = {0};
 *     attn_image_read("cat.png", &image, NULL, &err);
 *     ... image.rgb[(y * image.width + x) * 3] ...
 *     attn_image_release(&image);
 *
 * The format is found from the first bytes of a file, not from its name. Grey, palette, alpha and
 * 16 bits for each channel become RGB as Pillow's convert("RGB") does it: alpha is dropped, not
 * blended; of 16 bits the high byte is used. A JPEG or WebP is rotated as its Exif data say.
 */
#ifndef ATTN_INPUT_IMAGE_FILE_H
#define ATTN_INPUT_IMAGE_FILE_H

#include "input/image.h"

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

#endif
