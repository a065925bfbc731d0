/* picture.c - see picture.h. */
#include "cmd/args/picture.h"

#include "cmd/line/command.h"
#include "cmd/line/field_names.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "cmd/line/terminal.h"
#include "tool.h"

#include <string.h>

#define PLACE(field) .offset = offsetof(struct picture_args, field)

/* These change the numbers that are shown, so outputs that tell of options tell of them. */
static const struct option view_rows[] = {
    {.name = "merge-words",
     .heading = "View",
     .kind = OPTION_FLAG,
     PLACE(merges_words),
     .help = "show patterns between words: the columns of a word's tokens are summed, their rows "
             "averaged"},
    {.name = "hide-first",
     .heading = "View",
     .kind = OPTION_FLAG,
     PLACE(hides_first),
     .help = "leave out the first key, which often takes most of a row"},
    {.name = "renormalize",
     .heading = "View",
     .kind = OPTION_FLAG,
     PLACE(renormalizes),
     .help = "divide each row of a pattern by the sum of the weights that are left in it"},
};

const struct option_group view_options = OPTION_GROUP(view_rows);

static const struct option picture_rows[] = {
    {.name = "heatmap",
     .heading = "Pictures",
     .kind = OPTION_FLAG,
     PLACE(is_heatmap),
     .help = "print matrices as heat maps: each weight in percent on its colour"},
    {.name = "figure",
     .argument = "KIND",
     .heading = "Pictures",
     .kind = OPTION_TEXT,
     PLACE(figure),
     .help = "what a figure shows: matrix, grid, lines, tokens, points or patches:RxC; default: "
             "matrix for one head, grid for several"},
    {.name = "colormap",
     .argument = "NAME",
     .heading = "Pictures",
     .kind = OPTION_TEXT,
     PLACE(colormap),
     .help = "colours; 'help' shows them. Default: blues in files, viridis on a terminal, "
             "diverging for numbers that may be negative"},
    {.name = "color-scale",
     .argument = "SPEC",
     .heading = "Pictures",
     .kind = OPTION_TEXT,
     PLACE(color_scale),
     .help = "how numbers become colours: [linear|sqrt|log][:unit|:matrix|:row|:LO..HI]; each part "
             "may stand alone. Default: sqrt:unit for weights, linear:matrix for others"},
    {.name = "values",
     .argument = "auto|always|never",
     .heading = "Pictures",
     .kind = OPTION_CHOICE,
     PLACE(values),
     .help = "print numbers in the cells of a figure; auto (default): when a cell has room for two "
             "digits"},
    {.name = "cell",
     .argument = "N",
     .heading = "Pictures",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = 1000,
     PLACE(cell),
     .help = "side of a cell in pixels, in SVG and PDF in points"},
    {.name = "width",
     .argument = "N",
     .heading = "Pictures",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = 100000,
     PLACE(width),
     .help = "columns of a heat map; default: those of the terminal, else COLUMNS, else 80"},
    {.name = "title",
     .argument = "TEXT",
     .heading = "Pictures",
     .kind = OPTION_TEXT,
     PLACE(title),
     .help = "title of the figure; \"\" for none"},
    {.name = "theme",
     .argument = "light|dark",
     .heading = "Pictures",
     .kind = OPTION_CHOICE,
     PLACE(theme),
     .help = "colours of a figure's background and text: light, as on paper, or dark"},
    {.name = "color",
     .argument = "auto|always|never",
     .heading = "Pictures",
     .kind = OPTION_CHOICE,
     PLACE(color),
     .environment = "ATTN_CLI_COLOR",
     .help = "use colours in text; auto (default): on a terminal that has them, unless NO_COLOR is "
             "set"},
    {.name = "full",
     .heading = "Pictures",
     .kind = OPTION_FLAG,
     PLACE(is_full),
     .help = "print long tables whole, not shortened in the middle"},
};

const struct option_group picture_options = OPTION_GROUP(picture_rows);

static int find_colormap(const char *name, const struct attn_colormap **map)
{
    char names[128] = "";
    size_t used = 0;
    *map = attn_colormap_find(name);
    if (*map)
        return EXIT_DONE;
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const char *before = i == 0 ? "" : i + 1 < attn_n_colormap() ? ", " : " or ";
        attn_fixed_text_append(names, sizeof(names), &used, "%s%s", before,
                               attn_colormap_name(attn_colormap_at(i)));
    }
    return report_problem(EXIT_USAGE, "--colormap help shows them",
                          "'%s' is no colour map, expected %s", name, names);
}

int picture_find(const struct picture_args *args, struct attn_picture_options *picture)
{
    struct attn_error err = {0};
    int code = EXIT_DONE;
    *picture = ATTN_PICTURE_OPTIONS_DEFAULT;
    if (args->colormap)
        code = find_colormap(args->colormap, &picture->colormap);
    if (code == EXIT_DONE && args->color_scale &&
        attn_color_scale_parse(args->color_scale, &picture->color_scale, &err) != ATTN_OK)
        code = report(&err, EXIT_USAGE);
    if (code == EXIT_DONE && args->figure &&
        attn_figure_parse(args->figure, picture, &err) != ATTN_OK)
        code = report(&err, EXIT_USAGE);
    picture->hides_first = args->hides_first;
    picture->renormalizes = args->renormalizes;
    picture->merges_words = args->merges_words;
    picture->values = (enum attn_cell_text)args->values;
    picture->cell = (size_t)args->cell;
    picture->title = args->title;
    picture->theme = (enum attn_theme)args->theme;
    picture->is_full = args->is_full;
    picture->width = args->width > 0 ? (size_t)args->width : terminal_width();
    picture->depth = terminal_depth((enum color_wish)args->color);
    picture->is_plain = !terminal_is_utf8();
    picture->name_fields = field_names_show;
    return code;
}

bool picture_changes_pattern(const struct picture_args *args)
{
    return args->merges_words || args->hides_first || args->renormalizes;
}

enum { N_STEP = 32 }; /* of a map as it is shown */

static void print_ramp(const struct attn_colormap *map, enum attn_color_depth depth,
                       struct attn_sink *out)
{
    for (int i = 0; i < N_STEP; i++) {
        int level = i * (ATTN_N_COLOR - 1) / (N_STEP - 1);
        struct attn_rgb color = attn_colormap_color(map, ATTN_THEME_LIGHT, level);
        if (depth == ATTN_DEPTH_24_BIT)
            print(out, "\033[48;2;%d;%d;%dm ", color.r, color.g, color.b);
        else
            print(out, "\033[48;5;%dm ", attn_colormap_terminal(map, ATTN_THEME_LIGHT, level));
    }
    print_text(out, "\033[0m  ");
}

void colormaps_print(const struct picture_args *args, struct attn_sink *out)
{
    enum attn_color_depth depth = terminal_depth((enum color_wish)args->color);
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const struct attn_colormap *map = attn_colormap_at(i);
        print(out, "%-9s  ", attn_colormap_name(map));
        if (depth != ATTN_DEPTH_NONE)
            print_ramp(map, depth, out);
        print(out, "%s\n", attn_colormap_help(map));
    }
}
