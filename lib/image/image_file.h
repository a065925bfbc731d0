/*
 * image_file.h - reads pictures: PNG, JPEG, WebP, and numpy's arrays. Only for the library.
 *
 *     struct attn_image image = {0};
 *     attn_image_read("cat.png", &image, NULL, &err);
 *     ... image.rgb[(y * image.width + x) * 3] ...
 *     attn_image_release(&image);
 *
 * The first bytes of a file determine its format, not its name. Grey, palette, alpha and 16 bits a
 * channel become RGB as Pillow's convert("RGB") does it: alpha is dropped, not blended; the high
 * byte of 16 bits is taken. A JPEG or WebP is rotated as its camera recorded in the Exif data.
 */
#ifndef ATTN_IMAGE_IMAGE_FILE_H
#define ATTN_IMAGE_IMAGE_FILE_H

#include "image/image.h"

struct attn_ndarray; /* formats/ndarray.h */

/*
 * Reads PATH: a PNG, a JPEG, a WebP, or a .npy file of uint8 [H, W, 3] into IMAGE; a .npy file of
 * floats [C, H, W] into VALUES, unless that is NULL, and IMAGE then stays empty.
 *
 * ATTN_IO when it cannot be read or the library that reads it is not installed; ATTN_FORMAT for
 * other, damaged or truncated files; ATTN_UNSUPPORTED for more than ATTN_IMAGE_MAX_PIXELS or more
 * than a quarter of the machine's memory; ATTN_INVALID for arrays of other types and shapes;
 * ATTN_CANCELED if the permit of IMAGE is canceled. IMAGE and VALUES are untouched on failure.
 */
enum attn_status attn_image_read(const char *path, struct attn_image *image,
                                 struct attn_ndarray *values, struct attn_error *err);

#endif
