/*
 * image_file.h - reads pictures: PNG, JPEG, and numpy's arrays. Only for the library.
 *
 *     struct attn_image image = {0};
 *     attn_image_read("cat.png", &image, NULL, &err);
 *     ... image.rgb[(y * image.width + x) * 3] ...
 *     attn_image_release(&image);
 *
 * The first bytes of a file determine its format, not its name. Grey, palette, alpha and 16 bits a
 * channel become RGB as Pillow's convert("RGB") does it: alpha is dropped, not blended; the high
 * byte of 16 bits is taken. A JPEG is rotated as its camera recorded in the Exif data.
 */
#ifndef ATTN_IMAGE_IMAGE_FILE_H
#define ATTN_IMAGE_IMAGE_FILE_H

#include "base/status.h"
#include "base/thread.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct attn_ndarray; /* formats/ndarray.h */

/*
 * Lets one thread at a time have large pictures in memory. Each picture that a thread reads and
 * resizes has a permit; all permits share a monitor.
 */
struct attn_image_permit {
    struct attn_monitor *monitor;        /* borrowed */
    const volatile sig_atomic_t *cancel; /* not 0: who has waited gets ATTN_CANCELED; NULL: never */
    bool is_held;
};

/* A picture. Initialize with = {0}, or with a permit; end with attn_image_release. */
struct attn_image {
    size_t height, width;
    unsigned char *rgb;               /* [height, width, 3] owns */
    struct attn_image_permit *permit; /* borrowed; held from its allocation on; NULL: no limit */
};

/* The most pixels of a picture, and of a side. Header sizes are compared with these before anything
 * is allocated. */
enum { ATTN_IMAGE_MAX_SIDE = 1 << 20 };
#define ATTN_IMAGE_MAX_PIXELS ((size_t)1 << 28)

/* Pixels above which a picture is large: 48 MiB. Photographs are smaller, and threads read these
 * side by side. */
#define ATTN_IMAGE_LARGE_PIXELS ((size_t)1 << 24)

/* Waits for PERMIT, which may be NULL, if N pixels are a large picture and it is not held. */
enum attn_status attn_image_permit_take(struct attn_image_permit *permit, size_t n,
                                        struct attn_error *err);
void attn_image_permit_give_back(struct attn_image_permit *permit);

/*
 * Reads PATH: a PNG, a JPEG, or a .npy file of uint8 [H, W, 3] into IMAGE; a .npy file of floats
 * [C, H, W] into VALUES, unless that is NULL, and IMAGE then stays empty.
 *
 * ATTN_IO when it cannot be read or the library that reads it is not installed; ATTN_FORMAT for
 * other, damaged or truncated files; ATTN_UNSUPPORTED for more than ATTN_IMAGE_MAX_PIXELS or more
 * than a quarter of the machine's memory; ATTN_INVALID for arrays of other types and shapes;
 * ATTN_CANCELED if the permit of IMAGE is canceled. IMAGE and VALUES are untouched on failure.
 */
enum attn_status attn_image_read(const char *path, struct attn_image *image,
                                 struct attn_ndarray *values, struct attn_error *err);

void attn_image_release(struct attn_image *image); /* {0} is allowed */

#endif
