/*
 * picture.h - options for pictures and other views of a pattern, and the properties of the terminal
 * that shows them.
 *
 *     struct picture_args args;                       // filled by options_parse
 *     struct attn_picture_options picture;
 *     picture_find(&args, false, &picture);           // for this terminal
 */
#pragma once

#include "cmd/line/options.h"

#include "extra.h"

struct picture_args {
    struct attn_picture_options options; /* as given; 0: the default */
    bool is_heatmap;                     /* --heatmap */
    int color;                           /* enum color_wish */
};

/* The options of struct picture_args in addition to those of its `options`. */
extern const struct attn_param_list heatmap_options, color_options;

/* Completes the options of ARGS for this terminal: sets its width, unless it is given, and its
 * colors. The terminal's background is only asked for if HAS_COLORS: if the command may print
 * colors. */
void picture_find(const struct picture_args *args, bool has_colors,
                  struct attn_picture_options *picture);

/* If CALL asks for a list of color maps, prints it, with colors if the output can show them, and
 * returns true. */
bool colormaps_print(const struct call *call, const struct picture_args *args);
