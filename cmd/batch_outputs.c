/* batch_outputs.c - see batch_outputs.h. */
#include "cmd/batch_outputs.h"

#include "cmd/line/command.h"
#include "cmd/line/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct option rows[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_output_args, lines),
     .help = "the file for the lines of JSON, one per record; default: -, standard output"},
    {.name = "fields",
     .argument = "LIST",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_output_args, fields),
     .help =
         "what each line holds besides id and n_token: ids, tokens, offsets, measures, surprisal, "
         "predictions, tensors; default: ids,measures, and predictions with --top or --next"},
    {.name = "measures",
     .argument = "LIST",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_output_args, measures),
     .help = "measures of each head, by their names in `attn-cli heads`; default: all but "
             "punctuation and n_punctuation"},
    {.name = "csv",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_output_args, others),
     .help = "also write the measures as CSV, one line per record and head"},
    {.name = "npy",
     .argument = "DIR",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_output_args, others),
     .help = "also write arrays for numpy.load into DIR, with one row per record: n_token.npy, one "
             "file per measure [N, L, H], and with --top top_id.npy and top_p.npy [N, K]"},
    {.name = "edges",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_output_args, others),
     .help = "also write as CSV the keys that each query looks at most, one line per key; for long "
             "texts, whose matrices are too large to keep"},
    {.name = "edges-per-query",
     .argument = "K",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct batch_output_args, n_edge),
     .help = "number of keys per query in --edges, the largest weights first; default: 3"},
    {.name = "npz",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_output_args, others),
     .help = "also write the tensors of --sites of all records into one archive for numpy.load, "
             "with members such as 000000007/blocks.0.attn.hook_pattern"},
    {.name = "precision",
     .argument = "N",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .max = 17,
     .offset = offsetof(struct batch_output_args, precision),
     .help = "digits after the point in JSON and CSV; default: as many as bring back the same "
             "number"},
};

const struct option_group batch_output_options = OPTION_GROUP(rows);

void batch_output_args_release(struct batch_output_args *args)
{
    named_list_release(&args->others);
}

/* --- What must be computed --------------------------------------------------------------------- */

/* The fields of a line. */
static enum attn_status read_fields(const struct batch_output_args *args,
                                    const struct attn_question *predict, uint64_t *fields,
                                    struct attn_error *err)
{
    if (args->fields)
        return attn_record_fields_parse(args->fields, fields, err);
    *fields = ATTN_RECORD_FIELD_BIT(IDS) | ATTN_RECORD_FIELD_BIT(MEASURES);
    if (predict->top > 0 || predict->n_next > 0)
        *fields |= ATTN_RECORD_FIELD_BIT(PREDICTIONS);
    return ATTN_OK;
}

static bool has_output(const struct batch_output_args *args, const char *format)
{
    return named_list_find(&args->others, format);
}

int batch_outputs_plan(const struct batch_output_args *args, struct attn_many_options *many)
{
    const struct attn_question *predict = &many->request->predict;
    const bool has_predictions = predict->top > 0 || predict->n_next > 0;
    uint64_t fields = 0, measures = ATTN_MEASURES_DEFAULT;
    struct attn_error err = {0};
    if (read_fields(args, predict, &fields, &err) != ATTN_OK ||
        (args->measures && attn_measures_parse(args->measures, &measures, &err) != ATTN_OK))
        return report(&err, EXIT_USAGE);
    const bool has_measures = fields & ATTN_RECORD_FIELD_BIT(MEASURES) || has_output(args, "csv") ||
                              has_output(args, "npy");
    if (args->measures && !has_measures)
        return report_problem(EXIT_USAGE, "add measures to --fields, or write --csv or --npy",
                              "--measures needs an output that has measures");
    if (fields & ATTN_RECORD_FIELD_BIT(PREDICTIONS) && !has_predictions)
        return report_problem(EXIT_USAGE, NULL, "predictions in --fields need --top or --next");
    if (args->n_edge > 0 && !has_output(args, "edges"))
        return report_problem(EXIT_USAGE, NULL, "--edges-per-query needs --edges");
    many->n_edge = !has_output(args, "edges") ? 0 : args->n_edge > 0 ? (size_t)args->n_edge : 3;
    many->measures = has_measures ? measures : 0;
    many->has_surprisal = fields & ATTN_RECORD_FIELD_BIT(SURPRISAL);
    many->keeps_tensors = fields & ATTN_RECORD_FIELD_BIT(TENSORS) || has_output(args, "npz");
    return EXIT_DONE;
}

/* --- Names --------------------------------------------------------------------------------------- */

/* Whether PATH is a pipe or a device, which has no other name. */
static bool is_stream(const char *path)
{
    struct stat info;
    return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode));
}

char *batch_path(const char *path, const struct batch_place *place)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/') /* of a folder */
        size--;
    if (place->n_shard == 0 || is_stream(path))
        return strndup(path, size);
    size_t name = size, end = size;
    while (name > 0 && path[name - 1] != '/')
        name--;
    for (size_t i = size; i-- > name + 1;)
        if (path[i] == '.') {
            end = i;
            break;
        }
    char *made = NULL;
    if (asprintf(&made, "%.*s-%05zu-of-%05zu%.*s", (int)end, path, place->shard, place->n_shard,
                 (int)(size - end), path + end) < 0)
        return NULL;
    return made;
}

/* --- Opening ------------------------------------------------------------------------------------- */

static bool is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* Adds the output in FORMAT at PATH to ITEMS. False: out of memory. */
static bool add_item(struct batch_outputs *outputs, struct attn_records_item *items,
                     const char *format, const char *path, const struct batch_place *place)
{
    struct attn_records_item *item = &items[outputs->n_path];
    item->format = format;
    item->sink = place->standard;
    if (!is_standard(path)) {
        outputs->paths[outputs->n_path] = batch_path(path, place);
        item->path = outputs->paths[outputs->n_path];
        if (!item->path)
            return false;
    }
    outputs->n_path++;
    return true;
}

static int check(const struct batch_output_args *args)
{
    int n_standard = is_standard(args->lines);
    for (size_t i = 0; i < args->others.n; i++) {
        const struct attn_option *other = &args->others.items[i];
        const bool is_text = strcmp(other->name, "csv") == 0 || strcmp(other->name, "edges") == 0;
        if (is_standard(other->value) && !is_text)
            return report_problem(EXIT_USAGE, NULL, "--%s cannot go to standard output",
                                  other->name);
        n_standard += is_standard(other->value);
    }
    if (n_standard > 1)
        return report_problem(EXIT_USAGE, "-o FILE writes the lines of JSON to a file",
                              "two outputs go to standard output");
    return EXIT_DONE;
}

/* Refuses outputs that are files of the model, by the names of their options. */
static int check_model(const struct attn_records_item *items, size_t n,
                       const struct attn_host *host)
{
    struct attn_error err = {0};
    for (size_t i = 0; i < n; i++) {
        const struct attn_format option = {.name = i == 0 ? "output" : items[i].format};
        const struct attn_output output = {.format = &option, .path = items[i].path};
        if (attn_host_check_outputs(host, &output, 1, &err) != ATTN_OK)
            return report_error(&err);
    }
    return EXIT_DONE;
}

static int open_records(struct batch_outputs *outputs, const struct attn_records_item *items,
                        const struct batch_output_args *args, const struct attn_many_options *many,
                        const struct batch_place *place)
{
    struct attn_records_form form =
        attn_records_form_of(many, attn_model_config(attn_host_model(place->host)));
    struct attn_error err = {0};
    if (read_fields(args, &many->request->predict, &form.fields, &err) != ATTN_OK)
        return report(&err, EXIT_USAGE);
    form.precision = (int)args->precision;
    form.on_note = many->request->on_note;
    form.user = many->request->user;
    if (attn_records_open(items, outputs->n_path, &form, place->is_resumed, &outputs->records,
                          &err) != ATTN_OK)
        return report_error(&err);
    if (outputs->paths[0] && !is_stream(outputs->paths[0])) {
        outputs->name = strdup(outputs->paths[0]);
        if (!outputs->name)
            return report_no_memory();
    }
    return EXIT_DONE;
}

int batch_outputs_open(struct batch_outputs *outputs, const struct batch_output_args *args,
                       const struct attn_many_options *many, const struct batch_place *place)
{
    const size_t n = 1 + args->others.n;
    int code = check(args);
    if (code != EXIT_DONE)
        return code;
    struct attn_records_item *items = calloc(n, sizeof *items);
    outputs->paths = calloc(n, sizeof *outputs->paths);
    bool has_all = items && outputs->paths && add_item(outputs, items, "jsonl", args->lines, place);
    for (size_t i = 0; has_all && i < args->others.n; i++)
        has_all = add_item(outputs, items, args->others.items[i].name, args->others.items[i].value,
                           place);
    if (!has_all) {
        free(items);
        return report_no_memory();
    }
    code = check_model(items, outputs->n_path, place->host);
    if (code == EXIT_DONE)
        code = open_records(outputs, items, args, many, place);
    free(items);
    return code;
}

void batch_outputs_close(struct batch_outputs *outputs)
{
    attn_records_free(outputs->records);
    for (size_t i = 0; i < outputs->n_path; i++)
        free(outputs->paths[i]);
    free(outputs->paths);
    free(outputs->name);
    *outputs = (struct batch_outputs){0};
}
