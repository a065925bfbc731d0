/* figure_kind.h - the kinds of figures. */
#ifndef ATTN_PICTURES_FIGURE_KIND_H
#define ATTN_PICTURES_FIGURE_KIND_H

/* What a kind of figure draws, where, and which options have no effect on it. */
enum attn_figure_trait {
    ATTN_FIGURE_OF_RUN = 1,
    ATTN_FIGURE_OF_TABLE = 2,
    ATTN_FIGURE_NO_SCALE = 4, /* of colors */
    ATTN_FIGURE_NO_NUMBERS = 16,
    ATTN_FIGURE_AS_TEXT = 64, /* the terminal draws it for a run */
    ATTN_FIGURE_NO_PAGE = 128 /* a page contains its SVG */
};

/* The kinds that code asks for. figure_rows.h has all: one that is only drawn needs no constant,
 * and is asked for by name. */
enum attn_figure {
    ATTN_FIGURE_DEFAULT = 0, /* a matrix if there is one, otherwise a grid */
    ATTN_FIGURE_MATRIX = 1,
    ATTN_FIGURE_GRID = 2,
    ATTN_FIGURE_TOKENS = 4,
    ATTN_FIGURE_PATCHES = 6,
    ATTN_FIGURE_BARS = 7,
    ATTN_FIGURE_CURVE = 8,
    ATTN_FIGURE_MAP = 10,
    ATTN_FIGURE_LIFE = 11,
    ATTN_FIGURE_ARCS = 12,
    ATTN_FIGURE_HEADS = 13,
    ATTN_FIGURE_PAIR = 14,
    ATTN_FIGURE_CIRCUIT = 16,
    ATTN_FIGURE_UNDER = 17,
    ATTN_FIGURE_STRIP = 20,
    ATTN_FIGURE_ANSWER = 21,
};

/* The cells of a picture beside a text that a map over it shows: patches:tiles. */
enum attn_patches {
    ATTN_PATCHES_USUAL = 0, /* those with more weight, or both */
    ATTN_PATCHES_TILES = 1,
    ATTN_PATCHES_WHOLE = 2,
    ATTN_PATCHES_BOTH = 3 /* in one map, added */
};

#endif
