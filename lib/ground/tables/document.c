#include "tables/document.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "formats/float_text.h"
#include "formats/json_writer.h"
#include "tables/table_internal.h"

#include <stdio.h>
#include <string.h>

enum block_kind { WORDS, VALUE, BEGIN, END, TABLE };

struct attn_document_block {
    struct attn_document_block *next;
    enum block_kind kind;
    const char *name;         /* JSON: the member's name */
    struct attn_buffer words; /* owned; the text of WORDS, or the JSON of the value */
    struct attn_cell cell;    /* the value of VALUE */
    const struct attn_table *table;
    struct attn_document_view view;
};

/* --- Filling ---------------------------------------------------------------------------------- */

/* Appends a new block to DOCUMENT and returns it; NULL if there is no memory. */
static struct attn_document_block *add(struct attn_document *document, enum block_kind kind,
                                       const char *name)
{
    struct attn_document_block *block = attn_alloc(1, sizeof *block, NULL);

    if (!block) {
        document->has_failed = true;
        return NULL;
    }
    block->kind = kind;
    block->name = name;
    if (document->last)
        document->last->next = block;
    else
        document->first = block;
    document->last = block;
    return block;
}

/* Returns the lines that words are added to: those of the last block if it has words, or of a new
 * block. */
static struct attn_buffer *words_of(struct attn_document *document)
{
    struct attn_document_block *block = document->last;

    if (!block || block->kind != WORDS)
        block = add(document, WORDS, NULL);
    return block ? &block->words : &document->spare;
}

void attn_document_text_list(struct attn_document *document, const char *format, va_list arguments)
{
    struct attn_buffer *words = words_of(document);
    va_list again;
    char *text;
    int size;

    va_copy(again, arguments);
    size = vsnprintf(NULL, 0, format, arguments);
    text = size >= 0 ? attn_buffer_reserve(words, (size_t)size + 1) : NULL;
    if (text) {
        vsnprintf(text, (size_t)size + 1, format, again);
        words->size += (size_t)size;
    }
    va_end(again);
}

void attn_document_text(struct attn_document *document, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    attn_document_text_list(document, format, arguments);
    va_end(arguments);
}

void attn_document_escaped(struct attn_document *document, const char *text, size_t size)
{
    attn_escape_append(words_of(document), text, size);
}

void attn_document_value(struct attn_document *document, const char *name, struct attn_cell cell)
{
    struct attn_document_block *block = add(document, VALUE, name);

    if (block)
        block->cell = cell;
}

void attn_document_begin(struct attn_document *document, const char *name)
{
    add(document, BEGIN, name);
}

void attn_document_end(struct attn_document *document)
{
    add(document, END, NULL);
}

void attn_document_table(struct attn_document *document, const struct attn_table *table,
                         const struct attn_document_view *view)
{
    struct attn_document_block *block = add(document, TABLE, view->name);

    if (!block)
        return;
    block->table = table;
    block->view = *view;
}

void attn_document_release(struct attn_document *document)
{
    struct attn_document_block *next;

    for (struct attn_document_block *block = document->first; block; block = next) {
        next = block->next;
        attn_buffer_release(&block->words);
        attn_free(block);
    }
    attn_buffer_release(&document->spare);
    *document = (struct attn_document){0};
}

/* --- Text ------------------------------------------------------------------------------------- */

bool attn_slot_next(struct attn_slot *slot)
{
    const size_t half = slot->limit / 2;

    slot->first = slot->last;
    while (slot->n > slot->limit && slot->last >= half && slot->last < slot->n - half &&
           slot->last != slot->extra)
        slot->last++;
    slot->is_gap = slot->last > slot->first;
    slot->last += !slot->is_gap;
    return slot->first < slot->n;
}

/* Puts CELL of COLUMN into LINES; STYLE is that of numbers. A text has at most MOST columns; 0: no
 * limit. */
static void put_cell(struct attn_text_table *lines, const struct attn_column *column,
                     const struct attn_cell *cell, enum attn_number_style style, size_t most)
{
    struct attn_buffer text = {0}, cut = {0};
    char number[ATTN_QUANTITY_SIZE];

    if (cell->type == ATTN_VALUE_INTEGER && style == ATTN_NUMBER_QUANTITY) {
        const uint64_t n = (uint64_t)cell->integer;

        attn_text_table_string(lines, !column->unit ? attn_quantity_count(n, number)
                                      : strcmp(column->unit, "bytes") == 0
                                          ? attn_quantity_bytes(n, number)
                                          : attn_quantity_operations(n, number));
    } else if (style == ATTN_NUMBER_PERCENT) {
        attn_text_table_format(lines, "%.1f %%", 100 * cell->real);
    } else {
        attn_table_append_cell(&text, style == ATTN_NUMBER_FIXED ? column->digits : -1, column,
                               cell);
        attn_text_append_cut(&cut, text.data, text.size, most > 0 ? most : SIZE_MAX, ATTN_ELLIPSIS);
        attn_text_table_cell(lines, cut.data, cut.size);
        lines->text.has_failed |= text.has_failed | cut.has_failed;
        attn_buffer_release(&text);
        attn_buffer_release(&cut);
    }
}

/* Puts the row of TABLE into LINES, a line per column: its name and its value. A missing number
 * means that there is no limit, or no factor. */
static void put_settings(struct attn_text_table *lines, const struct attn_table *table,
                         const struct attn_document_view *view)
{
    char number[ATTN_FLOAT_TEXT_SIZE];

    attn_text_table_begin(lines, 2);
    attn_text_table_flush_left(lines, 0);
    attn_text_table_flush_left(lines, 1);
    attn_text_table_widen(lines, 0, view->width);
    for (size_t c = 0; c < attn_table_n_column(table); c++) {
        const struct attn_column *column = attn_table_column(table, c);
        const struct attn_cell cell = attn_table_cell(table, 0, c);

        attn_text_table_string(lines, column->name);
        if (cell.type == ATTN_VALUE_MISSING)
            attn_text_table_string(lines,
                                   column->type == ATTN_VALUE_INTEGER ? "unlimited" : "none");
        else if (cell.type == ATTN_VALUE_REAL) /* ignores the number of digits in JSON and CSV */
            attn_text_table_cell(lines, number, attn_format_float((float)cell.real, number));
        else
            put_cell(lines, column, &cell, ATTN_NUMBER_QUANTITY, 0);
    }
}

static void put_amounts(struct attn_text_table *lines, const struct attn_table *table,
                        const struct attn_document_view *view)
{
    const size_t n = attn_table_n_column(table);
    const bool has_total = attn_table_column(table, n - 1)->role == ATTN_ROLE_TOTAL;
    const double total = has_total ? (double)attn_table_cell(table, 0, n - 1).integer : 0;

    attn_text_table_begin(lines, 3);
    attn_text_table_flush_left(lines, 0);
    attn_text_table_widen(lines, 0, view->width);
    for (size_t c = 0; c < n; c++) {
        const struct attn_column *column = attn_table_column(table, c);
        const struct attn_cell cell = attn_table_cell(table, 0, c);

        attn_text_table_string(lines, view->labels ? view->labels[c] : column->name);
        put_cell(lines, column, &cell, ATTN_NUMBER_QUANTITY, 0);
        if (total > 0 && c + 1 < n)
            attn_text_table_format(lines, "%5.1f %%", 100 * (double)cell.integer / total);
        attn_text_table_end_row(lines);
    }
}

static struct attn_slot items_of(const struct attn_document_column *shown, size_t n)
{
    return (struct attn_slot){.n = n, .limit = shown->n_item, .extra = SIZE_MAX};
}

/* Puts the items of the list CELL into N columns of LINES. */
static void put_items(struct attn_text_table *lines, const struct attn_column *column,
                      const struct attn_cell *cell, const struct attn_document_column *shown,
                      size_t n)
{
    for (struct attn_slot s = items_of(shown, cell->size); attn_slot_next(&s); n--) {
        struct attn_cell item = attn_cell_real(cell->reals[s.first]);

        for (size_t i = s.first + 1; i < s.last; i++)
            item.real += cell->reals[i];
        if (s.is_gap && !shown->sign)
            attn_text_table_string(lines, "...");
        else
            put_cell(lines, column, &item, shown->style, 0);
        if (shown->sign)
            attn_text_table_string(lines, s.last < s.n ? shown->sign : shown->end), n--;
    }
    for (; n > 0; n--)
        attn_text_table_string(lines, "");
}

/* Puts the headings of a list into LINES; N is the number of its items. */
static void put_item_headings(struct attn_text_table *lines,
                              const struct attn_document_column *shown, size_t n)
{
    struct attn_buffer text = {0};

    for (struct attn_slot s = items_of(shown, n); attn_slot_next(&s); text.size = 0) {
        if (s.is_gap && shown->sign)
            attn_buffer_append_format(&text, "%zu-%zu", s.first, s.last - 1);
        else if (s.is_gap)
            attn_buffer_append_string(&text, "...");
        for (const char *c = shown->heading; !s.is_gap && *c; c++)
            if (*c == '#')
                attn_buffer_append_format(&text, "%zu", s.first);
            else
                attn_buffer_append_char(&text, *c);
        attn_text_table_cell(lines, text.data, text.size);
        if (shown->sign)
            attn_text_table_string(lines, "");
    }
    lines->text.has_failed |= text.has_failed;
    attn_buffer_release(&text);
}

/* A table that is written as columns of text. */
struct columns {
    const struct attn_table *table;
    const struct attn_document_view *view;
    /* owned; [view->n_column] the number of items of the longest list in each column */
    size_t *longest;
};

/* Returns the number of text columns that column I of the view takes. */
static size_t width_of(const struct columns *columns, size_t i)
{
    const struct attn_document_column *shown = &columns->view->columns[i];
    size_t n = 0;

    if (shown->n_item == 0)
        return 1;
    for (struct attn_slot s = items_of(shown, columns->longest[i]); attn_slot_next(&s);)
        n += shown->sign ? 2 : 1;
    return n;
}

static void put_row(struct attn_text_table *lines, const struct columns *columns, size_t row)
{
    for (size_t i = 0; i < columns->view->n_column; i++) {
        const struct attn_document_column *shown = &columns->view->columns[i];
        const size_t c = attn_table_find(columns->table, shown->name);
        const struct attn_column *column = attn_table_column(columns->table, c);
        const struct attn_cell cell = attn_table_cell(columns->table, row, c);

        if (shown->n_item > 0)
            put_items(lines, column, &cell, shown, width_of(columns, i));
        else if (cell.type == ATTN_VALUE_MISSING)
            attn_text_table_string(lines, shown->missing ? shown->missing : "");
        else
            put_cell(lines, column, &cell, shown->style, shown->most);
    }
}

static void put_headings(struct attn_text_table *lines, const struct columns *columns)
{
    for (size_t i = 0; columns->view->has_headings && i < columns->view->n_column; i++) {
        const struct attn_document_column *shown = &columns->view->columns[i];

        if (shown->n_item > 0)
            put_item_headings(lines, shown, columns->longest[i]);
        else
            attn_text_table_string(lines, shown->heading ? shown->heading : shown->name);
    }
}

/* Finds the longest list of each column, and prepares LINES for the columns. */
static void begin_columns(struct attn_text_table *lines, struct columns *columns)
{
    const struct attn_table *table = columns->table;
    size_t n = 0;

    for (size_t i = 0; i < columns->view->n_column; i++) {
        const struct attn_document_column *shown = &columns->view->columns[i];
        const size_t c = attn_table_find(table, shown->name);

        for (size_t row = 0; shown->n_item > 0 && row < attn_table_n_row(table); row++) {
            const size_t n_item = attn_table_cell(table, row, c).size;

            columns->longest[i] = n_item > columns->longest[i] ? n_item : columns->longest[i];
        }
        n += width_of(columns, i);
    }
    attn_text_table_begin(lines, n);
    n = 0;
    for (size_t i = 0; i < columns->view->n_column; i++) {
        const struct attn_document_column *shown = &columns->view->columns[i];
        const enum attn_value_type type =
            attn_table_column(table, attn_table_find(table, shown->name))->type;
        const size_t end = n + width_of(columns, i);

        if (shown->n_item == 0 && !shown->is_right &&
            (type == ATTN_VALUE_TEXT || attn_value_is_list(type)))
            attn_text_table_flush_left(lines, n);
        attn_text_table_limit(lines, n, shown->limit);
        attn_text_table_widen(lines, n, shown->width);
        for (n++; n < end; n++)
            if (shown->sign && (end - n) % 2 == 1)
                attn_text_table_sign(lines, n);
    }
}

/* Writes all rows. There may be as many as a file has tensors, so that none are stored. */
static enum attn_status write_rows(struct attn_text_table *lines, struct columns *columns,
                                   struct attn_sink *sink, struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(columns->table);

    begin_columns(lines, columns);
    put_headings(lines, columns);
    for (size_t row = 0; row < n_row; row++) {
        put_row(lines, columns, row);
        ATTN_TRY(attn_text_table_measure(lines, err));
        attn_text_table_clear(lines);
    }
    put_headings(lines, columns);
    for (size_t row = 0; row < n_row; row++) {
        put_row(lines, columns, row);
        ATTN_TRY(attn_text_table_write(lines, sink, err));
        attn_text_table_clear(lines);
    }
    return ATTN_OK;
}

static enum attn_status write_columns(struct attn_text_table *lines, const struct attn_table *table,
                                      const struct attn_document_view *view, struct attn_sink *sink,
                                      struct attn_error *err)
{
    struct columns columns = {.table = table, .view = view};
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(columns.longest, view->n_column, err));
    lines->indent += view->indent;
    status = write_rows(lines, &columns, sink, err);
    attn_free(columns.longest);
    return status;
}

static enum attn_status write_table(const struct attn_document_block *block, struct attn_sink *sink,
                                    struct attn_error *err)
{
    struct attn_text_table lines = {.indent = 2};
    enum attn_status status;

    if (!block->table || block->view.text == ATTN_TEXT_NOTHING)
        return ATTN_OK;
    if (block->view.text == ATTN_TEXT_COLUMNS) {
        status = write_columns(&lines, block->table, &block->view, sink, err);
    } else {
        (block->view.text == ATTN_TEXT_SETTINGS ? put_settings : put_amounts)(&lines, block->table,
                                                                              &block->view);
        status = attn_text_table_write(&lines, sink, err);
    }
    attn_text_table_release(&lines);
    return status;
}

static enum attn_status write_text(struct attn_document *document, struct attn_sink *sink,
                                   struct attn_error *err)
{
    for (struct attn_document_block *block = document->first; block; block = block->next) {
        if (block->kind == WORDS) {
            ATTN_TRY(attn_buffer_check(&block->words, err));
            attn_sink_write(sink, block->words.data, block->words.size);
        } else if (block->kind == TABLE) {
            ATTN_TRY(write_table(block, sink, err));
        }
    }
    return ATTN_OK;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* A JSON document that is being written. */
struct json_form {
    struct attn_sink *sink;
    struct attn_buffer text; /* the bytes that wait for the sink, which gets them after each row */
    struct attn_json_writer json; /* writes to `text` */
    int margin;                   /* indentation of the line that was begun last */
};

/* Begins the member NAME: on a line of its own, or on the current line if IS_JOINED. */
static void push_name(struct json_form *form, const char *name, bool is_joined)
{
    if (!is_joined) {
        attn_json_line(&form->json);
        form->margin = form->json.indent * form->json.depth;
    }
    attn_json_key(&form->json, name);
}

static void push_members(struct json_form *form, const struct attn_document_block *block,
                         size_t row)
{
    for (size_t c = 0; c < attn_table_n_column(block->table); c++) {
        const struct attn_cell cell = attn_table_cell(block->table, row, c);

        attn_table_push_member(&form->json, attn_table_column(block->table, c), &cell, -1);
    }
}

/* Writes all rows. For ATTN_JSON_LINES each row is on a line, two blanks deeper than the line
 * before the rows. */
static void push_rows(struct json_form *form, const struct attn_document_block *block)
{
    const bool has_lines = block->view.json == ATTN_JSON_LINES;
    char line[64];

    form->margin += has_lines ? form->json.indent : 0;
    snprintf(line, sizeof line, ",\n%*s", form->margin, "");
    attn_json_begin(&form->json, '[');
    for (size_t row = 0; row < attn_table_n_row(block->table); row++) {
        if (has_lines && row == 0)
            attn_buffer_append_string(&form->text, line + 1);
        form->json.comma = has_lines ? line : NULL;
        attn_json_begin(&form->json, '{');
        form->json.comma = NULL;
        push_members(form, block, row);
        attn_json_end(&form->json);
        attn_sink_write(form->sink, form->text.data, form->text.size);
        form->text.size = 0;
    }
    form->margin -= has_lines ? form->json.indent : 0;
    attn_json_end(&form->json);
}

static void push_table(struct json_form *form, const struct attn_document_block *block)
{
    const struct attn_document_view *view = &block->view;

    if (view->json == ATTN_JSON_NOTHING)
        return;
    if (view->json == ATTN_JSON_MEMBERS) {
        push_members(form, block, 0);
        return;
    }
    push_name(form, block->name, view->is_joined);
    if (!block->table) {
        attn_json_null(&form->json);
    } else if (view->json == ATTN_JSON_OBJECT) {
        attn_json_begin(&form->json, '{');
        push_members(form, block, 0);
        attn_json_end(&form->json);
    } else {
        push_rows(form, block);
    }
}

static void push_document(struct json_form *form, const struct attn_document *document)
{
    attn_json_begin(&form->json, '{');
    attn_json_line(&form->json);
    attn_json_head(&form->json, document->kind);
    for (const struct attn_document_block *block = document->first; block; block = block->next) {
        if (block->kind == VALUE) {
            const struct attn_column column = {.name = block->name};

            if (form->json.depth == 1)
                attn_json_line(&form->json);
            attn_table_push_member(&form->json, &column, &block->cell, -1);
        } else if (block->kind == BEGIN) {
            push_name(form, block->name, false);
            attn_json_begin(&form->json, '{');
        } else if (block->kind == END) {
            attn_json_end(&form->json);
        } else if (block->kind == TABLE) {
            push_table(form, block);
        }
    }
    attn_json_line(&form->json);
    attn_json_end(&form->json);
    attn_buffer_append_char(&form->text, '\n');
}

static enum attn_status write_json(const struct attn_document *document, struct attn_sink *sink,
                                   struct attn_error *err)
{
    struct json_form form = {.sink = sink, .json.indent = 2};
    enum attn_status status;

    form.json.out = &form.text;
    push_document(&form, document);
    status = attn_sink_write_buffer(sink, &form.text, err);
    attn_buffer_release(&form.text);
    return status;
}

enum attn_status attn_document_write(struct attn_document *document, enum attn_document_form form,
                                     struct attn_sink *sink, struct attn_error *err)
{
    if (document->has_failed)
        return attn_error_no_memory(err);
    return form == ATTN_FORM_JSON ? write_json(document, sink, err)
                                  : write_text(document, sink, err);
}
