/* figure_rows.h - the list of figures. A row makes few objects again: picture.c, figure.c and
 * figure_title.c. All others know numbers and traits. */
#pragma once

#include "pictures/figure_kind.h"

/* X(number, name, file, traits, words of the help, with fields in backquotes). The number is a
 * constant of figure_kind.h if code asks for the kind, and one that no kind had before.
 * lib/views/figures/figure_FILE.c draws it, by attn_figure_draw_FILE. */
/* clang-format off */
#define ATTN_FIGURE_MAP(X)                                                                         \
    X(ATTN_FIGURE_MATRIX, "matrix", matrix, ATTN_FIGURE_OF_RUN | ATTN_FIGURE_AS_TEXT,              \
      "one head with its tokens; the default for one head. Of `attn-cli diff` three: one head in " \
      "both runs, and the difference")                                                             \
    X(ATTN_FIGURE_GRID, "grid", grid,                                                              \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_AS_TEXT,                             \
      "all heads as thumbnails, a row for each layer; the default for several heads and for "      \
      "tables")                                                                                    \
    X(ATTN_FIGURE_HEADS, "heads", matrix, ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_PAGE,                \
      "one query in all heads: a row for each head, a column for each word")                       \
    X(ATTN_FIGURE_UNDER, "under", under,                                                           \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_NUMBERS | ATTN_FIGURE_NO_PAGE,                           \
      "one query in all heads: each head is a tile under the word at which it looks most")         \
    X(ATTN_FIGURE_ANSWER, "answer", look,                                                          \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS | ATTN_FIGURE_NO_PAGE,    \
      "the eight heads that write most of the next word, above the words at which they look")      \
    X(ATTN_FIGURE_ARCS, "arcs", arcs, ATTN_FIGURE_OF_RUN,                                          \
      "the text, and arcs from one query to its keys, as wide as the weights")                     \
    X(ATTN_FIGURE_TOKENS, "tokens", tokens,                                                        \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_AS_TEXT,                             \
      "the text, each token on the color of its weight in one row (`queries`), or of its "         \
      "value in a table of tokens")                                                                \
    X(ATTN_FIGURE_PATCHES, "patches", patches, ATTN_FIGURE_OF_RUN,                                 \
      "heads over the picture of `image`, a cell for each patch; the default for `image`. "        \
      "Beside a text patches:tiles shows the grid of all tiles, patches:whole the picture as a "   \
      "whole, patches:both both in one map, added. "                                               \
      "patches:RxC lays out keys as an image of R rows and C columns")                             \
    X(ATTN_FIGURE_BARS, "bars", plot, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE,                 \
      "a bar for each row of a table, with its interval or standard error")                        \
    X(ATTN_FIGURE_CURVE, "curve", plot, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE,               \
      "a line over the layers or positions of a table")                                            \
    X(ATTN_FIGURE_MAP, "map", matrix,                                                              \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS,                        \
      "heads, their types and where their weight lies (`attn-cli heads`)")                         \
    X(ATTN_FIGURE_LIFE, "life", life, ATTN_FIGURE_OF_TABLE,                                        \
      "what each layer adds to the answer of a position, and from which words (`attn-cli lens`)")  \
    X(ATTN_FIGURE_PAIR, "pair", pair, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_NUMBERS,               \
      "two texts back to back, with the arcs of one head and the next words (`attn-cli diff`)")    \
    X(ATTN_FIGURE_CIRCUIT, "circuit", circuit,                                                     \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS,                        \
      "edges between parts, over the words at which these work (`attn-cli circuit`, "              \
      "`size`)")                                                                                   \
    X(ATTN_FIGURE_STRIP, "strip", strip,                                                           \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_NUMBERS,                        \
      "a row for each part, a dot for each group of items (`group_by`), a bar at the median. "     \
      "strip:2.5 colors the row of that name, strip the largest")
/* clang-format on */

enum { ATTN_N_FIGURE = 22 }; /* 1 + the largest number; 3, 5, 9, 15, 18 and 19 are not used again */
