/* batch.c - attn-cli batch: many texts, one process. */
#include "cmd/args/attention.h"
#include "cmd/args/hosting.h"
#include "cmd/args/model.h"
#include "cmd/args/prediction.h"
#include "cmd/args/prompt.h"
#include "cmd/args/selection.h"
#include "cmd/batch_digest.h"
#include "cmd/batch_lines.h"
#include "cmd/batch_manifest.h"
#include "cmd/batch_model.h"
#include "cmd/batch_outputs.h"
#include "cmd/batch_work.h"
#include "cmd/line/help.h"
#include "cmd/line/interrupt.h"
#include "cmd/line/options.h"
#include "cmd/line/print.h"
#include "cmd/line/progress.h"
#include "cmd/line/report.h"

#include "attn.h"
#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    struct batch_output_args output;
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
    {&batch_output_options, offsetof(struct batch_args, output)},
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
    int argc;
    char **argv;
    struct attn_sink *out; /* standard output */
    time_t started;
    struct batch_lines *lines;
    struct attn_host *host;
    struct attn_request request;
    struct attn_attention_change changed;
    struct attn_mask_array mask;
    struct attn_many_options many;
    struct batch_outputs outputs;
    struct batch_model *model;
    char *journal_path, *manifest_path; /* owns; NULL without a file that could be resumed */
    struct attn_buffer options, input;  /* the identity's */
    struct batch_work work;
    bool is_complete;  /* it was done before */
    bool is_finishing; /* the outputs got their ends, and are no place to go on from */
};

/* --- Options ---------------------------------------------------------------------------------- */

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
    if (args->is_resumed && is_standard(args->output.lines))
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

/* Appends the digest of a file that shapes the results. One that cannot be read is refused when it is
 * opened for its numbers. */
static void append_file(struct attn_buffer *out, const char *path)
{
    struct batch_digest digest = {.path = path, .end = BATCH_DIGEST_TO_END};
    struct attn_error ignored = {0};
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode) && /* a FIFO would be waited for */
        batch_digest_file(&digest, interrupt_flag(), &ignored) == ATTN_OK)
        attn_buffer_append_format(out, "%s\"%s\"", out->size > 0 ? "," : "", digest.hex);
}

/* What the options name that is a file: two runs with other bytes in one are not the same. */
static void describe_files(const struct batch_args *args, struct attn_buffer *out)
{
    struct attn_buffer files = {0};
    const char *mask = attention_mask_file(&args->attention);
    if (mask)
        append_file(&files, mask);
    for (size_t i = 0; i < args->ablation.patches.n; i++) {
        const char *equals = strchr(args->ablation.patches.items[i], '=');
        if (equals)
            append_file(&files, equals + 1);
    }
    if (files.size > 0)
        attn_buffer_append_format(out, ",\"files\":[%s]", attn_buffer_string(&files));
    out->has_failed = out->has_failed || files.has_failed;
    attn_buffer_release(&files);
}

/* The options that shape the results, as an object of JSON. Lists have all their values. */
static void describe_options(struct batch *batch)
{
    struct attn_buffer *text = &batch->options;
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
    describe_files(batch->args, text);
    attn_buffer_append_char(text, '}');
}

/* --- Opening ---------------------------------------------------------------------------------- */

static int open_lines(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    struct batch_lines_options options = {
        .path = args->inputs.n > 0 ? args->inputs.items[0] : NULL,
        .max_line = args->max_line > 0 ? (size_t)args->max_line : BATCH_MAX_LINE,
        .is_stopped = batch_work_is_stopped,
        .on_taken = batch_work_take_bytes,
        .user = &batch->work,
    };
    struct attn_error err = {0};
    uint64_t size;
    int code = read_shard(args->shard, &options.shard, &options.n_shard);
    if (code != EXIT_DONE)
        return code;
    if (batch_lines_open(&options, &batch->lines, &err) != ATTN_OK)
        return report_error(&err);
    if (batch_lines_is_file(batch->lines, &size))
        attn_buffer_append_format(&batch->input, "{\"bytes\":%" PRIu64 "}", size);
    else
        attn_buffer_append_string(&batch->input, "{\"bytes\":null}");
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
    *request = ATTN_REQUEST_DEFAULT;
    prompt_say_special(&args->prompt, request);
    request->changed = &batch->changed;
    request->layers = args->selection.layers;
    request->heads = args->selection.heads;
    request->queries = args->selection.queries;
    request->sites = args->selection.sites;
    ablation_fill(&args->ablation, request);
    request->predict = (struct attn_question){(size_t)args->prediction.top,
                                              args->prediction.next.items, args->prediction.next.n};
    request->on_note = args->running.is_quiet ? NULL : on_note;
    batch->many = ATTN_MANY_OPTIONS_DEFAULT;
    batch->many.request = request;
    batch->many.n_max_token = (size_t)args->n_max_token;
    int code = batch_outputs_plan(&args->output, &batch->many);
    return code == EXIT_DONE ? attention_change(&args->attention, &batch->changed, &batch->mask)
                             : code;
}

static bool is_empty(const struct attn_records *records)
{
    struct attn_records_part part;
    for (size_t i = 0; attn_records_part(records, i, &part); i++)
        if (part.size > 0)
            return false;
    return true;
}

/* Removes the parts of the outputs, which hold nothing that could be gone on with. */
static void remove_parts(const struct batch *batch)
{
    struct attn_records_part part;
    for (size_t i = 0; attn_records_part(batch->outputs.records, i, &part); i++)
        unlink(part.path);
    if (batch->journal_path)
        unlink(batch->journal_path);
}

/* Whether no output is the input: it would be lost. */
static int check_outputs(const struct batch *batch)
{
    for (size_t i = 0; i < batch->outputs.n_path; i++) {
        const char *path = batch->outputs.paths[i];
        if (path && batch_lines_is_path(batch->lines, path))
            return report_problem(EXIT_USAGE, NULL,
                                  "the output '%s' is the input, expected another file", path);
    }
    return EXIT_DONE;
}

/* Opens model and outputs; what they are made of is found beside the work. */
static int open_outputs(struct batch *batch, const struct model_source *source)
{
    const struct batch_args *args = batch->args;
    struct batch_place place = {
        .host = batch->host, .standard = batch->out, .is_resumed = args->is_resumed};
    struct attn_error err = {0};
    int code = read_shard(args->shard, &place.shard, &place.n_shard);
    if (code == EXIT_DONE)
        code = batch_outputs_open(&batch->outputs, &args->output, &batch->many, &place);
    if (code != EXIT_DONE)
        return code;
    code = check_outputs(batch);
    if (code != EXIT_DONE && is_empty(batch->outputs.records))
        remove_parts(batch);
    if (code == EXIT_DONE && args->is_resumed && !batch->outputs.name)
        code = report_problem(EXIT_USAGE, NULL,
                              "--resume goes on with a file, and '%s' is a pipe or a device",
                              attn_quote_string(args->output.lines).text);
    if (code != EXIT_DONE || !batch->outputs.name)
        return code;
    if (asprintf(&batch->journal_path, "%s.journal", batch->outputs.name) < 0 ||
        asprintf(&batch->manifest_path, "%s.run.json", batch->outputs.name) < 0)
        return report_no_memory();
    if (batch_model_start(&source->source, attn_host_model(batch->host), interrupt_flag(),
                          &batch->model, &err) != ATTN_OK)
        return report(&err, EXIT_INTERNAL);
    return EXIT_DONE;
}

static int open_all(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    struct model_source source;
    int code = open_lines(batch);
    if (code == EXIT_DONE)
        code = fill_request(batch);
    if (code == EXIT_DONE)
        code = model_source_find(&args->model, &args->running, &source);
    const struct hosting hosting = {.source = &source.source,
                                    .load = (enum attn_load)args->model.load,
                                    .compute = args->model.compute,
                                    .reuse = true,
                                    .running = &args->running};
    if (code == EXIT_DONE)
        code = hosting_open(&hosting, &batch->host);
    interrupt_catch();
    if (code == EXIT_DONE)
        code = open_outputs(batch, &source);
    return code;
}

/* --- Beginning, or going on ------------------------------------------------------------------- */

static void init_work(struct batch *batch)
{
    const struct batch_args *args = batch->args;
    struct batch_work *work = &batch->work;
    work->options = (struct batch_work_options){
        .takes_texts = args->is_lines,
        .keys = {args->text_key, args->id_key},
        .n_most = args->n_most > 0 ? (uint64_t)args->n_most : UINT64_MAX,
        .n_most_failed = args->n_most_failed >= 0 ? (uint64_t)args->n_most_failed : UINT64_MAX,
        .needs_numbers = named_list_find(&args->output.others, "npz"),
        .is_synced = args->is_synced,
        .progress_seconds = args->running.is_quiet ? 0 : (double)args->progress,
    };
    work->lines = batch->lines;
    work->records = batch->outputs.records;
    work->journal_path = batch->journal_path;
    work->model = batch->model;
    work->identity.options = attn_buffer_string(&batch->options);
    work->identity.input = attn_buffer_string(&batch->input);
}

/* Whether the outputs are whole already: nothing is left to do, and *exit_code is as it was. */
static enum attn_status find_complete(struct batch *batch, int *exit_code, struct attn_error *err)
{
    struct batch_made made = {0};
    if (!is_empty(batch->outputs.records) || access(batch->outputs.name, F_OK) != 0)
        return ATTN_OK;
    enum attn_status status =
        batch_manifest_read(batch->manifest_path, &batch->work.identity, &made, err);
    if (status == ATTN_OK && made.is_there)
        status = batch_work_compare(&batch->work, &made, batch->manifest_path, err);
    batch->is_complete = status == ATTN_OK && made.is_there;
    *exit_code = made.exit_code;
    batch_made_release(&made);
    return status;
}

/* Says which part is not as it was written. */
static void note_damage(const struct batch_work *work, bool is_resumed)
{
    char count[ATTN_QUANTITY_SIZE];
    uint64_t size;
    const char *path = batch_parts_damaged(work->parts, &size);
    if (path)
        note("the first %s bytes of '%s' are not those that were written: %s",
             attn_quantity_count(size, count), attn_quote_string(path).text,
             is_resumed ? "an earlier checkpoint is taken" : "all is computed anew");
}

static enum attn_status resume(struct batch *batch, int *exit_code, struct attn_error *err)
{
    struct batch_work *work = &batch->work;
    char count[ATTN_QUANTITY_SIZE];
    bool is_resumed = false;
    enum attn_status status = batch_model_wait(batch->model, &work->identity.model, err);
    if (status == ATTN_OK)
        status = find_complete(batch, exit_code, err);
    if (status == ATTN_OK && !batch->is_complete)
        status = batch_work_resume(work, &is_resumed, err);
    if (status != ATTN_OK || batch->args->running.is_quiet)
        return status;
    note_damage(work, is_resumed);
    if (batch->is_complete)
        note("'%s' is complete", attn_quote_string(batch->outputs.name).text);
    else if (is_resumed)
        note("'%s' continues at record %s", attn_quote_string(batch->outputs.name).text,
             attn_quantity_count(work->done.n_record, count));
    return ATTN_OK;
}

/* --- The end ---------------------------------------------------------------------------------- */

static void say_summary(const struct batch *batch)
{
    const struct batch_work *work = &batch->work;
    char done[ATTN_QUANTITY_SIZE], all[ATTN_QUANTITY_SIZE], failed[ATTN_QUANTITY_SIZE];
    const double seconds = 1e-3 * (double)work->milliseconds_before + progress_seconds();
    if (batch->args->running.is_quiet)
        return;
    note("%s of %s records in %.*f s, %s failed",
         attn_quantity_count(work->done.n_record - work->n_failed, done),
         attn_quantity_count(work->done.n_record, all), seconds < 10 ? 1 : 0, seconds,
         attn_quantity_count(work->n_failed, failed));
}

/* The exit code of a batch of which everything was computed. */
static int code_of(const struct batch *batch)
{
    const bool is_tolerated = batch->args->n_most_failed >= 0;
    return batch->work.n_failed > 0 && !is_tolerated ? EXIT_FAILED_RECORDS : EXIT_DONE;
}

static enum attn_status write_manifest(struct batch *batch, struct attn_error *err)
{
    struct batch_work *work = &batch->work;
    struct batch_manifest manifest = {
        .path = batch->manifest_path,
        .is_synced = work->options.is_synced,
        .identity = work->identity,
        .argc = batch->argc,
        .argv = batch->argv,
        .model = attn_model_name(attn_host_model(batch->host)),
        .lines = batch->lines,
        .done = &work->done,
        .records = work->records,
        .n_thread = attn_host_n_thread(batch->host),
        .started = batch->started,
        .exit_code = code_of(batch),
    };
    batch_digest_hex(&work->done_input, work->done.input);
    work->done.milliseconds = work->milliseconds_before + (uint64_t)(1e3 * progress_seconds());
    enum attn_status status = batch_model_wait(batch->model, &manifest.identity.model, err);
    if (status == ATTN_OK)
        status = batch_parts_finish(work->parts, work->records, work->extents, err);
    return status == ATTN_OK ? batch_manifest_write(&manifest, err) : status;
}

/* Everything is computed: gives the outputs their names. */
static enum attn_status finish(struct batch *batch, struct attn_error *err)
{
    struct batch_work *work = &batch->work;
    enum attn_status status = ATTN_OK;
    if (work->has_checkpoint)
        status = batch_work_checkpoint(work, err);
    batch->is_finishing = status == ATTN_OK;
    if (status == ATTN_OK)
        status = attn_records_finish(work->records, work->options.is_synced, err);
    if (status == ATTN_OK && batch->manifest_path)
        status = write_manifest(batch, err);
    if (status == ATTN_OK)
        status = attn_records_commit(work->records, err);
    if (status == ATTN_OK && batch->journal_path)
        unlink(batch->journal_path);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* It ended early, by ERR: keeps what is done. */
static int end_early(struct batch *batch, const struct attn_error *err)
{
    struct batch_work *work = &batch->work;
    struct attn_error ignored = {0};
    char count[ATTN_QUANTITY_SIZE];
    if (attn_records_is_abandoned(work->records))
        return EXIT_DONE; /* who read it wants no more */
    const int code = report_error(err);
    if (work->done.n_record > 0 && !batch->is_finishing && code != EXIT_OUTPUT &&
        !interrupt_is_model_truncated())
        batch_work_checkpoint(work, &ignored);
    if (!work->has_checkpoint)
        remove_parts(batch);
    else if (!batch->args->running.is_quiet)
        note("--resume continues at record %s", attn_quantity_count(work->done.n_record, count));
    return code;
}

static int perform(struct batch *batch)
{
    struct attn_error err = {0};
    int code = check(batch->args);
    if (code == EXIT_DONE)
        code = open_all(batch);
    if (code != EXIT_DONE)
        return code;
    init_work(batch);
    enum attn_status status = batch_work_init(&batch->work, &err);
    if (status == ATTN_OK && batch->args->is_resumed)
        status = resume(batch, &code, &err);
    if ((status != ATTN_OK || batch->is_complete) && is_empty(batch->outputs.records))
        remove_parts(batch);
    if (status != ATTN_OK)
        return report_error(&err);
    if (batch->is_complete)
        return code;
    progress_begin(batch->args->running.is_quiet);
    status = batch_work_run(&batch->work, batch->host, &batch->many, &err);
    if (status == ATTN_OK)
        status = finish(batch, &err);
    if (status != ATTN_OK)
        return end_early(batch, &err);
    say_summary(batch);
    return code_of(batch);
}

static void release(struct batch *batch)
{
    struct batch_args *args = batch->args;
    batch_work_release(&batch->work);
    batch_model_free(batch->model);
    batch_outputs_close(&batch->outputs);
    batch_lines_close(batch->lines);
    hosting_close(batch->host);
    attn_mask_array_release(&batch->mask);
    attn_buffer_release(&batch->options);
    attn_buffer_release(&batch->input);
    free(batch->journal_path);
    free(batch->manifest_path);
    free(batch->given);
    text_list_release(&args->inputs);
    text_list_release(&args->prediction.next);
    ablation_release(&args->ablation);
    batch_output_args_release(&args->output);
}

static int batch_main(int argc, char **argv)
{
    struct batch_args args = {.attention = ATTENTION_ARGS_DEFAULT,
                              .output = BATCH_OUTPUT_ARGS_DEFAULT,
                              .n_most_failed = -1};
    struct batch batch = {.args = &args, .argc = argc, .argv = argv, .started = time(NULL)};
    batch.given = calloc(options_count(&command_batch), sizeof *batch.given);
    if (!batch.given)
        return report_no_memory();
    int code = options_parse_noting(&command_batch, argc, argv, &args, batch.given);
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
