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

/* The kinds of figures: X(NAME, number, name, file, traits, words of the help, with fields in
 * backquotes). lib/views/figures/figure_FILE.c draws it, by attn_figure_draw_FILE. */
/* clang-format off */
#define ATTN_FIGURE_MAP(X)                                                                         \
    X(MATRIX, 1, "matrix", matrix, ATTN_FIGURE_OF_RUN | ATTN_FIGURE_AS_TEXT,                       \
      "one head with its tokens; the default for one head. Of `attn-cli diff` three: one head in " \
      "both runs, and the difference")                                                             \
    X(GRID, 2, "grid", grid,                                                                       \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_AS_TEXT,                             \
      "all heads as thumbnails, a row for each layer; the default for several heads and for "      \
      "tables")                                                                                    \
    X(HEADS, 13, "heads", matrix, ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_PAGE,                        \
      "one query in all heads: a row for each head, a column for each word")                       \
    X(UNDER, 17, "under", under,                                                                   \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_NUMBERS | ATTN_FIGURE_NO_PAGE,                           \
      "one query in all heads: each head is a tile under the word at which it looks most")         \
    X(ANSWER, 21, "answer", circuit,                                                               \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS | ATTN_FIGURE_NO_PAGE,    \
      "the eight heads that write most of the next word, above the words at which they look")      \
    X(ARCS, 12, "arcs", arcs, ATTN_FIGURE_OF_RUN,                                                  \
      "the text, and arcs from one query to its keys, as wide as the weights")                     \
    X(TOKENS, 4, "tokens", tokens,                                                                 \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_AS_TEXT,                             \
      "the text, each token on the color of its weight in one row (`queries`), or of its "         \
      "value in a table of tokens")                                                                \
    X(PATCHES, 6, "patches", patches, ATTN_FIGURE_OF_RUN,                                          \
      "heads over the picture of `image`, a cell for each patch; the default for `image`. "        \
      "Beside a text patches:tiles shows the grid of all tiles, patches:whole the picture as a "   \
      "whole, patches:both both in one map, added. "                                               \
      "patches:RxC lays out keys as an image of R rows and C columns")                             \
    X(BARS, 7, "bars", plot, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE,                          \
      "a bar for each row of a table, with its interval or standard error")                        \
    X(CURVE, 8, "curve", plot, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE,                        \
      "a line over the layers or positions of a table")                                            \
    X(MAP, 10, "map", matrix,                                                                      \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS,                        \
      "heads, their types and where their weight lies (`attn-cli heads`)")                         \
    X(LIFE, 11, "life", life, ATTN_FIGURE_OF_TABLE,                                                \
      "what each layer adds to the answer of a position, and from which words (`attn-cli lens`)")  \
    X(PAIR, 14, "pair", pair, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_NUMBERS,                       \
      "two texts back to back, with the arcs of one head and the next words (`attn-cli diff`)")    \
    X(CIRCUIT, 16, "circuit", circuit,                                                             \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS,                        \
      "edges between parts, over the words at which these work (`attn-cli circuit`, "             \
      "`size`)")                                                                                   \
    X(STRIP, 20, "strip", strip,                                                                   \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS,                        \
      "a row for each part, a dot for each group of items (`group_by`), a bar at the median. "     \
      "strip:2.5 colors the row of that name, strip the largest")
/* clang-format on */

enum attn_figure {
    ATTN_FIGURE_DEFAULT, /* a matrix if there is one, otherwise a grid */
#define ATTN_FIGURE_ENUM(name, number, text, file, traits, words) ATTN_FIGURE_##name = (number),
    ATTN_FIGURE_MAP(ATTN_FIGURE_ENUM)
#undef ATTN_FIGURE_ENUM
        ATTN_N_FIGURE = 22 /* 1 + the largest number; 3, 5, 9, 15, 18 and 19 are not used again */
};

/* The cells of a picture beside a text that a map over it shows: patches:tiles. */
enum attn_patches {
    ATTN_PATCHES_USUAL = 0, /* those with more weight, or both */
    ATTN_PATCHES_TILES = 1,
    ATTN_PATCHES_WHOLE = 2,
    ATTN_PATCHES_BOTH = 3 /* in one map, added */
};

#endif
