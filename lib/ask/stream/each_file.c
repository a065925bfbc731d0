#include "stream/each_file.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "base/text/path.h"
#include "base/version.h"
#include "formats/json_reader.h"
#include "run/host_internal.h"
#include "run/run_internal.h"
#include "stream/batch_lines.h"
#include "stream/csv_reader.h"
#include "stream/items.h"
#include "stream/items_internal.h"
#include "stream/records_internal.h"
#include "stream/seal.h"
#include "tables/table_internal.h"
#include "tensors/format_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Rows of an earlier run ------------------------------------------------------------------- */

/*
 * Reads the rows of items that an earlier run wrote, one item after the other. The file may have
 * any content. Lines with the same id, one after the other, are the rows of an item. A line without
 * its end is left out: it was cut.
 *
 *     earlier_open("rows.csv.part", records, &earlier, &err);
 *     while (earlier_next(earlier, items, &result, &is_over, &err) == ATTN_OK && !is_over) {
 *         ... result ...
 *         earlier_release(earlier);
 *     }
 *     end = earlier_end(earlier);  // where the rows of the next item begin
 *     earlier_free(earlier);
 */

struct attn_earlier {
    struct attn_records *records;         /* borrowed */
    const struct attn_records_form *form; /* borrowed, like the next two */
    const struct attn_record_rows *rows;  /* the columns */
    const char *path;
    struct attn_batch_lines *lines; /* owns */
    struct attn_batch_line line;    /* owns; the next line, if has_line */
    bool has_line;
    struct attn_csv_reader csv; /* owns */
    struct attn_buffer header;  /* owns; the header of CSV, with its end */
    struct attn_buffer next_id; /* owns; id of the next line */

    /* The rows at hand, if has_rows: */
    struct attn_buffer id;    /* owns */
    struct attn_table *table; /* owns; NULL: only their number is wanted */
    struct attn_cell *cells;  /* owns; one row */
    struct attn_buffer texts; /* owns; the texts of this row */
    size_t n_row;
    uint64_t begin; /* their offset */
    bool has_rows, has_failed;

    struct attn_item *item;               /* owns; of the last result */
    struct attn_buffer item_id, id_after; /* own; its id, and that of the next item */
    uint64_t n_line;                      /* lines that were read */
    size_t n_row_of_first;                /* rows of the first item that did not fail */
    bool has_begun;                       /* the header was checked */
};

static bool is_csv(const struct attn_earlier *earlier)
{
    return earlier->form->columns && earlier->form->row_form == ATTN_RECORD_ROWS_CSV;
}

static bool are_texts(const struct attn_earlier *earlier)
{
    return earlier->form->columns && earlier->form->row_form == ATTN_RECORD_ROWS_TEXTS;
}

/* Sets the error that the file is not of this run. */
static enum attn_status refuse_line(const struct attn_earlier *earlier, const char *what,
                                    const char *expected, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "line %llu of '%s' %s, expected %s",
                   (unsigned long long)earlier->n_line, attn_quote_string(earlier->path).text, what,
                   expected);
    return attn_error_hint(err, "the file is of other items or options: remove it to begin anew");
}

static bool is_same(const struct attn_buffer *a, const struct attn_buffer *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

/* --- Cells ------------------------------------------------------------------------------------ */

/* Appends TEXT without the escapes of tables (base/text/fixed_text.h). */
static void append_unescaped(struct attn_buffer *out, const char *text, size_t size)
{
    static const char letters[] = "ntr\\", plain[] = "\n\t\r\\";

    for (size_t at = 0; at < size; at++) {
        const char *found = text[at] == '\\' && at + 1 < size && text[at + 1] != '\0'
                                ? strchr(letters, text[at + 1])
                                : NULL;
        unsigned byte;

        if (found) {
            attn_buffer_append_char(out, plain[found - letters]);
            at++;
        } else if (text[at] == '\\' && at + 3 < size && sscanf(text + at + 1, "x%2x", &byte) == 1) {
            attn_buffer_append_char(out, (char)byte);
            at += 3;
        } else {
            attn_buffer_append_char(out, text[at]);
        }
    }
}

/* Reads the number TEXT as a cell of COLUMN. Returns false if it is none. */
static bool read_number(const struct attn_column *column, const char *text, size_t size,
                        struct attn_cell *cell)
{
    static const char *const names[] = {"nan", "inf", "-inf", "1e999", "-1e999"};
    const double values[] = {(double)NAN, HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL};
    const bool is_true = size == 4 && memcmp(text, "true", size) == 0;
    int64_t integer = is_true;

    if (column->type == ATTN_VALUE_REAL) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i]) == size && memcmp(text, names[i], size) == 0) {
                *cell = attn_cell_real(values[i]);
                return true;
            }
        *cell = attn_cell_real(0);
        return attn_parse_double(text, size, &cell->real);
    }
    if (!is_true && !(size == 5 && memcmp(text, "false", size) == 0) &&
        !attn_parse_int(text, size, INT64_MIN, INT64_MAX, &integer))
        return false;
    *cell = column->type == ATTN_VALUE_BOOLEAN ? attn_cell_boolean(integer != 0)
                                               : attn_cell_integer(integer);
    return true;
}

/* Reads the field TEXT of CSV as a cell of COLUMN. The texts have room for it. */
static bool read_field(struct attn_earlier *earlier, const struct attn_column *column,
                       const char *text, size_t size, struct attn_cell *cell)
{
    const size_t begin = earlier->texts.size;

    if (size == 0 || attn_value_is_list(column->type)) /* no mean is of a list */
        return true;
    if (column->type != ATTN_VALUE_TEXT)
        return read_number(column, text, size, cell);
    append_unescaped(&earlier->texts, text, size);
    *cell = attn_cell_text(earlier->texts.data + begin, earlier->texts.size - begin);
    return true;
}

/* Reads TOKEN of JSON as a cell of COLUMN. */
static bool read_token(struct attn_earlier *earlier, const struct attn_column *column,
                       const struct attn_json_token *token, struct attn_cell *cell)
{
    const size_t begin = earlier->texts.size;

    if (attn_value_is_list(column->type))
        return true;
    if (token->type == ATTN_JSON_NULL && column->type == ATTN_VALUE_REAL) {
        *cell = attn_cell_real((double)NAN);
        return true;
    }
    if (token->type != ATTN_JSON_STRING)
        return read_number(column, token->text, token->size, cell);
    if (column->type != ATTN_VALUE_TEXT)
        return false;
    attn_json_unescape(token, &earlier->texts);
    *cell = attn_cell_text(earlier->texts.data + begin, earlier->texts.size - begin);
    return true;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static const char *line_of(const struct attn_earlier *earlier, size_t *size)
{
    *size = earlier->line.text.size;
    return *size > 0 ? earlier->line.text.data : "";
}

/* Reads the id of a line of JSON, its first member. */
static bool read_json_id(struct attn_earlier *earlier, struct attn_json_reader *json)
{
    struct attn_json_token token;

    if (attn_json_next(json, &token, NULL) != ATTN_OK || token.type != ATTN_JSON_OBJECT_BEGIN ||
        attn_json_next(json, &token, NULL) != ATTN_OK || !attn_json_equals(&token, "id") ||
        attn_json_next(json, &token, NULL) != ATTN_OK)
        return false;
    if (token.type == ATTN_JSON_STRING)
        attn_json_unescape(&token, &earlier->next_id);
    else
        attn_buffer_append(&earlier->next_id, token.text, token.size);
    return token.type == ATTN_JSON_STRING || token.type == ATTN_JSON_NUMBER;
}

/* Reads the next line, if it has its end, and its id. */
static enum attn_status read_line(struct attn_earlier *earlier, struct attn_error *err)
{
    struct attn_json_reader json;
    struct attn_error why = {0};
    bool is_over, is_good = true;
    const char *text;
    size_t size;

    earlier->has_line = false;
    ATTN_TRY(attn_batch_lines_next(earlier->lines, &earlier->line, &is_over, err));
    if (is_over || earlier->line.end - earlier->line.begin == earlier->line.size)
        return ATTN_OK;
    earlier->n_line++;
    text = line_of(earlier, &size);
    attn_buffer_reset(&earlier->next_id);
    if (are_texts(earlier)) {
        attn_buffer_append_format(&earlier->next_id, "%llu", (unsigned long long)earlier->n_line);
    } else if (is_csv(earlier)) {
        is_good = attn_csv_reader_read(&earlier->csv, text, size, &why) == ATTN_OK;
        if (why.status == ATTN_NO_MEMORY)
            return attn_error_copy(err, &why);
        if (is_good)
            attn_buffer_append(&earlier->next_id, earlier->csv.columns[0].text,
                               earlier->csv.columns[0].size);
    } else {
        json = attn_json_reader_init(text, size, "line");
        is_good = read_json_id(earlier, &json);
    }
    if (!is_good)
        return refuse_line(earlier, "is no row of an item", "an id and the columns of the rows",
                           err);
    earlier->has_line = true;
    return attn_buffer_check(&earlier->next_id, err);
}

/* Reads the cells of the line from CSV, after the labels. */
static bool read_csv_row(struct attn_earlier *earlier)
{
    const struct attn_csv_reader *csv = &earlier->csv;
    const struct attn_record_rows *rows = earlier->rows;
    const size_t first = csv->n_column - rows->n - 1;
    bool is_good = true;

    earlier->has_failed = csv->columns[csv->n_column - 1].size > 0;
    for (size_t c = 0; is_good && c < rows->n && earlier->table; c++)
        is_good =
            read_field(earlier, &rows->form->columns[rows->places[c]], csv->columns[first + c].text,
                       csv->columns[first + c].size, &earlier->cells[c]);
    return is_good;
}

/* Reads the member KEY of a line of JSON as the cell of its column. A label has the name of a later
 * column perhaps, but comes before the columns; then that is called attn.NAME. */
static bool read_member(struct attn_earlier *earlier, struct attn_json_token key,
                        const struct attn_json_token *value)
{
    const struct attn_record_rows *rows = earlier->rows;
    const size_t n = strlen(ATTN_COLUMN_PREFIX);
    const size_t skipped = key.size > n && memcmp(key.text, ATTN_COLUMN_PREFIX, n) == 0 ? n : 0;
    size_t c = 0;

    key.text += skipped;
    key.size -= skipped;
    while (c < rows->n && !attn_json_equals(&key, rows->columns[c].name))
        c++;
    if (c == rows->n || !earlier->table)
        return true;
    for (size_t k = c; k < rows->n; k++)
        earlier->cells[k] = attn_cell_missing();
    return read_token(earlier, &rows->form->columns[rows->places[c]], value, &earlier->cells[c]) ||
           rows->columns[c].since > 0;
}

/* Reads the cells of the line of JSON. */
static bool read_json_row(struct attn_earlier *earlier)
{
    struct attn_json_token key, value;
    struct attn_json_reader json;
    bool is_good = true;
    const char *text;
    size_t size;

    text = line_of(earlier, &size);
    json = attn_json_reader_init(text, size, "line");
    earlier->has_failed = false;
    if (attn_json_next(&json, &key, NULL) != ATTN_OK)
        return false;
    while (is_good && attn_json_next(&json, &key, NULL) == ATTN_OK && key.type == ATTN_JSON_KEY) {
        earlier->has_failed |= attn_json_equals(&key, "error");
        if (attn_json_next(&json, &value, NULL) != ATTN_OK)
            return false;
        is_good = read_member(earlier, key, &value);
        while (is_good && json.depth > 1)
            is_good = attn_json_next(&json, &value, NULL) == ATTN_OK;
    }
    return is_good && key.type == ATTN_JSON_OBJECT_END;
}

/* Appends the line to the rows at hand. */
static enum attn_status append_row(struct attn_earlier *earlier, struct attn_error *err)
{
    for (size_t c = 0; c < earlier->rows->n && earlier->table; c++)
        earlier->cells[c] = attn_cell_missing();
    attn_buffer_reset(&earlier->texts);
    if (!attn_buffer_reserve(&earlier->texts, earlier->line.text.size + 1))
        return attn_error_no_memory(err);
    if (are_texts(earlier))
        return ATTN_OK;
    if (is_csv(earlier) ? !read_csv_row(earlier) : !read_json_row(earlier))
        return refuse_line(earlier, "has another value than rows have", "rows as they were written",
                           err);
    if (!earlier->table || earlier->has_failed)
        return ATTN_OK;
    return attn_table_append(earlier->table, earlier->cells, earlier->rows->n, err);
}

/* Reads the rows of the next item, up to a line of another one. */
static enum attn_status gather(struct attn_earlier *earlier, struct attn_error *err)
{
    const struct attn_buffer id = earlier->id;

    earlier->id = earlier->next_id;
    earlier->next_id = id; /* read_line reuses its memory */
    earlier->begin = earlier->line.begin;
    earlier->n_row = 0;
    if (earlier->table)
        attn_table_reset(earlier->table);
    do {
        ATTN_TRY(append_row(earlier, err));
        earlier->n_row++;
        ATTN_TRY(read_line(earlier, err));
    } while (earlier->has_line && is_same(&earlier->id, &earlier->next_id));
    return ATTN_OK;
}

/* --- Items ------------------------------------------------------------------------------------ */

static void append_id(const struct attn_item *item, struct attn_buffer *out)
{
    attn_buffer_reset(out);
    if (item->id)
        attn_buffer_append(out, item->id, item->n_id);
    else
        attn_buffer_append_format(out, "%zu", item->number);
}

/* Reads the next item, whose id must not be that of the item after it. */
static enum attn_status read_item(struct attn_earlier *earlier, struct attn_items *items,
                                  struct attn_error *err)
{
    struct attn_item *next;

    ATTN_TRY(attn_items_next(items, &earlier->item, err));
    if (!earlier->item)
        return refuse_line(earlier, "is of one item more than the input has", "the same items",
                           err);
    append_id(earlier->item, &earlier->item_id);
    ATTN_TRY(attn_buffer_check(&earlier->item_id, err));
    ATTN_TRY(attn_items_peek(items, 0, &next, err));
    if (!next || are_texts(earlier))
        return ATTN_OK;
    append_id(next, &earlier->id_after);
    ATTN_TRY(attn_buffer_check(&earlier->id_after, err));
    if (!is_same(&earlier->item_id, &earlier->id_after))
        return ATTN_OK;
    attn_error_set(
        err, ATTN_INVALID,
        "two items, one after the other, have the id '%s', and the rows of one cannot be "
        "told from those of the other",
        attn_quote(earlier->item_id.data, earlier->item_id.size).text);
    return attn_error_hint(err, "give each its own id, or none");
}

/* Returns true if ITEM could be read, so that the labels of all items are known. */
static bool is_read(const struct attn_item *item)
{
    return item->failure != ATTN_REASON_BAD_JSON && item->failure != ATTN_REASON_BAD_CSV &&
           item->failure != ATTN_REASON_LINE_TOO_LONG;
}

/* Checks the header, which has the labels of the first item that can be read. */
static enum attn_status check_header(struct attn_earlier *earlier, struct attn_items *items,
                                     struct attn_error *err)
{
    struct attn_item *next = earlier->item;
    struct attn_buffer header = {0};
    enum attn_status status;
    bool is_right;

    for (size_t i = 0; next && !is_read(next); i++)
        ATTN_TRY(attn_items_peek(items, i, &next, err));
    status = attn_records_continue(earlier->records, &header, err);
    is_right = is_same(&header, &earlier->header);
    attn_buffer_release(&header);
    ATTN_TRY(status);
    earlier->has_begun = true;
    if (is_right)
        return ATTN_OK;
    earlier->n_line = 1;
    return refuse_line(earlier, "has other columns", "those of this run", err);
}

/* Checks that the rows at hand are those of the item, or that it has none. */
static enum attn_status check_rows(struct attn_earlier *earlier, bool is_of_item,
                                   struct attn_error *err)
{
    char what[ATTN_QUOTE_SIZE + 32], expected[ATTN_QUOTE_SIZE + 16];
    const struct attn_records_form *form = earlier->form;

    if (!is_of_item && form->is_ragged)
        return ATTN_OK;
    if (!is_of_item) {
        snprintf(what, sizeof what, "is of the item '%s' or follows it",
                 attn_quote(earlier->id.data, earlier->id.size).text);
        snprintf(expected, sizeof expected, "the item '%s'",
                 attn_quote(earlier->item_id.data, earlier->item_id.size).text);
        return refuse_line(earlier, what, expected, err);
    }
    if (earlier->has_failed || form->is_ragged || !form->columns)
        return ATTN_OK;
    if (earlier->n_row_of_first == 0)
        earlier->n_row_of_first = earlier->n_row;
    return earlier->n_row == earlier->n_row_of_first
               ? ATTN_OK
               : refuse_line(earlier, "follows another number of rows than the first item has",
                             "rows as they were written", err);
}

/* Reads the next item of ITEMS, and its rows, into RESULT: with a table if the form of the records
 * says so, or with its failure. Sets *IS_OVER before the last item of the file, which may have only
 * some of its rows; then nothing was read of ITEMS. ATTN_INVALID if the rows are not those of the
 * item, or if two neighbours have one id. */
static enum attn_status earlier_next(struct attn_earlier *earlier, struct attn_items *items,
                                     struct attn_item_result *result, bool *is_over,
                                     struct attn_error *err)
{
    bool is_of_item;

    if (!earlier->has_rows && earlier->has_line) {
        ATTN_TRY(gather(earlier, err));
        earlier->has_rows = earlier->has_line; /* the last item is computed again */
    }
    *is_over = !earlier->has_rows;
    if (*is_over)
        return ATTN_OK;
    ATTN_TRY(read_item(earlier, items, err));
    if (!earlier->has_begun)
        ATTN_TRY(check_header(earlier, items, err));
    is_of_item = are_texts(earlier) || is_same(&earlier->id, &earlier->item_id);
    ATTN_TRY(check_rows(earlier, is_of_item, err));
    *result = (struct attn_item_result){.item = earlier->item};
    if (!is_of_item)
        return ATTN_OK;
    earlier->has_rows = false;
    if (earlier->has_failed)
        result->failure = earlier->item->failure != ATTN_REASON_NONE ? earlier->item->failure
                                                                     : ATTN_REASON_NO_FIT;
    else
        result->answer.rows = earlier->table;
    return ATTN_OK;
}

/* Frees what the last result refers to. */
static void earlier_release(struct attn_earlier *earlier)
{
    attn_item_free(earlier->item);
    earlier->item = NULL;
}

/* Returns the offset of the rows of the items that were not returned. */
static uint64_t earlier_end(const struct attn_earlier *earlier)
{
    return earlier->has_begun ? earlier->begin : 0;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* Reads the header of CSV, if it has its end. */
static enum attn_status read_header(struct attn_earlier *earlier, struct attn_error *err)
{
    struct attn_error why = {0};
    const char *text;
    bool is_over;
    size_t size;

    ATTN_TRY(attn_batch_lines_next(earlier->lines, &earlier->line, &is_over, err));
    if (is_over || earlier->line.end - earlier->line.begin == earlier->line.size)
        return ATTN_OK;
    earlier->n_line++;
    text = line_of(earlier, &size);
    attn_buffer_append(&earlier->header, text, size);
    attn_buffer_append_char(&earlier->header, '\n');
    ATTN_TRY(attn_buffer_check(&earlier->header, err));
    if (attn_csv_reader_begin(&earlier->csv, text, size, &why) == ATTN_NO_MEMORY)
        return attn_error_copy(err, &why);
    if (why.status != ATTN_OK || earlier->csv.n_column < earlier->rows->n + 2)
        return refuse_line(earlier, "is no header of rows", "an id, labels, columns and 'error'",
                           err);
    return read_line(earlier, err);
}

static enum attn_status open_rows(struct attn_earlier *earlier, const char *path,
                                  struct attn_error *err)
{
    struct attn_batch_lines_options options = {.path = path, .max_line = SIZE_MAX};
    const struct attn_record_rows *rows;
    struct attn_column *columns;
    enum attn_status status;

    ATTN_TRY(attn_records_show(earlier->records, &rows, err));
    earlier->rows = rows;
    earlier->form = rows->form;
    earlier->csv.separator = ',';
    options.separator = is_csv(earlier) ? ',' : '\0';
    ATTN_TRY(attn_batch_lines_open(&options, &earlier->lines, err));
    if (earlier->form->needs_rows) {
        ATTN_TRY(ATTN_ALLOC(earlier->cells, rows->n, err));
        ATTN_TRY(ATTN_ALLOC(columns, rows->n, err));
        for (size_t c = 0; c < rows->n; c++)
            columns[c] = rows->form->columns[rows->places[c]];
        status = attn_table_create("rows", columns, rows->n, &earlier->table, err);
        attn_free(columns);
        ATTN_TRY(status);
    }
    return is_csv(earlier) ? read_header(earlier, err) : read_line(earlier, err);
}

static void earlier_free(struct attn_earlier *earlier)
{
    if (!earlier)
        return;
    earlier_release(earlier);
    attn_batch_lines_free(earlier->lines);
    attn_batch_line_release(&earlier->line);
    attn_csv_reader_release(&earlier->csv);
    attn_buffer_release(&earlier->header);
    attn_buffer_release(&earlier->next_id);
    attn_buffer_release(&earlier->id);
    attn_buffer_release(&earlier->texts);
    attn_buffer_release(&earlier->item_id);
    attn_buffer_release(&earlier->id_after);
    attn_table_free(earlier->table);
    attn_free(earlier->cells);
    attn_free(earlier);
}

/* Opens PATH, which has the rows of RECORDS, borrowed. */
static enum attn_status earlier_open(const char *path, struct attn_records *records,
                                     struct attn_earlier **earlier, struct attn_error *err)
{
    struct attn_earlier *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->records = records;
    made->path = path;
    ATTN_RETURN_MADE(open_rows(made, path, err), earlier, made, earlier_free);
}

/* --- Names ------------------------------------------------------------------------------------ */

/* Returns true if PATH is a pipe or a device. */
static bool is_stream(const char *path)
{
    const enum attn_os_kind kind = attn_os_kind(path);

    return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           kind > ATTN_OS_FOLDER;
}

void attn_each_path_append(struct attn_buffer *out, const char *path, size_t shard, size_t n_shard)
{
    size_t n;
    const char *last = attn_path_last(path, &n), *end = last + n, *dot = end;

    for (const char *at = end; at > last + 1 && dot == end;)
        if (*--at == '.')
            dot = at;
    if (n_shard == 0 || is_stream(path)) /* drops the / at the end of a folder */
        attn_buffer_append(out, path, (size_t)(end - path));
    else
        attn_buffer_append_format(out, "%.*s-%05zu-of-%05zu%.*s", (int)(dot - path), path, shard,
                                  n_shard, (int)(end - dot), dot);
}

/* Makes the error about PATH, WHAT, one of the option of the file. */
static enum attn_status refuse(const struct attn_each_file *file, const char *path,
                               const char *what, struct attn_error *err)
{
    attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' %s", attn_quote_string(path).text, what);
    return attn_error_of(ATTN_INVALID, file->field, err);
}

enum attn_status attn_each_file_name(struct attn_each_file *file, const struct attn_items *items,
                                     struct attn_error *err)
{
    const char *path = file->options->path;
    size_t shard, n_shard;

    attn_items_shard(items, &shard, &n_shard);
    if (path) {
        attn_each_path_append(&file->path, path, shard, n_shard);
        if (!attn_buffer_string(&file->path))
            return attn_error_no_memory(err);
        file->is_file = !is_stream(file->path.data);
        if (attn_items_are_of_path(items, file->path.data))
            return refuse(file, file->path.data,
                          "is the input, expected another file for the output", err);
    }
    if (file->options->is_resumed && !file->is_file)
        return refuse(file, path ? path : "the sink",
                      "is a pipe or a device, and `is_resumed` goes on with a file", err);
    if (file->options->is_resumed && !file->has_rows_alone) {
        refuse(file, path, "is an archive or one document, and `is_resumed` goes on with lines",
               err);
        return attn_error_hint(err, "shards divide a long run");
    }
    return ATTN_OK;
}

/* --- The key ---------------------------------------------------------------------------------- */

enum { KEY_SIZE = 255 }; /* bytes of the line */

/* Opens or creates FILE.part.key. Its rows depend on the options, the files that these name, those
 * of the model of HOST, and the version. */
static enum attn_status open_key(struct attn_each_file *file, const struct attn_host *host,
                                 struct attn_error *err)
{
    const char *path, *option = file->options->key ? file->options->key : "";
    struct attn_records_part part = {0};
    enum attn_status status;
    bool is_made;

    if (!file->is_file || !file->has_rows_alone || !attn_records_part(file->records, 0, &part))
        return ATTN_OK;
    file->own.options = attn_hash_bytes(0, ATTN_VERSION, strlen(ATTN_VERSION));
    for (size_t n; *option; option += n + (option[n] == '\n')) {
        n = strcspn(option, "\n");
        file->own.options += attn_hash_bytes(0, option, n) + attn_seal_named(option, n);
    }
    file->own.options += attn_seal_model(host);
    attn_buffer_append_format(&file->key_path, "%s.key", part.path);
    path = attn_buffer_string(&file->key_path);
    if (!path)
        return attn_error_no_memory(err);
    status =
        attn_part_open_file(path, 0666, file->options->is_resumed, &file->key_file, &is_made, err);
    if (status != ATTN_OK) /* the file that is there stays */
        attn_buffer_release(&file->key_path);
    return status;
}

/* Reads the line. Returns false if it is missing; then none is written. */
static bool read_key(struct attn_each_file *file)
{
    struct attn_each_key *key = &file->key;
    char line[KEY_SIZE + 1] = "";

    if (file->key_path.data && attn_os_read_at(file->key_file, line, KEY_SIZE, 0) == KEY_SIZE &&
        sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %191[^\n]", &key->options, &key->n_read,
               &key->items, file->state) >= 3)
        return true;
    key->n_read = UINT64_MAX;
    return false;
}

static void close_key(struct attn_each_file *file, bool is_removed)
{
    if (file->key_path.data && file->key_file >= 0)
        attn_os_close(file->key_file);
    if (file->key_path.data && is_removed)
        attn_os_remove(file->key_path.data);
    attn_buffer_release(&file->key_path);
}

static void set_key(struct attn_each_file *file, const struct attn_item *item)
{
    file->own.n_read = item ? (uint64_t)item->number + 1 : UINT64_MAX;
    file->own.items = item ? item->seal : 0;
}

/* Writes that the rows of ITEM may follow, unless the earlier run did. */
static enum attn_status write_key(struct attn_each_file *file, const struct attn_item *item,
                                  struct attn_error *err)
{
    char line[KEY_SIZE + 1];

    set_key(file, item);
    snprintf(line, sizeof line, "%016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %-203s\n",
             file->own.options, file->own.n_read, file->own.items, file->state);
    return !file->key_path.data || file->own.n_read <= file->key.n_read ||
                   attn_os_write_at(file->key_file, line, KEY_SIZE, 0) == KEY_SIZE
               ? ATTN_OK
               : attn_error_errno(err, "write", file->key_path.data, errno);
}

/* Returns an error if the key is of other options, another version, or of other ITEMS. */
static enum attn_status check_key(struct attn_each_file *file, struct attn_items *items,
                                  struct attn_error *err)
{
    const bool has_options = file->key.options == file->own.options;
    const char *what = has_options ? "items" : "options, files or version";
    struct attn_item *next;

    for (size_t i = 0; has_options && file->own.n_read < file->key.n_read; i++) {
        ATTN_TRY(attn_items_peek(items, i, &next, err));
        set_key(file, next);
    }
    if (has_options && file->own.n_read == file->key.n_read && file->own.items == file->key.items)
        return ATTN_OK;
    file->is_other = true;
    if (err)
        *err = (struct attn_error){0};
    attn_refuse(err, ATTN_STAGE_INPUT, "'%s' has rows of other %s, expected those of this run",
                attn_quote_string(file->path.data).text, what);
    return attn_error_hint(
        err, "remove '%s.part' and '%s.part.key' to begin anew, or give the former %s to go on",
        file->path.data, file->path.data, what);
}

/* --- Opening, and resuming -------------------------------------------------------------------- */

enum attn_status attn_each_file_open(struct attn_each_file *file, const char *format,
                                     const struct attn_records_form *form, struct attn_host *host,
                                     struct attn_error *err)
{
    const struct attn_format named = {.name = file->field};
    const struct attn_output output = {.format = &named, .path = file->path.data};
    const struct attn_records_item item = {format, file->path.data, file->options->sink};

    if (output.path)
        ATTN_TRY(attn_host_check_outputs(host, &output, 1, err));
    ATTN_TRY(attn_records_open(&item, form, file->options->is_resumed, &file->records, err));
    return attn_error_at(open_key(file, host, err), ATTN_STAGE_OUTPUT, err);
}

/* Who gets the items of an earlier run. */
struct taker {
    struct attn_items *items;
    attn_earlier_fn take;
    void *user;
    struct attn_each_result *result;
};

/* Passes on the items whose rows are whole. */
static enum attn_status take_earlier(struct attn_each_file *file, struct attn_earlier *earlier,
                                     const struct taker *taker, struct attn_error *err)
{
    struct attn_item_result found;
    bool is_over;

    for (;;) {
        enum attn_status status = earlier_next(earlier, taker->items, &found, &is_over, err);

        if (status == ATTN_OK && !is_over)
            status = taker->take(taker->user, &found, err);
        if (status == ATTN_OK && !is_over) {
            set_key(file, found.item);
            taker->result->n_failed += found.failure != ATTN_REASON_NONE;
            file->n_item++;
        }
        earlier_release(earlier);
        if (status != ATTN_OK || is_over)
            return status;
    }
}

/* Continues the file at PATH: with a line of the key, or complete, after its rows; else all rows
 * are computed again and compared. */
static enum attn_status go_on(struct attn_each_file *file, const char *path,
                              const struct taker *taker, struct attn_error *err)
{
    struct attn_earlier *earlier;
    enum attn_status status;
    const bool has_key = read_key(file);

    if (!has_key && !file->is_complete)
        return attn_records_expect(file->records, path, 0, false, err);
    ATTN_TRY(earlier_open(path, file->records, &earlier, err));
    status = take_earlier(file, earlier, taker, err);
    if (has_key && (status == ATTN_OK || status == ATTN_INVALID)) {
        const enum attn_status checked = check_key(file, taker->items, err);

        status = checked == ATTN_OK ? status : checked;
    }
    ATTN_THEN(status, attn_records_expect(file->records, path, earlier_end(earlier),
                                          file->is_complete, err));
    earlier_free(earlier);
    return status;
}

enum attn_status attn_each_file_resume(struct attn_each_file *file, struct attn_items *items,
                                       attn_earlier_fn take, void *user,
                                       struct attn_each_result *result, struct attn_error *err)
{
    char count[ATTN_QUANTITY_SIZE];
    struct attn_records_part part = {0};
    const char *path; /* what an earlier run left: FILE.part, or the complete FILE */

    if (!file->options->is_resumed)
        return ATTN_OK;
    attn_records_part(file->records, 0, &part);
    file->n_before = part.size;
    file->is_complete = part.size == 0 && attn_os_exists(file->path.data);
    path = file->is_complete ? file->path.data : part.size > 0 ? part.path : NULL;
    if (path)
        ATTN_TRY(attn_error_at(go_on(file, path, &(struct taker){items, take, user, result}, err),
                               ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_records_begin(file->records, err));
    result->n_item = result->n_before = file->n_item;
    if (file->is_complete)
        attn_note(file->on_note, file->user, ATTN_NOTE_COMPLETE,
                  "'%s' is complete, and its last rows are those of this run",
                  attn_quote_string(path).text);
    else if (path)
        attn_note(file->on_note, file->user, ATTN_NOTE_CONTINUED, "'%s' continues at item %s",
                  attn_quote_string(file->path.data).text,
                  attn_quantity_count(file->n_item, count));
    return ATTN_OK;
}

/* --- Writing, and the end --------------------------------------------------------------------- */

enum attn_status attn_each_file_write(struct attn_each_file *file,
                                      const struct attn_item_result *result, struct attn_error *err)
{
    ATTN_TRY(write_key(file, result->item, err));
    ATTN_TRY(attn_records_write(file->records, result, err));
    file->n_item++;
    return result->is_followed ? ATTN_OK : attn_records_flush(file->records, err);
}

enum attn_status attn_each_file_finish(struct attn_each_file *file, struct attn_error *err)
{
    ATTN_TRY(attn_records_finish(file->records, err));
    if (!file->is_complete)
        ATTN_TRY(attn_records_commit(file->records, err));
    close_key(file, true);
    if (!file->is_complete)
        return ATTN_OK;
    attn_records_discard(file->records);
    file->records = NULL;
    return ATTN_OK;
}

bool attn_each_file_keep(struct attn_each_file *file, bool is_wrong)
{
    struct attn_records_part part = {0};

    if (!file->records || attn_records_is_abandoned(file->records))
        return false;
    if (!is_wrong)
        attn_records_flush(file->records, NULL);
    else if (file->n_before > 0)
        attn_records_cut(file->records, file->n_before, NULL);
    attn_records_part(file->records, 0, &part);
    if (file->is_file && file->has_rows_alone && (is_wrong ? file->n_before : part.size) > 0)
        return true;
    for (size_t i = 0; attn_records_part(file->records, i, &part); i++)
        attn_os_remove(part.path);
    close_key(file, true);
    return false;
}

void attn_each_file_release(struct attn_each_file *file)
{
    close_key(file, false);
    attn_records_free(file->records);
    attn_buffer_release(&file->path);
}
