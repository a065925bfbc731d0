/* pixels_internal.h - what pixels.h declares for the library alone. */
#ifndef ATTN_IMAGE_PIXELS_INTERNAL_H
#define ATTN_IMAGE_PIXELS_INTERNAL_H

#include "image/pixels.h"
#include "model/model.h"

#include <signal.h>
#include <stdbool.h>

struct attn_monitor;     /* base/thread.h */
struct attn_pixel_steps; /* pixel_steps.h */

/* How pictures become pixels for a model that reads them. */
struct attn_pixel_maker {
    const struct attn_model *model; /* borrowed, as all */
    struct attn_pixel_steps *steps;
    struct attn_monitor *large;          /* a thread that reads a large picture is inside */
    const volatile sig_atomic_t *cancel; /* or NULL */
};

/* Makes PIXELS of a picture RGB [height, width, 3]. Untouched on failure, here and below. */
enum attn_status attn_pixel_maker_make(const struct attn_pixel_maker *maker,
                                       const unsigned char *rgb, size_t height, size_t width,
                                       struct attn_pixels *pixels, struct attn_error *err);

/* Makes PIXELS of the picture in the file PATH. *is_made: values were made of bytes, by the
 * steps. */
enum attn_status attn_pixel_maker_read(const struct attn_pixel_maker *maker, const char *path,
                                       struct attn_pixels *pixels, bool *is_made,
                                       struct attn_error *err);

#endif
