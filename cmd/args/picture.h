/*
 * picture.h - options that shape pictures and other views of a pattern, and the terminal that
 * shows them.
 *
 *     struct picture_args args;                       // filled by options_parse
 *     struct attn_picture_options picture;
 *     picture_find(&args, &picture, err);             // for this terminal
 */
#ifndef CMD_PICTURE_ARGS_H
#define CMD_PICTURE_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

struct picture_args {
    struct attn_picture_options options; /* as given: what is 0 has its default */
    bool is_heatmap;                     /* --heatmap */
    int color;                           /* enum color_wish */
};

/* Options that fill a struct picture_args: views of a pattern; pictures, and those of tables. */
extern const struct option_group view_options;
extern const struct option_group picture_options;
extern const struct option_group figure_options, color_options; /* of them, for tables */

/* The options of ARGS for this terminal: its width, unless that is given, and its colours. Only if
 * HAS_COLORS, colours may be printed on it, its background matters. */
enum attn_status picture_find(const struct picture_args *args, bool has_colors,
                              struct attn_picture_options *picture, struct attn_error *err);

/* Whether CALL asks which colour maps there are: then prints them, in colours where its output
 * shows any. */
bool colormaps_print(const struct call *call, const struct picture_args *args);

#endif
