/* record_rows.c - rows as lines. `rows` has the id, the labels, the columns of a row of an item,
 * and its error (stream/each.h). Lines of CSV are held back until the first item succeeds and
 * determines the columns. `csv` and `edges` have rows of a record, whose columns are known:
 * selected heads with their measures, continuations, or words; and the keys with the largest
 * weights of each query, in descending order; in a tie the smaller key comes first. */
#include "stream/records_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "formats/quoting.h"
#include "measures/analysis_internal.h"
#include "stream/items_internal.h"
#include "tables/table_internal.h"
#include "tables/table_writer_internal.h"
#include "tokenizer/words.h"
#include "trace/trace_internal.h"

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
            strcmp(written_name(&rows->form->columns[i]), name) == 0)
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
                        const struct attn_item_result *result)
{
    attn_record_id_push(attn_json_key(json, "id"), result);
    for (size_t i = 0; i < result->item->n_label; i++) {
        const struct attn_item_label *label = &result->item->labels[i];

        push_key(json, label->name, is_taken(rows, label->name));
        attn_record_label_push(json, label);
    }
}

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

/* Appends a line of JSON: row ROW of RESULT, or its failure. */
static void append_json(const struct attn_record_rows *rows, const struct attn_item_result *result,
                        size_t row, struct attn_buffer *out)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    if (rows->form->row_form == ATTN_RECORD_ROWS_TEXTS) {
        const struct attn_cell cell =
            result->failure ? attn_cell_text("", 0) : attn_table_cell(result->rows, row, 0);

        attn_buffer_append(out, cell.text, cell.size);
        attn_buffer_append_char(out, '\n');
        return;
    }
    attn_json_begin(&json, '{');
    push_record(rows, &json, result);
    if (result->failure)
        attn_json_text(attn_json_key(&json, "error"), result->err.message);
    else if (row < attn_table_n_row(result->rows))
        push_row(rows, &json, result->rows, row);
    attn_json_end(&json);
    attn_buffer_append_char(out, '\n');
}

/* Appends CELLS [n] of COLUMNS [n], each after a comma. Texts of records are not escaped. */
static void append_cells(const struct attn_records_form *form, const struct attn_column *columns,
                         const struct attn_cell *cells, size_t n, struct attn_buffer *out)
{
    const struct attn_table_style csv = {.form = ATTN_TABLE_CSV, .precision = form->precision};

    for (size_t c = 0; c < n; c++) {
        attn_buffer_append_char(out, ',');
        if (!form->columns && cells[c].type == ATTN_VALUE_TEXT &&
            columns[c].notation != ATTN_NOTATION_LABEL)
            attn_csv_text_append(out, cells[c].text, cells[c].size);
        else
            attn_table_append_styled(out, csv, &columns[c], &cells[c]);
    }
}

/* Appends a line of CSV that begins with KEY: row ROW of RESULT, or its failure. */
static void append_csv(const struct attn_record_rows *rows, const struct attn_item_result *result,
                       size_t row, const struct attn_buffer *key, struct attn_buffer *out)
{
    attn_buffer_append(out, key->data, key->size);
    if (!rows->has_columns)
        attn_buffer_append_char(out, MARK_COLUMNS);
    for (size_t c = 0; rows->has_columns && c < rows->n; c++) {
        const struct attn_cell cell =
            attn_table_cell(result->failure ? NULL : result->rows, row, c);

        append_cells(rows->form, &rows->columns[c], &cell, 1, out);
    }
    attn_buffer_append_char(out, ',');
    if (result->failure)
        attn_csv_text_append(out, result->err.message, strlen(result->err.message));
    attn_buffer_append_char(out, '\n');
}

/* Appends the header, and the lines that were held back. */
static enum attn_status append_header(struct attn_record_rows *rows,
                                      struct attn_record_writer *writer, struct attn_error *err)
{
    const char *line = rows->waiting.data;

    ATTN_TRY(attn_record_header_append(writer, rows->columns, rows->n, true, err));
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
    return attn_record_columns_set(writer->columns, labels, n, true, err);
}

static enum attn_status begin_rows(struct attn_record_writer *writer, struct attn_error *err)
{
    const struct attn_items *items = writer->form->items;

    return items && attn_items_have_header(items) ? take_labels(writer, err) : ATTN_OK;
}

/* Writes the lines of RESULT; in CSV after the header. */
static enum attn_status write_rows(struct attn_record_writer *writer,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    struct attn_record_rows *rows = writer->rows;
    const bool had_columns = rows->has_columns;
    const size_t n_row = result->failure ? 0 : attn_table_n_row(result->rows);
    const enum attn_record_failure found = result->item->failure;
    struct attn_buffer key = {0}, *out = &writer->text;
    enum attn_status status;

    if (rows->has_columns || /* an earlier item succeeded, perhaps before a restart */
        (found != ATTN_RECORD_FAILURE_BAD_JSON && found != ATTN_RECORD_FAILURE_BAD_CSV &&
         found != ATTN_RECORD_FAILURE_LINE_TOO_LONG))
        ATTN_TRY(take_labels(writer, err));
    if (!result->failure && !had_columns)
        ATTN_TRY(take_columns(rows, result->rows, err));
    if (!result->failure && ((n_row != rows->n_row && !rows->form->is_ragged) ||
                             attn_table_n_column(result->rows) != rows->n))
        return attn_error_set(err, ATTN_INVALID,
                              "%zu rows of %zu columns, the first item has %zu of %zu", n_row,
                              attn_table_n_column(result->rows), rows->n_row, rows->n);
    for (size_t c = 0; had_columns && !result->failure && c < rows->n; c++)
        if (strcmp(attn_table_column(result->rows, c)->name,
                   rows->form->columns[rows->places[c]].name) != 0)
            return attn_error_set(err, ATTN_INVALID, "column '%s' is new, expected '%s'",
                                  attn_quote_string(attn_table_column(result->rows, c)->name).text,
                                  rows->form->columns[rows->places[c]].name);
    if (rows->form->row_form != ATTN_RECORD_ROWS_CSV) {
        ATTN_TRY(check_names(rows, result->item->labels, result->item->n_label,
                             sizeof *result->item->labels, err));
    } else {
        if (rows->has_columns && !had_columns)
            ATTN_TRY(append_header(rows, writer, err));
        attn_record_key_append(writer, &key, result);
        if (!rows->has_labels)
            attn_buffer_append_char(&key, MARK_LABELS);
        out = rows->has_columns ? out : &rows->waiting;
    }
    for (size_t row = 0; row < n_row || (row == 0 && (result->failure || !rows->form->is_ragged));
         row++) {
        if (rows->form->row_form != ATTN_RECORD_ROWS_CSV)
            append_json(rows, result, row, out);
        else
            append_csv(rows, result, row, &key, out);
    }
    status = attn_buffer_check(&key, err);
    attn_buffer_release(&key);
    return status == ATTN_OK ? attn_buffer_check(out, err) : status;
}

/* Writes the header if every item failed. */
static enum attn_status finish_rows(struct attn_record_writer *writer, struct attn_error *err)
{
    struct attn_record_rows *rows = writer->rows;

    ATTN_TRY(take_labels(writer, err));
    if (rows->form->row_form != ATTN_RECORD_ROWS_CSV || rows->has_columns)
        return ATTN_OK;
    ATTN_TRY(make_columns(rows, rows->form->n_column, err));
    for (size_t place = 0; place < rows->form->n_column; place++)
        if (!rows->form->hidden[place])
            add_column(rows, place);
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

/* --- Rows of records -------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 4 + ATTN_N_MEASURE };

struct table_writer {
    struct attn_record_writer base;
    bool is_of_edges, is_of_heads, has_next, has_words;
    struct attn_column columns[MOST_COLUMNS]; /* [n_column] columns after the labels */
    size_t n_column;
};

static void add_name(struct table_writer *w, const char *name, enum attn_value_type type)
{
    w->columns[w->n_column++] = (struct attn_column){.name = name, .type = type};
}

static enum attn_status begin_table(struct attn_record_writer *writer, struct attn_error *err)
{
    struct table_writer *w = (struct table_writer *)writer;
    const struct attn_records_form *form = writer->form;

    w->n_column = 0;
    w->is_of_edges = writer->kind == &attn_item_sink_edges;
    w->has_next = !w->is_of_edges && form->table == ATTN_RECORD_FIELD_PREDICTIONS;
    w->has_words = !w->is_of_edges && form->table == ATTN_RECORD_FIELD_SURPRISAL;
    w->is_of_heads = !w->has_next && !w->has_words;
    if (w->is_of_heads && form->n_stack > 1)
        add_name(w, "stack", ATTN_VALUE_TEXT);
    if (w->is_of_heads) {
        add_name(w, "layer", ATTN_VALUE_INTEGER);
        add_name(w, "head", ATTN_VALUE_INTEGER);
        add_name(w, w->is_of_edges ? "query" : "n_token", ATTN_VALUE_INTEGER);
    }
    if (w->is_of_edges) {
        add_name(w, "key", ATTN_VALUE_INTEGER);
        add_name(w, "weight", ATTN_VALUE_REAL);
    } else if (w->is_of_heads) {
        for (int m = 0; m < ATTN_N_MEASURE; m++)
            if (form->measures & ATTN_MEASURE_BIT(m))
                add_name(w, attn_measure_name((enum attn_measure)m), ATTN_VALUE_REAL);
    } else if (w->has_next) {
        if (form->has_positions)
            add_name(w, "position", ATTN_VALUE_INTEGER);
        add_name(w, "next", ATTN_VALUE_TEXT);
        w->columns[w->n_column - 1].notation = ATTN_NOTATION_LABEL;
        add_name(w, "log_prob", ATTN_VALUE_REAL);
    } else {
        add_name(w, "word", ATTN_VALUE_INTEGER);
        add_name(w, "text", ATTN_VALUE_TEXT);
        add_name(w, "bits", ATTN_VALUE_REAL);
        add_name(w, "nats", ATTN_VALUE_REAL);
    }
    return attn_record_writer_is_empty(writer)
               ? attn_record_header_append(writer, w->columns, w->n_column, false, err)
               : ATTN_OK;
}

/* Appends a line: KEY, then CELLS of the columns from FIRST on. */
static void append_row(struct table_writer *w, const struct attn_buffer *key, size_t first,
                       const struct attn_cell *cells)
{
    attn_buffer_append(&w->base.text, key->data, key->size);
    append_cells(w->base.form, w->columns + first, cells, w->n_column - first, &w->base.text);
    attn_buffer_append_char(&w->base.text, '\n');
}

/* Returns a cell with the float32 VALUE; missing if it is NaN or infinite. */
static struct attn_cell number_cell(double value)
{
    return isfinite(value) ? attn_cell_real((double)(float)value) : attn_cell_missing();
}

/* Appends the row of head I with its measures, or the rows of its edges. */
static void append_head(struct table_writer *w, const struct attn_item_result *result, size_t i,
                        struct attn_buffer *key)
{
    const struct attn_records_form *form = w->base.form;
    const struct attn_selection *selection = result->labels->selection;
    const struct attn_location at =
        attn_head_at(attn_selection_dims(selection), ATTN_SITE_PATTERN, i);
    const size_t n_matrix = form->n_layer * form->n_stack * form->n_head, size = key->size;
    const struct attn_cell place[] = {attn_cell_string(attn_model_stack_name(at.stack)),
                                      attn_cell_integer(at.layer), attn_cell_integer(at.head)};
    const size_t n_place = form->n_stack > 1 ? 3 : 2;
    struct attn_cell cells[MOST_COLUMNS];
    size_t n;

    append_cells(form, w->columns, place + 3 - n_place, n_place, key);
    for (size_t query = 0; w->is_of_edges && query < result->n_token; query++) {
        const struct attn_edge *edges = attn_edges_find(result->edges, &at, query, &n);

        cells[0] = attn_cell_integer((int64_t)query);
        for (size_t k = 0; k < n; k++) {
            cells[1] = attn_cell_integer(edges[k].key);
            cells[2] = attn_cell_real((double)edges[k].weight);
            append_row(w, key, n_place, cells);
        }
    }
    if (!w->is_of_edges && attn_selection_has_head(selection, &at)) {
        cells[0] = attn_cell_integer((int64_t)result->n_token);
        for (n = 0; n_place + 1 + n < w->n_column; n++)
            cells[n + 1] = number_cell((double)result->measures[n * n_matrix + i]);
        append_row(w, key, n_place, cells);
    }
    key->size = size;
}

static void append_continuations(struct table_writer *w, const struct attn_predictions *found,
                                 const struct attn_buffer *key)
{
    for (size_t i = 0; i < found->n_next; i++) {
        const struct attn_cell cells[] = {attn_cell_integer((int64_t)found->next[i].position),
                                          attn_cell_string(found->next[i].text),
                                          number_cell(found->next[i].log_probability)};

        append_row(w, key, 0, cells + 3 - w->n_column);
    }
}

/* Appends a line for each word with the sum over its tokens. The first word has no sum, because its
 * first token has no score. */
static enum attn_status append_words(struct table_writer *w, const struct attn_item_result *result,
                                     const struct attn_buffer *key, struct attn_error *err)
{
    const struct attn_labels *labels = result->labels;
    struct attn_buffer word = {0};
    bool *begins; /* true for each token that begins a word */
    int64_t n_word = 0;

    if (!labels->tokens || !labels->ids)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(begins, result->n_token, err));
    attn_words_mark(w->base.form->tokenizer, labels->ids, result->n_token, begins);
    for (size_t i = 0; i < result->n_token; n_word++) {
        double nats = 0;

        attn_buffer_reset(&word);
        do {
            attn_buffer_append(&word, labels->tokens[i], labels->token_sizes[i]);
            nats += result->surprisal[i];
        } while (++i < result->n_token && !begins[i]);
        append_row(w, key, 0,
                   (const struct attn_cell[]){attn_cell_integer(n_word),
                                              attn_cell_text(word.data ? word.data : "", word.size),
                                              number_cell(nats / M_LN2), number_cell(nats)});
    }
    w->base.text.has_failed |= word.has_failed;
    attn_buffer_release(&word);
    attn_free(begins);
    return ATTN_OK;
}

static enum attn_status write_table(struct attn_record_writer *writer,
                                    const struct attn_item_result *result, struct attn_error *err)
{
    struct table_writer *w = (struct table_writer *)writer;
    const struct attn_records_form *form = writer->form;
    const bool has_heads =
        w->is_of_edges ? result->edges != NULL : w->is_of_heads && result->measures;
    struct attn_buffer key = {0};
    enum attn_status status;

    if (result->failure)
        return ATTN_OK;
    attn_record_key_append(writer, &key, result);
    for (size_t i = 0; has_heads && i < form->n_layer * form->n_stack * form->n_head; i++)
        append_head(w, result, i, &key);
    status = attn_buffer_check(&key, err);
    if (status == ATTN_OK && w->has_next)
        append_continuations(w, &result->predictions, &key);
    else if (status == ATTN_OK && w->has_words && result->surprisal)
        status = append_words(w, result, &key, err);
    attn_buffer_release(&key);
    return status;
}

#define TABLE_FORMAT(id)                                                                           \
    const struct attn_item_sink attn_item_sink_##id = {                                            \
        .name = #id,                                                                               \
        .size = sizeof(struct table_writer),                                                       \
        .is_text = true,                                                                           \
        .begin = begin_table,                                                                      \
        .add = write_table,                                                                        \
    }
TABLE_FORMAT(csv);
TABLE_FORMAT(edges);

/* --- Calls of the owner ----------------------------------------------------------------------- */

void attn_record_rows_save(const struct attn_record_rows *rows, struct attn_buffer *out)
{
    if (rows->form->n_column == 0)
        return;
    for (size_t c = 0; c < rows->n; c++)
        attn_buffer_append_format(out, "%s%zu", c > 0 ? "," : "", rows->places[c]);
    attn_buffer_append_format(out, ";%zu;", rows->n_row);
}

enum attn_status attn_record_rows_load(struct attn_record_rows *rows, const char *text,
                                       bool *is_good, struct attn_error *err)
{
    uint64_t number = 0;

    *is_good = true;
    if (rows->form->n_column == 0)
        return ATTN_OK;
    ATTN_TRY(make_columns(rows, rows->form->n_column, err));
    while (*is_good && *text != ';') {
        const size_t n = strcspn(text, ",;");

        *is_good = attn_parse_uint(text, n, &number) && number < rows->form->n_column &&
                   (rows->n == 0 || number > rows->places[rows->n - 1]);
        if (*is_good)
            add_column(rows, (size_t)number);
        text += n + (text[n] == ',');
    }
    text += *is_good;
    *is_good = *is_good && attn_parse_uint(text, strcspn(text, ";"), &number);
    rows->n_row = (size_t)number;
    rows->has_columns = rows->n > 0 && !rows->form->are_kept; /* kept items set them again */
    return ATTN_OK;
}

void attn_record_rows_release(struct attn_record_rows *rows)
{
    attn_buffer_release(&rows->waiting);
    attn_free(rows->columns);
    attn_free(rows->places);
}
