/* image_config.h - the part of a config that is about pictures. */
#ifndef ATTN_MODEL_IMAGE_CONFIG_H
#define ATTN_MODEL_IMAGE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

/* How learned positions of an image encoder are resampled for a different grid of patches. */
enum attn_resample {
    ATTN_RESAMPLE_NONE = 0,  /* a picture of another size is refused */
    ATTN_RESAMPLE_CUBIC = 1, /* cubic over four rows and columns, a = -0.75 */
    /* Cubic with antialiasing: as wide as the grid shrinks, a = -0.5. */
    ATTN_RESAMPLE_ANTIALIAS = 2,
    ATTN_RESAMPLE_OTHERS = 3, /* as CUBIC, but pictures of the model's own size are as they are */
    /* Linear, so that the corners of both grids coincide. All numbers are rounded to float32. */
    ATTN_RESAMPLE_CORNERS = 4,
    ATTN_N_RESAMPLE
};

/* The rows of the last stream that the output layer reads. */
enum attn_pooling {
    ATTN_POOLING_NONE = 0,           /* it reads each position separately */
    ATTN_POOLING_FIRST = 1,          /* [CLS] */
    ATTN_POOLING_FIRST_AND_MEAN = 2, /* [CLS] next to the mean of the patches, 2 d_model wide */
    /* Image_embed, text_embed or sentence_embed, divided by its length. */
    ATTN_POOLING_PROJECTED = 3,
    ATTN_POOLING_LAST = 4, /* the last position whose token is not padding; position 0 if all are */
    ATTN_POOLING_MEAN = 5, /* the mean of all positions */
    ATTN_POOLING_MEAN_OF_HEADS = 6, /* the mean of all positions after the head */
    ATTN_POOLING_FIRST_TWO = 7,     /* [CLS] next to DeiT's token of distillation */
    ATTN_N_POOLING
};

/* The pictures that an image encoder reads. Its positions are [CLS], the registers, and the patches
 * of the picture, row by row. Positions are learned for [CLS] and for the patches of a picture of
 * height x width. For other models all fields are 0. */
struct attn_image_config {
    size_t n_channel, height, width; /* size of pictures in pixels; 0: any */
    /* Size of a patch in pixels; above 0 only for image encoders. */
    size_t patch_height, patch_width;
    size_t n_register; /* positions between [CLS] and the patches */
    bool is_distilled; /* the register is DeiT's token of distillation, which has a learned position
                          and a classifier, as [CLS] */
    enum attn_resample resample;
    enum attn_pooling pooling; /* the pooling of the config, for models that read pictures */
    bool lacks_class;          /* the sequence begins with the registers, without [CLS] */
    size_t n_frame;            /* equal frames that a picture is read as; 0: 1 */
};

enum { ATTN_LARGEST_ID = -1, ATTN_LAST_ROW = -2 };

/* Returns the number of patches in a picture of IMAGE's own size; 0 if it is not for an image
 * encoder. */
static inline size_t attn_image_n_patch(const struct attn_image_config *image)
{
    return image->patch_height == 0
               ? 0
               : (image->height / image->patch_height) * (image->width / image->patch_width);
}

/* Returns the number of positions before the patches: [CLS] and registers. */
static inline size_t attn_image_n_front(const struct attn_image_config *image)
{
    return image->patch_height == 0 ? 0 : !image->lacks_class + image->n_register;
}

/* Returns how many of them have a learned position. */
static inline size_t attn_image_n_placed(const struct attn_image_config *image)
{
    return !image->lacks_class + image->is_distilled;
}

struct attn_model;
struct attn_kernels;
struct attn_image_grid;

/* Adds the learned positions of GRID to X [T, De]. ROW is scratch [2, De]. */
typedef void (*attn_add_places_fn)(const struct attn_model *model,
                                   const struct attn_kernels *kernels,
                                   const struct attn_image_grid *grid, float *row, float *x);

/* The positions of a picture: n_front for [CLS] and registers, then its patches, row by row. T =
 * n_front + n_row * n_col. */
struct attn_image_grid {
    size_t n_front, n_row, n_col;
    bool is_usual; /* the learned positions were made for this grid */
    attn_add_places_fn add_places;
};

#endif
