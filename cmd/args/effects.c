/* effects.c - see effects.h. */
#include "cmd/args/effects.h"

#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <string.h>

enum {
    DRAWN = VIEW_PNG | VIEW_VECTOR | VIEW_FIGURE | VIEW_VIEWER,
    PICTURES = DRAWN | VIEW_HEATMAP,
    LABELLED = VIEW_PNG | VIEW_VECTOR | VIEW_FIGURE, /* their text has a chosen size */
    ANSWERS = VIEW_CONTINUATION | VIEW_PREDICTIONS | VIEW_ROWS,
};

/* Options that change some views only, in any command. */
static const struct {
    const char *option;
    unsigned views; /* that it changes */
} effects[] = {
    {"figure", PICTURES},
    {"column", PICTURES},
    {"colormap", PICTURES | VIEW_SCREEN},
    {"color-scale", PICTURES | VIEW_SCREEN},
    {"values", PICTURES},
    {"title", PICTURES},
    {"cell", DRAWN},
    {"theme", DRAWN},
    {"dpi", VIEW_PNG},
    {"font-size", LABELLED},
    {"font", LABELLED},
    {"figure-width", LABELLED},
    {"control", VIEW_TABLE | VIEW_PAPER | VIEW_DECIMAL | VIEW_FIGURE}, /* rows of the table alone */
    {"width", VIEW_TABLE | VIEW_PAPER | VIEW_SCREEN | VIEW_COMPARISON | VIEW_HEATMAP},
    {"full", VIEW_TENSORS | VIEW_SCREEN},
    {"precision", VIEW_TABLE | VIEW_DECIMAL | VIEW_ROWS | VIEW_PAPER},
    {"merge-words", ~(unsigned)(ANSWERS | VIEW_EXPLANATION)},
    {"hide-first", ~(unsigned)(ANSWERS | VIEW_EXPLANATION | VIEW_COMPARISON)},
    {"renormalize", ~(unsigned)(ANSWERS | VIEW_EXPLANATION)},
    {"layers", ~(unsigned)ANSWERS},
    {"heads", ~(unsigned)ANSWERS},
    {"sites", ~(unsigned)(ANSWERS | VIEW_EXPLANATION)},
    {"queries", ~(unsigned)VIEW_CONTINUATION},
};

/* Those that do not change the picture of an explanation. */
static const char of_tensors[] = "figure|values|cell|merge-words|hide-first|renormalize|sites";

static const struct {
    const char *format;
    unsigned view;
} formats[] = {
    {"csv", VIEW_DECIMAL}, {"tidy", VIEW_DECIMAL},    {"json", VIEW_DECIMAL},
    {"jsonl", VIEW_ROWS},  {"latex", VIEW_PAPER},     {"markdown", VIEW_PAPER},
    {"npy", VIEW_BINARY},  {"npz", VIEW_BINARY},      {"safetensors", VIEW_BINARY},
    {"png", VIEW_PNG},     {"svg", VIEW_VECTOR},      {"pdf", VIEW_VECTOR},
    {"html", VIEW_VIEWER}, {"heatmap", VIEW_HEATMAP},
};
enum { N_FORMAT = sizeof formats / sizeof *formats };

/* The view of format I beside SHOWN. */
static unsigned view_of(size_t i, unsigned shown)
{
    if (formats[i].view == VIEW_VIEWER && (shown & VIEW_TABLE) != 0)
        return VIEW_FIGURE;
    if (formats[i].view == VIEW_ROWS && (shown & (VIEW_TABLE | VIEW_COMPARISON)) != 0)
        return VIEW_DECIMAL;
    if ((strncmp(formats[i].format, "json", 4) == 0 || formats[i].view == VIEW_PAPER) &&
        (shown & VIEW_CONTINUATION) != 0)
        return VIEW_CONTINUATION;
    if (formats[i].view == VIEW_PAPER && (shown & VIEW_TABLE) == 0)
        return VIEW_ROWS;
    return formats[i].view;
}

static unsigned find_views(const struct output_args *output, const struct picture_args *picture,
                           unsigned shown)
{
    unsigned views = shown;

    if (outputs_are_wanted(output) || picture->is_heatmap)
        views &= ~(unsigned)(VIEW_TABLE | VIEW_TENSORS | VIEW_SCREEN);
    if (picture->is_heatmap)
        views |= VIEW_HEATMAP;
    for (size_t i = 0; i < N_FORMAT; i++)
        if (output_path(output, formats[i].format))
            views |= output->has_table_csv && strcmp(formats[i].format, "csv") == 0
                         ? VIEW_ROWS
                         : view_of(i, shown);
    return views;
}

/* What a figure of KIND lacks, so that OPTION has no effect on it; or NULL. */
static const char *find_lacking(enum attn_figure kind, const char *option)
{
    const bool is_plot = kind == ATTN_FIGURE_BARS || kind == ATTN_FIGURE_CURVE;
    const bool is_of_kinds = kind == ATTN_FIGURE_MAP || kind == ATTN_FIGURE_POSTER;

    if ((is_plot || kind == ATTN_FIGURE_MAP) && strcmp(option, "colormap") == 0)
        return "colour scale";
    if (is_of_kinds && strcmp(option, "color-scale") == 0)
        return "other scale";
    if (is_of_kinds && (strcmp(option, "values") == 0 || strcmp(option, "column") == 0))
        return "numbers";
    if (strcmp(option, "cell") != 0 && strcmp(option, "values") != 0)
        return NULL;
    return is_plot || kind == ATTN_FIGURE_TOKENS || kind == ATTN_FIGURE_LINES ||
                   kind == ATTN_FIGURE_POINTS
               ? "cells"
               : NULL;
}

/* Writes "--png, --svg or --pdf", the options of COMMAND for VIEWS, after the name of text that is
 * among these. */
static void list_outputs(const struct command *command, unsigned views, unsigned shown, char *list,
                         size_t size)
{
    const char *names[1 + N_FORMAT];
    size_t n = 0, used = 0;

    list[0] = '\0';
    if ((views & VIEW_TABLE & shown) != 0)
        names[n++] = "a table as text";
    else if ((views & VIEW_TENSORS) != 0 && (shown & (VIEW_TABLE | VIEW_CONTINUATION)) == 0)
        names[n++] = "tensors as text";
    for (size_t i = 0; i < N_FORMAT; i++)
        if ((view_of(i, shown) & views) != 0 && option_is_of(command, formats[i].format))
            names[n++] = formats[i].format;
    for (size_t i = 0; i < n; i++)
        attn_fixed_text_append(list, size, &used, "%s%s%s",
                               i == 0      ? ""
                               : i + 1 < n ? ", "
                                           : " or ",
                               strchr(names[i], ' ') ? "" : "--", names[i]);
}

enum attn_status effects_check(const struct call *call, const struct output_args *output,
                               const struct picture_args *picture, unsigned shown,
                               enum attn_figure figure, struct attn_error *err)
{
    const unsigned views = find_views(output, picture, shown);
    const char *lacking;
    char list[160];

    if (picture->options.figure != ATTN_FIGURE_DEFAULT)
        figure = picture->options.figure;
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);)
        for (size_t i = 0; call->given[walk.n - 1] && i < sizeof effects / sizeof *effects; i++) {
            unsigned changed = effects[i].views;

            if (strcmp(walk.option.name, effects[i].option) != 0)
                continue;
            if ((shown & VIEW_EXPLANATION) != 0 && word_find(of_tensors, effects[i].option) >= 0)
                changed &= ~(unsigned)DRAWN;
            if ((changed & views) == 0) {
                list_outputs(call->command, changed, shown, list, sizeof list);
                return refuse(err, NULL, "--%s has no effect here%s%s", effects[i].option,
                              list[0] ? ": it needs " : "", list);
            }
            lacking = find_lacking(figure, effects[i].option);
            if (lacking && (effects[i].views & views & ~(unsigned)LABELLED) == 0)
                return refuse(err, NULL, "--%s has no effect here: the figure has no %s",
                              effects[i].option, lacking);
        }
    return ATTN_OK;
}
