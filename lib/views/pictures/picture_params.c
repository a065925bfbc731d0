/* picture_params.c - the parameters of pictures and of views of patterns (picture_internal.h). */
#include "pictures/picture_internal.h"

#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "params/param_internal.h"
#include "pictures/colormap_internal.h"

#include <string.h>

#define PICTURE struct attn_picture_options
enum { NOT_EXPLAINED = ATTN_PARAM_NOT_EXPLAINED };
enum { SHAPES = ATTN_PARAM_SHAPES_TENSORS | NOT_EXPLAINED }; /* changes patterns */
#define PATTERNS ~(unsigned)(ATTN_MEDIA_ANSWERS | ATTN_MEDIUM_EXPLANATION)

static const struct attn_param view_rows[] = {
    ATTN_PARAM(FLAG, "merge_words", NULL, PICTURE, merges_words,
               "show patterns between words: the columns of a word's tokens are summed, their rows "
               "averaged",
               .traits = SHAPES, .media = PATTERNS),
    ATTN_PARAM(
        CHOICE, "hide", NULL, PICTURE, hides,
        "leave out keys: first; parks, all keys where heads park weight, as `attn-cli sinks` "
        "with `by park` lists them, and the first and last of a source",
        .words = "none|first|parks", .traits = SHAPES, .media = PATTERNS),
    ATTN_PARAM(
        FLAG, "renormalize", NULL, PICTURE, renormalizes,
        "divide each row of a pattern by the sum of the weights that are left in it, but not "
        "of scores and gradients",
        .traits = SHAPES, .media = PATTERNS),
};
const struct attn_param_list attn_view_params = ATTN_PARAM_LIST("View", view_rows);

static enum attn_status read_figure(const struct attn_param *param, void *home, const char *label,
                                    const char *text, struct attn_error *err)
{
    (void)param, (void)label;
    return attn_error_at(attn_figure_parse(text, home, err), ATTN_STAGE_OPTIONS, err);
}

static enum attn_status read_colormap(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    PICTURE *picture = home;
    const struct attn_colormap *map = attn_colormap_find(text);
    char names[128] = "";
    size_t used = 0;

    (void)param, (void)label;
    if (map) {
        picture->colormap = map;
        return ATTN_OK;
    }
    for (size_t i = 0; i < attn_n_colormap(); i++)
        attn_fixed_text_append(names, sizeof names, &used, "%s%s",
                               i == 0                      ? ""
                               : i + 1 < attn_n_colormap() ? ", "
                                                           : " or ",
                               attn_colormap_name(attn_colormap_at(i)));
    return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' is no color map, expected %s",
                       attn_quote_string(text).text, names);
}

/* Reads a length, "85mm", as points. */
static enum attn_status read_length(const struct attn_param *param, void *home, const char *label,
                                    const char *text, struct attn_error *err)
{
    static const struct {
        const char *name;
        double points;
    } units[] = {{"mm", 72 / 25.4}, {"cm", 72 / 2.54}, {"in", 72}, {"pt", 1}};
    PICTURE *picture = home;
    const size_t n = strlen(text);
    double number;

    (void)param;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (n > 2 && strcmp(text + n - 2, units[i].name) == 0 &&
            attn_parse_double(text, n - 2, &number) && number > 0) {
            picture->figure_width = number * units[i].points;
            return ATTN_OK;
        }
    return attn_param_refuse(err, label, text, "a length as in 85mm, 8.5cm, 3.3in or 240pt");
}

#define FIGURE_NAME(name, number, text, file, traits, words) text ", "
#define FIGURE_REST                                                                                \
    "or patches:tiles|whole|both|RxC, which `attn-cli help figures` explains. Default: matrix "    \
    "for "                                                                                         \
    "one head, grid for several and for tables, patches for pictures, tokens for numbers by token"

static const struct attn_param picture_rows[] = {
    ATTN_PARAM(OWN, "figure", "KIND", PICTURE, figure,
               "what a figure shows: " ATTN_FIGURE_MAP(FIGURE_NAME) FIGURE_REST,
               .read = read_figure, .traits = NOT_EXPLAINED, .media = ATTN_MEDIA_PICTURES),
    ATTN_PARAM(TEXT, "title", "TEXT", PICTURE, title, "title of the figure; \"\" for none",
               .media = ATTN_MEDIA_PICTURES),
    ATTN_PARAM_WITH_SETTINGS("style", "how pictures and tables look", .variable = "ATTN_CLI_STYLE"),
    ATTN_PARAM(
        OWN, "colormap", "NAME", PICTURE, colormap,
        "colors; 'help' shows them. Default: blues in files and on light terminals, viridis on "
        "dark ones, diverging for numbers that may be negative",
        .read = read_colormap, .of = "style", .media = ATTN_MEDIA_PICTURES | ATTN_MEDIUM_SCREEN,
        .traits = ATTN_PARAM_TAKES_HELP | ATTN_PARAM_OF_SCALE),
    ATTN_PARAM(REAL, "dpi", "N", PICTURE, dpi,
               "pixels per inch of PNG; default: 144; with `figure_width`, 300", .least = 10,
               .most = 2400, .traits = ATTN_PARAM_IS_CLOSED, .of = "style",
               .media = ATTN_MEDIUM_PNG),
    ATTN_PARAM(REAL, "font_size", "PT", PICTURE, font_size,
               "size of a figure's labels in points, with which all else grows; default: 9; with "
               "`figure_width`, of titles of axes: 8",
               .least = 1, .most = 200, .traits = ATTN_PARAM_IS_CLOSED, .of = "style",
               .media = ATTN_MEDIA_LABELLED),
    ATTN_PARAM(OWN, "figure_width", "LENGTH", PICTURE, figure_width,
               "width of a figure, as in 85mm, 8.5cm, 3.3in or 240pt, in the look of a journal: "
               "titles of axes have `font_size` or else 8 points, labels 7, numbers 6.5, in "
               "Helvetica or the like, cells take the room, and the words above a figure are its "
               "caption, printed as a note",
               .read = read_length, .of = "style", .media = ATTN_MEDIA_LABELLED),
    ATTN_PARAM(COUNT, "width", "N", PICTURE, width,
               "columns of text; default: the width of the terminal. Without a terminal a heat map "
               "has COLUMNS or 80, a table as many as it needs",
               .least = 1, .most = 100000, .of = "style",
               .media = ATTN_MEDIUM_TABLE | ATTN_MEDIUM_PAPER | ATTN_MEDIUM_SCREEN |
                        ATTN_MEDIUM_HEATMAP),
    ATTN_PARAM(CHOICE, "theme", NULL, PICTURE, theme,
               "background (auto: light in files, the terminal's)", .words = "auto|light|dark",
               .of = "style", .media = ATTN_MEDIA_PICTURES | ATTN_MEDIUM_SCREEN),
};
const struct attn_param_list attn_picture_params = ATTN_PARAM_LIST("Figures", picture_rows);
