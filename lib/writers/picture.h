/*
 * picture.h - the options of pictures: one struct for terminal, figures and pages.
 *
 *     struct attn_picture_options picture = ATTN_PICTURE_OPTIONS_DEFAULT;
 *     picture.colormap = attn_colormap_find("magma");
 *     request.outputs.picture = &picture;
 *
 * Each writer finds it as writer->options.picture, which is never NULL there, and reads the fields
 * it needs. --merge-words, --hide-first and --renormalize take effect before events come to writers
 * (writers/view.h): a writer only draws the first column as hidden.
 */
#ifndef ATTN_WRITERS_PICTURE_H
#define ATTN_WRITERS_PICTURE_H

#include "base/note.h"
#include "base/status.h"
#include "encode/colormap.h"
#include "trace/site.h"

/* The contents of a figure. */
#define ATTN_FIGURE_MAP(X)                                                                         \
    X(MATRIX, 1, "matrix")   /* one matrix with its labels */                                      \
    X(GRID, 2, "grid")       /* all chosen matrices, without labels */                             \
    X(LINES, 3, "lines")     /* two columns of tokens and lines between them */                    \
    X(TOKENS, 4, "tokens")   /* the text, coloured by one row */                                   \
    X(POINTS, 5, "points")   /* rows of a site on their first principal components */              \
    X(PATCHES, 6, "patches") /* rows of a pattern laid out as patches of an image */               \
    X(BARS, 7, "bars")       /* rows of a table from 0, with error bars */                         \
    X(CURVE, 8, "curve")     /* rows of a table by layer or position, a line a group */            \
    X(CAUSES, 9, "causes")  /* cells and MLPs that cause an answer: positions across, layers up */ \
    X(MAP, 10, "map")       /* heads of a table, coloured by kind */                               \
    X(POSTER, 11, "poster") /* the typical patterns of all heads, those that are alike together */

enum attn_figure {
    ATTN_FIGURE_DEFAULT, /* a matrix for one, a grid for several */
#define ATTN_FIGURE_ENUM(name, number, text) ATTN_FIGURE_##name = (number),
    ATTN_FIGURE_MAP(ATTN_FIGURE_ENUM)
#undef ATTN_FIGURE_ENUM
        ATTN_N_FIGURE = 1 ATTN_FIGURE_MAP(ATTN_COUNT)
};

/* Whether numbers stand in cells. */
enum attn_cell_text {
    ATTN_CELL_TEXT_AUTO = 0,
    ATTN_CELL_TEXT_ALWAYS = 1,
    ATTN_CELL_TEXT_NEVER = 2
};

/* A text that numbers are of. Borrowed. */
struct attn_figure_text {
    const char *name; /* "clean", which stands before it; or NULL */
    const char *text; /* [n]; or NULL */
    size_t n;
};

struct attn_live;

/* Copies TEXT to OUT [size], with fields in backquotes ("`heads 3.2`") renamed for the reader. */
typedef void (*attn_name_fields_fn)(const char *text, char *out, size_t size);

struct attn_picture_options {
    size_t size; /* of this struct */

    enum attn_figure figure;
    /* Bits of the sites to draw, with their selected gradients; 0: pattern if selected, else all.
     */
    attn_site_set sites;
    size_t n_patch_row,
        n_patch_column; /* of ATTN_FIGURE_PATCHES: R x C; 0: over the picture of the run */

    const struct attn_colormap *colormap; /* NULL: the default for the skin and the numbers */
    struct attn_color_scale color_scale;  /* may have open parts: see attn_color_scale_of */

    bool hides_first;  /* --hide-first: the first key of each row is left out */
    bool renormalizes; /* --renormalize: each row of weights is divided by its sum */
    bool merges_words; /* --merge-words: tokens of a word are one row and one column */

    enum attn_cell_text values;
    size_t cell;       /* a cell's side in pixels or points; 0: automatic */
    const char *title; /* NULL: the default, "": left out; terminated, borrowed */
    enum attn_theme theme;
    bool is_difference; /* the numbers are chosen minus exact (--compare) */
    bool is_full;       /* --full: tables of text are not shortened */

    /* The terminal. */
    size_t width;                   /* columns; 0: 80 */
    enum attn_color_depth depth;    /* of its colours */
    enum attn_theme terminal_theme; /* its ground, for `theme` AUTO; AUTO: dark */
    bool is_plain;                  /* no half blocks and shades: the locale is not UTF-8 */
    attn_name_fields_fn
        name_fields; /* renames fields in hints; NULL: no renaming, no hints in "screen" */

    /* The size of figures, with all that is in them. */
    double dpi;          /* of PNG; 0: 144, with a width 300 */
    double font_size;    /* of labels, in points; 0: 9, with a width 8 */
    double figure_width; /* in points; 0: as needed. Cells take the room, the words above are in
                            a note, ATTN_NOTE_CAPTION */
    const char *font;    /* a family; NULL: monospaced, with a width proportional; terminated,
                            borrowed */

    const struct attn_live
        *live; /* makes a page live (page/page_live.h); NULL: it is not. Borrowed */

    /* Called for pictures of tables whose size differs from the requested one; or NULL. */
    attn_note_fn on_note;
    void *user; /* for on_note */
};

#define ATTN_PICTURE_OPTIONS_DEFAULT                                                               \
    ((struct attn_picture_options){.size = sizeof(struct attn_picture_options),                    \
                                   .color_scale = ATTN_COLOR_SCALE_DEFAULT})

/* Parses --figure: "grid", "patches", "patches:14x14". ATTN_INVALID leaves OPTIONS unchanged. */
ATTN_API enum attn_status attn_figure_parse(const char *text, struct attn_picture_options *options,
                                            struct attn_error *err);

#endif
