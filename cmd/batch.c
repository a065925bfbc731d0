/* batch.c - attn-cli batch: many texts, one process. */
#include "cmd/args/attention.h"
#include "cmd/args/hosting.h"
#include "cmd/args/model.h"
#include "cmd/args/prediction.h"
#include "cmd/args/prompt.h"
#include "cmd/args/selection.h"
#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXAMPLE "attn-cli batch -m fable --lines sentences.txt"

enum { MOST_SHARDS = 1000000 };

struct batch_args {
    struct text_list inputs; /* arguments that are no options: one file at most */
    bool is_lines, is_resumed, is_synced;
    const char *text_key, *id_key, *shard; /* NULL: not given */
    int64_t max_line, n_most;              /* 0: not given */
    int64_t n_most_failed;                 /* -1: not given */
    int64_t n_max_token;                   /* 0: not given */
    int64_t progress;                      /* seconds; 0: not given */
    struct prompt_args prompt;             /* what becomes of special tokens */
    const char *output;       /* where the lines of JSON go; NULL or "-": standard output */
    const char *fields;       /* what a line holds; NULL: the default */
    const char *measures;     /* of a head; NULL: all */
    struct named_list others; /* paths of the other outputs by the names of formats */
    int64_t n_edge;           /* keys of each query; 0: not given */
    int64_t precision;        /* -1: as many digits as bring back the same number */
    struct prediction_args prediction;
    struct model_args model;
    struct attention_args attention;
    struct selection_args selection;
    struct ablation_args ablation;
    struct running_args running;
};

static const struct option input_rows[] = {
    {.argument = "INPUT",
     .heading = "Input",
     .kind = OPTION_LIST,
     .offset = offsetof(struct batch_args, inputs),
     .help = "a file with one record per line; - or nothing is standard input"},
    {.name = "lines",
     .heading = "Input",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct batch_args, is_lines),
     .help = "each line is a text, without a final \\r; otherwise it is a JSON object with `text` "
             "or `ids`"},
    {.name = "text-key",
     .argument = "NAME",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_args, text_key),
     .help = "key of a record's text; default: text"},
    {.name = "id-key",
     .argument = "NAME",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_args, id_key),
     .help = "key of a record's id; default: id. A record without one gets its number, from 0"},
    {.name = "shard",
     .argument = "I/N",
     .heading = "Input",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_args, shard),
     .help = "take only part I of N of a file, 0 <= I < N; names of outputs say which: "
             "results-00003-of-00008.jsonl"},
    {.name = "limit",
     .argument = "N",
     .heading = "Input",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT64_MAX,
     .offset = offsetof(struct batch_args, n_most),
     .help = "take only the first N records"},
    {.name = "max-line",
     .argument = "BYTES",
     .heading = "Input",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct batch_args, max_line),
     .help = "longest line in bytes; the record of a longer one fails, however long it is; "
             "default: 16777216"},
    {.name = "max-tokens",
     .argument = "N",
     .heading = "Input",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct batch_args, n_max_token),
     .help =
         "longest text in tokens; the record of a longer one fails; default: what the model takes"},
    {.name = "max-errors",
     .argument = "N",
     .heading = "Input",
     .kind = OPTION_NUMBER,
     .max = INT64_MAX,
     .offset = offsetof(struct batch_args, n_most_failed),
     .help = "number of records that may fail; one more ends the run. Default: any number, and the "
             "exit code is 6"},
};

static const struct option_group input_options = OPTION_GROUP(input_rows);

static const struct option file_rows[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_args, output),
     .help = "the file for the lines of JSON, one per record; default: -, standard output"},
    {.name = "fields",
     .argument = "LIST",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_args, fields),
     .help =
         "what each line holds besides id and n_token: ids, tokens, offsets, measures, surprisal, "
         "predictions, tensors; default: ids,measures, and predictions with --top or --next"},
    {.name = "measures",
     .argument = "LIST",
     .heading = "Output",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct batch_args, measures),
     .help = "measures of each head, by their names in `attn-cli heads`; default: all but "
             "punctuation and n_punctuation"},
    {.name = "csv",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_args, others),
     .help = "also write the measures as CSV, one line per record and head"},
    {.name = "npy",
     .argument = "DIR",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_args, others),
     .help = "also write arrays for numpy.load into DIR, with one row per record: n_token.npy, one "
             "file per measure [N, L, H], and with --top top_id.npy and top_p.npy [N, K]"},
    {.name = "edges",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_args, others),
     .help = "also write as CSV the keys that each query looks at most, one line per key; for long "
             "texts, whose matrices are too large to keep"},
    {.name = "edges-per-query",
     .argument = "K",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct batch_args, n_edge),
     .help = "number of keys per query in --edges, the largest weights first; default: 3"},
    {.name = "npz",
     .argument = "FILE",
     .heading = "Output",
     .kind = OPTION_NAMED,
     .offset = offsetof(struct batch_args, others),
     .help = "also write the tensors of --sites of all records into one archive for numpy.load, "
             "with members such as 000000007/blocks.0.attn.hook_pattern"},
    {.name = "precision",
     .argument = "N",
     .heading = "Output",
     .kind = OPTION_NUMBER,
     .max = 17,
     .offset = offsetof(struct batch_args, precision),
     .help = "digits after the point in JSON and CSV; default: as many as bring back the same "
             "number"},
};

static const struct option_group file_options = OPTION_GROUP(file_rows);

static const struct option resume_rows[] = {
    {.name = "resume",
     .heading = "Restarts",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct batch_args, is_resumed),
     .help = "continue a run of the same command that ended early. If there is none, begin; if all "
             "is done, only check that input and outputs are still the same"},
    {.name = "sync",
     .heading = "Restarts",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct batch_args, is_synced),
     .help =
         "wait for the disk at each checkpoint, and for each file and its name at the end: what "
         "is done survives a power failure"},
    {.name = "progress",
     .argument = "SECONDS",
     .heading = "Other",
     .kind = OPTION_NUMBER,
     .min = 1,
     .max = INT32_MAX,
     .offset = offsetof(struct batch_args, progress),
     .help = "print lines of progress on standard error; a terminal shows progress without this "
             "option"},
};

static const struct option_group resume_options = OPTION_GROUP(resume_rows);

static const struct option_part parts[] = {
    {&input_options, 0},
    {&special_options, offsetof(struct batch_args, prompt)},
    {&file_options, 0},
    {&resume_options, 0},
    {&prediction_options, offsetof(struct batch_args, prediction)},
    {&model_options, offsetof(struct batch_args, model)},
    {&weights_options, offsetof(struct batch_args, model)},
    {&compute_options, offsetof(struct batch_args, model)},
    {&attention_options, offsetof(struct batch_args, attention)},
    {&selection_options, offsetof(struct batch_args, selection)},
    {&ablation_options, offsetof(struct batch_args, ablation)},
    {&running_options, offsetof(struct batch_args, running)},
    {&help_options, 0},
};

static int batch_main(int argc, char **argv);

const struct command command_batch = {
    .name = "batch",
    .summary = "many texts in one process",
    .usage = "[OPTIONS] [INPUT]",
    .description =
        "Reads records from INPUT, one per line, and writes a line of JSON for each, in\n"
        "the same order: its tokens, and what `attn-cli heads` measures of every head. A\n"
        "record is a JSON object with `text` or `ids`; with --lines it is a text. Line i\n"
        "of the output belongs to line i of the input. A record that cannot be computed\n"
        "gives a line with an `error`, and then the exit code is 6.\n"
        "\n"
        "-o FILE grows as FILE.part and gets its name when it is whole; FILE.run.json\n"
        "beside it says how it was made. --resume continues a run that ended early.\n"
        "Results do not depend on threads, shards or restarts.\n"
        "\n"
        "Measures say where heads look in each text. They do not say what heads take from\n"
        "there, nor whether that matters; 'attn-cli help measures' explains them.\n",
    .examples = "  " EXAMPLE "\n"
                "  attn-cli batch -m gpt2 prompts.jsonl | jq .measures.entropy[5][1]\n"
                "  attn-cli batch -m gpt2 -o results.jsonl --resume prompts.jsonl\n"
                "  attn-cli batch -m gpt2 -o results.jsonl --shard 3/8 prompts.jsonl\n",
    .parts = parts,
    .n_part = sizeof(parts) / sizeof(parts[0]),
    .main = batch_main,
};

/* A batch on its way. */
struct batch {
    struct batch_args *args;
    const char **given; /* [options_count] the text of each option's value, or NULL */
    const char **command;
    struct attn_sink *out; /* standard output */
    struct attn_buffer asked;
    const char **files; /* that the options name */
    struct attn_records_item *outputs;
    struct model_source source;
    struct attn_host *host;
    struct attn_request request;
    struct attn_attention_change changed;
    struct attn_mask_array mask;
    struct attn_many_options many;
    struct attn_batch_options options;
    struct attn_batch *batch;
    bool has_begun; /* records are computed */
    double emitted; /* seconds; when a plain line said how far it is */
};

/* --- Options --------------------------------------------------------------------------------- */

/* The fields that messages of the library name, and the options that fill them. */
static const struct {
    const char *field, *option;
} named_fields[] = {
    {"is_resumed", "--resume"},
    {"n_shard", "--shard"},
    {"max_failed", "--max-errors"},
};

/* Writes options in TEXT [SIZE] where words of it are fields. */
static void name_options(char *text, size_t size)
{
    for (size_t i = 0; i < sizeof named_fields / sizeof *named_fields; i++) {
        const size_t n = strlen(named_fields[i].field);
        char *found = strstr(text, named_fields[i].field);
        char rest[ATTN_ERROR_MESSAGE_SIZE];

        if (!found || (found > text && found[-1] != ' ') || (found[n] && found[n] != ' '))
            continue;
        snprintf(rest, sizeof rest, "%s", found + n);
        snprintf(found, size - (size_t)(found - text), "%s%s", named_fields[i].option, rest);
    }
}

static int report_batch(struct attn_error *err)
{
    name_options(err->message, sizeof err->message);
    name_options(err->hint, sizeof err->hint);
    return report_error(err);
}

/* Reads "3/8". */
static int read_shard(const char *text, size_t *shard, size_t *n_shard)
{
    int64_t i = 0, n = 0;
    const char *slash = text ? strchr(text, '/') : NULL;
    if (!text)
        return EXIT_DONE;
    if (!slash || !attn_parse_int(slash + 1, strlen(slash + 1), 1, MOST_SHARDS, &n) ||
        !attn_parse_int(text, (size_t)(slash - text), 0, n - 1, &i))
        return report_problem(EXIT_USAGE, NULL,
                              "'--shard' is '%s', expected I/N with 0 <= I < N, such as 3/8", text);
    *shard = (size_t)i;
    *n_shard = (size_t)n;
    return EXIT_DONE;
}

static bool is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

static int check(const struct batch_args *args)
{
    if (args->inputs.n > 1)
        return report_problem(EXIT_USAGE, "`cat FILE... | attn-cli batch` reads them all",
                              "'%s' is a second input, expected one", args->inputs.items[1]);
    if (args->is_lines && (args->text_key || args->id_key))
        return report_problem(
            EXIT_USAGE, NULL,
            "--text-key and --id-key need records in JSON, and --lines reads texts");
    if (args->is_resumed && is_standard(args->output))
        return report_problem(EXIT_USAGE, NULL, "--resume needs -o FILE, the file to continue");
    return attention_check(&args->attention);
}

/* Whether the option NAME has no part in what the results are. */
static bool is_circumstance(const char *name)
{
    static const char *const names[] = {
        "model",   "config", "vocab", "weights", "load",     "threads",    "quiet",
        "verbose", "resume", "sync",  "color",   "progress", "max-errors",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Whether the option NAME is the path of an output. */
static bool is_output(const char *name)
{
    static const char *const names[] = {"output", "csv", "npy", "edges", "npz"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static void append_string(struct attn_buffer *out, const char *text)
{
    attn_json_append_string(out, text, strlen(text));
}

/* The options that shape the results, as an object of JSON. Lists have all their values. */
static void describe_options(struct batch *batch)
{
    struct attn_buffer *text = &batch->asked;

    attn_buffer_append_char(text, '{');
    for (struct option_walk walk = {.command = &command_batch}; option_next(&walk);) {
        const struct option *option = &walk.option;
        const char *given = batch->given[walk.n - 1];

        if (!given || !option->name || is_circumstance(option->name))
            continue;
        attn_buffer_append_string(text, text->size > 1 ? "," : "");
        append_string(text, option->name);
        attn_buffer_append_char(text, ':');
        if (is_output(option->name)) {
            attn_buffer_append_string(text, "true");
        } else if (option->kind == OPTION_LIST) {
            const struct text_list *list =
                (const struct text_list *)(const void *)((const char *)batch->args +
                                                         option->offset);

            for (size_t i = 0; i < list->n; i++) {
                attn_buffer_append_char(text, i > 0 ? ',' : '[');
                append_string(text, list->items[i]);
            }
            attn_buffer_append_char(text, ']');
        } else {
            append_string(text, given);
        }
    }
    attn_buffer_append_char(text, '}');
    batch->options.asked = attn_buffer_string(text);
}

/* What the options name that is a file. */
static int list_files(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    const char *mask = attention_mask_file(&args->attention);
    const char **files = calloc(args->ablation.patches.n + 1, sizeof *files);
    size_t n = 0;

    if (!files)
        return report_no_memory();
    if (mask)
        files[n++] = mask;
    for (size_t i = 0; i < args->ablation.patches.n; i++) {
        const char *equals = strchr(args->ablation.patches.items[i], '=');

        if (equals)
            files[n++] = equals + 1;
    }
    batch->files = files;
    batch->options.files = files;
    batch->options.n_file = n;
    return EXIT_DONE;
}

/* Where the outputs go. */
static int list_outputs(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    const size_t n = 1 + args->others.n;
    int n_standard = is_standard(args->output);

    batch->outputs = calloc(n, sizeof *batch->outputs);
    if (!batch->outputs)
        return report_no_memory();
    for (size_t i = 0; i < n; i++) {
        const char *format = i == 0 ? "jsonl" : args->others.items[i - 1].name;
        const char *path = i == 0 ? args->output : args->others.items[i - 1].value;

        batch->outputs[i] = (struct attn_records_item){
            .format = format,
            .path = is_standard(path) ? NULL : path,
            .sink = batch->out,
        };
    }
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
    batch->options.outputs = batch->outputs;
    batch->options.n_output = n;
    return EXIT_DONE;
}

/* Refuses options for outputs that are not written. */
static int check_outputs(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    const struct attn_request_predict *predict = &batch->request.predict;
    const bool has_predictions = predict->top > 0 || predict->n_next > 0;
    attn_record_field_set fields = ATTN_RECORD_FIELD_BIT(MEASURES);
    struct attn_error err = {0};

    if ((args->fields && attn_record_fields_parse(args->fields, &fields, &err) != ATTN_OK) ||
        (args->measures &&
         attn_measures_parse(args->measures, &batch->many.measures, &err) != ATTN_OK))
        return report(&err, EXIT_USAGE);
    if (args->measures && !(fields & ATTN_RECORD_FIELD_BIT(MEASURES)) &&
        !named_list_find(&args->others, "csv") && !named_list_find(&args->others, "npy"))
        return report_problem(EXIT_USAGE, "add measures to --fields, or write --csv or --npy",
                              "--measures needs an output that has measures");
    if (fields & ATTN_RECORD_FIELD_BIT(PREDICTIONS) && !has_predictions)
        return report_problem(EXIT_USAGE, NULL, "predictions in --fields need --top or --next");
    if (args->n_edge > 0 && !named_list_find(&args->others, "edges"))
        return report_problem(EXIT_USAGE, NULL, "--edges-per-query needs --edges");
    batch->many.n_edge = (size_t)args->n_edge;
    if (args->fields)
        batch->options.fields = fields;
    return EXIT_DONE;
}

static void on_note(void *user, const char *message)
{
    (void)user;
    note("%s", message);
}

/* What is asked of every record. */
static int fill_request(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    struct attn_request *request = &batch->request;
    int code;

    *request = ATTN_REQUEST_DEFAULT;
    prompt_say_special(&args->prompt, request);
    request->attention.change = &batch->changed;
    request->selection.layers = args->selection.layers;
    request->selection.heads = args->selection.heads;
    request->selection.queries = args->selection.queries;
    request->selection.sites = args->selection.sites;
    request->predict = (struct attn_request_predict){.top = (size_t)args->prediction.top,
                                                     .next = args->prediction.next.items,
                                                     .n_next = args->prediction.next.n};
    request->on_note = args->running.is_quiet ? NULL : on_note;
    batch->many = ATTN_MANY_OPTIONS_DEFAULT;
    batch->many.request = request;
    batch->many.n_max_token = (size_t)args->n_max_token;
    code = check_outputs(batch);
    return code == EXIT_DONE ? attention_change(&args->attention, &batch->changed, &batch->mask)
                             : code;
}

/* --- On its way ------------------------------------------------------------------------------ */

static void on_progress(void *user, const struct attn_batch_progress *progress)
{
    char line[256], left[PROGRESS_TIME_SIZE], count[ATTN_QUANTITY_SIZE], failed[ATTN_QUANTITY_SIZE];
    struct batch *batch = user;
    const struct running_args *running = &batch->args->running;
    const bool is_emitted = !running->is_quiet && batch->args->progress > 0 &&
                            progress->seconds - batch->emitted >= (double)batch->args->progress;
    int size;

    if (!batch->has_begun)
        progress_begin(running->is_quiet);
    batch->has_begun = true;
    if (!is_emitted && !progress_is_due())
        return;
    size = snprintf(line, sizeof line, "%s records, %.0f records/s, %s failed",
                    attn_quantity_count(progress->n_record, count),
                    (double)(progress->n_record - progress->n_before) /
                        (progress->seconds > 1e-3 ? progress->seconds : 1e-3),
                    attn_quantity_count(progress->n_failed, failed));
    if (progress->seconds_left > 0)
        snprintf(line + size, sizeof line - (size_t)size, ", %.0f %%, %s left",
                 100 * progress->share, progress_time(progress->seconds_left, left));
    if (is_emitted) {
        note("%s", line);
        batch->emitted = progress->seconds;
    } else {
        progress_draw("%s", line);
    }
}

static bool is_spoiled(void *user)
{
    (void)user;
    return interrupt_is_model_truncated();
}

static int open_batch(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    struct attn_batch_options *options = &batch->options;
    struct attn_error err = {0};
    int code = read_shard(args->shard, &options->shard, &options->n_shard);

    if (code == EXIT_DONE)
        code = list_outputs(batch);
    if (code == EXIT_DONE)
        code = list_files(batch);
    if (code != EXIT_DONE)
        return code;
    options->path = args->inputs.n > 0 ? args->inputs.items[0] : NULL;
    options->takes_texts = args->is_lines;
    options->text_key = args->text_key;
    options->id_key = args->id_key;
    options->max_line = (size_t)args->max_line;
    options->max_record = (uint64_t)args->n_most;
    options->max_failed = args->n_most_failed;
    options->precision = (int)args->precision;
    options->is_resumed = args->is_resumed;
    options->is_synced = args->is_synced;
    options->source = &batch->source.source;
    options->cancel = interrupt_flag();
    options->on_note = args->running.is_quiet ? NULL : on_note;
    options->on_progress = on_progress;
    options->is_spoiled = is_spoiled;
    options->user = batch;
    return attn_batch_open(options, &batch->batch, &err) == ATTN_OK ? EXIT_DONE
                                                                    : report_batch(&err);
}

static int open_all(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    const struct hosting hosting = {.source = &batch->source.source,
                                    .load = (enum attn_load)args->model.load,
                                    .compute = args->model.compute,
                                    .reuse = true,
                                    .running = &args->running};
    struct attn_error err = {0};
    int code = fill_request(batch);

    if (code == EXIT_DONE)
        code = open_batch(batch);
    if (code == EXIT_DONE)
        code = model_source_find(&args->model, &args->running, &batch->source);
    if (code == EXIT_DONE)
        code = hosting_open(&hosting, &batch->host);
    if (code == EXIT_DONE &&
        ablation_fill(&batch->args->ablation, batch->host, &batch->request, &err) != ATTN_OK)
        code = report_error(&err);
    interrupt_catch();
    return code;
}

static int perform(struct batch *batch)
{
    const bool is_quiet = batch->args->running.is_quiet;
    char done[ATTN_QUANTITY_SIZE], all[ATTN_QUANTITY_SIZE], failed[ATTN_QUANTITY_SIZE];
    struct attn_batch_result result = {0};
    struct attn_error err = {0};
    int code = check(batch->args);

    if (code == EXIT_DONE)
        code = open_all(batch);
    if (code != EXIT_DONE)
        return code;
    attn_batch_run(batch->batch, batch->host, &batch->many, &result, &err);
    progress_clear();
    attn_quantity_count(result.n_record, all);
    if (result.is_abandoned) /* who read it wants no more */
        return EXIT_DONE;
    if (err.status != ATTN_OK) {
        code = report_batch(&err);
        if (result.can_resume && !is_quiet)
            note("--resume continues at record %s", all);
        return code;
    }
    if (!result.is_complete && !is_quiet)
        note("%s of %s records in %.*f s, %s failed",
             attn_quantity_count(result.n_record - result.n_failed, done), all,
             result.seconds < 10 ? 1 : 0, result.seconds,
             attn_quantity_count(result.n_failed, failed));
    return result.has_failed ? EXIT_FAILED_RECORDS : EXIT_DONE;
}

static void release(struct batch *batch)
{
    struct batch_args *args = batch->args;

    attn_batch_free(batch->batch);
    hosting_close(batch->host);
    attn_mask_array_release(&batch->mask);
    attn_buffer_release(&batch->asked);
    free(batch->outputs);
    free(batch->files);
    free(batch->command);
    free(batch->given);
    text_list_release(&args->inputs);
    text_list_release(&args->prediction.next);
    named_list_release(&args->others);
    ablation_release(&args->ablation);
}

/* The command line as it was typed, for the manifest. */
static int keep_command(struct batch *batch, int argc, char **argv)
{
    batch->given = calloc(options_count(&command_batch), sizeof *batch->given);
    batch->command = calloc((size_t)argc + 2, sizeof *batch->command);
    if (!batch->given || !batch->command)
        return report_no_memory();
    batch->command[0] = "attn-cli";
    batch->command[1] = command_batch.name;
    for (int i = 0; i < argc; i++)
        batch->command[i + 2] = argv[i];
    batch->options.command = batch->command;
    batch->options.n_command = (size_t)argc + 2;
    return EXIT_DONE;
}

static int batch_main(int argc, char **argv)
{
    struct batch_args args = {
        .attention = ATTENTION_ARGS_DEFAULT, .precision = -1, .n_most_failed = -1};
    struct batch batch = {.args = &args, .options = ATTN_BATCH_OPTIONS_DEFAULT};
    int code = keep_command(&batch, argc, argv);

    if (code == EXIT_DONE)
        code = options_parse_noting(&command_batch, argc, argv, &args, batch.given);
    if (code == OPTIONS_OK)
        code = print_open(&batch.out);
    if (batch.out && help_is_asked(args.selection.sites)) {
        sites_print(batch.out);
    } else if (batch.out && help_is_asked(args.attention.kind)) {
        attention_kinds_print(batch.out);
    } else if (batch.out) {
        describe_options(&batch);
        code = perform(&batch);
    }
    release(&batch);
    return print_close(batch.out, code);
}
