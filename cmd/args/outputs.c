/* outputs.c - see outputs.h. */
#include "cmd/args/outputs.h"

#include "cmd/line/command.h"
#include "cmd/line/field_names.h"
#include "cmd/line/report.h"

#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An option whose value goes into the list of formats. */
static bool make_named(struct option *row, const char *name, const char *argument, const char *help)
{
    *row = (struct option){.name = name,
                           .argument = argument,
                           .heading = "Output",
                           .kind = OPTION_NAMED,
                           .offset = offsetof(struct output_args, formats),
                           .help = field_names_of_help(help)};
    return true;
}

/* What formats share. */
static const struct option shared_rows[] = {
    {.name = "add",
     .heading = "Output",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct output_args, is_addition),
     .help = "keep the files in DIR that an earlier run wrote and this one does not; without --add "
             "they are removed"},
    OPTION_SYNC("Output", struct output_args),
    {.name = "precision",
     .argument = "N",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .max = 17,
     .offset = offsetof(struct output_args, precision),
     .help = "digits after the point in decimal formats; default: as many as bring back the same "
             "number"},
};

/* Each format has a row, with its own option after it. */
static bool make_row(size_t i, struct option *row)
{
    for (size_t f = 0; f < attn_n_format(); f++) {
        const struct attn_format *format = attn_format_at(f);
        const struct attn_format_option *own = &format->own;
        if (format->argument && i-- == 0)
            return make_named(row, format->name, format->argument, format->help);
        if (own->name && i-- == 0)
            return make_named(row, own->name, own->argument, own->help);
    }
    if (i >= sizeof(shared_rows) / sizeof(shared_rows[0]))
        return false;
    *row = shared_rows[i];
    return true;
}

const struct option_group output_options = {.make_row = make_row};

void output_args_release(struct output_args *args)
{
    named_list_release(&args->formats);
}

const char *output_path(const struct output_args *args, const char *format)
{
    return named_list_find(&args->formats, format);
}

bool outputs_are_wanted(const struct output_args *args)
{
    for (size_t i = 0; i < args->formats.n; i++)
        if (attn_format_find(args->formats.items[i].name))
            return true;
    return false;
}

bool outputs_have_tensors(const struct output_args *args)
{
    for (size_t i = 0; i < args->formats.n; i++) {
        const struct attn_format *format = attn_format_find(args->formats.items[i].name);
        if (format && format->tensors)
            return true;
    }
    return false;
}

static bool has_predictions(const struct attn_format *format)
{
    return format->has_predictions;
}

int outputs_check_predictions(const struct output_args *args)
{
    char formats[128], hint[192];
    for (size_t i = 0; i < args->formats.n; i++) {
        const struct attn_format *format = attn_format_find(args->formats.items[i].name);
        if (format && has_predictions(format))
            return EXIT_DONE;
    }
    field_names_list(has_predictions, "or", formats, sizeof(formats));
    snprintf(hint, sizeof(hint), "write the data into a file, or into %s FILE as well", formats);
    return report_problem(EXIT_USAGE, hint,
                          "--top and --next print on standard output, which holds data");
}

int outputs_list_options(const struct command *command, const char *const *given,
                         struct attn_option **options, size_t *n)
{
    static const char view[] = "View"; /* alone has flags that change what is written */
    static const char *const headings[] = {"Attention", "Precision", "Selection", "Interventions",
                                           "View"};
    struct attn_option *made = calloc(options_count(command), sizeof *made);
    if (!made)
        return report_no_memory();
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        const char *value = given[walk.n - 1];
        bool is_listed = walk.option.kind != OPTION_FLAG || strcmp(walk.option.heading, view) == 0;
        for (size_t i = 0; value && is_listed && i < sizeof(headings) / sizeof(headings[0]); i++)
            if (strcmp(walk.option.heading, headings[i]) == 0)
                made[(*n)++] = (struct attn_option){walk.option.name, value};
    }
    *options = made;
    return EXIT_DONE;
}

struct attn_output output_of(const struct output_args *args, const struct attn_format *format,
                             struct attn_sink *standard)
{
    const char *path = output_path(args, format->name);
    bool is_standard = !path || strcmp(path, "-") == 0;
    return (struct attn_output){
        .format = format,
        .path = is_standard ? NULL : path,
        .sink = is_standard ? standard : NULL,
        .own = format->own.name ? named_list_find(&args->formats, format->own.name) : NULL,
        .is_addition = args->is_addition,
        .is_synced = args->is_synced,
    };
}

/* The outputs that were asked for; only those that hold tensors when IS_OF_TENSORS. */
static int list(const struct output_args *args, bool is_of_tensors, struct attn_sink *standard,
                struct attn_output **items, size_t *n)
{
    struct attn_output *made = calloc(args->formats.n + 1, sizeof *made);
    size_t n_made = 0;
    if (!made)
        return report_no_memory();
    for (size_t i = 0; i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);
        if (output_path(args, format->name) && (format->tensors || !is_of_tensors))
            made[n_made++] = output_of(args, format, standard);
    }
    *items = made;
    *n = n_made;
    return EXIT_DONE;
}

int outputs_list(const struct output_args *args, const char *text, struct attn_sink *standard,
                 struct attn_output **items, size_t *n)
{
    int code = list(args, true, standard, items, n);
    if (code == EXIT_DONE && (text || *n == 0))
        (*items)[(*n)++] = output_of(args, attn_format_find(text ? text : "text"), standard);
    return code;
}

int outputs_list_differences(const struct output_args *args, const char *text,
                             struct attn_sink *standard, struct attn_output **items, size_t *n)
{
    int code = list(args, true, standard, items, n);
    size_t n_left = 0;
    for (size_t i = 0; code == EXIT_DONE && i < *n; i++)
        if ((*items)[i].format->draws_differences)
            (*items)[n_left++] = (*items)[i];
    *n = n_left;
    if (code == EXIT_DONE && text)
        (*items)[(*n)++] = output_of(args, attn_format_find(text), standard);
    return code;
}

/* Writes those of TABLES that are not NULL, one after the other. */
static enum attn_status write_tables(const struct attn_output *output, int precision,
                                     struct attn_table *const *tables, size_t n_table,
                                     struct attn_error *err)
{
    struct attn_sink *file = NULL;
    enum attn_status status = output->path ? attn_output_create_file(output, &file, err) : ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < n_table; i++)
        if (tables[i])
            status = attn_table_write(tables[i], output->format->table_form, precision,
                                      output->path ? file : output->sink, err);
    if (status == ATTN_OK && output->path)
        status = attn_sink_commit(file, err);
    attn_sink_free(file);
    return status;
}

int outputs_write_tables(const struct output_args *args, struct attn_table *const *tables,
                         size_t n_table, struct attn_sink *standard)
{
    struct attn_output *items = NULL;
    struct attn_error err = {0};
    size_t n = 0;
    int code = list(args, false, standard, &items, &n);
    for (size_t i = 0; code == EXIT_DONE && i < n; i++)
        if (!items[i].format->tensors &&
            write_tables(&items[i], (int)args->precision, tables, n_table, &err) != ATTN_OK)
            code = report(&err, EXIT_OUTPUT);
    free(items);
    return code;
}

int outputs_check_tables(const struct output_args *args)
{
    for (size_t i = 0; i < attn_n_format(); i++)
        if (!attn_format_at(i)->tensors && output_path(args, attn_format_at(i)->name))
            return report_problem(EXIT_USAGE, "--top, --next and --compare make tables",
                                  "--%s needs a table to write", attn_format_at(i)->name);
    return EXIT_DONE;
}

/* Refuses a format's own option without the format. */
static int check_own(const struct output_args *args)
{
    for (size_t i = 0; i < attn_n_format(); i++) {
        const struct attn_format *format = attn_format_at(i);
        const struct attn_format_option *own = &format->own;
        if (own->name && named_list_find(&args->formats, own->name) &&
            !output_path(args, format->name))
            return report_problem(EXIT_USAGE, NULL, "--%s needs --%s", own->name, format->name);
    }
    return EXIT_DONE;
}

static bool is_directory(const struct attn_format *format)
{
    return format->is_directory;
}

/* Refuses --add where nothing is written into a directory. */
static int check_addition(const struct output_args *args)
{
    char list[128];
    for (size_t i = 0; i < args->formats.n; i++) {
        const struct attn_format *format = attn_format_find(args->formats.items[i].name);
        const char *path = args->formats.items[i].value;
        if (format && strcmp(path, "-") != 0 && attn_format_is_directory(format, path))
            return EXIT_DONE;
    }
    if (!args->is_addition)
        return EXIT_DONE;
    field_names_list(is_directory, "or", list, sizeof(list));
    return report_problem(EXIT_USAGE, NULL, "--add needs the DIR of %s", list);
}

int outputs_check_model(const struct output_args *args, const struct attn_host *host)
{
    struct attn_output *items = NULL;
    struct attn_error err = {0};
    size_t n = 0;
    int code = list(args, false, NULL, &items, &n);
    if (code == EXIT_DONE && attn_host_check_outputs(host, items, n, &err) != ATTN_OK)
        code = report_error(&err);
    free(items);
    return code;
}

int outputs_check_text(const struct output_args *args, const struct prompt_args *prompt)
{
    const size_t n = args->formats.n;
    const struct attn_option *last = n > 0 ? &args->formats.items[n - 1] : NULL;
    if (prompt_is_given(prompt) || !last || !attn_format_find(last->name) ||
        strcmp(last->value, "-") == 0)
        return EXIT_DONE;
    return report_problem(EXIT_USAGE, "a text comes after the name of the file",
                          "no text given: '%s' was taken as the %s of '--%s'", last->value,
                          attn_format_find(last->name)->argument, last->name);
}

int outputs_check(const struct output_args *args, bool *is_standard_used)
{
    struct attn_output *items = NULL;
    struct attn_error err = {0};
    size_t n = 0;
    *is_standard_used = false;
    int code = check_addition(args);
    if (code == EXIT_DONE)
        code = check_own(args);
    if (code != EXIT_DONE || !outputs_are_wanted(args))
        return code;
    code = list(args, false, NULL, &items, &n);
    if (code != EXIT_DONE)
        return code;
    if (attn_outputs_check(items, n, &err) != ATTN_OK)
        code = report_error(&err);
    for (size_t i = 0; i < n; i++)
        *is_standard_used |= !items[i].path;
    free(items);
    return code;
}
