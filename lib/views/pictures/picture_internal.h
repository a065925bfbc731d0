#pragma once

#include "base/buffer.h"
#include "params/param.h"
#include "pictures/picture.h"

/* Parameters that change the patterns of a picture, and parameters of the picture itself; fields of
 * struct attn_picture_options. */
extern const struct attn_param_list attn_view_params, attn_picture_params;

/* Replaces field names in TEXT by the names that readers of OPTIONS' picture use. */
void attn_picture_name_fields(const struct attn_picture_options *options, struct attn_buffer *text);

const char *attn_figure_name(enum attn_figure figure); /* "grid"; "" for the default */

const char *attn_patches_name(enum attn_patches cells); /* ":tiles"; "" for the usual ones */

/* Returns the set of enum attn_figure_trait of FIGURE; 0 of the default, and of what is no figure.
 */
unsigned attn_figure_traits(enum attn_figure figure);

/* Returns the words of the help about the figure in place I of messages, and its name in *name;
 * NULL after the last. */
const char *attn_figure_help(size_t i, const char **name);

struct attn_figure_names {
    char text[160];
};

/* Lists the names of the figures with TRAIT, LAST before the last one: "grid, tokens or bars". */
struct attn_figure_names attn_figure_names(enum attn_figure_trait trait, const char *last);

/* Returns the theme of text on the terminal: light or dark. */
enum attn_theme attn_picture_terminal_theme(const struct attn_picture_options *options);

/* Returns the color map for numbers of SCALE: the one set in OPTIONS; otherwise a diverging one if
 * numbers have both signs, or USUAL. */
const struct attn_colormap *attn_picture_colormap(const struct attn_picture_options *options,
                                                  const struct attn_color_scale *scale,
                                                  const char *usual);

/* Copies the caller's options, whose struct may be shorter, over PICTURE. ATTN_INVALID for invalid
 * enum values. */
enum attn_status attn_picture_options_read(const struct attn_picture_options *given,
                                           struct attn_picture_options *picture,
                                           struct attn_error *err);

/* Parses the value of --figure: "grid", "patches", "patches:14x14". If it is ATTN_INVALID, OPTIONS
 * is unchanged. */
enum attn_status attn_figure_parse(const char *text, struct attn_picture_options *options,
                                   struct attn_error *err);
