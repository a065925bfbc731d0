/* each.c - see each.h: the rows of items are a format of records (records_internal.h), whose parts
 * and checkpoints are in a ledger. */
#include "study/each_internal.h"

#include "base/clock.h"
#include "base/escape.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "batch/ledger_internal.h"
#include "batch/records_internal.h"
#include "encode/json_writer.h"
#include "encode/quoting.h"
#include "host/host_internal.h"
#include "records/items_internal.h"
#include "tables/table_writer_internal.h"
#include "writers/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Placeholders for unknown fields in lines that wait for the columns: bytes that no text
 * contains. */
enum { MARK_LABELS = '\xfe', MARK_COLUMNS = '\xff' };

static const double checkpoint_seconds = 1;

struct attn_each {
    struct attn_each_options options;
    struct attn_each_rows of;
    struct attn_host *host;
    struct attn_items *items;
    bool is_json;                /* without a header: JSON, only texts, or matrices */
    struct attn_buffer path;     /* terminated; with the shard; empty for a sink */
    struct attn_buffer state;    /* terminated; the path of the kept rows, or empty */
    struct attn_ledger ledger;   /* what is on disk */
    struct attn_column *columns; /* [n_shown] owns; the columns that tables show */
    size_t *shown;               /* [n_shown] owns; their places in the form */
    size_t n_shown, n_row;       /* rows of an item */
    bool has_columns;            /* the columns are known */
    bool has_labels;             /* the labels of CSV are known */
    struct attn_buffer waiting;  /* lines of CSV until both are known */
    struct attn_buffer kept;     /* rows of the item that is written */
    struct attn_each_result result;
    double begun, checked;        /* the start in seconds of a clock, and the last checkpoint in
                                     seconds since then */
    uint64_t milliseconds_before; /* of earlier processes */
    bool has_written, has_ended;
};

static const char *written_name(const struct attn_column *column)
{
    return strcmp(column->name, "id") == 0 ? "token_id" : column->name; /* id is the item's */
}

/* Returns column C under its written name, with all digits of reals. */
static struct attn_column full_column(const struct attn_each *each, size_t c)
{
    struct attn_column column = each->columns[c];

    column.name = written_name(&column);
    column.notation = ATTN_NOTATION_DOUBLE;
    return column;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* Whether a label NAME is written as item.NAME because a column has this name: in CSV a shown
 * column, in JSON any column. */
static bool is_taken(const struct attn_each *each, const char *name)
{
    for (size_t i = 0; i < each->of.n_column; i++)
        if (((each->is_json && each->of.columns[i].role != ATTN_ROLE_STACK) ||
             !each->of.hidden[i]) &&
            strcmp(written_name(&each->of.columns[i]), name) == 0)
            return true;
    return strcmp(name, "id") == 0 || strcmp(name, "error") == 0;
}

/* Refuses two labels that would be written under one name. LABELS [n] are structs of STRIDE bytes
 * whose first member is the name. */
static enum attn_status check_names(const struct attn_each *each, const void *labels, size_t n,
                                    size_t stride, struct attn_error *err)
{
    const size_t n_prefix = strlen(ATTN_LABEL_PREFIX);

    for (size_t i = 0; i < n; i++) {
        const char *full = *(const char *const *)((const char *)labels + i * stride);
        const char *name = full + n_prefix;

        if (strncmp(full, ATTN_LABEL_PREFIX, n_prefix) != 0 || !is_taken(each, name))
            continue;
        for (size_t k = 0; k < n; k++)
            if (strcmp(*(const char *const *)((const char *)labels + k * stride), name) == 0)
                return attn_record_refuse_labels(name, err);
    }
    return ATTN_OK;
}

static void push_key(struct attn_json_writer *json, const char *name, bool is_renamed)
{
    struct attn_buffer full = {0};
    const char *key = name;

    if (is_renamed) {
        attn_buffer_append_format(&full, ATTN_LABEL_PREFIX "%s", name);
        key = attn_buffer_string(&full);
    }
    attn_json_key(json, key ? key : "");
    json->out->has_failed |= full.has_failed;
    attn_buffer_release(&full);
}

/* Appends id and labels. */
static void push_record(const struct attn_each *each, struct attn_json_writer *json,
                        const struct attn_record_outcome *outcome)
{
    attn_json_key(json, "id");
    if (outcome->has_text_id)
        attn_json_string(json, outcome->id, outcome->n_id);
    else if (outcome->id)
        attn_buffer_append(attn_json_value(json), outcome->id, outcome->n_id);
    else
        attn_json_size(json, outcome->number);
    for (size_t i = 0; i < outcome->n_item_label; i++) {
        const struct attn_item_label *label = &outcome->item_labels[i];

        push_key(json, label->name, is_taken(each, label->name));
        attn_record_label_push(json, label);
    }
}

/* Appends the columns of ROW. */
static void push_row(const struct attn_each *each, struct attn_json_writer *json,
                     const struct attn_table *rows, size_t row)
{
    for (size_t c = 0; c < each->n_shown; c++) {
        const struct attn_cell cell = attn_table_cell(rows, row, c);
        const struct attn_column column = full_column(each, c);

        if (cell.type == ATTN_VALUE_REAL && isinf(cell.real)) {
            attn_json_key(json, column.name);
            attn_buffer_append_string(attn_json_value(json), cell.real > 0 ? "1e999" : "-1e999");
        } else if (cell.type != ATTN_VALUE_MISSING) {
            attn_table_push_cells(json, &column, &cell, 1, -1);
        }
    }
}

/* Appends a line of JSON: row ROW of OUTCOME, or its failure. */
static void append_json(const struct attn_each *each, const struct attn_record_outcome *outcome,
                        size_t row, struct attn_buffer *out)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    if (each->options.form == ATTN_EACH_TEXTS) {
        const struct attn_cell cell =
            outcome->failure ? attn_cell_text("", 0) : attn_table_cell(outcome->rows, row, 0);

        attn_buffer_append(out, cell.text, cell.size);
        attn_buffer_append_char(out, '\n');
        return;
    }
    attn_json_begin(&json, '{');
    push_record(each, &json, outcome);
    if (outcome->failure)
        attn_json_text(attn_json_key(&json, "error"), outcome->message);
    else if (row < attn_table_n_row(outcome->rows))
        push_row(each, &json, outcome->rows, row);
    attn_json_end(&json);
    attn_buffer_append_char(out, '\n');
}

/* Appends a line of CSV that begins with KEY: row ROW of OUTCOME, or its failure. */
static void append_csv(const struct attn_each *each, const struct attn_record_outcome *outcome,
                       size_t row, const struct attn_buffer *key, struct attn_buffer *out)
{
    static const struct attn_table_style csv = {.form = ATTN_TABLE_CSV, .precision = -1};

    attn_buffer_append(out, key->data, key->size);
    if (!each->has_columns)
        attn_buffer_append_char(out, MARK_COLUMNS);
    for (size_t c = 0; c < each->n_shown; c++) {
        attn_buffer_append_char(out, ',');
        if (!outcome->failure && row < attn_table_n_row(outcome->rows)) {
            const struct attn_cell cell = attn_table_cell(outcome->rows, row, c);
            const struct attn_column column = full_column(each, c);

            attn_table_append_styled(out, csv, &column, &cell);
        }
    }
    attn_buffer_append_char(out, ',');
    if (outcome->failure)
        attn_csv_text_append(out, outcome->message, strlen(outcome->message));
    attn_buffer_append_char(out, '\n');
}

/* Appends the header, and the lines that waited for it. */
static enum attn_status append_header(struct attn_each *each, struct attn_record_writer *writer,
                                      struct attn_error *err)
{
    const char *line = each->waiting.data;
    struct attn_buffer names = {0};
    enum attn_status status;

    for (size_t c = 0; c < each->n_shown; c++)
        attn_buffer_append_format(&names, "%s,", written_name(&each->columns[c]));
    attn_buffer_append_string(&names, "error");
    attn_buffer_string(&names);
    status = attn_buffer_check(&names, err);
    if (status == ATTN_OK)
        status = attn_record_header_append(writer, names.data, err);
    attn_buffer_release(&names);
    for (size_t i = 0; i < each->waiting.size; i++) {
        const size_t n_field = line[i] == MARK_LABELS    ? writer->form->n_label
                               : line[i] == MARK_COLUMNS ? each->n_shown
                                                         : 0;

        if (line[i] != MARK_LABELS && line[i] != MARK_COLUMNS)
            attn_buffer_append_char(&writer->text, line[i]);
        for (size_t k = 0; k < n_field; k++)
            attn_buffer_append_char(&writer->text, ',');
    }
    attn_buffer_release(&each->waiting);
    return status;
}

static enum attn_status make_columns(struct attn_each *each, size_t n, struct attn_error *err)
{
    attn_free(each->columns);
    attn_free(each->shown);
    each->n_shown = 0;
    each->columns = attn_alloc(n, sizeof *each->columns, err);
    each->shown = attn_alloc(n, sizeof *each->shown, err);
    return each->columns && each->shown ? ATTN_OK : ATTN_NO_MEMORY;
}

static void add_column(struct attn_each *each, size_t place)
{
    each->columns[each->n_shown] = each->of.columns[place];
    each->shown[each->n_shown++] = place;
}

/* Takes the columns of TABLE, the first, as those of all items. */
static enum attn_status take_columns(struct attn_each *each, const struct attn_table *table,
                                     struct attn_error *err)
{
    ATTN_TRY(make_columns(each, attn_table_n_column(table), err));
    for (size_t c = 0; c < attn_table_n_column(table); c++) {
        const struct attn_column *column = attn_table_column(table, c);
        size_t place = 0;

        while (place < each->of.n_column &&
               (each->of.columns[place].type != column->type ||
                strcmp(each->of.columns[place].name, column->name) != 0))
            place++;
        if (place == each->of.n_column)
            return attn_error_set(err, ATTN_INVALID, "the column '%s' is none that rows have",
                                  attn_quote_string(column->name).text);
        add_column(each, place);
    }
    each->n_row = attn_table_n_row(table);
    each->has_columns = true;
    return ATTN_OK;
}

/* Writes the lines of OUTCOME; in CSV after the header. */
static enum attn_status write_rows(struct attn_record_writer *writer,
                                   const struct attn_record_outcome *outcome,
                                   struct attn_error *err)
{
    struct attn_each *each = writer->form->format_owner;
    const bool had_columns = each->has_columns;
    const size_t n_row = outcome->failure ? 0 : attn_table_n_row(outcome->rows);
    struct attn_buffer key = {0}, *out = &writer->text;
    enum attn_status status;

    if (!outcome->failure && !had_columns)
        ATTN_TRY(take_columns(each, outcome->rows, err));
    if (!outcome->failure && ((n_row != each->n_row && !each->of.is_ragged) ||
                              attn_table_n_column(outcome->rows) != each->n_shown))
        return attn_error_set(err, ATTN_INVALID,
                              "%zu rows of %zu columns, the first item has %zu of %zu", n_row,
                              attn_table_n_column(outcome->rows), each->n_row, each->n_shown);
    if (each->is_json) {
        ATTN_TRY(check_names(each, outcome->item_labels, outcome->n_item_label,
                             sizeof *outcome->item_labels, err));
    } else {
        if (each->has_columns && !had_columns)
            ATTN_TRY(append_header(each, writer, err));
        attn_record_key_append(writer, &key, outcome);
        if (!each->has_labels)
            attn_buffer_append_char(&key, MARK_LABELS);
        out = each->has_columns ? out : &each->waiting;
    }
    for (size_t row = 0; row < n_row || (row == 0 && (outcome->failure || !each->of.is_ragged));
         row++) {
        if (each->is_json)
            append_json(each, outcome, row, out);
        else
            append_csv(each, outcome, row, &key, out);
    }
    status = attn_buffer_check(&key, err);
    attn_buffer_release(&key);
    return status == ATTN_OK ? attn_buffer_check(out, err) : status;
}

/* Writes the header if every item failed. */
static enum attn_status finish_rows(struct attn_record_writer *writer, struct attn_error *err)
{
    struct attn_each *each = writer->form->format_owner;
    struct attn_sink *sink = writer->n_part > 0 ? writer->parts[0] : writer->sink;

    if (each->is_json || each->has_columns)
        return ATTN_OK;
    ATTN_TRY(make_columns(each, each->of.n_column, err));
    for (size_t place = 0; place < each->of.n_column; place++)
        if (!each->of.hidden[place])
            add_column(each, place);
    ATTN_TRY(append_header(each, writer, err));
    ATTN_TRY(attn_buffer_check(&writer->text, err));
    attn_sink_write(sink, writer->text.data, writer->text.size);
    return attn_sink_check(sink, err);
}

/* Appends the bytes of OUTCOME. */
static enum attn_status write_kept(struct attn_record_writer *writer,
                                   const struct attn_record_outcome *outcome,
                                   struct attn_error *err)
{
    attn_buffer_append(&writer->text, outcome->kept->data, outcome->kept->size);
    return attn_buffer_check(&writer->text, err);
}

static const struct attn_record_format kept_format = {
    .name = "state",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .write = write_kept,
};

static const struct attn_record_format rows_format = {
    .name = "each",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .write = write_rows,
    .finish = finish_rows,
};

/* --- Opening ---------------------------------------------------------------------------------- */

static void measure(void *owner)
{
    struct attn_each *each = owner;
    struct attn_buffer *state = &each->ledger.state;

    each->ledger.done.milliseconds =
        each->milliseconds_before + (uint64_t)(1e3 * (attn_clock_seconds() - each->begun));
    attn_buffer_reset(state);
    for (size_t c = 0; c < each->n_shown; c++)
        attn_buffer_append_format(state, "%s%zu", c > 0 ? "," : "", each->shown[c]);
    attn_buffer_append_format(state, ";%zu;", each->n_row);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t n = text ? strlen(text) : 0, n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* Names the file, and describes the input and the options in the ledger. */
static enum attn_status name_file(struct attn_each *each, struct attn_error *err)
{
    const struct attn_each_options *options = &each->options;
    size_t shard, n_shard;
    uint64_t size;
    bool is_file;

    attn_items_shard(each->items, &shard, &n_shard);
    if (options->path) {
        attn_ledger_append_path(&each->path, options->path, shard, n_shard);
        if (!attn_buffer_string(&each->path))
            return attn_error_no_memory(err);
    }
    ATTN_TRY(attn_ledger_name(&each->ledger, each->path.data, err));
    if (options->is_resumed && !each->ledger.name) {
        attn_error_set(err, ATTN_INVALID,
                       "`is_resumed` goes on with a file, and '%s' is a pipe or a device",
                       attn_quote_string(options->path ? options->path : "the sink").text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    if (each->ledger.name && !attn_is_given(options->source, "source", err))
        return ATTN_INVALID;
    if (each->ledger.name && each->of.are_kept) {
        attn_buffer_append_format(&each->state, "%s.state", each->ledger.name);
        if (!attn_buffer_string(&each->state))
            return attn_error_no_memory(err);
    }
    ATTN_TRY(
        attn_ledger_describe(&each->ledger, options->asked, options->files, options->n_file, err));
    is_file = attn_items_are_of_file(each->items, &size);
    return attn_ledger_describe_input(&each->ledger, is_file, size, err);
}

/* Opens the file, unless it would replace the items or the model. */
static enum attn_status open_file(struct attn_each *each, struct attn_error *err)
{
    static const struct attn_record_format *const formats[] = {&rows_format, &kept_format};
    const struct attn_records_item items[] = {
        {.format = each->options.form == ATTN_EACH_MATRICES ? "npz" : rows_format.name,
         .path = each->path.data,
         .sink = each->options.sink},
        {.format = kept_format.name, .path = each->state.data}};
    const struct attn_format named = {.name = "each"};
    const struct attn_output output = {.format = &named, .path = each->path.data};
    struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;

    if (output.path)
        ATTN_TRY(attn_host_check_outputs(each->host, &output, 1, err));
    if (output.path && attn_items_are_of_path(each->items, output.path)) {
        attn_error_set(err, ATTN_INVALID, "the output '%s' has the items, expected another file",
                       attn_quote_string(output.path).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    form.unit = each->ledger.unit;
    form.formats = formats;
    form.n_format = sizeof formats / sizeof *formats;
    form.format_owner = each;
    form.on_note = each->of.on_note;
    form.user = each->of.note_user;
    ATTN_TRY(attn_records_open(items, each->state.size > 0 ? 2 : 1, &form, each->options.is_resumed,
                               &each->ledger.records, err));
    return attn_ledger_begin(&each->ledger, each->options.source, attn_host_model(each->host), err);
}

/* Takes the labels of the header, or of the first readable item. */
static enum attn_status take_labels(struct attn_each *each, struct attn_error *err)
{
    const char *const *labels;
    size_t n;

    if (each->has_labels)
        return ATTN_OK;
    labels = attn_items_labels(each->items, &n);
    if (!each->is_json)
        ATTN_TRY(check_names(each, labels, n, sizeof *labels, err));
    each->has_labels = true;
    return attn_records_set_labels(each->ledger.records, labels, n, err);
}

enum attn_status attn_each_open(const struct attn_each_options *given,
                                const struct attn_each_rows *rows, struct attn_host *host,
                                struct attn_items *items, struct attn_each **each,
                                struct attn_error *err)
{
    struct attn_each_options options = ATTN_EACH_OPTIONS_DEFAULT;
    struct attn_each *made;
    enum attn_status status;

    ATTN_TRY(attn_error_at(attn_options_read(given, &options, err), ATTN_STAGE_OPTIONS, err));
    if (!attn_is_given(options.path || options.sink, "path", err) ||
        !attn_is_choice(options.form, ATTN_EACH_MATRICES + 1, "form", err))
        return ATTN_INVALID;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = options;
    made->of = *rows;
    made->host = host;
    made->items = items;
    made->begun = attn_clock_seconds();
    made->is_json = options.form > ATTN_EACH_CSV ||
                    (options.form == ATTN_EACH_BY_NAME &&
                     (ends_with(options.path, ".jsonl") || ends_with(options.path, ".json")));
    made->ledger = (struct attn_ledger){
        .unit = "item",
        .unit_key = "items",
        .is_resumed = options.is_resumed,
        .is_synced = options.is_synced,
        .cancel = host->options.cancel,
        .on_note = rows->on_note,
        .user = rows->note_user,
        .command = options.command,
        .n_command = options.n_command,
        .measure = measure,
        .owner = made,
        .has_state = true,
        .journal = -1,
    };
    attn_digest_bytes("", 0, made->ledger.done.input);
    status = name_file(made, err);
    if (status == ATTN_OK)
        status = open_file(made, err);
    if (status == ATTN_OK && attn_items_have_header(items))
        status = attn_error_at(take_labels(made, err), ATTN_STAGE_INPUT, err);
    if (status == ATTN_OK)
        *each = made;
    else
        attn_each_free(made);
    return status;
}

void attn_each_free(struct attn_each *each)
{
    if (!each)
        return;
    if (!each->has_ended)
        attn_each_keep(each, NULL);
    attn_ledger_release(&each->ledger);
    attn_buffer_release(&each->path);
    attn_buffer_release(&each->waiting);
    attn_buffer_release(&each->state);
    attn_buffer_release(&each->kept);
    attn_free(each->columns);
    attn_free(each->shown);
    attn_free(each);
}

/* --- Resuming --------------------------------------------------------------------------------- */

/* Restores the state that `measure` wrote. *is_good: it is well-formed. */
static enum attn_status read_state(struct attn_each *each, bool *is_good, struct attn_error *err)
{
    const char *at = attn_buffer_string(&each->ledger.state);
    const size_t n_most = each->of.n_column;
    uint64_t number = 0;

    ATTN_TRY(attn_buffer_check(&each->ledger.state, err));
    ATTN_TRY(make_columns(each, n_most, err));
    *is_good = true;
    while (*is_good && *at != ';') {
        const size_t n = strcspn(at, ",;");

        *is_good = each->n_shown < n_most && attn_parse_uint(at, n, &number) && number < n_most;
        if (*is_good)
            add_column(each, (size_t)number);
        at += n + (at[n] == ',');
    }
    at += *is_good;
    *is_good = *is_good && attn_parse_uint(at, strcspn(at, ";"), &number);
    each->n_row = (size_t)number;
    each->has_columns = each->n_shown > 0;
    return ATTN_OK;
}

struct handing {
    struct attn_each *each;
    const char *told_by; /* the journal or the manifest */
    attn_each_fn take;
    void *user;
    struct attn_kept_rows *kept; /* owns; or NULL */
};

/* Hands over the next item. */
static enum attn_status hand_next(struct handing *handing, char hex[ATTN_DIGEST_HEX_SIZE],
                                  struct attn_error *err)
{
    struct attn_each *each = handing->each;
    struct attn_kept_item kept = {.table = NULL};
    struct attn_item *item;
    enum attn_status status = ATTN_OK;
    uint64_t end;

    ATTN_TRY(attn_items_next(each->items, &item, err));
    if (!item)
        return attn_ledger_report_input(attn_items_name(each->items), handing->told_by,
                                        "has fewer items", err);
    attn_item_digest(item, hex, &end);
    if (handing->kept)
        status = attn_kept_rows_next(handing->kept, &kept, err);
    if (status == ATTN_OK)
        status = handing->take(handing->user, item, &kept, err);
    attn_item_free(item);
    return status;
}

/* Hands over N items, and compares the input up to their end with the digest HEX. If IS_WHOLE, the
 * input must end there. */
static enum attn_status hand_over(struct handing *handing, uint64_t n, const char *hex,
                                  bool is_whole, struct attn_error *err)
{
    struct attn_each *each = handing->each;
    const char *name = attn_items_name(each->items);
    char found[ATTN_DIGEST_HEX_SIZE];
    struct attn_item *item = NULL;
    struct attn_records_part part;

    attn_digest_bytes("", 0, found);
    attn_records_part(each->ledger.records, 0, &part);
    if (n > 0 && each->state.size > 0)
        ATTN_TRY(attn_kept_rows_open(is_whole ? each->state.data : part.path, each->columns,
                                     each->n_shown, &handing->kept, err));
    for (uint64_t i = 0; i < n; i++)
        ATTN_TRY(hand_next(handing, found, err));
    if (strcmp(found, hex) != 0)
        return attn_ledger_report_input(name, handing->told_by, "has other items", err);
    if (is_whole)
        ATTN_TRY(attn_items_next(each->items, &item, err));
    if (item) {
        attn_item_free(item);
        return attn_ledger_report_input(name, handing->told_by, "has more items", err);
    }
    return ATTN_OK;
}

static enum attn_status resume(struct handing *handing, struct attn_ledger_made *made,
                               struct attn_error *err)
{
    struct attn_each *each = handing->each;
    struct attn_ledger *ledger = &each->ledger;
    struct attn_ledger_done *done = &ledger->done;
    bool is_good;

    ATTN_TRY(attn_ledger_find(ledger, made, err));
    if (made->is_there) {
        each->result.is_complete = true;
        done->n_record = made->n_record;
        ledger->n_failed = made->n_failed;
    } else {
        ATTN_TRY(attn_ledger_cut(ledger, err));
    }
    handing->told_by = made->is_there ? ledger->manifest_path.data : ledger->journal_path.data;
    each->result.n_item = each->result.n_before = done->n_record;
    each->milliseconds_before = done->milliseconds;
    if (done->n_record == 0 && !made->is_there) {
        attn_digest_bytes("", 0, done->input);
        return ATTN_OK;
    }
    ATTN_TRY(read_state(each, &is_good, err));
    if (!is_good)
        return attn_ledger_report_other(handing->told_by, "other columns",
                                        "remove it to compute all anew", err);
    ATTN_TRY(hand_over(handing, done->n_record, made->is_there ? made->input : done->input,
                       made->is_there, err));
    if (made->is_there)
        attn_note(ledger->on_note, ledger->user, ATTN_NOTE_COMPLETE, "'%s' is complete",
                  attn_quote_string(ledger->name).text);
    return ATTN_OK;
}

enum attn_status attn_each_resume(struct attn_each *each, attn_each_fn take, void *user,
                                  size_t *n_failed, struct attn_error *err)
{
    struct handing handing = {.each = each, .take = take, .user = user};
    struct attn_ledger_made made = {0};
    enum attn_status status = ATTN_OK;

    if (each->options.is_resumed)
        status = resume(&handing, &made, err);
    *n_failed = (size_t)each->ledger.n_failed;
    attn_kept_rows_free(handing.kept);
    attn_ledger_made_release(&made);
    return status;
}

/* --- Writing ---------------------------------------------------------------------------------- */

static enum attn_status write_item(struct attn_each *each, const struct attn_item *item,
                                   const struct attn_record_outcome *outcome,
                                   enum attn_record_failure failure, struct attn_error *err)
{
    struct attn_ledger *ledger = &each->ledger;
    const double seconds = attn_clock_seconds() - each->begun;

    each->has_written = true;
    ATTN_TRY(attn_records_write(ledger->records, outcome, err));
    ledger->done.n_record++;
    ledger->done.failures[failure]++;
    ledger->n_failed += failure != ATTN_RECORD_FAILURE_NONE;
    attn_item_digest(item, ledger->done.input, &ledger->done.end);
    each->result.n_item = ledger->done.n_record;
    if (!ledger->name)
        return attn_records_flush(ledger->records, false, err);
    if (seconds - each->checked < checkpoint_seconds || each->waiting.size > 0)
        return ATTN_OK;
    each->checked = seconds;
    return attn_ledger_checkpoint(ledger, err);
}

/* Makes the matrix of ROWS, whose data the caller owns. */
static enum attn_status make_matrix(const struct attn_table *rows, struct attn_array *matrix,
                                    struct attn_error *err)
{
    const size_t n = attn_table_n_row(rows);
    size_t value = 0;
    double *data;

    while (attn_table_column(rows, value)->type != ATTN_VALUE_REAL)
        value++;
    *matrix = (struct attn_array){.dtype = "<f8", .rank = 2, .size = n * sizeof *data};
    snprintf(matrix->name, sizeof matrix->name, "%s", attn_table_column(rows, value)->name);
    matrix->shape[0] = n > 0 ? (size_t)attn_table_cell(rows, n - 1, 0).integer + 1 : 0;
    matrix->shape[1] = n > 0 ? n / matrix->shape[0] : 0;
    ATTN_TRY(ATTN_ALLOC(data, n, err));
    for (size_t i = 0; i < n; i++)
        data[i] = attn_table_cell(rows, i, value).real;
    matrix->data = (unsigned char *)data;
    return ATTN_OK;
}

enum attn_status attn_each_write(struct attn_each *each, const struct attn_item *item,
                                 const struct attn_kept_item *rows, const struct attn_error *failed,
                                 struct attn_error *err)
{
    const enum attn_record_failure found = item->record.failure;
    const enum attn_record_failure failure = !failed ? ATTN_RECORD_FAILURE_NONE
                                             : found != ATTN_RECORD_FAILURE_NONE
                                                 ? found
                                                 : ATTN_RECORD_FAILURE_NO_FIT;
    const bool is_read = found != ATTN_RECORD_FAILURE_BAD_JSON &&
                         found != ATTN_RECORD_FAILURE_BAD_CSV &&
                         found != ATTN_RECORD_FAILURE_LINE_TOO_LONG;
    struct attn_array matrix = {.data = NULL};
    struct attn_record_outcome outcome = {
        .number = item->record.number,
        .id = item->record.id,
        .n_id = item->record.n_id,
        .has_text_id = item->record.has == ATTN_RECORD_ID_TEXT,
        .failure = failed ? attn_record_failure_code(failure) : NULL,
        .message = failed ? failed->message : NULL,
        .item_labels = item->labels,
        .n_item_label = is_read ? item->n_label : 0,
        .rows = failed ? NULL : rows->table,
        .kept = &each->kept,
    };
    enum attn_status status;

    if (is_read)
        ATTN_TRY(attn_error_at(take_labels(each, err), ATTN_STAGE_INPUT, err));
    if (each->options.form == ATTN_EACH_MATRICES && !failed) {
        ATTN_TRY(make_matrix(rows->table, &matrix, err));
        outcome.matrix = &matrix;
    }
    attn_buffer_reset(&each->kept);
    if (each->state.size > 0)
        attn_kept_rows_append(&each->kept, each->ledger.done.n_record == 0, outcome.rows,
                              failed ? NULL : rows->beside, failed ? 0 : rows->n_beside);
    status = attn_buffer_check(&each->kept, err);
    if (status == ATTN_OK)
        status = write_item(each, item, &outcome, failure, err);
    attn_free(matrix.data);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- The end ---------------------------------------------------------------------------------- */

static void report(const struct attn_each *each)
{
    if (each->options.result)
        *each->options.result = each->result;
}

enum attn_status attn_each_finish(struct attn_each *each, struct attn_error *err)
{
    struct attn_ledger *ledger = &each->ledger;

    if (each->result.is_complete) {
        attn_ledger_remove_empty(ledger);
        each->has_ended = true;
        report(each);
        return ATTN_OK;
    }
    ATTN_TRY(take_labels(each, err));
    ledger->input_name = attn_items_name(each->items);
    ledger->input_end = ledger->done.end;
    ledger->has_failed = ledger->n_failed > 0;
    ATTN_TRY(attn_error_at(attn_ledger_finish(ledger, each->host, err), ATTN_STAGE_OUTPUT, err));
    each->has_ended = true;
    report(each);
    return ATTN_OK;
}

void attn_each_keep(struct attn_each *each, const struct attn_error *err)
{
    const struct attn_each_options *options = &each->options;
    struct attn_ledger *ledger = &each->ledger;
    const bool is_output =
        !err || (err->stage == ATTN_STAGE_OUTPUT && err->status != ATTN_NO_MEMORY);

    each->has_ended = true;
    if (ledger->records)
        each->result.is_abandoned = attn_records_is_abandoned(ledger->records);
    if (!each->has_written)
        attn_ledger_remove_empty(ledger);
    else if (!each->result.is_abandoned)
        each->result.can_resume = attn_ledger_keep(
            ledger, is_output || each->waiting.size > 0 ||
                        (options->is_spoiled && options->is_spoiled(options->user)));
    report(each);
}
