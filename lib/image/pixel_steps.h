/* pixel_steps.h - what preprocessor_config.json says: how a picture is resized, cropped and
 * normalized before a model reads it. For the files of this layer. */
#ifndef ATTN_IMAGE_PIXEL_STEPS_H
#define ATTN_IMAGE_PIXEL_STEPS_H

#include "base/source.h"
#include "image/image_file_internal.h"
#include "image/pixels.h"
#include "model/model.h"

#include <stdbool.h>

/* Steps in the order in which they are done. */
struct attn_pixel_steps {
    bool is_given; /* by a file; else these are the usual steps of the model's family */
    bool has_resize, has_crop, has_rescale, has_normalize;
    size_t shortest_edge; /* the shorter side becomes this, and the other in proportion; 0: */
    size_t height, width; /* the sides become these */
    enum attn_image_filter filter;
    size_t crop_height, crop_width; /* of the middle; padded with 0 */
    double factor;                  /* bytes are multiplied by it */
    float mean[3], std[3];          /* then value = (value - mean) / std */
};

/* Reads the steps of SOURCE, whose MODEL reads pictures. ATTN_FORMAT and ATTN_UNSUPPORTED name the
 * key. *steps is the caller's (attn_free), and untouched on failure. */
enum attn_status attn_pixel_steps_create(const struct attn_source *source,
                                         const struct attn_model *model,
                                         struct attn_pixel_steps **steps, struct attn_error *err);

/* Does the steps. PIXELS is the caller's. NAME is what messages call the picture. */
enum attn_status attn_pixel_steps_do(const struct attn_pixel_steps *steps,
                                     const struct attn_image *image, const char *name,
                                     struct attn_pixels *pixels, struct attn_error *err);

#endif
