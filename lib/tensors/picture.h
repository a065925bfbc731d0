/*
 * picture.h - the options of pictures: one struct for terminal, figures and pages.
 *
 *     struct attn_picture_options picture = ATTN_PICTURE_OPTIONS_DEFAULT;
 *     picture.colormap = attn_colormap_at(0);
 *     request.outputs.picture = &picture;
 *
 * Writers use it as writer->options.picture, which is never NULL. --merge-words, --hide-first and
 * --renormalize are applied before events reach a writer (tensors/view.h).
 */
#ifndef ATTN_TENSORS_PICTURE_H
#define ATTN_TENSORS_PICTURE_H

#include "base/note.h"
#include "base/status.h"
#include "tables/colormap.h"
#include "trace/site.h"

/* What a kind of figure draws, where, and which options have no effect on it. */
enum attn_figure_trait {
    ATTN_FIGURE_OF_RUN = 1,
    ATTN_FIGURE_OF_TABLE = 2,
    ATTN_FIGURE_NO_SCALE = 4, /* of colors */
    ATTN_FIGURE_NO_OTHER_SCALE = 8,
    ATTN_FIGURE_NO_NUMBERS = 16,
    ATTN_FIGURE_NO_CELLS = 32,
    ATTN_FIGURE_AS_TEXT = 64,     /* the terminal draws it for a run */
    ATTN_FIGURE_NO_PAGE = 128,    /* a page contains its SVG */
    ATTN_FIGURE_OVER_IMAGE = 512, /* over the picture of the run, without which no page draws it */
    ATTN_FIGURE_OF_LAYER = ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_PAGE | ATTN_FIGURE_OVER_IMAGE
};

/* The kinds of figures: X(NAME, number, name, file, traits, words of the help, with fields in
 * backquotes). lib/pictures/figure_FILE.c draws it, by attn_figure_draw_FILE. */
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
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_NUMBERS | ATTN_FIGURE_NO_CELLS | ATTN_FIGURE_NO_PAGE,    \
      "one query in all heads: each head is a tile under the word at which it looks most")         \
    X(LINES, 3, "lines", lines, ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_CELLS,                         \
      "two columns of tokens, and lines from each query to its three strongest keys")              \
    X(ARCS, 12, "arcs", arcs, ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_CELLS,                           \
      "the text, and arcs from one query to its keys, as wide as the weights")                     \
    X(TOKENS, 4, "tokens", tokens,                                                                 \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_CELLS | ATTN_FIGURE_AS_TEXT,      \
      "the text, each token on the color of its weight in one row (`queries`), or of its "         \
      "value in a table of tokens")                                                                \
    X(POINTS, 5, "points", points,                                                                 \
      ATTN_FIGURE_OF_RUN | ATTN_FIGURE_NO_CELLS | ATTN_FIGURE_NO_PAGE,                             \
      "the rows of a site on their first two principal components")                                \
    X(TILES, 15, "tiles", patches, ATTN_FIGURE_OF_LAYER,                                           \
      "the grid of all tiles of a picture beside a text, a cell for each position")                \
    X(WHOLE, 18, "whole", patches, ATTN_FIGURE_OF_LAYER, "the same picture as a whole")            \
    X(BOTH, 19, "both", patches, ATTN_FIGURE_OF_LAYER, "tiles and whole in one map, added")        \
    X(PATCHES, 6, "patches", patches, ATTN_FIGURE_OF_RUN | ATTN_FIGURE_OVER_IMAGE,                 \
      "heads over the picture of `image`, a cell for each patch; the default for `image`. "        \
      "patches:RxC lays out keys as an image of R rows and C columns")                             \
    X(BARS, 7, "bars", plot, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_CELLS,   \
      "a bar for each row of a table, with its interval or standard error")                        \
    X(CURVE, 8, "curve", plot, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_CELLS, \
      "a line over the layers or positions of a table")                                            \
    X(CAUSES, 9, "causes", causes, ATTN_FIGURE_OF_TABLE,                                           \
      "cells and MLPs that cause an answer (`attn-cli attribute`, `method causes`)")               \
    X(MAP, 10, "map", matrix,                                                                      \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_OTHER_SCALE |                   \
      ATTN_FIGURE_NO_NUMBERS,                                                                      \
      "heads, their types and where their weight lies (`attn-cli heads`)")                         \
    X(LIFE, 11, "life", life, ATTN_FIGURE_OF_TABLE,                                                \
      "what each layer adds to the answer of a position, and from which words (`attn-cli lens`)")  \
    X(PAIR, 14, "pair", arcs, ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_NUMBERS | ATTN_FIGURE_NO_CELLS,\
      "two texts below each other, with the arcs of one head and the next words (`attn-cli diff`)")\
    X(CIRCUIT, 16, "circuit", circuit,                                                             \
      ATTN_FIGURE_OF_TABLE | ATTN_FIGURE_NO_SCALE | ATTN_FIGURE_NO_CELLS | ATTN_FIGURE_NO_NUMBERS, \
      "edges between parts as a graph, layers upwards (`attn-cli circuit`, `size`)")
/* clang-format on */

enum attn_figure {
    ATTN_FIGURE_DEFAULT, /* a matrix if there is one, otherwise a grid */
#define ATTN_FIGURE_ENUM(name, number, text, file, traits, words) ATTN_FIGURE_##name = (number),
    ATTN_FIGURE_MAP(ATTN_FIGURE_ENUM)
#undef ATTN_FIGURE_ENUM
        ATTN_N_FIGURE = 1 ATTN_FIGURE_MAP(ATTN_COUNT)
};

/* When cells show their numbers. */
enum attn_cell_text {
    ATTN_CELL_TEXT_AUTO = 0,
    ATTN_CELL_TEXT_ALWAYS = 1,
    ATTN_CELL_TEXT_NEVER = 2
};

/* A text to which the numbers belong. Borrowed. */
struct attn_figure_text {
    const char *name; /* printed before the text, "clean"; or NULL */
    const char *text; /* [n]; or NULL */
    size_t n;
};

struct attn_live;

/* Copies TEXT to OUT [size], replacing field names in backquotes ("`heads 3.2`") by the names that
 * the reader uses. */
typedef void (*attn_name_fields_fn)(const char *text, char *out, size_t size);

/* The keys that are left out of rows: the first, or those where heads park weight. */
enum attn_hidden { ATTN_HIDDEN_NONE = 0, ATTN_HIDDEN_FIRST = 1, ATTN_HIDDEN_SINKS = 2 };

struct attn_picture_options {
    size_t size; /* size of this struct */

    enum attn_figure figure;
    /* To draw, with selected gradients; empty: the pattern if it is selected, else all sites. */
    struct attn_site_set sites;
    size_t n_patch_row, n_patch_column; /* for patches: R x C; 0: over the picture of the run */

    const struct attn_colormap *colormap; /* NULL: the default for the theme and the numbers */
    struct attn_color_scale color_scale;  /* may have default fields: see attn_color_scale_of */

    bool hides_first;  /* --hide-first, the same as ATTN_HIDDEN_FIRST */
    bool renormalizes; /* --renormalize: divides each row of weights by its sum */
    bool merges_words; /* --merge-words: the tokens of a word share one row and one column */

    enum attn_cell_text values;
    size_t cell;       /* side of a cell in pixels or points; 0: automatic */
    const char *title; /* NULL: default title; "": no title; null-terminated, borrowed */
    enum attn_theme theme;
    bool is_difference; /* numbers are chosen minus exact attention (--compare) */
    bool is_full;       /* --full: does not shorten tables of text */
    enum attn_hidden hides;

    /* Properties of the terminal. */
    size_t width;                   /* columns; 0: 80 */
    enum attn_color_depth depth;    /* number of colors */
    enum attn_theme terminal_theme; /* its background, used if `theme` is AUTO; AUTO: dark */
    bool is_plain;                  /* no half blocks and shades, because the locale is not UTF-8 */
    attn_name_fields_fn
        name_fields; /* renames fields in hints; NULL: no renaming, and no hints in "screen" */

    /* The size of figures and of their contents. */
    double dpi;       /* resolution of PNG; 0: 144, or 300 with a figure_width */
    double font_size; /* in points: of labels, with a figure_width of titles; 0: 9, or 8 */
    /* in points; 0: as needed. With a width, the words above become a note, ATTN_NOTE_CAPTION */
    double figure_width;
    /* font family; NULL: monospaced, or proportional with a figure_width; null-terminated,
     * borrowed */
    const char *font;

    const struct attn_live *live; /* makes a page live (page/page_live.h); or NULL. Borrowed */

    /* Called if a picture of a table does not get the requested size; or NULL. */
    attn_note_fn on_note;
    void *user; /* passed to on_note */
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_picture_options *
attn_picture_options_init(struct attn_picture_options *options, size_t size);
#define ATTN_PICTURE_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_picture_options)

#endif
