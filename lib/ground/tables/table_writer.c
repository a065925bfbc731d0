/* table_writer.c - see table_writer.h. Writes what stands around the cells: separators, headings,
 * JSON. */
#include "tables/table_writer_internal.h"

#include "base/buffer.h"
#include "base/sink_internal.h"
#include "base/text/given.h"
#include "formats/float_text.h"
#include "formats/json_writer.h"
#include "formats/quoting.h"
#include "tables/table_internal.h"

#include <string.h>

/* A table that is being written. */
struct table_page {
    const struct attn_table *table;
    struct attn_table_style style;
    struct attn_sink *sink;
    struct attn_buffer text;      /* bytes that wait for the sink, which gets them after each row */
    struct attn_json_writer json; /* writes to `text` */
};

/* Returns true if the table has no column of row types, and needs one: all its rows are data. */
static bool lacks_types(const struct table_page *page)
{
    return page->style.has_row_types && !page->style.is_chosen &&
           page->style.form != ATTN_TABLE_TABBED &&
           attn_table_find_role(page->table, ATTN_ROLE_ROW_TYPE) == SIZE_MAX;
}

/* Appends row ROW in any form but aligned text: a line, or in a JSON document the bare object. */
static void append_row(struct table_page *page, size_t row)
{
    const enum attn_table_form form = page->style.form;
    const bool is_json = form == ATTN_TABLE_JSON || form == ATTN_TABLE_JSON_LINES;
    const size_t begin = page->text.size;

    if (is_json)
        attn_json_begin(&page->json, '{');
    for (size_t c = 0; c < attn_table_n_column(page->table); c++) {
        const struct attn_column *column = attn_table_column(page->table, c);
        const struct attn_cell cell = attn_table_cell(page->table, row, c);

        if (is_json) {
            attn_table_push_member(&page->json, column, &cell, page->style.precision);
            continue;
        }
        if (c > 0)
            attn_buffer_append_char(&page->text, form == ATTN_TABLE_CSV ? ',' : '\t');
        attn_table_append_styled(&page->text, page->style, column, &cell);
    }
    /* readers skip empty lines */
    if (form == ATTN_TABLE_CSV && page->text.size == begin && !lacks_types(page))
        attn_buffer_append_string(&page->text, "\"\"");
    if (lacks_types(page) && is_json)
        attn_json_text(attn_json_key(&page->json, ATTN_ROW_TYPE), ATTN_ROW_DATA);
    else if (lacks_types(page))
        attn_buffer_append_string(&page->text, "," ATTN_ROW_DATA);
    if (is_json)
        attn_json_end(&page->json);
    if (form != ATTN_TABLE_JSON)
        attn_buffer_append_char(&page->text, '\n');
}

void attn_table_begin_document(struct attn_json_writer *json, const char *name,
                               const struct attn_table *about, int precision)
{
    attn_json_begin(json, '{');
    attn_json_line(json);
    attn_json_head(json, ATTN_DOCUMENT_TABLE);
    attn_json_line(json);
    attn_json_text(attn_json_key(json, "table"), name);
    for (size_t i = 0; about && i < attn_table_n_column(about); i++) {
        const struct attn_cell cell = attn_table_cell(about, 0, i);

        attn_json_line(json);
        attn_table_push_member(json, attn_table_column(about, i), &cell, precision);
    }
    attn_json_line(json);
    attn_json_begin(attn_json_key(json, "rows"), '[');
}

void attn_table_end_document(struct attn_json_writer *json)
{
    if (json->has_member[json->depth - 1])
        attn_json_line(json);
    attn_json_end(json);
    attn_json_line(json);
    attn_json_end(json);
    attn_buffer_append_char(json->out, '\n');
}

static enum attn_status write_rows(struct table_page *page, struct attn_error *err)
{
    struct attn_json_writer *json = &page->json;
    const bool is_document = page->style.form == ATTN_TABLE_JSON;
    const bool is_csv = page->style.form == ATTN_TABLE_CSV;
    const size_t n_row = attn_table_n_row(page->table), n_column = attn_table_n_column(page->table);

    if (is_document)
        attn_table_begin_document(json, attn_table_name(page->table), attn_table_about(page->table),
                                  page->style.precision);
    for (size_t c = 0; is_csv && c < n_column; c++) {
        const char *name = attn_table_column(page->table, c)->name;

        attn_buffer_append_string(&page->text, c > 0 ? "," : "");
        attn_csv_field_append(&page->text, name, strlen(name));
    }
    if (is_csv && lacks_types(page))
        attn_buffer_append_string(&page->text, "," ATTN_ROW_TYPE);
    attn_buffer_append_string(&page->text, is_csv ? "\n" : "");
    for (size_t i = 0; i < n_row; i++) {
        if (is_document)
            attn_json_line(json);
        append_row(page, i);
        ATTN_TRY(attn_sink_write_buffer(page->sink, &page->text, err));
    }
    if (is_document)
        attn_table_end_document(json);
    return attn_sink_write_buffer(page->sink, &page->text, err);
}

/* Writes the whole table. */
static enum attn_status write_form(struct table_page *page, struct attn_error *err)
{
    const enum attn_table_form form = page->style.form;
    const bool is_aligned =
        form == ATTN_TABLE_ALIGNED || form == ATTN_TABLE_LATEX || form == ATTN_TABLE_MARKDOWN;

    if ((unsigned)form > ATTN_TABLE_MARKDOWN)
        return attn_error_set(err, ATTN_INVALID, "tables have no form %d", (int)form);
    if (page->style.precision < -1 || page->style.precision > ATTN_FIXED_PRECISION_MAX)
        return attn_error_set(err, ATTN_INVALID, "precision is %d, expected 0 to %d",
                              page->style.precision, ATTN_FIXED_PRECISION_MAX);
    page->json.out = &page->text;
    return is_aligned ? attn_table_write_lines(page->table, &page->style, page->sink, err)
                      : write_rows(page, err);
}

enum attn_status attn_table_write(const struct attn_table *table, enum attn_table_form form,
                                  int precision, struct attn_sink *sink, struct attn_error *err)
{
    const struct attn_table_style style = {.form = form, .precision = precision};

    ATTN_NEED(err, table, sink);
    return attn_table_write_styled(table, &style, sink, err);
}

enum attn_status attn_table_write_styled(const struct attn_table *table,
                                         const struct attn_table_style *style,
                                         struct attn_sink *sink, struct attn_error *err)
{
    struct table_page page = {.table = table, .style = *style, .sink = sink};
    const enum attn_status status = write_form(&page, err);

    attn_buffer_release(&page.text);
    return status;
}
