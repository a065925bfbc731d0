#include "stream/csv_reader.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* A line; the bytes before `at` are parsed. */
struct csv_line {
    const char *text; /* [size] */
    size_t size, at;
    size_t n_field; /* number of fields parsed */
    bool is_over;   /* no more fields */
};

/* Returns the name of the current field, for messages. */
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

/* Parses a quoted field, from the byte after the opening quote on. */
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
        attn_buffer_append(&csv->text, from, (size_t)(quote - from));
        line->at += (size_t)(quote - from) + 1;
        if (line->at == line->size || line->text[line->at] != '"')
            return ATTN_OK;
        attn_buffer_append_char(&csv->text, '"');
        line->at++;
    }
}

/* Parses the next field and appends it to csv->text, where it begins at *BEGIN. */
static enum attn_status read_field(struct attn_csv_reader *csv, struct csv_line *line,
                                   size_t *begin, struct attn_error *err)
{
    const bool is_quoted = line->at < line->size && line->text[line->at] == '"';
    const char *from, *end;
    size_t n, size, valid;

    *begin = csv->text.size;
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
        attn_buffer_append(&csv->text, from, n);
    size = csv->text.size - *begin;
    from = csv->text.data + *begin;
    valid = attn_utf8_valid_length(from, size);
    if (valid < size)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has '%s', expected UTF-8",
                              name_of(csv, line).text, attn_quote(from + valid, 1).text);
    line->is_over = !end;
    line->at += n + !line->is_over;
    line->n_field++;
    return ATTN_OK;
}

/* Starts to parse a line. Memory for all fields is reserved at once, so that they do not move. */
static enum attn_status begin_line(struct attn_csv_reader *csv, const char *text, size_t size,
                                   struct csv_line *line, struct attn_error *err)
{
    *line = (struct csv_line){.text = text, .size = size - (size > 0 && text[size - 1] == '\r')};
    attn_buffer_reset(&csv->text);
    return attn_buffer_reserve(&csv->text, size + 1) ? ATTN_OK : attn_error_no_memory(err);
}

static int compare_names(const void *a, const void *b)
{
    const struct attn_csv_column *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Checks that all names are different. */
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

static enum attn_status add_column(struct attn_csv_reader *csv, const char *name, size_t size,
                                   struct attn_error *err)
{
    struct attn_csv_column *column;

    attn_record_trim(&name, &size);
    if (size == 0) {
        attn_error_set(err, ATTN_FORMAT, "field %zu has no name, expected one", csv->n_column + 1);
        attn_error_hint(err, "row names of pandas and R are left out with index=False and "
                             "row.names = FALSE");
        return ATTN_FORMAT;
    }
    if (memchr(name, '\0', size))
        return attn_error_set(err, ATTN_FORMAT, "it has the name '%s', expected one without NUL",
                              attn_quote(name, size).text);
    ATTN_TRY(ATTN_GROW(csv->columns, csv->capacity, csv->n_column + 1, err));
    column = &csv->columns[csv->n_column];
    *column = (struct attn_csv_column){.name = attn_strndup(name, size, err)};
    if (!column->name)
        return ATTN_NO_MEMORY;
    csv->n_column++;
    return ATTN_OK;
}

enum attn_status attn_csv_reader_begin(struct attn_csv_reader *csv, const char *line, size_t size,
                                       struct attn_error *err)
{
    struct csv_line header;
    size_t begin;

    ATTN_TRY(begin_line(csv, line, size, &header, err));
    while (!header.is_over) {
        ATTN_TRY(read_field(csv, &header, &begin, err));
        ATTN_TRY(add_column(csv, csv->text.data + begin, csv->text.size - begin, err));
    }
    return check_names(csv, err);
}

enum attn_status attn_csv_reader_read(struct attn_csv_reader *csv, const char *line, size_t size,
                                      struct attn_error *err)
{
    struct csv_line record;
    size_t begin;

    ATTN_TRY(begin_line(csv, line, size, &record, err));
    while (!record.is_over) {
        const size_t i = record.n_field;

        ATTN_TRY(read_field(csv, &record, &begin, err));
        if (i < csv->n_column) {
            csv->columns[i].text = csv->text.data + begin;
            csv->columns[i].size = csv->text.size - begin;
        }
    }
    if (record.n_field != csv->n_column)
        return attn_error_set(err, ATTN_FORMAT,
                              "it has %zu field%s, expected the %zu of the header", record.n_field,
                              record.n_field == 1 ? "" : "s", csv->n_column);
    return ATTN_OK;
}

void attn_csv_reader_release(struct attn_csv_reader *csv)
{
    for (size_t i = 0; i < csv->n_column; i++)
        attn_free(csv->columns[i].name);
    attn_free(csv->columns);
    attn_buffer_release(&csv->text);
    *csv = (struct attn_csv_reader){.separator = csv->separator};
}
