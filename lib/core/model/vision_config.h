/* vision_config.h - the part of a config that is about pictures in the prompts of a decoder. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct attn_family;        /* Declared in model/family.h. */
struct attn_vision_family; /* Declared in towers/families/vision_family.h. */

enum { ATTN_MOST_DEEP = 8, ATTN_MOST_GRID = 64 };

/* What a connector does to the patches of a cell before its maps. */
enum attn_cell_form {
    ATTN_CELLS_JOINED = 0,   /* they lie side by side, row by row */
    ATTN_CELLS_AVERAGED = 1, /* their mean is normalized, by an RMSNorm with weights 1 + w */
    ATTN_CELLS_MERGED = 3,   /* each is normalized by an RMSNorm; they lie side by side, component
                                by component, and one more map makes a row of the tower's width */
    ATTN_CELLS_NORMED = 2,   /* they lie side by side, and are normalized by a LayerNorm */
};

/* How pictures enter the prompts of a decoder. A tower, an encoder of patches, reads a picture; a
 * connector makes a row of the decoder from each cell of merge x merge patches. All 0 for decoders
 * of texts alone. */
struct attn_vision_config {
    const struct attn_vision_family *family;
    const struct attn_family *tower;
    int32_t image_id; /* the token that stands for a cell in the text */
    size_t side;      /* a picture has side x side pixels; 0: sizes vary */
    size_t patch;     /* pixels of a side of a patch */
    size_t merge;     /* patches of a side of a cell */
    enum attn_cell_form cells;
    float cell_eps;        /* the epsilon of that norm; 0: that of the tower */
    bool lacks_bias;       /* of the maps of the connector */
    bool drops_logits_cap; /* beside a tower, logits are not capped */
    /* The rows of the whole picture come first, and then those of one grid of all tiles, whose
     * lines end with a learned row (image/tile_grid.h). The tiles are those of one of GRIDS
     * [n_grid], each rows and columns; a grid of more cells than most_shrunk tiles have is shrunk,
     * 0: none is. */
    bool joins_tiles;
    size_t most_shrunk, n_grid;
    unsigned char grids[ATTN_MOST_GRID][2];
    size_t n_above;   /* layers of the tower above the rows that the connector reads */
    size_t d_feature; /* width of the rows that the connector makes */
    /* DeepStack: the rows made from the output of layer deep[k] of the tower, in ascending order,
     * are added to the cells after layer k of the decoder. In files of Hugging Face their weights
     * have the number deep_numbers[k]. */
    size_t n_deep, deep[ATTN_MOST_DEEP], deep_numbers[ATTN_MOST_DEEP];
};
