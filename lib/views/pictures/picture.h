/*
 * picture.h - the options of pictures: one struct for terminal, figures and pages.
 *
 *     struct attn_picture_options picture = ATTN_PICTURE_OPTIONS_DEFAULT;
 *     picture.colormap = attn_colormap_at(0);
 *     request.outputs.picture = &picture;
 *
 * Writers use it as writer->options.picture, which is never NULL. --merge-words, --hide and
 * --renormalize are applied before events reach a writer (tensors/view.h).
 */
#ifndef ATTN_PICTURES_PICTURE_H
#define ATTN_PICTURES_PICTURE_H

#include "base/note.h"
#include "pictures/colormap.h"
#include "pictures/figure_kind.h"
#include "tensors/output.h"
#include "trace/site.h"

/* A text to which the numbers belong. Borrowed. */
struct attn_figure_text {
    const char *name; /* printed before the text, "clean"; or NULL */
    const char *text; /* [n]; or NULL */
    size_t n;
};

struct attn_live;
struct attn_table;

/* Copies TEXT to OUT [size], replacing field names in backquotes ("`heads 3.2`") by the names that
 * the reader uses. */
typedef void (*attn_name_fields_fn)(const char *text, char *out, size_t size);

struct attn_picture_options {
    size_t size; /* size of this struct */

    enum attn_figure figure;
    /* To draw, with selected gradients; empty: the pattern if it is selected, else all sites. */
    struct attn_site_set sites;
    size_t n_patch_row, n_patch_column; /* for patches: R x C; 0: over the picture of the run */

    const struct attn_colormap *colormap; /* NULL: the default for the theme and the numbers */

    bool renormalizes; /* --renormalize: divides each row of weights by its sum */
    bool merges_words; /* --merge-words: the tokens of a word share one row and one column */

    const char *title; /* NULL: default title; "": no title; null-terminated, borrowed */
    enum attn_theme theme;
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

    const struct attn_live *live; /* makes a page live (page/page_live.h); or NULL. Borrowed */

    /* Called if a picture of a table does not get the requested size; or NULL. */
    attn_note_fn on_note;
    void *user; /* passed to on_note */

    /* for a strip: the name of the row that has the hue; NULL: that with the largest median.
     * Borrowed */
    const char *chosen;

    enum attn_patches patches; /* for patches over a picture beside a text */

    /* the next token of the run without each head in turn (ablate/ablate.h); NULL: unknown.
     * Borrowed */
    const struct attn_table *effects;

    /* the heads that make the next token (heads/answer_heads.h), by which a screen or a page
     * chooses the head that it opens with, or NULL. Borrowed */
    const struct attn_table *answer;

    /* the types of heads of a model that brings none along: the table of `probe` texts as JSON; or
     * NULL. Borrowed */
    const struct attn_blob *types;

    /* the figure of `answer` as SVG, wide and narrow, with which a page opens; or NULL. Borrowed */
    const struct attn_sink *opening;
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_picture_options *
attn_picture_options_init(struct attn_picture_options *options, size_t size);
#define ATTN_PICTURE_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_picture_options)

#endif
