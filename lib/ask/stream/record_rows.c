/* record_rows.c - rows as lines: the id, the labels, the columns of a row of an item, and its error
 * (stream/each.h). Lines of CSV are held back until the first item succeeds and determines the
 * columns. */
#include "stream/records_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "formats/quoting.h"
#include "stream/items_internal.h"
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
    for (size_t i = 0; i < rows->form->n_column; i++)
        if (((rows->form->row_form != ATTN_RECORD_ROWS_CSV &&
              rows->form->columns[i].role != ATTN_ROLE_STACK) ||
             !rows->form->hidden[i]) &&
            *attn_record_prefix(name, written_name(&rows->form->columns[i]),
                                rows->form->columns[i].since, true))
            return true;
    return attn_text_has_word("id error", name, strlen(name));
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

static void push_key(struct attn_json_writer *json, const char *prefix, const char *name)
{
    struct attn_buffer full = {0};
    const char *key = name;

    if (*prefix) {
        attn_buffer_append_format(&full, "%s%s", prefix, name);
        key = attn_buffer_string(&full);
    }
    attn_json_key(json, key ? key : "");
    json->out->has_failed |= full.has_failed;
    attn_buffer_release(&full);
}

/* Writes the id and the labels. */
static void push_record(const struct attn_record_rows *rows, struct attn_json_writer *json,
                        const struct attn_item_result *result)
{
    attn_record_id_push(attn_json_key(json, "id"), result);
    for (size_t i = 0; i < result->item->n_label; i++) {
        const struct attn_item_label *label = &result->item->labels[i];

        push_key(json, is_taken(rows, label->name) ? ATTN_LABEL_PREFIX : "", label->name);
        attn_record_label_push(json, label);
    }
}

static void push_row(const struct attn_record_writer *writer, struct attn_json_writer *json,
                     const struct attn_item_result *result, size_t row)
{
    const struct attn_record_columns *labels = writer->columns;

    for (size_t c = 0; c < writer->rows->n; c++) {
        const struct attn_cell cell = attn_table_cell(result->answer.rows, row, c);
        const struct attn_column *column = &writer->rows->columns[c];
        const char *prefix = attn_record_column_prefix(labels->names, labels->n, column);

        if (cell.type == ATTN_VALUE_MISSING)
            continue;
        if (column->since > 0 && attn_item_label(result->item, column->name))
            prefix = ATTN_COLUMN_PREFIX; /* other items may lack the label */
        push_key(json, prefix, column->name);
        if (cell.type == ATTN_VALUE_REAL && isinf(cell.real))
            attn_buffer_append_string(attn_json_value(json), cell.real > 0 ? "1e999" : "-1e999");
        else
            attn_table_push_cell(json, column, &cell, -1);
    }
}

/* Appends row ROW of RESULT, or its failure, as a line of JSON or a row of the document. */
static void append_json(struct attn_record_writer *writer, const struct attn_item_result *result,
                        size_t row, struct attn_buffer *out)
{
    struct attn_record_rows *rows = writer->rows;
    struct attn_json_writer line = {.out = out, .comma = ",", .colon = ":"}, *json = &line;

    if (rows->form->row_form == ATTN_RECORD_ROWS_TEXTS) {
        const struct attn_cell cell =
            result->failure ? attn_cell_text("", 0) : attn_table_cell(result->answer.rows, row, 0);

        attn_buffer_append(out, cell.text, cell.size);
        attn_buffer_append_char(out, '\n');
        return;
    }
    if (rows->form->row_form == ATTN_RECORD_ROWS_DOCUMENT)
        attn_json_line(json = &rows->document);
    attn_json_begin(json, '{');
    push_record(rows, json, result);
    if (result->failure)
        attn_record_error_push(json, result);
    else if (row < attn_table_n_row(result->answer.rows))
        push_row(writer, json, result, row);
    attn_json_end(json);
    if (json == &line)
        attn_buffer_append_char(out, '\n');
}

/* Appends a line of CSV: row ROW of RESULT, or its failure. */
static void append_csv(struct attn_record_writer *writer, const struct attn_item_result *result,
                       size_t row, struct attn_buffer *out)
{
    const struct attn_table_style csv = {.form = ATTN_TABLE_CSV, .precision = -1};
    const struct attn_record_rows *rows = writer->rows;
    char text[sizeof result->err.message + 32]; /* with the code of the failure */

    attn_record_key_append(writer, out, result);
    if (!rows->has_labels)
        attn_buffer_append_char(out, MARK_LABELS);
    if (!rows->has_columns)
        attn_buffer_append_char(out, MARK_COLUMNS);
    for (size_t c = 0; rows->has_columns && c < rows->n; c++) {
        const struct attn_cell cell =
            attn_table_cell(result->failure ? NULL : result->answer.rows, row, c);

        attn_buffer_append_char(out, ',');
        attn_table_append_styled(out, csv, &rows->columns[c], &cell);
    }
    attn_buffer_append_char(out, ',');
    if (result->failure) {
        size_t used = 0;

        attn_fixed_text_append(text, sizeof text, &used, "%s: %s",
                               attn_reason_text(result->failure), result->err.message);
        attn_csv_text_append(out, text, used);
    }
    attn_buffer_append_char(out, '\n');
}

/* Appends the header, and the lines that were held back. */
static enum attn_status append_header(struct attn_record_rows *rows,
                                      struct attn_record_writer *writer, struct attn_error *err)
{
    const char *line = rows->waiting.data;

    ATTN_TRY(attn_record_header_append(writer, rows->columns, rows->n, err));
    for (size_t i = 0; i < rows->waiting.size; i++) {
        const size_t n_field = line[i] == MARK_LABELS    ? writer->columns->n
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

    *column = rows->form->columns[place];
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

        while (place < rows->form->n_column &&
               (rows->form->columns[place].type != column->type ||
                rows->form->columns[place].notation != column->notation ||
                strcmp(rows->form->columns[place].name, column->name) != 0))
            place++;
        if (place == rows->form->n_column)
            return attn_error_set(err, ATTN_INVALID, "unexpected column '%s'",
                                  attn_quote_string(column->name).text);
        add_column(rows, place);
    }
    rows->n_row = attn_table_n_row(table);
    rows->has_columns = true;
    return ATTN_OK;
}

/* Sets the label columns: those of the header, or of the first readable item. */
static enum attn_status take_labels(struct attn_record_writer *writer, struct attn_error *err)
{
    struct attn_record_rows *rows = writer->rows;
    const char *const *labels;
    size_t n;

    if (rows->has_labels)
        return ATTN_OK;
    labels = attn_items_labels(writer->form->items, &n);
    if (rows->form->row_form == ATTN_RECORD_ROWS_CSV)
        ATTN_TRY(attn_error_at(check_names(rows, labels, n, sizeof *labels, err), ATTN_STAGE_INPUT,
                               err));
    rows->has_labels = true;
    return attn_record_columns_set(writer->columns, labels, n, err);
}

static enum attn_status begin_rows(struct attn_record_writer *writer, struct attn_error *err)
{
    const struct attn_items *items = writer->form->items;

    writer->rows->document.out = &writer->text;
    if (writer->form->row_form == ATTN_RECORD_ROWS_DOCUMENT)
        attn_table_begin_document(&writer->rows->document, writer->form->name, NULL, -1);
    return items && attn_items_have_header(items) ? take_labels(writer, err) : ATTN_OK;
}

/* Sets OWN and ITEM to RESULT with the labels of row ROW, if each row has its own. */
static const struct attn_item_result *result_of_row(const struct attn_item_result *result,
                                                    size_t row, struct attn_item_result *own,
                                                    struct attn_item *item)
{
    if (result->failure || !result->item->row_labels || row >= result->item->words.n)
        return result;
    *own = *result;
    *item = *result->item;
    own->item = item;
    item->labels = item->row_labels + row * item->n_row_label;
    item->n_label = 0;
    while (item->n_label < item->n_row_label && item->labels[item->n_label].name)
        item->n_label++;
    return own;
}

/* Writes the lines of RESULT; in CSV after the header. */
static enum attn_status write_rows(struct attn_record_writer *writer,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    struct attn_record_rows *rows = writer->rows;
    const bool had_columns = rows->has_columns;
    const size_t n_row = result->failure ? 0 : attn_table_n_row(result->answer.rows);
    const enum attn_reason found = result->item->failure;
    struct attn_buffer *out = &writer->text;

    if (rows->has_columns || /* an earlier item succeeded, perhaps before a restart */
        (found != ATTN_REASON_BAD_JSON && found != ATTN_REASON_BAD_CSV &&
         found != ATTN_REASON_LINE_TOO_LONG))
        ATTN_TRY(take_labels(writer, err));
    if (!result->failure && !had_columns)
        ATTN_TRY(take_columns(rows, result->answer.rows, err));
    if (!result->failure && rows->n_row == 0) /* after rows of an earlier run */
        rows->n_row = n_row;
    if (!result->failure && ((n_row != rows->n_row && !rows->form->is_ragged) ||
                             attn_table_n_column(result->answer.rows) != rows->n))
        return attn_error_set(err, ATTN_INVALID,
                              "%zu rows of %zu columns, the first item has %zu of %zu", n_row,
                              attn_table_n_column(result->answer.rows), rows->n_row, rows->n);
    for (size_t c = 0; had_columns && !result->failure && c < rows->n; c++)
        if (strcmp(attn_table_column(result->answer.rows, c)->name,
                   rows->form->columns[rows->places[c]].name) != 0)
            return attn_error_set(
                err, ATTN_INVALID, "column '%s' is new, expected '%s'",
                attn_quote_string(attn_table_column(result->answer.rows, c)->name).text,
                rows->form->columns[rows->places[c]].name);
    if (rows->form->row_form != ATTN_RECORD_ROWS_CSV) {
        ATTN_TRY(check_names(rows, result->item->labels, result->item->n_label,
                             sizeof *result->item->labels, err));
    } else {
        if (rows->has_columns && !had_columns)
            ATTN_TRY(append_header(rows, writer, err));
        out = rows->has_columns ? out : &rows->waiting;
    }
    for (size_t row = 0; row < n_row || (row == 0 && (result->failure || !rows->form->is_ragged));
         row++) {
        struct attn_item_result own;
        struct attn_item item;
        const struct attn_item_result *at = result_of_row(result, row, &own, &item);

        if (rows->form->row_form != ATTN_RECORD_ROWS_CSV)
            append_json(writer, at, row, out);
        else
            append_csv(writer, at, row, out);
    }
    return attn_buffer_check(out, err);
}

/* Writes the header if every item failed. */
static enum attn_status finish_rows(struct attn_record_writer *writer, struct attn_error *err)
{
    struct attn_record_rows *rows = writer->rows;

    ATTN_TRY(take_labels(writer, err));
    if (rows->form->row_form == ATTN_RECORD_ROWS_DOCUMENT)
        attn_table_end_document(&rows->document);
    if (rows->form->row_form != ATTN_RECORD_ROWS_CSV || rows->has_columns)
        return ATTN_OK;
    ATTN_TRY(attn_record_rows_show(rows, err));
    return append_header(rows, writer, err);
}

const struct attn_item_sink attn_item_sink_rows = {
    .name = "rows",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .begin = begin_rows,
    .add = write_rows,
    .finish = finish_rows,
};

/* --- Resuming --------------------------------------------------------------------------------- */

enum attn_status attn_record_rows_show(struct attn_record_rows *rows, struct attn_error *err)
{
    ATTN_TRY(make_columns(rows, rows->form->n_column, err));
    for (size_t place = 0; place < rows->form->n_column; place++)
        if (!rows->form->hidden[place])
            add_column(rows, place);
    return ATTN_OK;
}

enum attn_status attn_record_rows_continue(struct attn_record_writer *writer,
                                           struct attn_error *err)
{
    struct attn_record_rows *rows = writer->rows;

    ATTN_TRY(take_labels(writer, err));
    rows->has_columns = true;
    return rows->form->row_form == ATTN_RECORD_ROWS_CSV ? append_header(rows, writer, err)
                                                        : ATTN_OK;
}

void attn_record_rows_release(struct attn_record_rows *rows)
{
    attn_buffer_release(&rows->waiting);
    attn_free(rows->columns);
    attn_free(rows->places);
}
