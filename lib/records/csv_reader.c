/* csv_reader.c - see csv_reader.h. */
#include "records/csv_reader.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A line, of which the bytes before AT are read. */
struct csv_line {
    const char *text; /* [size] */
    size_t size, at;
    size_t n_field; /* that were read */
    bool is_over;   /* there are no more */
};

/* Without the \r of its end. */
static struct csv_line line_of(const char *text, size_t size)
{
    return (struct csv_line){.text = text, .size = size - (size > 0 && text[size - 1] == '\r')};
}

/* The name of the field that is read, for messages. */
static struct attn_quote name_of(const struct attn_csv_reader *csv, const struct csv_line *line)
{
    char number[32];
    size_t used = 0;

    if (line->n_field < csv->n_column)
        return attn_quote_string(csv->columns[line->n_field].name);
    *number = '\0';
    attn_fixed_text_append(number, sizeof number, &used, "field %zu", line->n_field + 1);
    return attn_quote_string(number);
}

/* Reads what is between quotes, from the byte after the first one on. */
static enum attn_status read_quoted(struct attn_csv_reader *csv, struct csv_line *line,
                                    struct attn_error *err)
{
    for (;;) {
        const char *from = line->text + line->at;
        const char *quote = memchr(from, '"', line->size - line->at);

        if (!quote)
            return attn_error_set(err, ATTN_FORMAT,
                                  "'%s' begins with a quote that is not closed, expected one at "
                                  "the end of the field",
                                  name_of(csv, line).text);
        attn_buffer_append(&csv->field, from, (size_t)(quote - from));
        line->at += (size_t)(quote - from) + 1;
        if (line->at == line->size || line->text[line->at] != '"')
            return ATTN_OK;
        attn_buffer_append_char(&csv->field, '"');
        line->at++;
    }
}

/* Reads the next field into csv->field. */
static enum attn_status read_field(struct attn_csv_reader *csv, struct csv_line *line,
                                   struct attn_error *err)
{
    const bool is_quoted = line->at < line->size && line->text[line->at] == '"';
    const char *from, *end;
    size_t n, valid;

    attn_buffer_reset(&csv->field);
    line->at += is_quoted;
    if (is_quoted)
        ATTN_TRY(read_quoted(csv, line, err));
    from = line->text + line->at;
    end = memchr(from, csv->separator, line->size - line->at);
    n = end ? (size_t)(end - from) : line->size - line->at;
    if (is_quoted && n > 0)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has '%s' after its closing quote, expected its end",
                              name_of(csv, line).text, attn_quote(from, n).text);
    if (!is_quoted && memchr(from, '"', n))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has a quote inside, expected all of it in quotes, and that "
                              "quote twice",
                              name_of(csv, line).text);
    if (!is_quoted)
        attn_buffer_append(&csv->field, from, n);
    ATTN_TRY(attn_buffer_check(&csv->field, err));
    valid = attn_utf8_valid_length(csv->field.data ? csv->field.data : "", csv->field.size);
    if (valid < csv->field.size)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has '%s', expected UTF-8",
                              name_of(csv, line).text, attn_quote(csv->field.data + valid, 1).text);
    line->is_over = !end;
    line->at += n + !line->is_over;
    line->n_field++;
    return ATTN_OK;
}

/* --- The header ------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct attn_csv_column *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Whether all names are different. */
static enum attn_status check_names(const struct attn_csv_reader *csv, struct attn_error *err)
{
    const struct attn_csv_column **sorted = attn_alloc(csv->n_column, sizeof *sorted, err);
    enum attn_status status = sorted ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t i = 0; sorted && i < csv->n_column; i++)
        sorted[i] = &csv->columns[i];
    if (sorted)
        qsort(sorted, csv->n_column, sizeof *sorted, compare_names);
    for (size_t i = 1; status == ATTN_OK && i < csv->n_column; i++)
        if (strcmp(sorted[i - 1]->name, sorted[i]->name) == 0)
            status =
                attn_error_set(err, ATTN_FORMAT, "it has the name '%s' twice, expected each once",
                               attn_quote_string(sorted[i]->name).text);
    attn_free(sorted);
    return status;
}

/* Takes csv->field as the next name. */
static enum attn_status take_name(struct attn_csv_reader *csv, struct attn_error *err)
{
    const struct attn_buffer *field = &csv->field;
    struct attn_csv_column *column;

    if (field->size == 0) {
        attn_error_set(err, ATTN_FORMAT, "field %zu has no name, expected one", csv->n_column + 1);
        attn_error_hint(err, "row names of pandas and R are left out with index=False and "
                             "row.names = FALSE");
        return ATTN_FORMAT;
    }
    if (memchr(field->data, '\0', field->size))
        return attn_error_set(err, ATTN_FORMAT, "it has the name '%s', expected one without NUL",
                              attn_quote(field->data, field->size).text);
    ATTN_TRY(
        attn_grow(&csv->columns, &csv->capacity, csv->n_column + 1, sizeof *csv->columns, err));
    column = &csv->columns[csv->n_column];
    *column = (struct attn_csv_column){.name = attn_strndup(field->data, field->size, err)};
    if (!column->name)
        return ATTN_NO_MEMORY;
    csv->n_column++;
    return ATTN_OK;
}

enum attn_status attn_csv_reader_begin(struct attn_csv_reader *csv, const char *line, size_t size,
                                       struct attn_error *err)
{
    struct csv_line header = line_of(line, size);

    while (!header.is_over) {
        ATTN_TRY(read_field(csv, &header, err));
        ATTN_TRY(take_name(csv, err));
    }
    return check_names(csv, err);
}

/* --- Values ----------------------------------------------------------------------------------- */

static bool is_integer(const char *text, size_t size)
{
    const size_t sign = size > 0 && text[0] == '-';
    size_t n = sign;

    while (n < size && text[n] >= '0' && text[n] <= '9')
        n++;
    return n == size && n > sign && (text[sign] != '0' || n == sign + 1);
}

static bool is_value(const char *text, size_t size)
{
    double value;

    return attn_parse_double(text, size, &value) || (size == 4 && memcmp(text, "true", 4) == 0) ||
           (size == 5 && memcmp(text, "false", 5) == 0);
}

/* Appends the words of TEXT as a list. */
static void append_list(struct attn_buffer *out, const char *text, size_t size)
{
    size_t at = 0;

    attn_buffer_append_char(out, '[');
    for (size_t n = 0;;) {
        size_t end;

        while (at < size && text[at] == ' ')
            at++;
        if (at == size)
            break;
        for (end = at; end < size && text[end] != ' ';)
            end++;
        attn_buffer_append_string(out, n++ > 0 ? "," : "");
        if (is_value(text + at, end - at))
            attn_buffer_append(out, text + at, end - at);
        else
            attn_json_append_string(out, text + at, end - at);
        at = end;
    }
    attn_buffer_append_char(out, ']');
}

static void append_value(struct attn_buffer *out, enum attn_csv_kind kind,
                         const struct attn_buffer *field)
{
    if (kind == ATTN_CSV_LIST)
        append_list(out, field->data, field->size);
    else if ((kind == ATTN_CSV_INTEGER && is_integer(field->data, field->size)) ||
             (kind == ATTN_CSV_VALUE && is_value(field->data, field->size)))
        attn_buffer_append(out, field->data, field->size);
    else
        attn_json_append_string(out, field->data, field->size);
}

enum attn_status attn_csv_reader_append(struct attn_csv_reader *csv, const char *line, size_t size,
                                        struct attn_buffer *out, struct attn_error *err)
{
    struct csv_line record = line_of(line, size);
    const char *between = "{";

    while (!record.is_over) {
        const size_t i = record.n_field;

        ATTN_TRY(read_field(csv, &record, err));
        if (i >= csv->n_column || csv->field.size == 0)
            continue;
        attn_buffer_append_string(out, between);
        attn_json_append_string(out, csv->columns[i].name, strlen(csv->columns[i].name));
        attn_buffer_append_char(out, ':');
        append_value(out, csv->columns[i].kind, &csv->field);
        between = ",";
    }
    attn_buffer_append_string(out, *between == '{' ? "{}" : "}");
    if (record.n_field != csv->n_column)
        return attn_error_set(err, ATTN_FORMAT,
                              "it has %zu field%s, expected the %zu of the header", record.n_field,
                              record.n_field == 1 ? "" : "s", csv->n_column);
    return attn_buffer_check(out, err);
}

void attn_csv_reader_release(struct attn_csv_reader *csv)
{
    for (size_t i = 0; i < csv->n_column; i++)
        attn_free(csv->columns[i].name);
    attn_free(csv->columns);
    attn_buffer_release(&csv->field);
    *csv = (struct attn_csv_reader){.separator = csv->separator};
}
