/* image_config.h - the part of a config for pictures; and the two towers of CLIP. */
#ifndef ATTN_MODEL_IMAGE_CONFIG_H
#define ATTN_MODEL_IMAGE_CONFIG_H

#include <stddef.h>

/* How learned positions of an image encoder are resampled for another grid of patches. */
enum attn_resample {
    ATTN_RESAMPLE_NONE = 0,      /* a picture of another size is refused */
    ATTN_RESAMPLE_CUBIC = 1,     /* four rows and columns, a = -0.75 */
    ATTN_RESAMPLE_ANTIALIAS = 2, /* as wide as the grid shrinks, a = -0.5 */
};

/* The input of a classifier, from the last stream: one row for all positions. */
enum attn_pooling {
    ATTN_POOLING_NONE = 0,           /* it reads every position */
    ATTN_POOLING_FIRST = 1,          /* [CLS] */
    ATTN_POOLING_FIRST_AND_MEAN = 2, /* [CLS] beside the mean of the patches, 2 d_model wide */
    ATTN_POOLING_PROJECTED = 3,      /* image_embed or the like, divided by its length */
    ATTN_POOLING_LAST = 4,           /* the last position whose token is not the padding; else 0 */
    ATTN_POOLING_MEAN = 5,           /* the mean of all positions */
};

/* The pictures that an image encoder reads. Its positions are [CLS], the registers, and the patches
 * of the picture, row by row. Positions are learned for [CLS] and for the patches of a picture of
 * height x width. In other models all fields are 0. */
struct attn_image_config {
    size_t n_channel, height, width;  /* pixels */
    size_t patch_height, patch_width; /* above 0 only in image encoders */
    size_t n_register;                /* positions between [CLS] and the patches */
    enum attn_resample resample;
    enum attn_pooling pooling; /* as of the config, where pictures are read */
    const void *later[4];      /* NULL: room for fields of later versions */
};

/* Two models of one directory, whose texts and pictures become vectors that can be compared: CLIP,
 * Radford et al. 2103.00020. */
enum attn_tower { ATTN_TOWER_TEXT = 0, ATTN_TOWER_IMAGE = 1 };

enum { ATTN_LARGEST_ID = -1 };

#endif
