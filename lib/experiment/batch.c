/* batch.c - see batch.h. Lines are read on one thread and results are processed on another; both
 * only share has_ended. The ledger (batch/ledger_internal.h) manages the files on disk. */
#include "experiment/batch.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/param_internal.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "batch/ledger_internal.h"
#include "experiment/questions_internal.h"
#include "host/host_internal.h"
#include "records/batch_lines.h"
#include "records/items_internal.h"
#include "records/record_reader.h"
#include "records/restart_params.h"
#include "run/item_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- The question ----------------------------------------------------------------------------- */

static const int forms[] = {ATTN_ITEMS_BY_NAME, ATTN_ITEMS_JSON_LINES, ATTN_ITEMS_LINES,
                            ATTN_ITEMS_FASTA};

static const struct attn_param record_rows[] = {
    ATTN_PARAM(CHOICE, "items_format", NULL, struct attn_batch_args, options.form,
               "default: auto, by the name of INPUT, .fasta, else JSON Lines, objects with 'text', "
               "'ids' or 'image', or FASTA if it begins with > or ;. lines: a text a line, without "
               "a final \\r",
               .words = "auto|jsonl|lines|fasta", .values = forms),
    ATTN_PARAM(TEXT, "text_key", "NAME", struct attn_batch_args, options.text_key,
               "key of a record's text; default: text"),
    ATTN_PARAM(TEXT, "id_key", "NAME", struct attn_batch_args, options.id_key,
               "key of a record's id; default: id. A record without one gets its number, from 0"),
    ATTN_PARAM(TEXT, "labels", "NAME,...|all", struct attn_batch_args, options.labels,
               "write these keys of a record beside its results: JSON has an object labels, CSV "
               "columns after id. all: those that mean nothing else; in CSV those of the first "
               "record"),
    ATTN_SHARD_PARAM(struct attn_batch_args, options.shard, options.n_shard),
    ATTN_FAILED_PARAM(struct attn_batch_args, options.max_failed),
    ATTN_RESUME_PARAM(struct attn_batch_args, options.is_resumed),
};
const struct attn_param_list attn_batch_record_params = ATTN_PARAM_LIST("Input", record_rows);

static const struct attn_param limit_rows[] = {
    ATTN_PARAM(SEED, "limit", "N", struct attn_batch_args, options.max_record,
               "take only the first N records; 0: all, the default", .most = INT64_MAX),
    ATTN_PARAM(COUNT, "max_line", "BYTES", struct attn_batch_args, options.max_line,
               "longest line in bytes; the record of a longer one fails, however long it is; "
               "default: 16777216",
               .least = 1, .most = INT32_MAX),
};
const struct attn_param_list attn_batch_limit_params = ATTN_PARAM_LIST("Input", limit_rows);

static enum attn_status read_fields(const struct attn_param *param, void *home, const char *label,
                                    const char *text, struct attn_error *err)
{
    void *fields = (char *)home + param->offset;

    (void)label;
    return attn_error_at(attn_record_fields_parse(text, fields, err), ATTN_STAGE_OPTIONS, err);
}

static enum attn_status read_measures(const struct attn_param *param, void *home, const char *label,
                                      const char *text, struct attn_error *err)
{
    void *measures = (char *)home + param->offset;

    (void)label;
    return attn_error_at(attn_measures_parse(text, measures, err), ATTN_STAGE_OPTIONS, err);
}

static enum attn_status read_precision(const struct attn_param *param, void *home,
                                       const char *label, const char *text, struct attn_error *err)
{
    int64_t digits;

    if (!attn_parse_int(text, strlen(text), param->least, param->most, &digits))
        return attn_param_refuse(err, label, text, "a whole number 0 to 17");
    *(int *)(void *)((char *)home + param->offset) = (int)digits;
    return ATTN_OK;
}

static const struct attn_param field_rows[] = {
    ATTN_PARAM(OWN, "fields", "LIST", struct attn_batch_args, options.fields,
               "what each line holds besides id and n_token: ids, tokens, offsets, measures, "
               "surprisal, predictions, tensors; default: ids,measures, and predictions with "
               "`top` or `next`",
               .read = read_fields),
    ATTN_PARAM(OWN, "measures", "LIST", struct attn_batch_args, many.measures,
               "measures of each head, by their names in \140attn-cli heads\140; default: all but "
               "punctuation, next, separator and the counts of these",
               .read = read_measures),
};
const struct attn_param_list attn_batch_field_params = ATTN_PARAM_LIST("Output", field_rows);

static const struct attn_param edge_rows[] = {
    ATTN_PARAM(COUNT, "edges_per_query", "K", struct attn_batch_args, many.n_edge,
               "number of keys per query in `edges`, the largest weights first; default: 3",
               .least = 1, .most = INT32_MAX),
};
const struct attn_param_list attn_batch_edge_params = ATTN_PARAM_LIST("Output", edge_rows);

static const struct attn_param writing_rows[] = {
    ATTN_PARAM(OWN, "precision", "N", struct attn_batch_args, options.precision,
               "digits after the point in JSON and CSV; default: as many as bring back the "
               "same number",
               .most = 17, .read = read_precision),
    ATTN_PARAM(FLAG, "sync", NULL, struct attn_batch_args, options.is_synced,
               "wait for the disk at each checkpoint, and for each file and its name at the "
               "end: what is done survives a power failure"),
};
const struct attn_param_list attn_batch_writing_params = ATTN_PARAM_LIST("Output", writing_rows);

static const struct attn_param_part parts[] = {{&attn_batch_record_params, 0},
                                               {&attn_batch_limit_params, 0},
                                               {&attn_batch_field_params, 0},
                                               {&attn_batch_edge_params, 0},
                                               {&attn_batch_writing_params, 0}};

static const struct attn_param_rule rules[] = {
    {.given = "items_format:lines",
     .excludes = "text_key|id_key|labels",
     .message = "`text_key`, `id_key` and `labels` need records, and @ lines reads texts"},
    {.given = "edges_per_query", .needs = "edges"},
};

static const struct attn_batch_args defaults = {
    .options = {.size = sizeof(struct attn_batch_options), .max_failed = -1, .precision = -1},
    .many.size = sizeof(struct attn_many_options)};

const struct attn_question attn_question_batch = {
    .name = "batch",
    ATTN_QUESTION_PARAMS(parts, rules),
    .defaults = &defaults,
    .args_size = sizeof defaults,
};

struct attn_batch {
    struct attn_batch_options options;
    struct attn_ledger ledger;
    bool is_run;      /* attn_batch_run was called; a batch runs once */
    bool is_complete; /* an earlier run was complete */

    struct attn_record_names names; /* owns; the requested labels */
    bool *seen_labels;              /* [labels.n] owns; true for labels that some record had */
    /* owns; the first record, read for its labels if all labels are requested */
    struct attn_item first;
    const char **columns;         /* [first.n_label] owns; names of these labels */
    enum attn_record_field table; /* field shown by csv */
    bool has_noted_text;          /* a note about a line that is not an object was sent */
    bool needs_next;              /* a record without `next` fails */
    bool has_used_next;           /* some record used the continuations that are given for all */
    size_t most_next;             /* a record with more continuations fails */
    const struct attn_places *places; /* borrowed; those of the request, or NULL */
    struct attn_items *items;         /* owns; the input */

    uint64_t n_before;       /* number of records of earlier processes */
    uint64_t begin_of_lines; /* offset of the first line in the input */
    uint64_t begin_of_work;  /* offset of the first line that this process reads */

    uint64_t n_read;            /* number of records read */
    struct attn_error read_err; /* error while reading */
};

static bool is_canceled(const struct attn_batch *batch)
{
    return attn_is_canceled(batch->options.cancel);
}

enum { N_EDGE = 3 }; /* default number of keys per query in `edges` */

/* --- Opening --------------------------------------------------------------------------------- */

static bool has_output(const struct attn_batch *batch, const char *format)
{
    for (size_t i = 0; i < batch->options.n_output; i++)
        if (strcmp(batch->options.outputs[i].format, format) == 0)
            return true;
    return false;
}

/* Chooses which field csv has: the measures, or one of the others. */
static enum attn_status choose_table(struct attn_batch *batch, struct attn_error *err)
{
    const attn_record_field_set fields = batch->options.fields;
    const bool has_predictions = fields & ATTN_RECORD_FIELD_BIT(PREDICTIONS);
    const bool has_surprisal = fields & ATTN_RECORD_FIELD_BIT(SURPRISAL);

    batch->table = ATTN_RECORD_FIELD_MEASURES;
    if (fields & ATTN_RECORD_FIELD_BIT(MEASURES))
        return ATTN_OK;
    if (has_predictions)
        batch->table = ATTN_RECORD_FIELD_PREDICTIONS;
    if (has_surprisal)
        batch->table = ATTN_RECORD_FIELD_SURPRISAL;
    if (!has_predictions || !has_surprisal || !has_output(batch, "csv"))
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "`fields` has predictions and surprisal, and csv holds one of them");
}

/* Checks that the options go together. */
static enum attn_status check(struct attn_batch *batch, struct attn_error *err)
{
    const struct attn_batch_options *options = &batch->options;

    if (!attn_is_choice((int)options->form, ATTN_ITEMS_FASTA + 1, "form", err))
        return ATTN_INVALID;
    if (options->form == ATTN_ITEMS_CSV || options->form == ATTN_ITEMS_TSV)
        return attn_error_set(err, ATTN_INVALID, "`form` is CSV, which a batch does not read");
    if (options->n_shard > 0 && options->shard >= options->n_shard)
        return attn_error_set(err, ATTN_INVALID, "shard is %zu of %zu, expected less",
                              options->shard, options->n_shard);
    if (options->labels && options->form == ATTN_ITEMS_LINES)
        return attn_error_set(err, ATTN_INVALID,
                              "`labels` are keys of records, and texts have none");
    batch->names.text = options->text_key;
    batch->names.id = options->id_key;
    if (options->labels)
        ATTN_TRY(attn_record_names_parse(options->labels, &batch->names, err));
    ATTN_TRY(ATTN_ALLOC(batch->seen_labels, batch->names.n, err));
    return choose_table(batch, err);
}

static enum attn_status open_items(struct attn_batch *batch, struct attn_error *err)
{
    const struct attn_batch_options *options = &batch->options;
    struct attn_items_options records = ATTN_ITEMS_OPTIONS_DEFAULT;
    uint64_t size;
    bool is_file;

    records.path = options->path;
    records.form = options->form;
    records.max_line = options->max_line;
    records.shard = options->shard;
    records.n_shard = options->n_shard;
    records.cancel = options->cancel;
    ATTN_TRY(attn_items_open_records(&records, &batch->names, has_output(batch, "npz"),
                                     &batch->items, err));
    is_file = attn_items_are_of_file(batch->items, &size);
    return attn_ledger_describe_input(&batch->ledger, is_file, size, err);
}

static enum attn_status open_batch(struct attn_batch *batch, struct attn_error *err)
{
    const struct attn_batch_options *options = &batch->options;

    ATTN_TRY(attn_ledger_name(&batch->ledger, options->outputs, options->n_output, err));
    ATTN_TRY(attn_error_at(check(batch, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(
        attn_ledger_describe(&batch->ledger, options->asked, options->files, options->n_file, err));
    return open_items(batch, err);
}

enum attn_status attn_batch_open(const struct attn_batch_options *given, struct attn_batch **batch,
                                 struct attn_error *err)
{
    struct attn_batch_options options = ATTN_BATCH_OPTIONS_DEFAULT;
    struct attn_batch *made;
    enum attn_status status;

    if (!attn_is_given(given, "options", err) || !attn_is_given(batch, "batch", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_error_at(attn_options_read(given, &options, err), ATTN_STAGE_OPTIONS, err));
    if (!options.outputs || options.n_output == 0) {
        attn_is_given(false, "outputs", err);
        return ATTN_INVALID;
    }
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = options;
    made->ledger = (struct attn_ledger){
        .unit = "record",
        .unit_key = "records",
        .option = "output",
        .is_resumed = options.is_resumed,
        .is_synced = options.is_synced,
        .skips_input = true,
        .shard = options.shard,
        .n_shard = options.n_shard,
        .source = options.source,
        .cancel = options.cancel,
        .on_note = options.on_note,
        .user = options.user,
        .command = options.command,
        .n_command = options.n_command,
        .is_spoiled = options.is_spoiled,
        .spoiled_user = options.user,
        .journal = -1,
    };
    status = open_batch(made, err);
    if (status == ATTN_OK)
        *batch = made;
    else
        attn_batch_free(made);
    return status;
}

void attn_batch_free(struct attn_batch *batch)
{
    if (!batch)
        return;
    attn_free(batch->seen_labels);
    attn_record_names_release(&batch->names);
    attn_item_release(&batch->first);
    attn_free(batch->columns);
    attn_ledger_release(&batch->ledger);
    attn_items_free(batch->items);
    attn_free(batch);
}

/* --- Outputs --------------------------------------------------------------------------------- */

/* Determines what must be computed for the outputs. */
static void plan(struct attn_batch *batch, const struct attn_records_form *form,
                 struct attn_many_options *many)
{
    attn_record_field_set fields = form->fields;

    if (!has_output(batch, "jsonl"))
        fields = 0;
    if (has_output(batch, "csv"))
        fields |= UINT64_C(1) << batch->table;
    batch->needs_next = fields & ATTN_RECORD_FIELD_BIT(PREDICTIONS) && form->n_next == 0 &&
                        (form->n_top == 0 || (has_output(batch, "csv") &&
                                              batch->table == ATTN_RECORD_FIELD_PREDICTIONS));
    batch->most_next = has_output(batch, "npy") && form->n_next > 0 ? form->n_next : SIZE_MAX;
    if (!(fields & ATTN_RECORD_FIELD_BIT(MEASURES)) && !has_output(batch, "npy"))
        many->measures = 0;
    else if (many->measures == 0)
        many->measures = ATTN_MEASURES_DEFAULT;
    if (!has_output(batch, "edges"))
        many->n_edge = 0;
    else if (many->n_edge == 0)
        many->n_edge = N_EDGE;
    many->has_surprisal = fields & ATTN_RECORD_FIELD_BIT(SURPRISAL);
    many->keeps_tensors = fields & ATTN_RECORD_FIELD_BIT(TENSORS) || has_output(batch, "npz");
}

/* Returns an error for outputs that would overwrite the input. */
static enum attn_status check_outputs(const struct attn_batch *batch, struct attn_error *err)
{
    for (size_t i = 0; i < batch->ledger.n_output; i++) {
        const char *path = batch->ledger.outputs[i].path;

        if (!path || !attn_items_are_of_path(batch->items, path))
            continue;
        attn_error_set(err, ATTN_INVALID, "the output '%s' is the input, expected another file",
                       attn_quote_string(path).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    return ATTN_OK;
}

/* Reads the labels of the first record in the lines of TEXT [size]. */
static enum attn_status read_first_labels(struct attn_batch *batch, const char *text, size_t size,
                                          struct attn_error *err)
{
    struct attn_item *first = &batch->first;
    enum attn_status status = ATTN_OK;

    first->failure = ATTN_RECORD_FAILURE_BAD_JSON;
    for (const char *at = text, *last = text + size;
         at < last && status == ATTN_OK && first->failure == ATTN_RECORD_FAILURE_BAD_JSON;) {
        const char *end = memchr(at, '\n', (size_t)(last - at));
        const size_t n = (size_t)((end ? end : last) - at);

        attn_item_release(first);
        status = attn_item_read_line(at, n, &batch->names, first, err);
        at += n + 1;
    }
    return status;
}

/* Determines the label columns: the requested ones, or those of the first record. */
static enum attn_status find_columns(struct attn_batch *batch, struct attn_records_form *form,
                                     struct attn_error *err)
{
    const struct attn_item *first = &batch->first;
    const char *text;
    size_t size;

    form->has_labels = batch->options.labels;
    form->labels = batch->names.labels;
    form->n_label = batch->names.n;
    if (!batch->names.is_all || (!has_output(batch, "csv") && !has_output(batch, "edges")))
        return ATTN_OK;
    form->has_all_labels = true;
    ATTN_TRY(attn_batch_lines_peek(attn_items_lines(batch->items), &text, &size, err));
    ATTN_TRY(read_first_labels(batch, text, size, err));
    ATTN_TRY(ATTN_ALLOC(batch->columns, first->n_label, err));
    for (size_t i = 0; i < first->n_label; i++)
        batch->columns[i] = first->labels[i].name;
    form->labels = batch->columns;
    form->n_label = first->n_label;
    return ATTN_OK;
}

/* Sets the contents of the outputs for the request MANY. */
static enum attn_status fill_form(struct attn_batch *batch, const struct attn_host *host,
                                  struct attn_many_options *many, struct attn_records_form *form,
                                  struct attn_error *err)
{
    const struct attn_batch_options *options = &batch->options;

    *form = attn_records_form_of(many, attn_model_config(attn_host_model(host)));
    form->adds_predictions = options->fields == 0;
    if (options->fields != 0)
        form->fields = options->fields;
    plan(batch, form, many);
    form->measures = many->measures;
    form->precision = options->precision;
    form->on_note = options->on_note;
    form->user = options->user;
    form->table = batch->table;
    if (has_output(batch, "csv") && batch->table == ATTN_RECORD_FIELD_SURPRISAL)
        ATTN_TRY(attn_host_tokenizer(host, &form->tokenizer, err));
    return find_columns(batch, form, err);
}

static enum attn_status open_outputs(struct attn_batch *batch, struct attn_host *host,
                                     struct attn_many_options *many, struct attn_error *err)
{
    struct attn_records_form form;

    ATTN_TRY(attn_host_check_model(host, err));
    ATTN_TRY(fill_form(batch, host, many, &form, err));
    ATTN_TRY(check_outputs(batch, err));
    return attn_ledger_open(&batch->ledger, &form, host, err);
}

/* --- Records in ------------------------------------------------------------------------------ */

/* Marks ITEM as failed if its continuations, or those given for all records, do not fit the
 * outputs. */
static void check_next(const struct attn_batch *batch, struct attn_item *item)
{
    if (item->failure != ATTN_RECORD_FAILURE_NONE)
        return;
    if (batch->needs_next && !item->next)
        attn_error_set(&item->err, ATTN_INVALID,
                       "it has no 'next', and no continuation is given for all");
    else if (item->n_next > batch->most_next)
        attn_error_set(&item->err, ATTN_INVALID,
                       "'next' has %zu continuations, expected at most %zu, as the array has "
                       "columns",
                       item->n_next, batch->most_next);
    if (item->err.status != ATTN_OK)
        item->failure = ATTN_RECORD_FAILURE_NO_FIT;
}

/* Reads the next item (attn_next_fn). A read error is stored in read_err, and reported after the
 * items before it. */
static enum attn_status next(void *user, struct attn_item **item, struct attn_error *err)
{
    struct attn_batch *batch = user;
    const uint64_t most = batch->options.max_record;

    (void)err;
    if ((most > 0 && batch->n_read >= most) ||
        attn_items_next(batch->items, item, &batch->read_err) != ATTN_OK || !*item)
        return ATTN_OK;
    batch->n_read++;
    if (batch->options.form != ATTN_ITEMS_LINES)
        attn_item_name_places(*item, batch->places);
    check_next(batch, *item);
    return ATTN_OK;
}

/* --- Results out ----------------------------------------------------------------------------- */

static void emit_progress(const struct attn_batch *batch)
{
    const struct attn_batch_options *options = &batch->options;
    const double first = (double)batch->begin_of_lines, at = (double)batch->ledger.done.end;
    const double left = (double)attn_batch_lines_end(attn_items_lines(batch->items)) - at;
    const double read = at - (double)batch->begin_of_work;
    struct attn_batch_progress progress = {
        .n_record = batch->ledger.done.n_record,
        .n_failed = batch->ledger.n_failed,
        .n_before = batch->n_before,
        .seconds = attn_ledger_seconds(&batch->ledger),
    };

    if (!options->on_progress)
        return;
    if (left > 0 && read > 0) {
        progress.share = (at - first) / (at + left - first);
        progress.seconds_left = progress.seconds * left / read;
    }
    options->on_progress(options->user, &progress);
}

static enum attn_status check_failures(const struct attn_batch *batch, struct attn_error *err)
{
    return attn_items_check_failures("records", batch->ledger.n_failed, batch->ledger.done.n_record,
                                     batch->options.max_failed, err);
}

/* Sends one note that a line is not an object, with the option that reads such a file. For a CSV
 * file it suggests other commands, as its lines are not texts. */
static void note_text(struct attn_batch *batch, const struct attn_item *item)
{
    const char *name = attn_items_name(batch->items);

    batch->has_noted_text = true;
    attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_NOT_JSON,
              "record %zu is not a JSON object; %s", item->number,
              attn_items_separator_of(name)
                  ? "commands with `items` read CSV, such as score; batch reads JSON Lines"
              : *item->input.text == '[' ? "jq -c '.[]' writes the objects of an array as lines"
                                         : "`form lines` reads each line as a text");
}

static enum attn_status take(struct attn_batch *batch, const struct attn_item_result *result,
                             struct attn_error *err)
{
    const struct attn_item *item = result->item;

    for (size_t i = 0; i < batch->names.n && i < item->n_label; i++)
        if (item->labels[i].value.type != ATTN_VALUE_MISSING)
            batch->seen_labels[i] = true;
    if (!item->next && result->failure == ATTN_RECORD_FAILURE_NONE)
        batch->has_used_next = true;
    if (item->failure == ATTN_RECORD_FAILURE_BAD_JSON && *item->input.text &&
        !batch->has_noted_text)
        note_text(batch, item);
    ATTN_TRY(attn_ledger_write(&batch->ledger, result, err));
    emit_progress(batch);
    return check_failures(batch, err);
}

/* Processes a result (attn_done_fn). */
static enum attn_status take_result(void *user, const struct attn_item_result *result,
                                    struct attn_error *err)
{
    return attn_error_at(take(user, result, err), ATTN_STAGE_OUTPUT, err);
}

static void end_reading(void *user)
{
    attn_items_stop(((const struct attn_batch *)user)->items);
}

/* --- Beginning, or resuming ------------------------------------------------------------------ */

/* Returns an error if the number of lines before the shard is not N, which is recorded in PATH. N
 * 0: they were not counted. */
static enum attn_status compare_lines_before(struct attn_batch *batch, uint64_t n, const char *path,
                                             struct attn_error *err)
{
    uint64_t found = n;

    if (n > 0)
        ATTN_TRY(attn_items_count_before(batch->items, &found, err));
    return found == n
               ? ATTN_OK
               : attn_ledger_report_input(attn_items_name(batch->items), path,
                                          "has another number of lines before the shard", err);
}

/* Returns an error if the lines so far do not have the digest HEX, which is recorded in PATH. */
static enum attn_status compare_digest(const struct attn_batch *batch, const char *hex,
                                       const char *path, struct attn_error *err)
{
    char what[96], found[ATTN_DIGEST_HEX_SIZE];
    uint64_t begin, end;

    attn_items_digest(batch->items, found);
    if (strcmp(found, hex) == 0)
        return ATTN_OK;
    attn_batch_lines_range(attn_items_lines(batch->items), &begin, &end);
    snprintf(what, sizeof what, "differs between byte %" PRIu64 " and byte %" PRIu64, begin, end);
    return attn_ledger_report_input(attn_items_name(batch->items), path, what, err);
}

/* Skips the input up to the ledger's checkpoint. ATTN_INVALID at the stage of the options if that
 * part of the input, or the number of lines before it, has changed. */
static enum attn_status skip_done(struct attn_batch *batch, struct attn_error *err)
{
    const struct attn_ledger_done *done = &batch->ledger.done;
    const char *path = batch->ledger.journal_path.data;

    if (batch->ledger.journal >= 0) { /* the input up to the checkpoint must be skipped */
        ATTN_TRY(attn_items_skip(batch->items, (size_t)done->n_record, done->begin, done->end,
                                 (uint32_t)done->crc, err));
        ATTN_TRY(compare_digest(batch, done->input, path, err));
        ATTN_TRY(compare_lines_before(batch, done->n_line_before, path, err));
    }
    ATTN_TRY(attn_ledger_cut(&batch->ledger, err));
    batch->n_before = batch->n_read = done->n_record;
    return check_failures(batch, err);
}

/* Compares the input up to the end recorded in MADE. The input must end there, unless `max_record`
 * stopped the run. ATTN_INVALID at the stage of the options if it has changed. */
static enum attn_status compare_input(struct attn_batch *batch, const struct attn_ledger_made *made,
                                      struct attn_error *err)
{
    const char *manifest_path = batch->ledger.manifest_path.data;
    const uint64_t most = batch->options.max_record;
    struct attn_item *next = NULL;

    ATTN_TRY(attn_batch_lines_take(attn_items_lines(batch->items), made->end, err));
    ATTN_TRY(compare_digest(batch, made->input, manifest_path, err));
    if (most == 0 || made->n_record < most)
        ATTN_TRY(attn_items_next(batch->items, &next, err));
    attn_item_free(next);
    if (is_canceled(batch))
        return attn_report_stopped(err);
    if (next)
        return attn_ledger_report_input(attn_items_name(batch->items), manifest_path,
                                        "has more lines", err);
    return compare_lines_before(batch, made->n_line_before, manifest_path, err);
}

/* If an earlier run is complete, compares its outputs with the manifest; otherwise resumes it. */
static enum attn_status resume(struct attn_batch *batch, struct attn_ledger_made *made,
                               struct attn_error *err)
{
    ATTN_TRY(attn_ledger_find(&batch->ledger, made, err));
    if (!made->is_there)
        return attn_error_at(skip_done(batch, err), ATTN_STAGE_OUTPUT, err);
    ATTN_TRY(compare_input(batch, made, err));
    batch->is_complete = true;
    attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_COMPLETE, "'%s' is complete",
              attn_quote_string(batch->ledger.name).text);
    return ATTN_OK;
}

static enum attn_status prepare(struct attn_batch *batch, struct attn_host *host,
                                struct attn_many_options *many, struct attn_ledger_made *made,
                                struct attn_error *err)
{
    ATTN_TRY(open_outputs(batch, host, many, err));
    return batch->options.is_resumed ? resume(batch, made, err) : ATTN_OK;
}

/* --- All of it ------------------------------------------------------------------------------- */

/* Sends notes about labels that no record had, which may be misspelt, and about continuations given
 * for all records if every record had its own. */
static void note_unseen(const struct attn_batch *batch, bool has_next)
{
    const uint64_t n_record = batch->ledger.done.n_record;

    if (batch->n_before > 0 || n_record == 0)
        return;
    if (has_next && !batch->has_used_next && batch->ledger.n_failed < n_record)
        attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_UNUSED_DEFAULT,
                  "`next` has no effect: all records have their own");
    for (size_t i = 0; i < batch->names.n; i++)
        if (!batch->seen_labels[i])
            attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_UNSEEN_LABEL,
                      "no record has the label '%s'",
                      attn_quote_string(batch->names.labels[i]).text);
}

/* Computes the remaining records. */
static enum attn_status compute(struct attn_batch *batch, struct attn_host *host,
                                const struct attn_many_options *many, struct attn_error *err)
{
    const struct attn_many_calls calls = {
        .next = next,
        .done = take_result,
        .release = attn_item_free,
        .on_end = end_reading,
        .user = batch,
    };

    attn_batch_lines_range(attn_items_lines(batch->items), &batch->begin_of_lines,
                           &batch->begin_of_work);
    batch->ledger.begun = attn_clock_seconds();
    batch->places = many->request ? many->request->reading.places : NULL;
    emit_progress(batch);
    ATTN_TRY(attn_run_many(host, many, &calls, err));
    if (is_canceled(batch)) /* the lines ended early because of the cancel */
        return attn_report_stopped(err);
    ATTN_TRY(batch->read_err.status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &batch->read_err));
    note_unseen(batch,
                many->request && many->request->predict.n_next > 0 && batch->most_next == SIZE_MAX);
    attn_items_note_mark(batch->items, batch->options.on_note, batch->options.user);
    return ATTN_OK;
}
/* --- The end --------------------------------------------------------------------------------- */

/* Gives the outputs their final names, after everything was computed. */
static enum attn_status finish(struct attn_batch *batch, const struct attn_host *host,
                               struct attn_error *err)
{
    struct attn_ledger *ledger = &batch->ledger;

    ledger->input_name = attn_items_name(batch->items);
    attn_batch_lines_range(attn_items_lines(batch->items), &ledger->input_begin,
                           &ledger->input_end);
    ledger->has_failed = ledger->n_failed > 0 && batch->options.max_failed < 0;
    return attn_ledger_finish(ledger, host, err);
}

static enum attn_status run(struct attn_batch *batch, struct attn_host *host,
                            const struct attn_many_options *given, struct attn_batch_result *result,
                            struct attn_error *err)
{
    struct attn_many_options many = ATTN_MANY_OPTIONS_DEFAULT;
    struct attn_ledger_made made = {0};
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_options_read(given, &many, err), ATTN_STAGE_OPTIONS, err));
    status = prepare(batch, host, &many, &made, err);
    *result = (struct attn_batch_result){.n_record = made.n_record,
                                         .n_failed = made.n_failed,
                                         .has_failed = made.has_failed,
                                         .is_complete = batch->is_complete};
    attn_ledger_made_release(&made);
    if (status != ATTN_OK || batch->is_complete)
        attn_ledger_remove_empty(&batch->ledger);
    if (status != ATTN_OK || batch->is_complete)
        return status;
    status = compute(batch, host, &many, err);
    if (status == ATTN_OK)
        status = attn_error_at(finish(batch, host, err), ATTN_STAGE_OUTPUT, err);
    if (status != ATTN_OK) {
        result->is_abandoned = attn_records_is_abandoned(batch->ledger.records);
        result->can_resume = attn_ledger_keep(&batch->ledger, err);
    }
    result->n_record = batch->ledger.done.n_record;
    result->n_failed = batch->ledger.n_failed;
    result->has_failed = batch->ledger.n_failed > 0 && batch->options.max_failed < 0;
    result->seconds =
        1e-3 * (double)batch->ledger.milliseconds_before + attn_ledger_seconds(&batch->ledger);
    return status;
}

enum attn_status attn_batch_run(struct attn_batch *batch, struct attn_host *host,
                                const struct attn_many_options *many,
                                struct attn_batch_result *result, struct attn_error *err)
{
    struct attn_batch_result found = {0};
    struct attn_error failure = {0};
    enum attn_status status;

    if (!attn_is_given(batch, "batch", err) || !attn_is_given(host, "host", err))
        return ATTN_INVALID;
    if (batch->is_run) {
        attn_error_set(err, ATTN_INVALID, "the batch was run, and is run once");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    batch->is_run = true;
    status = run(batch, host, many, &found, &failure);
    if (result)
        *result = found;
    return status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}
