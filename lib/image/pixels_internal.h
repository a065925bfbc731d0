/* pixels_internal.h - what pixels.h declares for the library alone. */
#ifndef ATTN_IMAGE_PIXELS_INTERNAL_H
#define ATTN_IMAGE_PIXELS_INTERNAL_H

#include "image/pixels.h"

#include <stdbool.h>

/* As attn_pixels_read; *is_made: its values were made of bytes, by the steps of the host. */
enum attn_status attn_pixels_open(const struct attn_host *host, const char *path,
                                  struct attn_pixels *pixels, bool *is_made,
                                  struct attn_error *err);

#endif
