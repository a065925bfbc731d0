/* picture.c - see picture.h. */
#include "cmd/args/picture.h"

#include "cmd/line/field_names.h"
#include "cmd/line/help.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

const struct option_group view_options = {.params = &attn_view_params,
                                          .offset = offsetof(struct picture_args, options)};
const struct option_group figure_options = {.params = &attn_picture_params,
                                            .offset = offsetof(struct picture_args, options)};

static const struct option heatmap_rows[] = {
    OPTION_FLAG("heatmap", struct picture_args, is_heatmap,
                "print matrices as heat maps: each weight in percent on its color"),
};

static const struct option color_rows[] = {
    OPTION_CHOICE("color", "auto|always|never", struct picture_args, color,
                  "use colors in text; auto (default): on a terminal that has them, unless "
                  "NO_COLOR is set",
                  .environment = "ATTN_CLI_COLOR"),
};

const struct option_group color_options = OPTION_GROUP("Pictures", color_rows);

static const struct option full_rows[] = {
    OPTION_FLAG("full", struct picture_args, options.is_full,
                "print long tables whole, not shortened in the middle",
                .media = ATTN_MEDIUM_TENSORS | ATTN_MEDIUM_SCREEN),
};

static const struct option_group heatmap_options = OPTION_GROUP("Pictures", heatmap_rows);
static const struct option_group full_options = OPTION_GROUP("Pictures", full_rows);

static const struct option_part parts[] = {
    {&heatmap_options, 0},
    {&figure_options, 0},
    {&color_options, 0},
    {&full_options, 0},
};

const struct option_group picture_options = {OPTION_PARTS(parts)};

enum attn_status picture_find(const struct picture_args *args, bool has_colors,
                              struct attn_picture_options *picture, struct attn_error *err)
{
    if (args->options.figure_width > 0 && args->options.cell > 0)
        return refuse(err, NULL, "--style figure-width and cell both set the size");
    *picture = args->options;
    picture->size = sizeof *picture;
    if (picture->width == 0)
        picture->width = terminal_width();
    picture->depth = terminal_depth((enum color_wish)args->color);
    if (has_colors && picture->theme == ATTN_THEME_AUTO)
        picture->terminal_theme = terminal_theme(picture->depth);
    picture->is_plain = !terminal_is_utf8();
    picture->name_fields = field_names_show;
    return ATTN_OK;
}

enum { N_STEP = 32 }; /* number of colors of a map that are printed */

static void print_ramp(const struct attn_colormap *map, enum attn_color_depth depth,
                       enum attn_theme theme, struct attn_sink *out)
{
    for (int i = 0; i < N_STEP; i++) {
        int level = i * (ATTN_N_COLOR - 1) / (N_STEP - 1);
        struct attn_rgb color = attn_colormap_color(map, theme, level);

        if (depth == ATTN_DEPTH_24_BIT)
            print(out, "\033[48;2;%d;%d;%dm ", color.r, color.g, color.b);
        else
            print(out, "\033[48;5;%dm ", attn_colormap_terminal(map, theme, level));
    }
    print_text(out, "\033[0m  ");
}

bool colormaps_print(const struct call *call, const struct picture_args *args)
{
    const enum attn_color_depth depth = terminal_depth((enum color_wish)args->color);
    struct attn_picture_options picture = args->options;

    if (!help_is_asked(option_text(call, "colormap")))
        return false;
    picture.terminal_theme = terminal_theme(depth);
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const struct attn_colormap *map = attn_colormap_at(i);

        print(call->out, "%-9s  ", attn_colormap_name(map));
        if (depth != ATTN_DEPTH_NONE)
            print_ramp(map, depth, attn_picture_terminal_theme(&picture), call->out);
        print(call->out, "%s\n", attn_colormap_help(map));
    }
    return true;
}
