/* record_rows.c - see record_rows.h. Lines of CSV are held back until the first item succeeds and
 * determines the columns. The format `state` has the same rows in binary form
 * (study/kept_rows.h). */
#include "batch/record_rows.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "encode/quoting.h"
#include "tables/table_writer_internal.h"

#include <math.h>
#include <string.h>

/* Placeholders in lines that are held back, for fields of columns that are not known yet. No text
 * contains these bytes. */
enum { MARK_LABELS = '\xfe', MARK_COLUMNS = '\xff' };

static const char *written_name(const struct attn_column *column)
{
    /* `id` is the id of the item */
    return strcmp(column->name, "id") == 0 ? "token_id" : column->name;
}

/* --- Lines ------------------------------------------------------------------------------------ */

/* Returns true if the label NAME must be written as item.NAME because a column has this name: in
 * CSV a shown column, in JSON any column. */
static bool is_taken(const struct attn_record_rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->n_all; i++)
        if (((rows->form != ATTN_RECORD_ROWS_CSV && rows->all[i].role != ATTN_ROLE_STACK) ||
             !rows->hidden[i]) &&
            strcmp(written_name(&rows->all[i]), name) == 0)
            return true;
    return strcmp(name, "id") == 0 || strcmp(name, "error") == 0;
}

/* Returns an error if two labels would be written with the same name. LABELS [n] are structs of
 * STRIDE bytes whose first member is the name. */
static enum attn_status check_names(const struct attn_record_rows *rows, const void *labels,
                                    size_t n, size_t stride, struct attn_error *err)
{
    const size_t n_prefix = strlen(ATTN_LABEL_PREFIX);

    for (size_t i = 0; i < n; i++) {
        const char *full = *(const char *const *)((const char *)labels + i * stride);
        const char *name = full + n_prefix;

        if (strncmp(full, ATTN_LABEL_PREFIX, n_prefix) != 0 || !is_taken(rows, name))
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

/* Writes the id and the labels. */
static void push_record(const struct attn_record_rows *rows, struct attn_json_writer *json,
                        const struct attn_record_outcome *outcome)
{
    attn_record_id_push(attn_json_key(json, "id"), outcome);
    for (size_t i = 0; i < outcome->n_item_label; i++) {
        const struct attn_item_label *label = &outcome->item_labels[i];

        push_key(json, label->name, is_taken(rows, label->name));
        attn_record_label_push(json, label);
    }
}

/* Writes the cells of ROW. */
static void push_row(const struct attn_record_rows *rows, struct attn_json_writer *json,
                     const struct attn_table *table, size_t row)
{
    for (size_t c = 0; c < rows->n; c++) {
        const struct attn_cell cell = attn_table_cell(table, row, c);
        const struct attn_column *column = &rows->columns[c];

        if (cell.type == ATTN_VALUE_REAL && isinf(cell.real)) {
            attn_json_key(json, column->name);
            attn_buffer_append_string(attn_json_value(json), cell.real > 0 ? "1e999" : "-1e999");
        } else if (cell.type != ATTN_VALUE_MISSING) {
            attn_table_push_cells(json, column, &cell, 1, -1);
        }
    }
}

/* Appends a line of JSON: row ROW of OUTCOME, or its failure. */
static void append_json(const struct attn_record_rows *rows,
                        const struct attn_record_outcome *outcome, size_t row,
                        struct attn_buffer *out)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    if (rows->form == ATTN_RECORD_ROWS_TEXTS) {
        const struct attn_cell cell =
            outcome->failure ? attn_cell_text("", 0) : attn_table_cell(outcome->rows, row, 0);

        attn_buffer_append(out, cell.text, cell.size);
        attn_buffer_append_char(out, '\n');
        return;
    }
    attn_json_begin(&json, '{');
    push_record(rows, &json, outcome);
    if (outcome->failure)
        attn_json_text(attn_json_key(&json, "error"), outcome->message);
    else if (row < attn_table_n_row(outcome->rows))
        push_row(rows, &json, outcome->rows, row);
    attn_json_end(&json);
    attn_buffer_append_char(out, '\n');
}

/* Appends a line of CSV that begins with KEY: row ROW of OUTCOME, or its failure. */
static void append_csv(const struct attn_record_rows *rows,
                       const struct attn_record_outcome *outcome, size_t row,
                       const struct attn_buffer *key, struct attn_buffer *out)
{
    static const struct attn_table_style csv = {.form = ATTN_TABLE_CSV, .precision = -1};

    attn_buffer_append(out, key->data, key->size);
    if (!rows->has_columns)
        attn_buffer_append_char(out, MARK_COLUMNS);
    for (size_t c = 0; c < rows->n; c++) {
        attn_buffer_append_char(out, ',');
        if (!outcome->failure && row < attn_table_n_row(outcome->rows)) {
            const struct attn_cell cell = attn_table_cell(outcome->rows, row, c);
            const struct attn_column *column = &rows->columns[c];

            attn_table_append_styled(out, csv, column, &cell);
        }
    }
    attn_buffer_append_char(out, ',');
    if (outcome->failure)
        attn_csv_text_append(out, outcome->message, strlen(outcome->message));
    attn_buffer_append_char(out, '\n');
}

/* Appends the header, and the lines that were held back. */
static enum attn_status append_header(struct attn_record_rows *rows,
                                      struct attn_record_writer *writer, struct attn_error *err)
{
    const char *line = rows->waiting.data;

    ATTN_TRY(attn_record_header_append(writer, rows->columns, rows->n, true, err));
    for (size_t i = 0; i < rows->waiting.size; i++) {
        const size_t n_field = line[i] == MARK_LABELS    ? writer->form->n_label
                               : line[i] == MARK_COLUMNS ? rows->n
                                                         : 0;

        if (line[i] != MARK_LABELS && line[i] != MARK_COLUMNS)
            attn_buffer_append_char(&writer->text, line[i]);
        for (size_t k = 0; k < n_field; k++)
            attn_buffer_append_char(&writer->text, ',');
    }
    attn_buffer_release(&rows->waiting);
    return ATTN_OK;
}

static enum attn_status make_columns(struct attn_record_rows *rows, size_t n,
                                     struct attn_error *err)
{
    attn_free(rows->columns);
    attn_free(rows->places);
    rows->n = 0;
    rows->columns = attn_alloc(n, sizeof *rows->columns, err);
    rows->places = attn_alloc(n, sizeof *rows->places, err);
    return rows->columns && rows->places ? ATTN_OK : ATTN_NO_MEMORY;
}

static void add_column(struct attn_record_rows *rows, size_t place)
{
    struct attn_column *column = &rows->columns[rows->n];

    *column = rows->all[place];
    column->name = written_name(column);
    column->notation = ATTN_NOTATION_DOUBLE;
    rows->places[rows->n++] = place;
}

/* Sets the columns of all items from TABLE, that of the first item. */
static enum attn_status take_columns(struct attn_record_rows *rows, const struct attn_table *table,
                                     struct attn_error *err)
{
    ATTN_TRY(make_columns(rows, attn_table_n_column(table), err));
    for (size_t c = 0; c < attn_table_n_column(table); c++) {
        const struct attn_column *column = attn_table_column(table, c);
        size_t place = 0;

        while (place < rows->n_all && (rows->all[place].type != column->type ||
                                       rows->all[place].notation != column->notation ||
                                       strcmp(rows->all[place].name, column->name) != 0))
            place++;
        if (place == rows->n_all)
            return attn_error_set(err, ATTN_INVALID, "unexpected column '%s'",
                                  attn_quote_string(column->name).text);
        add_column(rows, place);
    }
    rows->n_row = attn_table_n_row(table);
    rows->has_columns = true;
    return ATTN_OK;
}

/* Writes the lines of OUTCOME; in CSV after the header. */
static enum attn_status write_rows(struct attn_record_writer *writer,
                                   const struct attn_record_outcome *outcome,
                                   struct attn_error *err)
{
    struct attn_record_rows *rows = writer->form->rows;
    const bool had_columns = rows->has_columns;
    const size_t n_row = outcome->failure ? 0 : attn_table_n_row(outcome->rows);
    struct attn_buffer key = {0}, *out = &writer->text;
    enum attn_status status;

    if (!outcome->failure && !had_columns)
        ATTN_TRY(take_columns(rows, outcome->rows, err));
    if (!outcome->failure && ((n_row != rows->n_row && !rows->is_ragged) ||
                              attn_table_n_column(outcome->rows) != rows->n))
        return attn_error_set(err, ATTN_INVALID,
                              "%zu rows of %zu columns, the first item has %zu of %zu", n_row,
                              attn_table_n_column(outcome->rows), rows->n_row, rows->n);
    if (rows->form != ATTN_RECORD_ROWS_CSV) {
        ATTN_TRY(check_names(rows, outcome->item_labels, outcome->n_item_label,
                             sizeof *outcome->item_labels, err));
    } else {
        if (rows->has_columns && !had_columns)
            ATTN_TRY(append_header(rows, writer, err));
        attn_record_key_append(writer, &key, outcome);
        if (!rows->has_labels)
            attn_buffer_append_char(&key, MARK_LABELS);
        out = rows->has_columns ? out : &rows->waiting;
    }
    for (size_t row = 0; row < n_row || (row == 0 && (outcome->failure || !rows->is_ragged));
         row++) {
        if (rows->form != ATTN_RECORD_ROWS_CSV)
            append_json(rows, outcome, row, out);
        else
            append_csv(rows, outcome, row, &key, out);
    }
    status = attn_buffer_check(&key, err);
    attn_buffer_release(&key);
    return status == ATTN_OK ? attn_buffer_check(out, err) : status;
}

/* Writes the header if every item failed. */
static enum attn_status finish_rows(struct attn_record_writer *writer, struct attn_error *err)
{
    struct attn_record_rows *rows = writer->form->rows;
    struct attn_sink *sink = writer->n_part > 0 ? writer->parts[0] : writer->sink;

    if (rows->form != ATTN_RECORD_ROWS_CSV || rows->has_columns)
        return ATTN_OK;
    ATTN_TRY(make_columns(rows, rows->n_all, err));
    for (size_t place = 0; place < rows->n_all; place++)
        if (!rows->hidden[place])
            add_column(rows, place);
    ATTN_TRY(append_header(rows, writer, err));
    ATTN_TRY(attn_buffer_check(&writer->text, err));
    attn_sink_write(sink, writer->text.data, writer->text.size);
    return attn_sink_check(sink, err);
}

const struct attn_record_format attn_record_format_rows = {
    .name = "rows",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .write = write_rows,
    .finish = finish_rows,
};

/* --- Bytes ------------------------------------------------------------------------------------ */

static enum attn_status write_state(struct attn_record_writer *writer,
                                    const struct attn_record_outcome *outcome,
                                    struct attn_error *err)
{
    attn_buffer_append(&writer->text, outcome->kept->data, outcome->kept->size);
    return attn_buffer_check(&writer->text, err);
}

const struct attn_record_format attn_record_format_state = {
    .name = "state",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .write = write_state,
};

/* --- Calls of the owner ----------------------------------------------------------------------- */

enum attn_status attn_record_rows_set_labels(struct attn_record_rows *rows,
                                             struct attn_records *records,
                                             const char *const *labels, size_t n,
                                             struct attn_error *err)
{
    if (rows->form == ATTN_RECORD_ROWS_CSV)
        ATTN_TRY(check_names(rows, labels, n, sizeof *labels, err));
    rows->has_labels = true;
    return attn_records_set_labels(records, labels, n, err);
}

void attn_record_rows_save(const struct attn_record_rows *rows, struct attn_buffer *out)
{
    for (size_t c = 0; c < rows->n; c++)
        attn_buffer_append_format(out, "%s%zu", c > 0 ? "," : "", rows->places[c]);
    attn_buffer_append_format(out, ";%zu;", rows->n_row);
}

enum attn_status attn_record_rows_load(struct attn_record_rows *rows, const char *text,
                                       bool *is_good, struct attn_error *err)
{
    uint64_t number = 0;

    ATTN_TRY(make_columns(rows, rows->n_all, err));
    *is_good = true;
    while (*is_good && *text != ';') {
        const size_t n = strcspn(text, ",;");

        *is_good = attn_parse_uint(text, n, &number) && number < rows->n_all &&
                   (rows->n == 0 || number > rows->places[rows->n - 1]);
        if (*is_good)
            add_column(rows, (size_t)number);
        text += n + (text[n] == ',');
    }
    text += *is_good;
    *is_good = *is_good && attn_parse_uint(text, strcspn(text, ";"), &number);
    rows->n_row = (size_t)number;
    rows->has_columns = rows->n > 0;
    return ATTN_OK;
}

void attn_record_rows_release(struct attn_record_rows *rows)
{
    attn_buffer_release(&rows->waiting);
    attn_free(rows->columns);
    attn_free(rows->places);
}
