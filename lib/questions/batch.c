/* batch.c - see batch.h: a procedure whose items are records, with the arguments, the contents of
 * the outputs, and what belongs to records alone. */
#include "questions/batch.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "params/param_internal.h"
#include "questions/frame.h"
#include "questions/questions_internal.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "stream/items_internal.h"
#include "stream/record_keys_internal.h"
#include "stream/restart_params.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

ATTN_DEFAULTS(attn_batch_options, .size = sizeof(struct attn_batch_options), .max_failed = -1,
              .precision = -1)

/* --- The question ----------------------------------------------------------------------------- */

static const int forms[] = {ATTN_ITEMS_BY_NAME, ATTN_ITEMS_JSON_LINES, ATTN_ITEMS_CSV,
                            ATTN_ITEMS_TSV,     ATTN_ITEMS_LINES,      ATTN_ITEMS_FASTA};

static const struct attn_param record_rows[] = {
    ATTN_PARAM(CHOICE, "items_format", NULL, struct attn_batch_args, options.items.form,
               "default: auto, by the name of INPUT, .csv, .tsv, .fasta, else JSON Lines, objects "
               "with 'text', 'ids' or 'image', or FASTA if it begins with > or ;. lines: a text a "
               "line, without a final \\r",
               .words = "auto|jsonl|csv|tsv|lines|fasta", .values = forms),
    ATTN_PARAM(TEXT, "text_key", "NAME", struct attn_batch_args, options.text_key,
               "key of a record's text; default: text"),
    ATTN_PARAM(TEXT, "id_key", "NAME", struct attn_batch_args, options.id_key,
               "key of a record's id; default: id. A record without one gets its number, from 0"),
    ATTN_PARAM(TEXT, "labels", "NAME,...|all", struct attn_batch_args, options.labels,
               "write these keys of a record beside its results: JSON has an object labels, CSV "
               "columns after id. all: those that mean nothing else; in CSV those of the first "
               "record"),
    ATTN_SHARD_PARAM(struct attn_batch_args, options.items.shard, options.items.n_shard),
    ATTN_FAILED_PARAM(struct attn_batch_args, options.max_failed),
    ATTN_RESUME_PARAM(struct attn_batch_args, options.each.is_resumed),
};
const struct attn_param_list attn_batch_record_params = ATTN_PARAM_LIST("Input", record_rows);

static const struct attn_param limit_rows[] = {
    ATTN_PARAM(SEED, "limit", "N", struct attn_batch_args, options.max_record,
               "take only the first N records; 0: all, the default", .most = INT64_MAX),
    ATTN_PARAM(COUNT, "max_line", "BYTES", struct attn_batch_args, options.items.max_line,
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
    ATTN_PARAM(FLAG, "sync", NULL, struct attn_batch_args, options.each.is_synced,
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
    struct attn_items *items;       /* owns; the input */
    struct attn_record_names names; /* owns; the requested labels */
    bool *seen_labels;              /* [labels.n] owns; true for labels that some record had */
    enum attn_record_field table;   /* field shown by csv */
    bool is_run;                    /* attn_batch_run was called; a batch runs once */
    bool has_noted_text;            /* a note about a line that is not an object was sent */

    /* While it runs: */
    struct attn_stream *stream;            /* borrowed */
    const struct attn_many_options *given; /* borrowed; what to compute; NULL: the defaults */
    struct attn_each_result *result;       /* borrowed; of the call */
    bool needs_next;                       /* a record without `next` fails */
    bool has_used_next; /* some record used the continuations that are given for all */
    size_t most_next;   /* a record with more continuations fails */
};

enum { N_EDGE = 3 }; /* default number of keys per query in `edges` */

/* --- Each record ----------------------------------------------------------------------------- */

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

/* Reads the next record (attn_next_fn). */
static enum attn_status next_record(void *user, struct attn_item **item, struct attn_error *err)
{
    const struct attn_batch *batch = user;

    ATTN_TRY(attn_stream_next(batch->stream, item, err));
    if (*item)
        check_next(batch, *item);
    return ATTN_OK;
}

/* Sends one note that a line is not an object, with the option that reads such a file. */
static void note_text(struct attn_batch *batch, const struct attn_item *item)
{
    batch->has_noted_text = true;
    attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_NOT_JSON,
              "record %zu is not a JSON object; %s", item->number,
              *item->input.text == '['
                  ? "jq -c '.[]' writes the objects of an array as lines"
                  : "`form lines` reads each line as a text, `form csv` CSV with a header");
}

/* Notes which labels and continuations are used (attn_done_fn). */
static enum attn_status meet_result(void *user, const struct attn_item_result *result,
                                    struct attn_error *err)
{
    const struct attn_item *item = result->item;
    struct attn_batch *batch = user;

    (void)err;
    for (size_t i = 0; i < batch->names.n && i < item->n_label; i++)
        if (item->labels[i].value.type != ATTN_VALUE_MISSING)
            batch->seen_labels[i] = true;
    if (!item->next && result->failure == ATTN_RECORD_FAILURE_NONE)
        batch->has_used_next = true;
    if (item->failure == ATTN_RECORD_FAILURE_BAD_JSON && *item->input.text &&
        !batch->has_noted_text)
        note_text(batch, item);
    return ATTN_OK;
}

/* Passes on a note (attn_note_fn). */
static void pass_on(void *user, enum attn_note code, const char *message)
{
    const struct attn_batch_options *options = &((const struct attn_batch *)user)->options;

    options->on_note(options->user, code, message);
}

/* Reports progress (attn_progress_fn). */
static void report(void *user, size_t n_done, size_t n)
{
    const struct attn_batch *batch = user;
    const struct attn_batch_progress progress = attn_stream_progress(batch->stream);

    (void)n_done;
    (void)n;
    batch->options.on_progress(batch->options.user, &progress);
}

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

    if (!attn_is_choice((int)options->items.form, ATTN_ITEMS_FASTA + 1, "form", err))
        return ATTN_INVALID;
    if (options->items.inputs || options->items.data)
        return attn_error_set(err, ATTN_INVALID, "a batch reads no inputs and no data");
    if (options->items.n_shard > 0 && options->items.shard >= options->items.n_shard)
        return attn_error_set(err, ATTN_INVALID, "shard is %zu of %zu, expected less",
                              options->items.shard, options->items.n_shard);
    if (options->labels && options->items.form == ATTN_ITEMS_LINES)
        return attn_error_set(err, ATTN_INVALID,
                              "`labels` are keys of records, and texts have none");
    batch->names.text = options->text_key;
    batch->names.id = options->id_key;
    batch->names.needs_numbers = has_output(batch, "npz");
    batch->names.most = options->max_record;
    if (options->labels)
        ATTN_TRY(attn_record_names_parse(options->labels, &batch->names, err));
    ATTN_TRY(ATTN_ALLOC(batch->seen_labels, batch->names.n, err));
    return choose_table(batch, err);
}

static enum attn_status open_batch(struct attn_batch *batch, struct attn_error *err)
{
    ATTN_TRY(attn_error_at(check(batch, err), ATTN_STAGE_OPTIONS, err));
    batch->options.items.size = sizeof(struct attn_items_options); /* callers need not set them */
    batch->options.each.size = sizeof(struct attn_each_options);
    return attn_items_open_records(&batch->options.items, &batch->names, &batch->items, err);
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

/* Determines the label columns: the requested ones, or those of the first record. */
static void find_columns(const struct attn_batch *batch, struct attn_records_form *form)
{
    form->has_labels = batch->options.labels;
    form->labels = batch->names.labels;
    form->n_label = batch->names.n;
    if (!batch->names.is_all || (!has_output(batch, "csv") && !has_output(batch, "edges")))
        return;
    form->has_all_labels = true;
    form->labels = attn_items_labels(batch->items, &form->n_label);
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
    form->table = batch->table;
    if (has_output(batch, "csv") && batch->table == ATTN_RECORD_FIELD_SURPRISAL)
        ATTN_TRY(attn_host_tokenizer(host, &form->tokenizer, err));
    find_columns(batch, form);
    return ATTN_OK;
}

/* --- All of it ------------------------------------------------------------------------------- */

/* Sends notes about labels that no record had, which may be misspelt, and about continuations given
 * for all records if every record had its own. */
static void note_unseen(const struct attn_batch *batch, bool has_next)
{
    const struct attn_each_result *result = attn_stream_result(batch->stream);

    if (result->n_before > 0 || result->n_item == 0)
        return;
    if (has_next && !batch->has_used_next && result->n_failed < result->n_item)
        attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_UNUSED_DEFAULT,
                  "`next` has no effect: all records have their own");
    for (size_t i = 0; i < batch->names.n; i++)
        if (!batch->seen_labels[i])
            attn_note(batch->options.on_note, batch->options.user, ATTN_NOTE_UNSEEN_LABEL,
                      "no record has the label '%s'",
                      attn_quote_string(batch->names.labels[i]).text);
}

/* Returns an error if outputs need continuations and the first record has none: then no record is
 * likely to. A resumed run got past it. */
static enum attn_status check_first(const struct attn_batch *batch, struct attn_error *err)
{
    const struct attn_item *first;

    if (!batch->needs_next || batch->options.each.is_resumed)
        return ATTN_OK;
    ATTN_TRY(attn_stream_first(batch->stream, &first, err));
    if (!first || first->next)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "the first record has no key 'next', which predictions in %s need, and no "
                   "continuation is given for all",
                   has_output(batch, "csv") ? "`csv`" : "`fields`");
    attn_error_hint(err, "`next` gives one for all records%s",
                    has_output(batch, "csv") ? "" : ", and `top` the most probable tokens");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* The arguments of the procedure. */
struct batch_call {
    size_t size;
    const struct attn_study_args *study;
    struct attn_batch *batch;
};

/* Runs all records. */
static enum attn_status ask(void *state, struct attn_error *err)
{
    const struct attn_frame *frame = state;
    struct attn_batch *batch = ((const struct batch_call *)frame->args)->batch;
    const struct attn_item_calls calls = {.next = next_record, .done = meet_result, .user = batch};
    struct attn_many_options many = ATTN_MANY_OPTIONS_DEFAULT;

    batch->stream = frame->stream;
    ATTN_TRY(attn_error_at(attn_options_read(batch->given, &many, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_host_check_model(frame->host, err));
    ATTN_TRY(fill_form(batch, frame->host, &many, attn_stream_records(batch->stream), err));
    ATTN_TRY(check_first(batch, err));
    ATTN_TRY(attn_stream_run(batch->stream, frame->host, &many, &calls, err));
    if (attn_is_canceled(batch->options.items.cancel))
        return attn_report_stopped(err);
    if (!attn_stream_result(batch->stream)->is_complete)
        note_unseen(batch, many.request && many.request->predict.n_next > 0 &&
                               batch->most_next == SIZE_MAX);
    return ATTN_OK;
}

static const struct attn_procedure procedure = {
    .name = "batch",
    .state_size = sizeof(struct attn_frame),
    .items.study = offsetof(struct batch_call, study),
    .items.is_listed = true,
    .items.unit = "record",
    .makes_runs = true,
    .ask = ask,
};

static enum attn_status run(struct attn_batch *batch, struct attn_host *host,
                            struct attn_error *err)
{
    const struct attn_batch_options *options = &batch->options;
    struct attn_each_options each = options->each;
    struct attn_study_args study = {.size = sizeof study,
                                    .items = batch->items,
                                    .max_failed = options->max_failed,
                                    .each = &each};
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct batch_call args = {sizeof args, &study, batch};
    const struct attn_procedure_call call = {.host = host, .request = &request, .args = &args};

    each.result = batch->result;
    each.outputs = options->outputs;
    each.n_output = options->n_output;
    if (batch->given && batch->given->request)
        request = *batch->given->request;
    request.on_note = options->on_note ? pass_on : NULL;
    request.on_progress = options->on_progress ? report : NULL;
    request.user = batch;
    return attn_procedure_perform(&procedure, &call, err);
}

enum attn_status attn_batch_run(struct attn_batch *batch, struct attn_host *host,
                                const struct attn_many_options *many,
                                struct attn_each_result *result, struct attn_error *err)
{
    if (!attn_is_given(batch, "batch", err) || !attn_is_given(host, "host", err))
        return ATTN_INVALID;
    if (batch->is_run) {
        attn_error_set(err, ATTN_INVALID, "the batch was run, and is run once");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    batch->is_run = true;
    batch->given = many;
    batch->result = result;
    return run(batch, host, err);
}
