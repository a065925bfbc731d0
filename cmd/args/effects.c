/* effects.c - see effects.h. */
#include "cmd/args/effects.h"

#include "cmd/line/options.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <string.h>

/* Returns the medium of FORMAT if SHOWN, a set of media, is written to it. */
static unsigned medium_of(const struct attn_format *format, unsigned shown)
{
    const unsigned medium = format->medium;
    const bool is_table = (shown & ATTN_MEDIUM_TABLE) != 0;

    if (medium == ATTN_MEDIUM_VIEWER && is_table)
        return ATTN_MEDIUM_FIGURE;
    if (medium == ATTN_MEDIUM_ROWS && is_table)
        return ATTN_MEDIUM_DECIMAL;
    if (format->has_tables && format->has_predictions && (shown & ATTN_MEDIUM_CONTINUATION) != 0)
        return ATTN_MEDIUM_CONTINUATION;
    return medium == ATTN_MEDIUM_PAPER && !is_table ? ATTN_MEDIUM_ROWS : medium;
}

static unsigned find_media(const struct output_args *output, const struct picture_args *picture,
                           unsigned shown)
{
    unsigned media = shown;

    if (outputs_are_wanted(output) || picture->is_heatmap)
        media &= ~(unsigned)(ATTN_MEDIUM_TABLE | ATTN_MEDIUM_TENSORS | ATTN_MEDIUM_SCREEN);
    if (picture->is_heatmap)
        media |= ATTN_MEDIUM_HEATMAP;
    for (struct output_walk walk = {.args = output}; output_next(&walk);)
        media |= walk.output.format->tensors && output_is_table(output, walk.output.format)
                     ? ATTN_MEDIUM_ROWS
                     : medium_of(walk.output.format, shown);
    return media;
}

/* Returns what a figure of KIND doesn't have, so that an option with TRAITS has no effect on it;
 * NULL if it has an effect. */
static const char *find_lacking(enum attn_figure kind, unsigned traits)
{
    static const struct {
        unsigned trait;
        const char *name;
        unsigned lacking; /* of a kind of figure without it */
    } parts[] = {{ATTN_PARAM_OF_SCALE, "color scale", ATTN_FIGURE_NO_SCALE},
                 {ATTN_PARAM_OF_NUMBERS, "numbers", ATTN_FIGURE_NO_NUMBERS}};

    static const unsigned kinds[ATTN_N_FIGURE] = {
#define FIGURE_TRAITS(name, number, text, file, traits, words) [ATTN_FIGURE_##name] = (traits),
        ATTN_FIGURE_MAP(FIGURE_TRAITS)
#undef FIGURE_TRAITS
    };

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if ((parts[i].trait & traits) != 0 && (parts[i].lacking & kinds[kind]) != 0)
            return parts[i].name;
    return NULL;
}

/* Writes to LIST the options of COMMAND whose outputs show MEDIA: "--png, --svg or --pdf". Text
 * output, if it shows them, comes first. */
static void list_outputs(const struct command *command, unsigned media, unsigned shown, char *list,
                         size_t size)
{
    const char *names[32];
    size_t n = 0, used = 0;

    list[0] = '\0';
    if ((media & ATTN_MEDIUM_TABLE & shown) != 0)
        names[n++] = "a table as text";
    else if ((media & ATTN_MEDIUM_TENSORS) != 0 &&
             (shown & (ATTN_MEDIUM_TABLE | ATTN_MEDIUM_CONTINUATION)) == 0)
        names[n++] = "tensors as text";
    for (size_t i = 0; i < attn_n_format() && n < sizeof names / sizeof *names; i++) {
        const struct attn_format *format = attn_format_at(i);

        if ((medium_of(format, shown) & media) != 0 && option_is_of(command, format->name))
            names[n++] = format->name;
    }
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
    const unsigned written = find_media(output, picture, shown);
    char list[160];

    if (picture->options.figure != ATTN_FIGURE_DEFAULT)
        figure = picture->options.figure;
    for (struct option_walk walk = {.command = call->command}; option_next(&walk);) {
        const char *lacking;
        char label[OPTION_LABEL_SIZE];
        const unsigned media = walk.param->media;
        unsigned changed = media;

        if (!option_is_typed(call, &walk) || media == 0)
            continue;
        option_label(&walk, label);
        if ((shown & ATTN_MEDIUM_EXPLANATION) != 0 &&
            (walk.param->traits & ATTN_PARAM_NOT_EXPLAINED) != 0)
            changed &= ~(unsigned)ATTN_MEDIA_DRAWN;
        if ((changed & written) == 0) {
            list_outputs(call->command, changed, shown, list, sizeof list);
            return refuse(err, NULL, "%s has no effect here%s%s", label,
                          list[0] ? ": it needs " : "", list);
        }
        lacking = find_lacking(figure, walk.param->traits);
        if (lacking && (media & written & ~(unsigned)ATTN_MEDIA_LABELLED) == 0)
            return refuse(err, NULL, "%s has no effect here: the figure has no %s", label, lacking);
    }
    return ATTN_OK;
}
