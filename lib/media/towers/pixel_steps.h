/* pixel_steps.h - the steps of preprocessor_config.json, or processor_config.json: how a picture is
 * resized, cropped or cut into tiles, and normalized before a model reads it. For the files of this
 * layer. */
#pragma once

#include "base/source.h"
#include "image/image_file_internal.h"
#include "model/model.h"
#include "towers/pixels.h"
#include "towers/prompt/picture_sizes.h"

#include <stdbool.h>

/* The steps, in the order in which they are done. */
struct attn_pixel_steps {
    bool is_given;      /* read from a file; else the usual steps of the model's family */
    bool is_in_prompt;  /* the model reads a picture beside a text */
    bool lays_on_white; /* transparent pixels are laid on white; else alpha is dropped */
    bool makes_square;  /* for pictures in prompts: first the mean color is put beside it */
    bool has_resize, has_crop, has_rescale, has_normalize;
    size_t shortest_edge; /* the shorter side gets this size, the longer one in proportion; 0: see
                             the next two */
    size_t height, width; /* the sides get these sizes */
    enum attn_image_filter filter;
    size_t crop_height, crop_width; /* size of the middle that is kept; padded with 0 */
    /* For pictures in prompts. A picture becomes height x width pixels, or: */
    size_t longest_edge;                    /* its longer side gets this size, and then: */
    bool has_tiles;                         /* it is cut into tiles of height x width pixels */
    const struct attn_vision_config *grids; /* one of its grids of tiles, onto which the picture is
                                               laid; NULL: another */
    size_t least_tile, most_tile;      /* the grid of so many tiles that is nearest to its ratio; 0:
                                          as its size allows */
    struct attn_picture_limits limits; /* it keeps its proportions, if the factor is not 0 */
    size_t most_edge;      /* then no side is longer, instead of the limits of the area; or 0 */
    size_t most_cell;      /* more than so many cells are refused, if the factor is not 0 */
    double factor;         /* each byte is multiplied by it */
    float mean[3], std[3]; /* then value = (value - mean) / std */
};

/* Reads the steps of SOURCE for MODEL, which reads pictures. The errors ATTN_FORMAT and
 * ATTN_UNSUPPORTED name the key. The caller frees *steps with attn_free; it is unchanged on
 * failure. */
enum attn_status attn_pixel_steps_create(const struct attn_source *source,
                                         const struct attn_model *model,
                                         struct attn_pixel_steps **steps, struct attn_error *err);

/* Returns true if STEPS cut pictures into tiles. */
bool attn_pixel_steps_cut(const struct attn_pixel_steps *steps);

/* Makes PIXELS from IMAGE by STEPS; LACKS_TILES: without tiles. The caller releases PIXELS. NAME is
 * the name of the picture in messages. */
enum attn_status attn_pixel_steps_do(const struct attn_pixel_steps *steps, bool lacks_tiles,
                                     const struct attn_image *image, const char *name,
                                     struct attn_pixels *pixels, struct attn_error *err);

/* Checks that the picture NAME in a prompt, which is not resized, has a size that the model reads.
 */
enum attn_status attn_pixel_steps_check_size(const struct attn_pixel_steps *steps, const char *name,
                                             size_t height, size_t width, struct attn_error *err);
