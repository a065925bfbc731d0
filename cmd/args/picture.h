/*
 * picture.h - options that shape pictures and other views of a pattern, and the terminal that
 * shows them.
 *
 *     struct picture_args args;                       // filled by options_parse
 *     struct attn_picture_options picture;
 *     picture_find(&args, &picture, err);             // what they say, values checked
 */
#ifndef CMD_PICTURE_ARGS_H
#define CMD_PICTURE_ARGS_H

#include "cmd/line/options.h"

#include "extra.h"

struct picture_args {
    bool is_heatmap; /* --heatmap */
    bool is_full;    /* --full */
    bool hides_first, renormalizes, merges_words;
    const char *figure, *colormap, *color_scale; /* as written, or NULL */
    const char *title;                           /* NULL: the default */
    int values, theme;                           /* enum attn_cell_text, enum attn_theme */
    int64_t cell, width, dpi;                    /* 0: the default */
    double font_size;                            /* 0: the default */
    const char *font, *figure_width;             /* NULL: not given */
    int color;                                   /* enum color_wish */
};

/* Options that fill a struct picture_args: views of a pattern; pictures. */
extern const struct option_group view_options;
extern const struct option_group picture_options;

/* Parses ARGS, with the terminal's width and colours as defaults. */
enum attn_status picture_find(const struct picture_args *args, struct attn_picture_options *picture,
                              struct attn_error *err);

/* The list for --colormap help, in colours where OUT shows any. */
void colormaps_print(const struct picture_args *args, struct attn_sink *out);

#endif
