/*
 * outputs.c - hands one trace to several writers.
 *
 * When the reader of standard output goes away, its writer is dropped and the others go on; when
 * there are no others the run is over, and that is no failure.
 */
#include "outputs.h"

#include "command.h"
#include "interrupt.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

static const struct option output_rows[] = {
    {.name = "csv",
     .argument = "DIR",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct output_args, csv),
     .help = "write one CSV file a matrix into DIR; '-' writes a single matrix to standard "
             "output"},
    {.name = "tidy",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct output_args, tidy),
     .help = "write the patterns, and nothing else, into one long CSV: a line for each cell "
             "that is not masked"},
    {.name = "id",
     .argument = "TEXT",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct output_args, id),
     .help = "what the id column of --tidy says, to tell runs apart; default: 0"},
    {.name = "npy",
     .argument = "DIR",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct output_args, npy),
     .help = "write one array a file into DIR, for numpy.load"},
    {.name = "npz",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct output_args, npz),
     .help = "write all tensors into one archive for numpy.load"},
    {.name = "json",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct output_args, json),
     .help = "write tokens, tensors and predictions into one JSON document"},
    {.name = "precision",
     .argument = "N",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .max = 17,
     .offset = offsetof(struct output_args, precision),
     .help = "digits after the point in CSV and JSON; default: as many as bring back the same "
             "number"},
};

const struct option_group output_options = OPTION_GROUP(output_rows);

/* The formats in the order in which they are written. */
static const struct format {
    const char *format;
    size_t offset; /* of its path in the struct output_args */
} formats[] = {
    {"csv", offsetof(struct output_args, csv)},   {"tidy", offsetof(struct output_args, tidy)},
    {"npy", offsetof(struct output_args, npy)},   {"npz", offsetof(struct output_args, npz)},
    {"json", offsetof(struct output_args, json)},
};

enum { N_FORMAT = sizeof(formats) / sizeof(formats[0]) };

static const char *path_of(const struct output_args *args, size_t i)
{
    return *(const char *const *)((const char *)args + formats[i].offset);
}

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

bool outputs_are_wanted(const struct output_args *args)
{
    for (size_t i = 0; i < N_FORMAT; i++)
        if (path_of(args, i))
            return true;
    return false;
}

int outputs_list_options(const struct command *command, const char *const *given,
                         struct attn_option **options, size_t *n)
{
    static const char *const headings[] = {"Attention", "Precision", "Selection", "Interventions"};
    struct attn_option *made = calloc(options_count(command), sizeof(*made));
    if (!made)
        return report_no_memory();
    for (struct option_walk walk = {.command = command}; option_next(&walk);) {
        const char *value = given[walk.n - 1];
        for (size_t i = 0; value && i < sizeof(headings) / sizeof(headings[0]); i++)
            if (strcmp(walk.option.heading, headings[i]) == 0)
                made[(*n)++] = (struct attn_option){walk.option.name, value};
    }
    *options = made;
    return EXIT_DONE;
}

int outputs_check(const struct output_args *args, bool *is_standard_used)
{
    const char *first = NULL;
    for (size_t i = 0; i < N_FORMAT; i++) {
        if (!is_standard(path_of(args, i)))
            continue;
        if (first)
            return report_problem(EXIT_USAGE, NULL,
                                  "'--%s -' and '--%s -' cannot both be standard output", first,
                                  formats[i].format);
        first = formats[i].format;
    }
    if (is_standard(args->npy))
        return report_problem(EXIT_USAGE, "--npz - writes all arrays to standard output",
                              "'--npy' is '-', expected a directory");
    if (args->id && !args->tidy)
        return report_problem(EXIT_USAGE, NULL, "--id is a column of --tidy, which is not given");
    *is_standard_used = first != NULL;
    return EXIT_DONE;
}

static int add(struct outputs *outputs, const char *name, const char *path,
               const struct attn_labels *run, const struct attn_writer_options *options)
{
    const struct attn_format *format = attn_format_find(name);
    struct output *output = &outputs->items[outputs->n];
    struct attn_error err = {0};
    enum attn_status status;
    output->is_standard = is_standard(path);
    if (output->is_standard)
        status =
            attn_writer_create_sink(format, outputs->standard, run, options, &output->writer, &err);
    else
        status = attn_writer_create(format, path, run, options, &output->writer, &err);
    if (status != ATTN_OK)
        return report(&err, status == ATTN_INVALID ? EXIT_USAGE : EXIT_OUTPUT);
    outputs->n++;
    return EXIT_DONE;
}

int outputs_open(struct outputs *outputs, const struct output_args *args, bool has_text,
                 const struct attn_labels *run)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    options.precision = (int)args->precision;
    options.own = args->id;
    options.pool = outputs->pool;
    int code = EXIT_DONE;
    if (has_text)
        code = add(outputs, "text", "-", run, &options);
    for (size_t i = 0; code == EXIT_DONE && i < N_FORMAT; i++)
        if (path_of(args, i))
            code = add(outputs, formats[i].format, path_of(args, i), run, &options);
    return code;
}

static bool is_any_left(const struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        if (outputs->items[i].writer)
            return true;
    return false;
}

/* Drops OUTPUT when its failure is a closed pipe; returns whether it is. */
static bool drop_closed(struct outputs *outputs, struct output *output)
{
    if (!output->is_standard || !attn_sink_is_closed_pipe(outputs->standard))
        return false;
    attn_writer_free(output->writer);
    output->writer = NULL;
    outputs->is_abandoned = !is_any_left(outputs);
    return true;
}

enum attn_status outputs_event(void *user, const struct attn_trace_event *event,
                               struct attn_error *err)
{
    struct outputs *outputs = user;
    if (*interrupt_flag()) /* writing what a layer has already told can take seconds */
        return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
    for (size_t i = 0; i < outputs->n; i++) {
            struct output *output = &outputs->items[i];
        struct attn_error failure = {0};
        if (!output->writer || attn_writer_event(output->writer, event, &failure) == ATTN_OK)
            continue;
        if (drop_closed(outputs, output) && !outputs->is_abandoned)
            continue;
        outputs->has_failed = true;
        attn_error_set(err, failure.status, "%s", failure.message);
        attn_error_hint(err, "%s", failure.hint);
        return failure.status;
    }
    return ATTN_OK;
}

int outputs_predict(struct outputs *outputs, const struct attn_predictions *predictions)
{
    for (size_t i = 0; i < outputs->n; i++) {
            struct output *output = &outputs->items[i];
        struct attn_error err = {0};
        if (output->writer &&
            attn_writer_predictions(output->writer, predictions, &err) != ATTN_OK &&
            !drop_closed(outputs, output))
            return report(&err, EXIT_OUTPUT);
    }
    return EXIT_DONE;
}

int outputs_finish(struct outputs *outputs)
{
    int code = EXIT_DONE;
    for (size_t i = 0; i < outputs->n; i++) {
            struct output *output = &outputs->items[i];
        struct attn_error err = {0};
        if (output->writer && attn_writer_finish(output->writer, &err) != ATTN_OK &&
            !drop_closed(outputs, output) && code == EXIT_DONE)
            code = report(&err, EXIT_OUTPUT);
    }
    outputs_close(outputs);
    return code;
}

void outputs_close(struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->n; i++)
        attn_writer_free(outputs->items[i].writer);
    outputs->n = 0;
}
