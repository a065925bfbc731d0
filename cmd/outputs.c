/* outputs.c - see outputs.h. */
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

/* What ARGS ask for, N of them, at ITEMS [N_FORMAT]. STANDARD is where "-" goes. */
static size_t list_outputs(const struct output_args *args, struct attn_sink *standard,
                           struct attn_output *items)
{
    size_t n = 0;
    for (size_t i = 0; i < N_FORMAT; i++) {
        const char *path = path_of(args, i);
        struct attn_output item = {.format = attn_format_find(formats[i].format), .path = path};
        if (!path)
            continue;
        if (is_standard(path))
            item.path = NULL;
        item.sink = standard;
        if (item.format->own.name)
            item.own = args->id;
        items[n++] = item;
    }
    return n;
}

int outputs_check(const struct output_args *args, bool *is_standard_used)
{
    struct attn_output items[N_FORMAT];
    struct attn_error err = {0};
    size_t n = list_outputs(args, NULL, items);
    if (attn_outputs_check(items, n, &err) != ATTN_OK)
        return report_error(&err);
    if (args->id && !args->tidy)
        return report_problem(EXIT_USAGE, NULL, "--id is a column of --tidy, which is not given");
    *is_standard_used = false;
    for (size_t i = 0; i < n; i++)
        *is_standard_used |= !items[i].path;
    return EXIT_DONE;
}

int outputs_open(struct outputs *outputs, const struct output_args *args, bool has_text,
                 const struct attn_labels *labels)
{
    struct attn_writer_options options = ATTN_WRITER_OPTIONS_DEFAULT;
    struct attn_output items[N_FORMAT + 1];
    struct attn_error err = {0};
    options.precision = (int)args->precision;
    options.pool = outputs->pool;
    options.cancel = interrupt_flag();
    outputs->n = list_outputs(args, outputs->standard, items);
    if (has_text)
        items[outputs->n++] =
            (struct attn_output){.format = attn_format_find("text"), .sink = outputs->standard};
    if (attn_outputs_create(items, outputs->n, labels, &options, &outputs->set, &err) != ATTN_OK)
        return report_error(&err);
    return EXIT_DONE;
}

int outputs_predict(struct outputs *outputs, const struct attn_predictions *predictions)
{
    struct attn_error err = {0};
    if (attn_outputs_predictions(outputs->set, predictions, &err) != ATTN_OK)
        return report_error(&err);
    return EXIT_DONE;
}

bool outputs_are_abandoned(const struct outputs *outputs)
{
    return outputs->set && attn_outputs_is_abandoned(outputs->set);
}

int outputs_finish(struct outputs *outputs)
{
    struct attn_error err = {0};
    if (attn_outputs_finish(outputs->set, &err) != ATTN_OK)
        return report_error(&err);
    return EXIT_DONE;
}

void outputs_close(struct outputs *outputs)
{
    attn_outputs_free(outputs->set);
    outputs->set = NULL;
}
