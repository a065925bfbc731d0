/* picture_sizes.h - the sizes to which transformers 5.23 resizes a picture in a prompt. For the
 * files of this layer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct attn_picture_size {
    size_t height, width;
};

/* Returns SIZE scaled so that its longer side is EDGE and its shorter one even, and then so that no
 * side exceeds 4096. */
struct attn_picture_size attn_picture_scale(struct attn_picture_size size, size_t edge);

/* Returns SIZE with the longer side increased to a multiple of TILE, the other one in proportion,
 * and then also to a multiple. */
struct attn_picture_size attn_picture_fill_tiles(struct attn_picture_size size, size_t tile);

/* Returns the rows and columns of the grid of LEAST to MOST tiles, whose side is TILE, that has the
 * ratio nearest to that of a picture of SIZE; of equals the larger one, unless the picture has half
 * of its pixels at most. */
struct attn_picture_size attn_picture_choose_grid(struct attn_picture_size size, size_t tile,
                                                  size_t least, size_t most);

/* Returns that of the N grids of tiles, rows and columns, whose side is TILE, that keeps most
 * pixels of a picture of SIZE, and of equals the one that wastes least. */
struct attn_picture_size attn_picture_best_grid(struct attn_picture_size size, size_t tile,
                                                const unsigned char (*grids)[2], size_t n);

/* Returns SIZE scaled to fit into ROOM. */
struct attn_picture_size attn_picture_fit(struct attn_picture_size size,
                                          struct attn_picture_size room);

/* The sizes that a picture of any size may get. */
struct attn_picture_limits {
    size_t factor;                 /* both sides become multiples of it */
    double min_pixels, max_pixels; /* and their product is between these */
};

/* Returns SIZE rounded, half to even, to multiples of the factor, scaled into LIMITS. */
struct attn_picture_size attn_picture_round(struct attn_picture_size size,
                                            const struct attn_picture_limits *limits);

/* Returns SIZE reduced until no side is longer than EDGE, and then rounded up to multiples of
 * FACTOR; 0 for a side that vanishes. */
struct attn_picture_size attn_picture_reduce(struct attn_picture_size size, size_t edge,
                                             size_t factor);
