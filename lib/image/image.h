/* image.h - a picture in memory, and how many large ones may be there at a time. */
#ifndef ATTN_IMAGE_IMAGE_H
#define ATTN_IMAGE_IMAGE_H

#include "base/status.h"
#include "base/thread.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lets one thread at a time have large pictures in memory. Each picture that a thread reads and
 * resizes has a permit; all permits share a monitor. */
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

/* Allocates IMAGE for WIDTH x HEIGHT pixels, the size in the header of the file PATH, unless it is
 * too large. */
enum attn_status attn_image_allocate(const char *path, uint64_t width, uint64_t height,
                                     struct attn_image *image, struct attn_error *err);

void attn_image_release(struct attn_image *image); /* {0} is allowed */

#endif
