/* batch.c - see batch.h: opens the input and the outputs of a batch, begins or resumes it, and ends
 * it. batch_work.c computes the records. */
#include "batch/batch_internal.h"

#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "host/host_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
    batch->labels.keys = (struct attn_record_keys){
        .text = options->text_key, .id = options->id_key, .has_next = true};
    if (options->labels)
        ATTN_TRY(attn_label_names_parse(options->labels, &batch->labels, err));
    return choose_table(batch, err);
}

static enum attn_status open_lines(struct attn_batch *batch, struct attn_error *err)
{
    struct attn_batch_options *options = &batch->options;
    const struct attn_batch_lines_options of_lines = {
        .path = options->path,
        .is_fasta = options->form == ATTN_ITEMS_FASTA,
        .may_be_fasta = options->form == ATTN_ITEMS_BY_NAME,
        .max_line = options->max_line,
        .shard = options->shard,
        .n_shard = options->n_shard,
        .stop = {options->cancel, &batch->has_ended},
        .read = batch->ledger.name ? &batch->input : NULL,
    };
    uint64_t size;
    bool is_file;

    ATTN_TRY(attn_batch_lines_open(&of_lines, &batch->lines, err));
    is_file = attn_batch_lines_is_file(batch->lines, &size);
    return attn_ledger_describe_input(&batch->ledger, is_file, size, err);
}

static enum attn_status open_batch(struct attn_batch *batch, struct attn_error *err)
{
    const struct attn_batch_options *options = &batch->options;

    ATTN_TRY(attn_ledger_name(&batch->ledger, options->outputs, options->n_output, err));
    ATTN_TRY(attn_error_at(check(batch, err), ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(
        attn_ledger_describe(&batch->ledger, options->asked, options->files, options->n_file, err));
    return open_lines(batch, err);
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
    if (options.max_line == 0)
        made->options.max_line = ATTN_MAX_LINE;
    made->ledger = (struct attn_ledger){
        .unit = "record",
        .unit_key = "records",
        .option = "output",
        .is_resumed = options.is_resumed,
        .is_synced = options.is_synced,
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
    attn_batch_work_release(batch);
    attn_free(batch->seen_labels);
    attn_label_names_release(&batch->labels);
    attn_item_release(&batch->first);
    attn_free(batch->columns);
    attn_ledger_release(&batch->ledger);
    attn_batch_lines_free(batch->lines);
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

        if (!path || !attn_batch_lines_is_path(batch->lines, path))
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

        status = attn_record_labels_read(at, n, &batch->labels, first, err);
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
    form->labels = batch->labels.names;
    form->n_label = batch->labels.n;
    if (!batch->labels.is_all || (!has_output(batch, "csv") && !has_output(batch, "edges")))
        return ATTN_OK;
    form->has_all_labels = true;
    ATTN_TRY(attn_batch_lines_peek(batch->lines, &text, &size, err));
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

/* Opens the outputs. */
static enum attn_status open_outputs(struct attn_batch *batch, struct attn_host *host,
                                     struct attn_many_options *many, struct attn_error *err)
{
    struct attn_records_form form;

    ATTN_TRY(attn_host_check_model(host, err));
    ATTN_TRY(fill_form(batch, host, many, &form, err));
    ATTN_TRY(check_outputs(batch, err));
    batch->needs_numbers = has_output(batch, "npz");
    return attn_ledger_open(&batch->ledger, &form, host, err);
}

/* --- Beginning, or resuming ------------------------------------------------------------------ */

/* If an earlier run is complete, compares its outputs with the manifest; otherwise resumes it. */
static enum attn_status resume(struct attn_batch *batch, struct attn_ledger_made *made,
                               struct attn_error *err)
{
    ATTN_TRY(attn_ledger_find(&batch->ledger, made, err));
    if (!made->is_there)
        return attn_error_at(attn_batch_work_resume(batch, err), ATTN_STAGE_OUTPUT, err);
    ATTN_TRY(attn_batch_work_compare(batch, made, err));
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
    ATTN_TRY(attn_error_at(attn_batch_work_init(batch, err), ATTN_STAGE_OUTPUT, err));
    return batch->options.is_resumed ? resume(batch, made, err) : ATTN_OK;
}

/* --- The end --------------------------------------------------------------------------------- */

/* Gives the outputs their final names, after everything was computed. */
static enum attn_status finish(struct attn_batch *batch, const struct attn_host *host,
                               struct attn_error *err)
{
    struct attn_ledger *ledger = &batch->ledger;

    ledger->input_name = attn_batch_lines_name(batch->lines);
    attn_batch_lines_range(batch->lines, &ledger->input_begin, &ledger->input_end);
    ledger->has_failed = ledger->n_failed > 0 && batch->options.max_failed < 0;
    return attn_ledger_finish(ledger, host, err);
}

/* Runs the whole batch. */
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
    status = attn_batch_work_run(batch, host, &many, err);
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
