/* batch.c - see batch.h. Records are a stream (stream/stream_internal.h): this file has the
 * arguments, the contents of the outputs, and what belongs to records alone. */
#include "questions/batch.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "params/param_internal.h"
#include "questions/questions_internal.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "stream/batch_lines.h"
#include "stream/items_internal.h"
#include "stream/record_reader.h"
#include "stream/stream_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

ATTN_DEFAULTS(attn_batch_options, .size = sizeof(struct attn_batch_options), .max_failed = -1,
              .precision = -1)

/* --- The question ----------------------------------------------------------------------------- */

static const int forms[] = {ATTN_ITEMS_BY_NAME, ATTN_ITEMS_JSON_LINES, ATTN_ITEMS_LINES,
                            ATTN_ITEMS_FASTA};

static const struct attn_param record_rows[] = {
    ATTN_PARAM(CHOICE, "items_format", NULL, struct attn_batch_args, options.items.form,
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
    struct attn_stream *stream; /* owns */
    bool is_run;                /* attn_batch_run was called; a batch runs once */

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

/* Completes a record that was read (`read` of struct attn_stream_form). */
static enum attn_status complete_record(void *user, struct attn_item *item, struct attn_error *err)
{
    const struct attn_batch *batch = user;

    (void)err;
    if (batch->options.items.form != ATTN_ITEMS_LINES)
        attn_item_name_places(item, batch->places);
    check_next(batch, item);
    return ATTN_OK;
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

/* Notes which labels and continuations are used (`take` of struct attn_stream_form). */
static enum attn_status meet_result(void *user, struct attn_item_result *result,
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

static void report(void *user, const struct attn_batch_progress *progress,
                   const struct attn_item_result *result)
{
    const struct attn_batch_options *options = &((const struct attn_batch *)user)->options;

    (void)result;
    if (options->on_progress)
        options->on_progress(options->user, progress);
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
    if (options->items.form == ATTN_ITEMS_CSV || options->items.form == ATTN_ITEMS_TSV)
        return attn_error_set(err, ATTN_INVALID, "`form` is CSV, which a batch does not read");
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
    const struct attn_batch_options *options = &batch->options;
    struct attn_stream_form form = {
        .each = &options->each,
        .outputs = options->outputs,
        .n_output = options->n_output,
        .max_failed = options->max_failed,
        .cancel = options->items.cancel,
        .notes = {options->on_note, options->user, NULL},
        .read = complete_record,
        .take = meet_result,
        .on_progress = report,
        .user = batch,
    };

    ATTN_TRY(attn_error_at(check(batch, err), ATTN_STAGE_OPTIONS, err));
    batch->options.items.size = sizeof(struct attn_items_options); /* callers need not set them */
    batch->options.each.size = sizeof(struct attn_each_options);
    batch->options.each.result = NULL;
    ATTN_TRY(attn_items_open_records(&options->items, &batch->names, &batch->items, err));
    form.items = batch->items;
    return attn_stream_open(&form, &batch->stream, err);
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
    attn_item_release(&batch->first);
    attn_free(batch->columns);
    attn_stream_free(batch->stream);
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
    form->table = batch->table;
    if (has_output(batch, "csv") && batch->table == ATTN_RECORD_FIELD_SURPRISAL)
        ATTN_TRY(attn_host_tokenizer(host, &form->tokenizer, err));
    return find_columns(batch, form, err);
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
    struct attn_item *first;

    if (!batch->needs_next || batch->options.each.is_resumed)
        return ATTN_OK;
    ATTN_TRY(attn_items_peek(batch->items, 0, &first, err));
    if (!first || first->next || first->failure != ATTN_RECORD_FAILURE_NONE)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "the first record has no key 'next', which predictions in %s need, and no "
                   "continuation is given for all",
                   has_output(batch, "csv") ? "`csv`" : "`fields`");
    attn_error_hint(err, "`next` gives one for all records%s",
                    has_output(batch, "csv") ? "" : ", and `top` the most probable tokens");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status run(struct attn_batch *batch, struct attn_host *host,
                            const struct attn_many_options *given, struct attn_error *err)
{
    struct attn_many_options many = ATTN_MANY_OPTIONS_DEFAULT;
    struct attn_records_form records;
    const struct attn_stream_work work = {.records = &records, .options = &many};

    ATTN_TRY(attn_error_at(attn_options_read(given, &many, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_host_check_model(host, err));
    ATTN_TRY(fill_form(batch, host, &many, &records, err));
    ATTN_TRY(check_first(batch, err));
    batch->places = many.request ? many.request->reading.places : NULL;
    ATTN_TRY(attn_stream_run(batch->stream, host, &work, err));
    if (!attn_stream_result(batch->stream)->is_complete) {
        note_unseen(batch, many.request && many.request->predict.n_next > 0 &&
                               batch->most_next == SIZE_MAX);
        attn_items_note_mark(batch->items, batch->options.on_note, batch->options.user);
    }
    return attn_stream_finish(batch->stream, err);
}

enum attn_status attn_batch_run(struct attn_batch *batch, struct attn_host *host,
                                const struct attn_many_options *many,
                                struct attn_each_result *result, struct attn_error *err)
{
    struct attn_error failure = {0};
    enum attn_status status;

    if (!attn_is_given(batch, "batch", err) || !attn_is_given(host, "host", err))
        return ATTN_INVALID;
    if (batch->is_run) {
        attn_error_set(err, ATTN_INVALID, "the batch was run, and is run once");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    batch->is_run = true;
    status = run(batch, host, many, &failure);
    if (status != ATTN_OK)
        attn_stream_keep(batch->stream, &failure);
    if (result)
        *result = *attn_stream_result(batch->stream);
    return status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}
