/* picture.c - see picture.h; and the parameters of pictures and of views of patterns. */
#include "pictures/picture_internal.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "params/param_internal.h"
#include "pictures/colormap_internal.h"
#include "pictures/figure_rows.h"
#include "tensors/view.h"

#include <string.h>

ATTN_DEFAULTS(attn_picture_options, .size = sizeof(struct attn_picture_options))

/* The names, in the order in which messages list them. */
static const struct {
    enum attn_figure figure;
    unsigned traits;
    const char *name, *words;
} figures[] = {
#define FIGURE(number, name, file, traits, words) {(enum attn_figure)(number), traits, name, words},
    ATTN_FIGURE_MAP(FIGURE)
#undef FIGURE
};

enum {
    N_FIGURE = sizeof figures / sizeof *figures,
    MOST_PATCHES = 1 << 16, /* maximum patches per side, so that R x C fits any size_t */
};

const char *attn_figure_name(enum attn_figure figure)
{
    for (size_t i = 0; i < N_FIGURE; i++)
        if (figures[i].figure == figure)
            return figures[i].name;
    return "";
}

unsigned attn_figure_traits(enum attn_figure figure)
{
    for (size_t i = 0; i < N_FIGURE; i++)
        if (figures[i].figure == figure)
            return figures[i].traits;
    return 0;
}

const char *attn_figure_help(size_t i, const char **name)
{
    if (i >= N_FIGURE)
        return NULL;
    *name = figures[i].name;
    return figures[i].words;
}

struct attn_figure_names attn_figure_names(enum attn_figure_trait trait, const char *last)
{
    struct attn_figure_names names;
    size_t n = 0, used = 0;

    names.text[0] = '\0';
    for (size_t i = N_FIGURE; i-- > 0;)
        n += (figures[i].traits & trait) != 0;
    for (size_t i = 0; i < N_FIGURE; i++)
        if ((figures[i].traits & trait) != 0)
            attn_fixed_text_append(names.text, sizeof names.text, &used, "%s%s",
                                   used == 0  ? ""
                                   : --n == 1 ? last
                                              : ", ",
                                   figures[i].name);
    return names;
}

static const char *const patches[] = {"", ":tiles", ":whole", ":both"}; /* by enum attn_patches */

enum { N_PATCHES = sizeof patches / sizeof *patches };

const char *attn_patches_name(enum attn_patches cells)
{
    return patches[cells];
}

/* Parses "tiles", "whole", "both" or "RxC". */
static bool read_patches(const char *text, struct attn_picture_options *options)
{
    const char *x = strchr(text, 'x');
    int64_t n_row, n_column;

    for (size_t i = 1; i < N_PATCHES; i++)
        if (strcmp(text, patches[i] + 1) == 0) {
            options->figure = ATTN_FIGURE_PATCHES;
            options->n_patch_row = options->n_patch_column = 0;
            options->patches = (enum attn_patches)i;
            return true;
        }
    if (!x || !attn_parse_int(text, (size_t)(x - text), 1, MOST_PATCHES, &n_row) ||
        !attn_parse_int(x + 1, strlen(x + 1), 1, MOST_PATCHES, &n_column))
        return false;
    options->figure = ATTN_FIGURE_PATCHES;
    options->n_patch_row = (size_t)n_row;
    options->n_patch_column = (size_t)n_column;
    options->patches = ATTN_PATCHES_USUAL;
    return true;
}

enum attn_status attn_figure_parse(const char *text, struct attn_picture_options *options,
                                   struct attn_error *err)
{
    ATTN_NEED(err, text, options);
    static const char over[] = "patches:", strip[] = "strip:";

    for (size_t i = 0; i < N_FIGURE; i++)
        if (strcmp(text, figures[i].name) == 0) {
            options->figure = figures[i].figure;
            options->n_patch_row = options->n_patch_column = 0;
            options->patches = ATTN_PATCHES_USUAL;
            options->chosen = NULL;
            return ATTN_OK;
        }
    if (strncmp(text, strip, sizeof strip - 1) == 0 && text[sizeof strip - 1] != '\0') {
        options->figure = ATTN_FIGURE_STRIP;
        options->chosen = text + sizeof strip - 1;
        return ATTN_OK;
    }
    if (strncmp(text, over, sizeof over - 1) == 0 && read_patches(text + sizeof over - 1, options))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' is no figure, expected %s, over an image, or "
                          "patches:tiles|whole|both|RxC with R rows of C patches, or of a table %s",
                          attn_quote_string(text).text,
                          attn_figure_names(ATTN_FIGURE_OF_RUN, ", ").text,
                          attn_figure_names(ATTN_FIGURE_OF_TABLE, " or ").text);
}

void attn_picture_name_fields(const struct attn_picture_options *options, struct attn_buffer *text)
{
    enum { LONGEST = 512 }; /* maximum length of a line of a picture */
    const char *string = attn_buffer_string(text);
    char named[LONGEST];

    if (!string || !options->name_fields)
        return;
    options->name_fields(string, named, sizeof named);
    text->size = 0;
    attn_buffer_append_string(text, named);
}

enum attn_theme attn_picture_terminal_theme(const struct attn_picture_options *options)
{
    const enum attn_theme theme =
        options->theme != ATTN_THEME_AUTO ? options->theme : options->terminal_theme;

    return theme != ATTN_THEME_AUTO ? theme : ATTN_THEME_DARK;
}

const struct attn_colormap *attn_picture_colormap(const struct attn_picture_options *options,
                                                  const struct attn_color_scale *scale,
                                                  const char *usual)
{
    if (options->colormap)
        return options->colormap;
    return attn_colormap_find(scale->is_signed ? "diverging" : usual);
}

/* Returns true if SIZE is 0, the default, or within LEAST and MOST. Otherwise sets the error. */
static bool is_size(double size, double least, double most, const char *name,
                    struct attn_error *err)
{
    if (size == 0 || (size >= least && size <= most))
        return true;
    attn_error_set(err, ATTN_INVALID, "`%s` is %g%s, expected %g to %g", name, size,
                   strcmp(name, "dpi") == 0 ? "" : " points", least, most);
    return false;
}

static bool is_used(enum attn_figure figure, struct attn_error *err)
{
    if (!figure || attn_figure_traits(figure) != 0)
        return true;
    attn_refuse(err, ATTN_STAGE_OPTIONS, "'figure' is %d, which is no figure any more", figure);
    return false;
}

enum attn_status attn_picture_options_read(const struct attn_picture_options *given,
                                           struct attn_picture_options *picture,
                                           struct attn_error *err)
{
    struct attn_picture_options read = ATTN_PICTURE_OPTIONS_DEFAULT;
    const enum attn_status status = attn_options_read(given, &read, err);

    ATTN_TRY(status);
    if (!attn_is_choice(read.figure, ATTN_N_FIGURE, "figure", err) || !is_used(read.figure, err) ||
        !attn_is_choice(read.patches, N_PATCHES, "patches", err) ||
        !attn_is_choice(read.theme, ATTN_THEME_DARK + 1, "theme", err) ||
        !attn_is_choice(read.terminal_theme, ATTN_THEME_DARK + 1, "terminal_theme", err) ||
        !attn_is_choice(read.depth, ATTN_DEPTH_24_BIT + 1, "depth", err) ||
        !is_size(read.dpi, 10, 2400, "dpi", err) ||
        !is_size(read.font_size, 1, 200, "font_size", err) ||
        !is_size(read.figure_width, 28, 14174, "figure_width", err)) /* 1 cm to 5 m */
        return ATTN_INVALID;
    *picture = read;
    return ATTN_OK;
}

static enum attn_status copy_options(const struct attn_picture_options *given,
                                     struct attn_picture_options **picture, struct attn_error *err)
{
    struct attn_picture_options read;

    ATTN_TRY(attn_picture_options_read(given, &read, err));
    ATTN_TRY(ATTN_ALLOC(*picture, 1, err));
    **picture = read;
    return ATTN_OK;
}

static struct attn_view_options find_view(const struct attn_picture_options *picture)
{
    return (struct attn_view_options){.merges_words = picture->merges_words,
                                      .types = picture->types,
                                      .renormalizes = picture->renormalizes,
                                      .hides = picture->hides,
                                      .is_of_figure = picture->figure != ATTN_FIGURE_DEFAULT,
                                      .shows_sinks = picture->figure == ATTN_FIGURE_UNDER};
}

static const struct attn_picture_options usual = {.size = sizeof(struct attn_picture_options)};

const struct attn_picture_settings attn_settings_of_pictures = {
    &attn_picture_params, &attn_view_params, &usual, copy_options, find_view};

/* --- Parameters ------------------------------------------------------------------------------- */

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
        "divide each row of a pattern by the sum of the weights left in it; not of scores or "
        "gradients",
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

#define FIGURE_NAME(number, name, file, traits, words) name ", "
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
