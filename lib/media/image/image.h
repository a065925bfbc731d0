/* image.h - a picture in memory, and a limit on how many large ones exist at the same time. */
#pragma once

#include "base/os/thread.h"
#include "base/status.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allows only one thread at a time to have large pictures in memory. Each picture that a thread
 * reads and resizes has a permit; all permits use the same monitor. */
struct attn_image_permit {
    struct attn_monitor *monitor; /* borrowed */
    /* Once it is not 0, waiting ends with ATTN_CANCELED; NULL: never. */
    const volatile sig_atomic_t *cancel;
    bool is_held;
};

/* A picture. Initialize with = {0}, or with a permit; end with attn_image_release. */
struct attn_image {
    size_t height, width;
    unsigned char *rgb; /* [height, width, 3] owns */
    /* Borrowed; held from allocation to release; NULL: no limit. */
    struct attn_image_permit *permit;
    bool lays_on_white;  /* set before reading: transparent pixels are laid on white; else alpha is
                            dropped */
    bool is_transparent; /* set by reading: some pixel is not opaque */
};

/* The most pixels of a side, and of a picture. The sizes in a header are compared with these before
 * anything is allocated. */
enum { ATTN_IMAGE_MAX_SIDE = 1 << 20 };
#define ATTN_IMAGE_MAX_PIXELS ((size_t)1 << 28)

/* A picture with more pixels is large: more than 48 MiB. Photographs are smaller, so threads can
 * read several at the same time. */
#define ATTN_IMAGE_LARGE_PIXELS ((size_t)1 << 24)

/* Waits until PERMIT can be held, if N pixels are a large picture and it is not held already.
 * PERMIT may be NULL. */
enum attn_status attn_image_permit_take(struct attn_image_permit *permit, size_t n,
                                        struct attn_error *err);
void attn_image_permit_give_back(struct attn_image_permit *permit);

/* Checks that WIDTH x HEIGHT pixels of the picture NAME are not too many. */
enum attn_status attn_image_check_size(const char *name, uint64_t width, uint64_t height,
                                       struct attn_error *err);

/* Allocates IMAGE for WIDTH x HEIGHT pixels of N_BYTE bytes, as the header of the file PATH states.
 * Fails if that is too large. */
enum attn_status attn_image_allocate(const char *path, uint64_t width, uint64_t height,
                                     size_t n_byte, struct attn_image *image,
                                     struct attn_error *err);

/* Converts the pixels of IMAGE, RGBA, to RGB. */
void attn_image_take_alpha(struct attn_image *image);

void attn_image_release(struct attn_image *image); /* {0} is allowed */
