/* picture_internal.h - declarations of picture.h that only the library uses. */
#ifndef ATTN_WRITERS_PICTURE_INTERNAL_H
#define ATTN_WRITERS_PICTURE_INTERNAL_H

#include "base/buffer.h"
#include "base/param.h"
#include "writers/picture.h"

/* What shapes the patterns of a picture, and the picture; of a struct attn_picture_options. */
extern const struct attn_param_list attn_view_params, attn_picture_params;

/* Replaces the fields that TEXT names by their names for the reader of OPTIONS' picture. */
void attn_picture_name_fields(const struct attn_picture_options *options, struct attn_buffer *text);

const char *attn_figure_name(enum attn_figure figure); /* "grid"; not of the default */

/* The theme of text on the terminal: light or dark. */
enum attn_theme attn_picture_terminal_theme(const struct attn_picture_options *options);

/* The map for numbers of SCALE: OPTIONS' own, or diverging for both signs, or else USUAL. */
const struct attn_colormap *attn_picture_colormap(const struct attn_picture_options *options,
                                                  const struct attn_color_scale *scale,
                                                  const char *usual);

/* Copies the caller's options, perhaps a shorter struct, over PICTURE. ATTN_INVALID for unknown
 * choices. */
enum attn_status attn_picture_options_read(const struct attn_picture_options *given,
                                           struct attn_picture_options *picture,
                                           struct attn_error *err);

#endif
