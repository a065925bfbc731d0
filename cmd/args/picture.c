/* picture.c - see picture.h. */
#include "cmd/args/picture.h"

#include "cmd/line/field_names.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"
#include "tool.h"

#include <string.h>

/* These change the numbers that are shown, so outputs that list options list them. */
static const struct option view_rows[] = {
    OPTION_FLAG("merge-words", struct picture_args, merges_words,
                "show patterns between words: the columns of a word's tokens are summed, their "
                "rows averaged"),
    OPTION_FLAG("hide-first", struct picture_args, hides_first,
                "leave out the first key, which often takes most of a row"),
    OPTION_FLAG(
        "renormalize", struct picture_args, renormalizes,
        "divide each row of a pattern by the sum of the weights that are left in it; scores "
        "and gradients, which may be negative, stay as they are",
        .traits = OPTION_NOT_COMPARED),
};

const struct option_group view_options =
    OPTION_GROUP_WITH(OPTION_SHAPES_TENSORS, "View", view_rows);

static const struct option picture_rows[] = {
    OPTION_FLAG("heatmap", struct picture_args, is_heatmap,
                "print matrices as heat maps: each weight in percent on its colour"),
    OPTION_TEXT(
        "figure", "KIND", struct picture_args, figure,
        "what a figure shows: matrix, grid, lines, tokens, points, patches or patches:RxC; for a "
        "table grid, tokens, bars, curve or causes; for `heads` also map, a hue for each kind of "
        "head, or poster, the typical pattern of each head; default: matrix for one head, grid "
        "for several, patches for an --image, grid for a table, tokens for those of `score` "
        "and `attribute --method`, causes for its cells"),
    OPTION_TEXT("colormap", "NAME", struct picture_args, colormap,
                "colours; 'help' shows them. Default: blues in files, viridis on a terminal, "
                "diverging for numbers that may be negative"),
    OPTION_TEXT("color-scale", "SPEC", struct picture_args, color_scale,
                "how numbers become colours: [linear|sqrt|log][:unit|:matrix|:row|:LO..HI]; each "
                "part may stand alone. Default: sqrt:unit for weights, linear:matrix for others; "
                "gradients in one figure share one scale"),
    OPTION_CHOICE("values", "auto|always|never", struct picture_args, values,
                  "print numbers in the cells of a figure; auto (default): when a cell has room "
                  "for two digits"),
    OPTION_NUMBER("cell", "N", struct picture_args, cell, 1, 1000,
                  "side of a cell in pixels, in SVG and PDF in points"),
    OPTION_NUMBER("dpi", "N", struct picture_args, dpi, 10, 2400,
                  "pixels per inch of PNG; default: 144, with --figure-width 300"),
    OPTION_REAL("font-size", "PT", struct picture_args, font_size,
                "size of a figure's labels in points, with which all else grows; default: 9, with "
                "--figure-width 8",
                .min = 1, .max = 200, .is_closed = true),
    OPTION_TEXT(
        "font", "NAME", struct picture_args, font,
        "font of a figure; default: a monospaced one, with --figure-width a proportional one"),
    OPTION_TEXT("figure-width", "LENGTH", struct picture_args, figure_width,
                "width of a figure, as in 85mm, 8.5cm, 3.3in or 240pt, in the look of a journal: "
                "text has --font-size or else 8 points, in Helvetica or the like, cells take the "
                "room, and the words above a figure are its caption, printed as a note"),
    OPTION_NUMBER(
        "width", "N", struct picture_args, width, 1, 100000,
        "columns of text; default: the width of the terminal. Without a terminal a heat map "
        "has COLUMNS or 80, a table as many as it needs"),
    OPTION_TEXT("title", "TEXT", struct picture_args, title, "title of the figure; \"\" for none"),
    OPTION_CHOICE("theme", "light|dark", struct picture_args, theme,
                  "colours of a figure's background and text: light, as on paper, or dark"),
    OPTION_CHOICE("color", "auto|always|never", struct picture_args, color,
                  "use colours in text; auto (default): on a terminal that has them, unless "
                  "NO_COLOR is set",
                  .environment = "ATTN_CLI_COLOR"),
    OPTION_FLAG("full", struct picture_args, is_full,
                "print long tables whole, not shortened in the middle"),
};

const struct option_group picture_options = OPTION_GROUP("Pictures", picture_rows);

static enum attn_status find_colormap(const char *name, const struct attn_colormap **map,
                                      struct attn_error *err)
{
    char names[128] = "";
    size_t used = 0;

    *map = attn_colormap_find(name);
    if (*map)
        return ATTN_OK;
    for (size_t i = 0; i < attn_n_colormap(); i++) {
        const char *before = i == 0 ? "" : i + 1 < attn_n_colormap() ? ", " : " or ";

        attn_fixed_text_append(names, sizeof names, &used, "%s%s", before,
                               attn_colormap_name(attn_colormap_at(i)));
    }
    return refuse(err, "--colormap help shows them", "'%s' is no colour map, expected %s", name,
                  names);
}

/* A length in points: "85mm". */
static enum attn_status read_length(const char *text, double *points, struct attn_error *err)
{
    static const struct {
        const char *name;
        double points;
    } units[] = {{"mm", 72 / 25.4}, {"cm", 72 / 2.54}, {"in", 72}, {"pt", 1}};
    const size_t n = strlen(text);
    double number;

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (n > 2 && strcmp(text + n - 2, units[i].name) == 0 &&
            attn_parse_double(text, n - 2, &number) && number > 0) {
            *points = number * units[i].points;
            return ATTN_OK;
        }
    return refuse(err, NULL,
                  "'--figure-width' is '%s', expected a length as in 85mm, 8.5cm, 3.3in or "
                  "240pt",
                  text);
}

static enum attn_status read_size(const struct picture_args *args,
                                  struct attn_picture_options *picture, struct attn_error *err)
{
    if (args->figure_width)
        ATTN_TRY(read_length(args->figure_width, &picture->figure_width, err));
    if (args->figure_width && args->cell > 0)
        return refuse(err, NULL, "--figure-width and --cell both set the size");
    picture->dpi = (double)args->dpi;
    picture->font_size = args->font_size;
    picture->font = args->font;
    return ATTN_OK;
}

enum attn_status picture_find(const struct picture_args *args, struct attn_picture_options *picture,
                              struct attn_error *err)
{
    *picture = ATTN_PICTURE_OPTIONS_DEFAULT;
    if (args->colormap)
        ATTN_TRY(find_colormap(args->colormap, &picture->colormap, err));
    if (args->color_scale)
        ATTN_TRY(at_stage(ATTN_STAGE_OPTIONS,
                          attn_color_scale_parse(args->color_scale, &picture->color_scale, err),
                          err));
    if (args->figure)
        ATTN_TRY(at_stage(ATTN_STAGE_OPTIONS, attn_figure_parse(args->figure, picture, err), err));
    ATTN_TRY(read_size(args, picture, err));
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
    return ATTN_OK;
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
