/* seen.h - where the pictures in a text are. Filled by towers/prompt/picture_prompt.h. */
#pragma once

#include "attention/attention.h"

struct attn_reader;       /* input/reader.h */
struct attn_prompt_image; /* towers/prompt/picture_prompt.h */

/* X(ID, number, name). What a position belongs to. */
#define ATTN_REGION_MAP(X)                                                                         \
    X(OTHER, 0, "other")                                                                           \
    X(PICTURE, 1, "picture") /* a cell */                                                          \
    X(QUESTION, 2, "question")                                                                     \
    X(ANSWER, 3, "answer")

enum attn_region {
#define ATTN_REGION_ENUM(id, number, name) ATTN_REGION_##id = (number),
    ATTN_REGION_MAP(ATTN_REGION_ENUM)
#undef ATTN_REGION_ENUM
        ATTN_N_REGION = 0 ATTN_REGION_MAP(ATTN_COUNT)
};

/* The images in a sequence, whose store has the arrays. All 0: there are none. */
struct attn_picture_prompt {
    const struct attn_reader *reader;
    struct attn_prompt_image *images; /* [n_image] in the order of the text */
    size_t n_image;
    size_t n_picture, n_cell, n_row; /* of all images */
    int32_t image_id;                /* the token that stands for such a row */
    unsigned char *region;           /* [T] enum attn_region */
    int32_t *image_of;               /* [T] the number of the image of a cell; -1 for others */
    int32_t *positions;    /* [3, T] of Qwen, by time, row and column; else three equal rows */
    int32_t next_position; /* of the next token */
    size_t n_prompt;       /* tokens before the answer */
    struct attn_mask_block *open;       /* [n_image] the positions that see each other */
    struct attn_mask_blocks later_open; /* all but the first */
    int32_t *patches; /* as in struct attn_prompt_image, of a picture without a text */
};
