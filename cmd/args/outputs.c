#include "cmd/args/outputs.h"

#include "cmd/line/command.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Which outputs an option affects ---------------------------------------------------------- */

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

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if ((parts[i].trait & traits) != 0 && (parts[i].lacking & attn_figure_traits(kind)) != 0)
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

/* Digits of decimal formats. */
#define OPTION_PRECISION(help)                                                                     \
    ATTN_PARAM(COUNT, "precision", "N", struct output_args, precision, help,                       \
               .media =                                                                            \
                   ATTN_MEDIUM_TABLE | ATTN_MEDIUM_DECIMAL | ATTN_MEDIUM_ROWS | ATTN_MEDIUM_PAPER, \
               .most = 17)

/* Options that formats have in common. */
static const struct attn_param shared_rows[] = {
    OPTION_PRECISION("digits after the point in decimal formats; default: as many as bring back "
                     "the same number"),
};

const struct attn_param_list output_options = ATTN_PARAM_LIST("Output", shared_rows);

/* The number of the format NAME, which exists. */
static size_t find_format(const char *name)
{
    size_t i = 0;

    while (strcmp(attn_format_at(i)->name, name) != 0)
        i++;
    return i;
}

const char *output_path(const struct output_args *args, const char *format)
{
    return args->paths.of[find_format(format)];
}

void output_remove(struct output_args *args, const char *format)
{
    args->paths.of[find_format(format)] = NULL;
}

struct attn_output output_of(const struct output_args *args, const struct attn_format *format,
                             struct attn_sink *standard)
{
    const size_t i = find_format(format->name);
    const char *path = args->paths.of[i];
    const bool is_standard = !path || strcmp(path, "-") == 0;

    return (struct attn_output){
        .format = format,
        .path = is_standard ? NULL : path,
        .sink = is_standard ? standard : NULL,
    };
}

bool output_next(struct output_walk *walk)
{
    while (walk->i < attn_n_format()) {
        const struct attn_format *format = attn_format_at(walk->i++);

        if (!walk->args->paths.of[walk->i - 1])
            continue;
        walk->output = output_of(walk->args, format, walk->standard);
        return true;
    }
    return false;
}

bool outputs_are_wanted(const struct output_args *args)
{
    return output_next(&(struct output_walk){.args = args});
}

bool output_is_table(const struct output_args *args, const struct attn_format *format)
{
    return !format->tensors || (args->has_table_csv && strcmp(format->name, "csv") == 0);
}

enum attn_status outputs_list(const struct output_args *args, attn_format_fn is_listed,
                              struct attn_sink *standard, struct attn_output **items, size_t *n,
                              struct attn_error *err)
{
    ATTN_TRY(ALLOCATE(*items, attn_n_format() + 1, err));
    for (struct output_walk walk = {.args = args, .standard = standard}; output_next(&walk);)
        if (!is_listed ||
            (is_listed(walk.output.format) && !output_is_table(args, walk.output.format)))
            (*items)[(*n)++] = walk.output;
    return ATTN_OK;
}

/* Notes the first label of TABLE that a spreadsheet would run as a formula, since labels are not
 * escaped in CSV. */
static void note_formula(const struct attn_table *table)
{
    double number;

    for (size_t i = 0; i < attn_table_n_row(table) * attn_table_n_column(table); i++) {
        const size_t c = i % attn_table_n_column(table);
        const struct attn_cell cell = attn_table_cell(table, i / attn_table_n_column(table), c);

        if (attn_table_column(table, c)->notation != ATTN_NOTATION_LABEL ||
            cell.type != ATTN_VALUE_TEXT || cell.size == 0 ||
            !memchr("=+-@\t\r", cell.text[0], 6) ||
            attn_parse_double(cell.text, cell.size, &number))
            continue;
        note("the label '%s' begins like a formula: a spreadsheet runs it, unless the column is "
             "imported as text",
             attn_quote(cell.text, cell.size).text);
        return;
    }
}

/* Writes those of TABLES that are not NULL to OUTPUT in its format; if OUTPUT has none, in STYLE.
 * PICTURE has the texts of captions. */
static enum attn_status write_tables(const struct attn_output *output,
                                     struct attn_table_style style,
                                     const struct attn_table_picture *picture,
                                     struct attn_table *const *tables, size_t n_table,
                                     struct attn_error *err)
{
    const char *slash = output->path ? attn_os_last_slash(output->path) : NULL;
    struct attn_sink *file = NULL;
    enum attn_status status = output->path ? attn_output_create_file(output, &file, err) : ATTN_OK;
    struct attn_sink *to = output->path ? file : output->sink;
    const char *between = "";

    style.form = output->format->table_form;
    if (n_table == 1)
        style.label = slash ? slash + 1 : output->path;
    for (size_t i = 0; status == ATTN_OK && i < n_table; i++) {
        if (!tables[i])
            continue;
        if (style.form == ATTN_TABLE_CSV)
            note_formula(tables[i]);
        attn_sink_write(to, between, strlen(between));
        status = attn_table_write_captioned(tables[i], picture, &style, to, err);
        if (style.form == ATTN_TABLE_LATEX || style.form == ATTN_TABLE_MARKDOWN)
            between = "\n";
    }
    if (status == ATTN_OK && output->path)
        status = attn_sink_commit(file, err);
    attn_sink_free(file);
    return status;
}

enum attn_status outputs_write_tables(const struct output_args *args,
                                      struct attn_table *const *tables, size_t n_table,
                                      const struct attn_table_picture *picture,
                                      struct attn_sink *standard, struct attn_error *err)
{
    const struct attn_table_style style = {.precision = (int)args->precision};

    for (struct output_walk walk = {.args = args, .standard = standard}; output_next(&walk);)
        if (output_is_table(args, walk.output.format))
            ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT,
                              write_tables(&walk.output, style, picture, tables, n_table, err),
                              err));
    return ATTN_OK;
}

enum attn_status outputs_check_tables(const struct output_args *args, const char *hint,
                                      struct attn_error *err)
{
    for (struct output_walk walk = {.args = args}; output_next(&walk);)
        if (!walk.output.format->tensors)
            return refuse(err, hint, "`%s` needs a table to write", walk.output.format->name);
    return ATTN_OK;
}

enum attn_status outputs_check_model(const struct output_args *args, const struct attn_host *host,
                                     struct attn_error *err)
{
    struct attn_output *items = NULL;
    size_t n = 0;
    enum attn_status status = outputs_list(args, NULL, NULL, &items, &n, err);

    ATTN_THEN(status, attn_host_check_outputs(host, items, n, err));
    free(items);
    return status;
}

enum attn_status outputs_check_text(const struct call *call, const struct output_args *args,
                                    const struct prompt_args *prompt, struct attn_error *err)
{
    const struct option_walk *last = NULL; /* the last option that names a file */

    for (size_t i = 0; i < call->n_found; i++)
        if ((const char *)call->args + call->found[i].offset == (const char *)&args->paths)
            last = &call->found[i];
    if (prompt_is_given(prompt) || !last || !attn_format_find(last->name) ||
        strcmp(call->given[last->n - 1], "-") == 0)
        return ATTN_OK;
    return refuse(err, "a text comes after the name of the file",
                  "no text given: '%s' was taken as the %s of '`%s`'", call->given[last->n - 1],
                  attn_format_find(last->name)->argument, last->name);
}

enum attn_status outputs_check(const struct output_args *args, bool *is_standard_used,
                               struct attn_error *err)
{
    struct attn_output *items = NULL;
    enum attn_status status;
    size_t n = 0;

    *is_standard_used = false;
    ATTN_TRY(outputs_list(args, NULL, NULL, &items, &n, err));
    status = attn_outputs_check(items, n, err);
    for (size_t i = 0; i < n; i++)
        *is_standard_used |= !items[i].path;
    free(items);
    return status;
}

/* Options in addition to those of the formats. */
static const struct attn_param tables_rows[] = {
    OPTION_PRECISION("digits after the point; default in files: as many as bring back the same "
                     "number"),
};

const struct attn_param_list tables_options = ATTN_PARAM_LIST("Output", tables_rows);

size_t tables_limit(const struct call *call, const struct tables_args *args)
{
    const size_t n = args->order.n_most;

    return n == 0 && option_find_given(call, "limit") ? SIZE_MAX : n;
}

size_t tables_limit_or(const struct call *call, const struct tables_args *args, size_t most)
{
    const size_t n = tables_limit(call, args);

    for (struct output_walk walk = {.args = &args->output}; n == 0 && output_next(&walk);)
        if (!walk.output.format->is_picture)
            return 0;
    return n == 0 ? most : n == SIZE_MAX ? 0 : n;
}

static const struct attn_param column_rows[] = {
    ATTN_PARAM(TEXT, "column", "NAME", struct tables_args, column,
               "the column to draw; default: the main number of the command, such as change of "
               "`attn-cli ablate` or effect of `attn-cli patch`",
               .traits = ATTN_PARAM_OF_NUMBERS, .media = ATTN_MEDIA_PICTURES),
};

const struct attn_param_list table_column_options = ATTN_PARAM_LIST("Figures", column_rows);

bool tables_are_chosen(const struct tables_args *args)
{
    const struct attn_table_order *order = &args->order;

    return order->sort || order->n_most > 0 || order->n_where > 0 || order->columns;
}

bool tables_have_pictures(const struct tables_args *args)
{
    for (struct output_walk walk = {.args = &args->output}; output_next(&walk);)
        if (walk.output.format->is_picture)
            return true;
    return false;
}

enum attn_status tables_check(const struct call *call, const struct tables_args *args,
                              enum attn_figure figure, struct attn_error *err)
{
    bool is_standard_used;

    ATTN_TRY(effects_check(call, &args->output, &args->picture, ATTN_MEDIUM_TABLE, figure, err));
    ATTN_TRY(outputs_check(&args->output, &is_standard_used, err));
    for (struct output_walk walk = {.args = &args->output}; output_next(&walk);) {
        if (walk.output.path && walk.output.format->is_directory) /* holds one table here */
            ATTN_TRY(attn_format_check_name(walk.output.format, walk.output.format->name,
                                            walk.output.path, false, err));
        if (walk.output.format->is_picture)
            ATTN_TRY(attn_table_picture_check(&walk.output, err));
        /* else everything would be computed before a missing directory is noticed */
        if (walk.output.path)
            ATTN_TRY(
                at_stage(ATTN_STAGE_OUTPUT, attn_path_check_folder(walk.output.path, err), err));
    }
    return ATTN_OK;
}

enum attn_status tables_sort_copy(const struct tables_args *args, size_t n_group, bool is_joint,
                                  const struct attn_table *table, struct attn_table **sorted,
                                  struct attn_error *err)
{
    struct attn_table_order order = args->order;

    *sorted = NULL;
    order.columns = NULL; /* pictures have all; see tables_write */
    if ((!order.sort && order.n_most == 0 && order.n_where == 0) || attn_table_n_row(table) == 0)
        return ATTN_OK;
    order.n_group = n_group;
    order.is_joint = is_joint;
    return attn_table_sort(table, &order, sorted, err);
}

enum attn_status tables_sort(const struct tables_args *args, struct attn_table **table,
                             struct attn_error *err)
{
    struct attn_table *sorted;

    ATTN_TRY(tables_sort_copy(args, 0, false, *table, &sorted, err));
    if (!sorted)
        return ATTN_OK;
    attn_table_free(*table);
    *table = sorted;
    return ATTN_OK;
}

enum { KEPT_SIZE = 128 }; /* size of the name of a column */

/* Writes TABLE, whose columns are chosen. */
static enum attn_status write_table(const struct tables_args *args, struct attn_table *table,
                                    const struct attn_table_picture *picture, size_t n_largest,
                                    struct attn_sink *out, struct attn_error *err)
{
    const struct attn_column *column = attn_table_picture_column(picture, table);
    struct attn_table_style style = {.precision = (int)args->output.precision,
                                     .width = args->picture.options.width,
                                     .elsewhere = "--csv -",
                                     .kept = column ? column->name : NULL,
                                     .is_chosen = args->order.columns};
    char sorted[KEPT_SIZE];

    if (args->order.sort) {
        snprintf(sorted, sizeof sorted, "%.*s", (int)strcspn(args->order.sort, ":"),
                 args->order.sort);
        style.kept = sorted;
    }
    for (struct output_walk walk = {.args = &args->output, .standard = out}; output_next(&walk);)
        if (!walk.output.format->is_picture)
            ATTN_TRY(at_stage(ATTN_STAGE_OUTPUT,
                              write_tables(&walk.output, style, picture, &table, 1, err), err));
    if (outputs_are_wanted(&args->output))
        return ATTN_OK;
    style.width = terminal_room(args->picture.options.width);
    style.n_largest = terminal_room(0) > 0 ? n_largest : 0; /* files and pipes have all rows */
    style.n_group = picture->n_label;
    style.all_rows = "--limit 0";
    style.is_plain = !terminal_is_utf8();
    return at_stage(ATTN_STAGE_OUTPUT, attn_table_write_styled(table, &style, out, err), err);
}

enum attn_status tables_write(const struct tables_args *args, struct attn_table *table,
                              const struct attn_table_picture *picture, size_t n_largest,
                              struct attn_sink *out, struct attn_error *err)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct attn_table_picture chosen = *picture;
    struct attn_table *written;
    enum attn_status status;

    if (!args->order.columns)
        return write_table(args, table, picture, n_largest, out, err);
    order.columns = args->order.columns;
    chosen.n_label = 0;
    ATTN_TRY(attn_table_sort(table, &order, &written, err));
    status = write_table(args, written, &chosen, n_largest, out, err);
    attn_table_free(written);
    return status;
}
