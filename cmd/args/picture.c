#include "cmd/args/picture.h"

#include "cmd/line/field_names.h"
#include "cmd/line/help.h"
#include "cmd/line/print.h"
#include "tool.h"

static const struct attn_param heatmap_rows[] = {
    ATTN_PARAM(FLAG, "heatmap", NULL, struct picture_args, is_heatmap,
               "print matrices as heat maps: each weight in percent on its color"),
};

const struct attn_param_list heatmap_options = ATTN_PARAM_LIST("Figures", heatmap_rows);

static const struct attn_param color_rows[] = {
    ATTN_PARAM(CHOICE, "color", NULL, struct picture_args, color,
               "use colors in text; auto (default): on a terminal that has them, unless "
               "NO_COLOR is set",
               .variable = "ATTN_CLI_COLOR", .words = "auto|always|never"),
};

const struct attn_param_list color_options = ATTN_PARAM_LIST("Figures", color_rows);

void picture_find(const struct picture_args *args, bool has_colors,
                  struct attn_picture_options *picture)
{
    *picture = args->options;
    picture->size = sizeof *picture;
    if (picture->width == 0)
        picture->width = terminal_width();
    picture->depth = terminal_depth((enum color_wish)args->color);
    if (has_colors && picture->theme == ATTN_THEME_AUTO)
        picture->terminal_theme = terminal_theme(picture->depth);
    picture->is_plain = !terminal_is_utf8();
    picture->name_fields = field_names_show;
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
