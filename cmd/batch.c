/* batch.c - attn-cli batch: runs many texts in one process. */
#include "cmd/args/question.h"
#include "cmd/args/restart.h"
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

struct batch_args {
    struct question_args common; /* those of each text; it has no input, items or tables */
    struct text_list inputs;     /* arguments that are not options: at most one file */
    struct attn_batch_args asked;
    size_t progress;    /* in seconds; 0: not given */
    const char *output; /* path of the JSON lines; NULL or "-": standard output */
};

struct batch {
    struct question *question;
    struct batch_args *args;
    struct restart restart;
    struct attn_records_item *outputs; /* owned */
    struct attn_many_options many;
    struct attn_batch_options options;
    struct attn_batch *batch;
    bool has_begun; /* the computation has begun */
    double emitted; /* when the last line of --progress was printed, in seconds */
};

static const struct attn_param input_rows[] = {
    OPTION_TEXTS(NULL, "INPUT", struct batch_args, inputs,
                 "a file with one record per line; - or nothing is standard input"),
};

static const struct attn_param lines_rows[] = {
    ATTN_PARAM(TEXT, "output", "FILE", struct batch_args, output,
               "the file for the lines of JSON, one per record; default: -, standard output",
               .letter = 'o'),
};

static const struct attn_param table_rows[] = {
    ATTN_PARAM_KEPT(
        TEXT, "csv", "FILE",
        "also write the measures as CSV, one line per record and head; with predictions "
        "in --fields instead one line per continuation of --next, with surprisal one per "
        "word. - is standard output, and then no JSON goes there"),
    ATTN_PARAM_KEPT(TEXT, "npy", "DIR",
                    "also write arrays for numpy.load into DIR, with one row per record: "
                    "n_token.npy, one file per measure [N, L, H], with --top top_id.npy and "
                    "top_p.npy [N, K], and with --next next_log_prob.npy [N, K]"),
    ATTN_PARAM_KEPT(TEXT, "edges", "FILE",
                    "also write as CSV the keys that each query looks at most, one line per key; "
                    "for long texts, whose matrices are too large to keep"),
};

static const struct attn_param archive_rows[] = {
    ATTN_PARAM_KEPT(TEXT, "npz", "FILE",
                    "also write the tensors of --sites of all records into one archive for "
                    "numpy.load, with members such as 000000007/blocks.0.attn.hook_pattern"),
};

static const struct attn_param progress_rows[] = {
    ATTN_PARAM(COUNT, "progress", "SECONDS", struct batch_args, progress,
               "print lines of progress on standard error; a terminal shows progress without "
               "this option",
               .least = 1, .most = INT32_MAX),
};

#define AT(member) offsetof(struct batch_args, member)

static const struct attn_param_part parts[] = {
    {OPTION_LIST("Input", input_rows), 0},
    {&attn_batch_record_params, AT(asked)},
    {&tower_options, AT(common.model)},
    {&attn_batch_limit_params, AT(asked)},
    {&attn_reading_params, AT(common.prompt.asked)},
    {&attn_picture_prompt_params, AT(common.prompt.asked)},
    {&attn_chat_params, AT(common.prompt.asked)},
    {OPTION_LIST("Output", lines_rows), 0},
    {&attn_batch_field_params, AT(asked)},
    {OPTION_LIST("Output", table_rows), 0},
    {&attn_batch_edge_params, AT(asked)},
    {OPTION_LIST("Output", archive_rows), 0},
    {&attn_batch_writing_params, AT(asked)},
    {OPTION_LIST("Other", progress_rows), 0},
    {&attn_prediction_params, AT(common.prompt.asked)},
    {&attn_span_params, AT(common.prompt.labels)},
    MODEL_OPTIONS(AT(common.model)),
    {&attn_attention_params, AT(common.attention)},
    {&attn_dropout_params, AT(common.attention)},
    {&attn_selection_params, AT(common.prompt.asked)},
    {&attn_edit_params, AT(common.edits)},
    {&attn_place_params, AT(common.places)},
    {&running_options, AT(common.running)},
};

static const struct batch_args defaults = {
    .common = QUESTION_ARGS_DEFAULT,
    .asked.options = {.size = sizeof(struct attn_batch_options), .max_failed = -1, .precision = -1},
    .asked.many.size = sizeof(struct attn_many_options)};

static enum attn_status work(struct question *question, struct attn_error *err);
static void release(void *own);

const struct command command_batch = {
    .name = "batch",
    .summary = "many texts in one process",
    .usage = "[OPTIONS] [INPUT]",
    .description =
        "Reads records from INPUT, one per line, and writes a line of JSON for each, in\n"
        "the same order: its tokens, and what `attn-cli heads` measures of every head. A\n"
        "record is a JSON object with `text`, `ids` or, of a picture, `image`, its path;\n"
        "with --items-format lines it is a text, in .csv and .tsv a row below a header.\n"
        "Line i of the output belongs to record i of the input. A FASTA file (.fasta,\n"
        ".fa, .faa, or a file that begins with > or ;) has a record for each protein. A\n"
        "record that cannot be computed gives a line with an `error`, and then the exit\n"
        "code is 6.\n"
        "\n"
        "-o FILE grows as FILE.part and gets its name when it is whole; FILE.run.json\n"
        "beside it says how it was made. --resume continues a run that ended early.\n"
        "Results do not depend on threads, shards or restarts.\n"
        "\n"
        "Measures say where heads look in each text. They do not say what heads take from\n"
        "there, nor whether that matters; 'attn-cli help measures' explains them.\n",
    .examples = "  attn-cli batch -m fable --items-format lines lines.txt\n"
                "  attn-cli batch -m gpt2 prompts.jsonl | jq .measures.entropy[5][1]\n"
                "  attn-cli batch -m gpt2 -o results.jsonl --resume prompts.jsonl\n"
                "  attn-cli batch -m gpt2 -o results.jsonl --shard 3/8 prompts.jsonl\n",
    OPTION_PARTS(parts),
    .args_size = sizeof(struct batch_args),
    .defaults = &defaults,
    .ask = work,
    .print_sites = sites_print,
    .own_size = sizeof(struct batch),
    .release = release,
};

/* --- Options --------------------------------------------------------------------------------- */

static bool is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* Checks the PATH of the output NAME. */
static enum attn_status check_path(const char *name, const char *path, struct attn_error *err)
{
    const char *format = strcmp(name, "edges") == 0    ? "csv"
                         : strcmp(name, "output") == 0 ? "jsonl"
                                                       : name;
    const bool is_directory = strcmp(name, "npy") == 0;

    return is_standard(path)
               ? ATTN_OK
               : attn_format_check_name(attn_format_find(format), name, path, is_directory, err);
}

static enum attn_status check(struct question *question, struct attn_error *err)
{
    const struct batch_args *args = question->call->args;

    if (args->inputs.n > 1)
        return refuse(err, "`cat FILE... | attn-cli batch` reads them all",
                      "'%s' is a second input, expected one", args->inputs.items[1]);
    ATTN_TRY(attn_question_check(&attn_question_batch, option_is_param_given, question->call, err));
    if (args->asked.options.each.is_resumed && is_standard(args->output))
        return refuse(err, NULL, "`resume` needs -o FILE, the file to continue");
    return attn_attention_args_check(&question->attention, err);
}

/* The options of outputs that may go to standard output; the others are npy and npz. */
#define TABLES "csv|edges"

/* Stores the command line for a later --resume, with those options that change results, but not the
 * paths of outputs. */
static enum attn_status begin_restart(struct batch *batch, struct attn_error *err)
{
    static const struct restart_form form = {
        .names = "model|config|vocab|weights|load|threads|quiet|verbose|resume|sync|color|"
                 "progress|max-errors",
        .outputs = "output|" TABLES "|npy|npz",
    };

    ATTN_TRY(restart_begin(batch->question->call, &form, &batch->restart, err));
    batch->options.each.asked = batch->restart.asked.data;
    batch->options.each.command = batch->restart.command;
    batch->options.each.n_command = batch->restart.n;
    return ATTN_OK;
}

/* Appends the other outputs in the order of the command line, and counts those that go to standard
 * output. */
static enum attn_status list_others(struct batch *batch, size_t *n, size_t *n_standard,
                                    struct attn_error *err)
{
    const struct call *call = batch->question->call;

    for (size_t i = 0; i < call->n_found; i++) {
        const char *name = call->found[i].name;
        const char *path = call->given[call->found[i].n - 1];

        if (word_find(TABLES "|npy|npz", name) < 0)
            continue;
        if (is_standard(path) && word_find(TABLES, name) < 0)
            return refuse(err, NULL, "`%s` cannot go to standard output", name);
        ATTN_TRY(check_path(name, path, err));
        *n_standard += is_standard(path);
        batch->outputs[is_standard(path) && !batch->args->output ? 0 : (*n)++] =
            (struct attn_records_item){name, is_standard(path) ? NULL : path, call->out};
    }
    if (*n_standard + (batch->args->output && is_standard(batch->args->output)) > 1)
        return refuse(err, "write all but one of them to a FILE",
                      "two outputs go to standard output");
    return ATTN_OK;
}

/* Lists the outputs. The first is the JSON lines, or the table that is written to standard output
 * instead. */
static enum attn_status list_outputs(struct batch *batch, struct attn_error *err)
{
    const struct batch_args *args = batch->args;
    size_t n = 0, n_standard = 0;

    ATTN_TRY(ALLOCATE(batch->outputs, 1 + batch->question->call->n_found, err));
    batch->outputs[n++] = (struct attn_records_item){
        "jsonl", is_standard(args->output) ? NULL : args->output, batch->question->call->out};
    ATTN_TRY(check_path("output", args->output, err));
    ATTN_TRY(list_others(batch, &n, &n_standard, err));
    batch->options.outputs = batch->outputs;
    batch->options.n_output = n;
    return ATTN_OK;
}

/* JSON lines are written, unless a table takes standard output. */
#define NO_LINES .when = "csv:-|edges:-"

#define NO_MEASURES                                                                                \
    .message = "`measures` needs an output that has measures",                                     \
    .hint = "add measures to --fields, or write --csv or --npy"
#define NO_TOP                                                                                     \
    .message = "`top` needs an output that has predictions",                                       \
    .hint = "-o FILE writes lines of JSON, --npy DIR arrays; --fields names what is in a line"
#define NO_NEXT                                                                                    \
    .message = "`next` needs an output that has predictions",                                      \
    .hint = "add --fields predictions, or write -o FILE or --npy DIR"
#define NO_SITES                                                                                   \
    .message = "`sites` needs an output that has tensors",                                         \
    .hint = "write --npz, or add tensors to --fields"

/* Refuses measures, predictions, heads and tensors that no output shows. Lines have the fields, CSV
 * measures or else continuations, --npy all but tensors. */
static const struct attn_param_rule output_rules[] = {
    {.given = "measures", .when = "fields", .unless = "fields:measures|csv|npy", NO_MEASURES},
    {.given = "measures",
     .when = "fields:predictions|fields:surprisal",
     .unless = "fields:measures|npy",
     NO_MEASURES},
    {.given = "fields:predictions",
     .when = "items_format:lines",
     .unless = "top|next",
     .message = "predictions in `fields` need `top` or `next`"},
    {.given = "csv",
     .when = "items_format:lines",
     .unless = "next|fields:measures",
     .excludes = "fields:predictions",
     .message = "predictions in `csv` need `next`"},
    {.given = "top", .when = "fields", .unless = "npy|fields:predictions", NO_TOP},
    {.given = "top", NO_LINES, .unless = "npy|output", NO_TOP},
    {.given = "next", .when = "fields", .unless = "npy|fields:predictions", NO_NEXT},
    {.given = "next", NO_LINES, .unless = "npy|output|fields:predictions", NO_NEXT},
    {.given = "next", NO_LINES, .unless = "npy|output|csv", NO_NEXT},
    {.given = "next", NO_LINES, .unless = "npy|output", .excludes = "fields:measures", NO_NEXT},
    {.given = "layers|heads",
     .when = "fields",
     .unless = TABLES "|npy|npz|fields:measures|fields:tensors",
     .message = "@ needs an output that has heads",
     .hint = "add measures or tensors to --fields"},
    {.given = "sites", .unless = "npz|fields:tensors", NO_SITES},
    {.given = "sites", NO_LINES, .unless = "npz|output", NO_SITES},
};

/* Completes the request that is run for each text. */
static enum attn_status fill_request(struct batch *batch, struct attn_error *err)
{
    struct question *question = batch->question;
    struct attn_request *request = &question->request;

    request->attention.change = &question->attention.change;
    request->on_note = question->args->running.is_quiet ? NULL : note_message;
    batch->many.request = request;
    batch->many.n_max_token = request->max_input;
    ATTN_TRY(attn_param_rules_check(
        &(const struct attn_param_rules){output_rules, sizeof output_rules / sizeof *output_rules},
        ATTN_PARAM_GIVEN, option_is_param_given, question->call, err));
    return attn_attention_args_open(&question->attention, err);
}

/* --- Progress -------------------------------------------------------------------------------- */

static void on_progress(void *user, const struct attn_batch_progress *progress)
{
    char line[256], left[PROGRESS_TIME_SIZE], count[ATTN_QUANTITY_SIZE], failed[ATTN_QUANTITY_SIZE];
    struct batch *batch = user;
    const struct running_args *running = &batch->args->common.running;
    const bool is_emitted = !running->is_quiet && batch->args->progress > 0 &&
                            progress->seconds - batch->emitted >= (double)batch->args->progress;
    int size;

    if (!batch->has_begun)
        progress_begin(running->is_quiet);
    batch->has_begun = true;
    if (batch->args->progress == 0 && progress->seconds_left > 0 &&
        progress_is_long(progress->seconds_left))
        note("%.0f %% of the records took %s, the others take about %s", 100 * progress->share,
             progress_time(progress->seconds, count), progress_time(progress->seconds_left, left));
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

static enum attn_status open_batch(struct batch *batch, struct attn_error *err)
{
    const struct batch_args *args = batch->args;
    struct question *question = batch->question;
    struct attn_batch_options *options = &batch->options;
    const char *const mask = attn_attention_args_file(&question->attention);

    ATTN_TRY(list_outputs(batch, err));
    ATTN_TRY(attn_edit_texts_list_files(&question->edits, &mask, 1, err));
    options->each.files = (const char *const *)question->edits.files;
    options->each.n_file = question->edits.n_file;
    options->items.path = args->inputs.n > 0 ? args->inputs.items[0] : NULL;
    options->each.source = &question->source.source;
    options->items.cancel = interrupt_flag();
    options->on_note = args->common.running.is_quiet ? NULL : note_message;
    options->on_progress = on_progress;
    options->each.is_spoiled = restart_is_spoiled;
    options->user = batch;
    return attn_batch_open(options, &batch->batch, err);
}

/* Runs the batch, and notes how many records were written and how many failed. */
static enum attn_status run_all(struct batch *batch, struct attn_error *err)
{
    char done[ATTN_QUANTITY_SIZE], all[ATTN_QUANTITY_SIZE], failed[ATTN_QUANTITY_SIZE];
    struct attn_each_result result = {0};
    struct attn_error failure = {0};

    attn_batch_run(batch->batch, batch->question->host, &batch->many, &result, &failure);
    progress_clear();
    attn_quantity_count(result.n_item, all);
    if (result.is_abandoned) /* the reader closed the pipe */
        return ATTN_OK;
    if (failure.status != ATTN_OK) {
        if (result.can_resume)
            snprintf(batch->question->call->last_note, sizeof batch->question->call->last_note,
                     "--resume continues at record %s", all);
        return attn_error_copy(err, &failure);
    }
    if (!result.is_complete)
        note("%s of %s records in %.*f s, %s failed",
             attn_quantity_count(result.n_item - result.n_failed, done), all,
             result.seconds < 10 ? 1 : 0, result.seconds,
             attn_quantity_count(result.n_failed, failed));
    if (result.has_failed)
        batch->question->call->exit_code = EXIT_FAILED_RECORDS;
    return ATTN_OK;
}

static void release(void *own)
{
    struct batch *batch = own;

    attn_batch_free(batch->batch);
    free(batch->outputs);
    restart_end(&batch->restart);
}

static enum attn_status work(struct question *question, struct attn_error *err)
{
    struct batch_args *args = question->call->args;
    struct batch *batch = question->own;

    *batch = (struct batch){.question = question,
                            .args = args,
                            .options = args->asked.options,
                            .many = args->asked.many};
    question->reuse = true;
    ATTN_TRY(begin_restart(batch, err));
    ATTN_TRY(check(question, err));
    ATTN_TRY(places_check(question->call, err));
    ATTN_TRY(fill_request(batch, err));
    ATTN_TRY(open_batch(batch, err));
    ATTN_TRY(question_open_model(question, err));
    ATTN_TRY(edits_read(&question->edits, &args->common.places, question->host, &question->request,
                        err));
    interrupt_catch();
    return run_all(batch, err);
}
