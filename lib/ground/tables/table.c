/* table.c - see table.h. Cells are stored row by row in one block. Texts and lists are stored in
 * two buffers that may move when they grow, so a cell stores an offset. */
#include "tables/table_internal.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"

#include <math.h>
#include <string.h>

enum { MAX_DIGITS = 17 };

/* A cell as it is stored, in 16 bytes, because tables may have millions. */
struct stored {
    union {
        int64_t integer;
        double real;
        size_t offset; /* offset in bytes of the text or the list in its buffer */
    } as;
    uint32_t size; /* bytes of text, or numbers of a list */
    enum attn_value_type type;
};

struct attn_table {
    char *words;                 /* owns; name of the table, followed by the texts of the columns */
    struct attn_column *columns; /* [n_column] owns; their texts are in `words` */
    size_t n_column, n_row;
    struct stored *cells; /* [n_row * n_column] owns */
    size_t capacity;      /* number of cells that fit */
    struct attn_buffer texts;
    struct attn_buffer lists; /* whole int64_t and doubles, so that each is aligned */
    struct attn_table *about; /* owns; facts about the table, one row; or NULL */
    struct attn_buffer page;  /* a JSON object that a page shows beside it, or empty */
};

static const char *type_name(enum attn_value_type type)
{
    static const char *const names[] = {
        [ATTN_VALUE_MISSING] = "nothing",      [ATTN_VALUE_INTEGER] = "an integer",
        [ATTN_VALUE_REAL] = "a real",          [ATTN_VALUE_TEXT] = "a text",
        [ATTN_VALUE_BOOLEAN] = "boolean",      [ATTN_VALUE_LIST] = "a list",
        [ATTN_VALUE_REALS] = "a list of reals"};

    return names[type];
}

static enum attn_status check_column(const char *table, const struct attn_column *columns, size_t i,
                                     struct attn_error *err)
{
    const struct attn_column *column = &columns[i];

    if (!column->name || column->name[0] == '\0')
        return attn_error_set(err, ATTN_INVALID, "column %zu of the table '%s' has no name", i,
                              attn_quote_string(table).text);
    for (size_t k = 0; k < i; k++)
        if (strcmp(columns[k].name, column->name) == 0)
            return attn_error_set(err, ATTN_INVALID, "the table '%s' has two columns '%s'",
                                  attn_quote_string(table).text,
                                  attn_quote_string(column->name).text);
    if (column->type <= ATTN_VALUE_MISSING || column->type > ATTN_VALUE_REALS)
        return attn_error_set(err, ATTN_INVALID,
                              "column '%s' of the table '%s' has type %d, expected %d to %d",
                              attn_quote_string(column->name).text, attn_quote_string(table).text,
                              (int)column->type, ATTN_VALUE_INTEGER, ATTN_VALUE_REALS);
    if (column->digits < 0 || column->digits > MAX_DIGITS)
        return attn_error_set(err, ATTN_INVALID,
                              "column '%s' of the table '%s' has %d digits, expected 0 to %d",
                              attn_quote_string(column->name).text, attn_quote_string(table).text,
                              column->digits, MAX_DIGITS);
    if (column->role < ATTN_ROLE_VALUE || column->role > ATTN_ROLE_READER)
        return attn_error_set(err, ATTN_INVALID,
                              "column '%s' of the table '%s' has role %d, expected %d to %d",
                              attn_quote_string(column->name).text, attn_quote_string(table).text,
                              (int)column->role, ATTN_ROLE_VALUE, ATTN_ROLE_READER);
    return ATTN_IS_KNOWN(column->later, "column", err) ? ATTN_OK : ATTN_INVALID;
}

/* Appends TEXT with its NUL to WORDS [*size]; if WORDS is NULL, only adds to *SIZE. */
static const char *append_word(char *words, size_t *size, const char *text)
{
    const size_t n = strlen(text) + 1, begin = *size;

    *size += n;
    return words ? memcpy(words + begin, text, n) : NULL;
}

/* Copies the table's name and the texts of COLUMNS to table->words; if that is NULL, only computes
 * the size. Returns the size. */
static size_t copy_words(struct attn_table *table, const char *name,
                         const struct attn_column *columns)
{
    size_t size = 0;

    append_word(table->words, &size, name);
    for (size_t i = 0; i < table->n_column; i++) {
        struct attn_column *copy = &table->columns[i];
        const char **const texts[] = {&copy->name, &copy->unit, &copy->quantity, &copy->totals,
                                      &copy->help};

        *copy = columns[i];
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (*texts[k])
                *texts[k] = append_word(table->words, &size, *texts[k]);
    }
    return size;
}

enum attn_status attn_table_create(const char *name, const struct attn_column *columns,
                                   size_t n_column, struct attn_table **table,
                                   struct attn_error *err)
{
    struct attn_table *made;

    if (!attn_is_given(table, "table", err) ||
        (n_column > 0 && !attn_is_given(columns, "columns", err)))
        return ATTN_INVALID;
    if (!name)
        return attn_error_set(err, ATTN_INVALID, "a table has no name");
    if (n_column == 0)
        return attn_error_set(err, ATTN_INVALID, "the table '%s' has no columns",
                              attn_quote_string(name).text);
    for (size_t i = 0; i < n_column; i++)
        ATTN_TRY(check_column(name, columns, i, err));
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->n_column = n_column;
    made->columns = attn_alloc(n_column, sizeof *made->columns, err);
    if (!made->columns)
        goto fail;
    made->words = attn_alloc(copy_words(made, name, columns), 1, err);
    if (!made->words)
        goto fail;
    copy_words(made, name, columns);
    *table = made;
    return ATTN_OK;

fail:
    attn_table_free(made);
    return ATTN_NO_MEMORY;
}

static enum attn_status check_cells(const struct attn_table *table, const struct attn_cell *cells,
                                    size_t n_cell, struct attn_error *err)
{
    if (n_cell != table->n_column)
        return attn_error_set(err, ATTN_INVALID,
                              "a row of %zu values for the table '%s', expected %zu", n_cell,
                              attn_quote_string(table->words).text, table->n_column);
    for (size_t i = 0; i < n_cell; i++) {
        const struct attn_column *column = &table->columns[i];

        if (cells[i].type != column->type && cells[i].type != ATTN_VALUE_MISSING)
            return attn_error_set(
                err, ATTN_INVALID, "'%s' of the table '%s' is %s, expected %s",
                attn_quote_string(column->name).text, attn_quote_string(table->words).text,
                cells[i].type <= ATTN_VALUE_REALS ? type_name(cells[i].type) : "of no known type",
                type_name(column->type));
        if (!ATTN_IS_KNOWN(cells[i].later, "cells", err))
            return ATTN_INVALID;
        if (cells[i].size > UINT32_MAX)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' of the table '%s' has the size %zu, expected at most %u",
                                  attn_quote_string(column->name).text,
                                  attn_quote_string(table->words).text, cells[i].size, UINT32_MAX);
        if (cells[i].size > 0 &&
            ((cells[i].type == ATTN_VALUE_TEXT && !attn_is_given(cells[i].text, "text", err)) ||
             (cells[i].type == ATTN_VALUE_LIST && !attn_is_given(cells[i].list, "list", err)) ||
             (cells[i].type == ATTN_VALUE_REALS && !attn_is_given(cells[i].reals, "reals", err))))
            return ATTN_INVALID;
    }
    return ATTN_OK;
}

static void store(struct attn_table *table, const struct attn_cell *cell, struct stored *to)
{
    *to = (struct stored){.type = cell->type, .size = (uint32_t)cell->size};
    switch (cell->type) {
    case ATTN_VALUE_MISSING:
        break;
    case ATTN_VALUE_INTEGER:
    case ATTN_VALUE_BOOLEAN:
        to->as.integer = cell->integer;
        break;
    case ATTN_VALUE_REAL:
        to->as.real = cell->real;
        break;
    case ATTN_VALUE_TEXT:
        to->as.offset = table->texts.size;
        attn_buffer_append(&table->texts, cell->text, cell->size);
        break;
    case ATTN_VALUE_LIST:
        to->as.offset = table->lists.size;
        attn_buffer_append(&table->lists, cell->list, cell->size * sizeof *cell->list);
        break;
    case ATTN_VALUE_REALS:
        to->as.offset = table->lists.size;
        attn_buffer_append(&table->lists, cell->reals, cell->size * sizeof *cell->reals);
        break;
    }
}

enum attn_status attn_table_append(struct attn_table *table, const struct attn_cell *cells,
                                   size_t n_cell, struct attn_error *err)
{
    size_t n_text, n_list, at;

    ATTN_NEED(err, table, cells);
    ATTN_TRY(check_cells(table, cells, n_cell, err));
    n_text = table->texts.size, n_list = table->lists.size;
    at = table->n_row * table->n_column;
    ATTN_TRY(ATTN_GROW(table->cells, table->capacity, at + n_cell, err));
    for (size_t i = 0; i < n_cell; i++)
        store(table, &cells[i], &table->cells[at + i]);
    if (table->texts.has_failed || table->lists.has_failed) {
        table->texts.size = n_text;
        table->lists.size = n_list;
        table->texts.has_failed = table->lists.has_failed = false;
        return attn_error_no_memory(err);
    }
    table->n_row++;
    return ATTN_OK;
}

enum attn_status attn_table_reserve(struct attn_table *table, size_t n_row, struct attn_error *err)
{
    return ATTN_GROW(table->cells, table->capacity, attn_size_mul(n_row, table->n_column), err);
}

void attn_table_reset(struct attn_table *table)
{
    table->n_row = 0;
    attn_buffer_reset(&table->texts);
    attn_buffer_reset(&table->lists);
}

const char *attn_table_name(const struct attn_table *table)
{
    return table ? table->words : NULL;
}

size_t attn_table_n_column(const struct attn_table *table)
{
    return table ? table->n_column : 0;
}

size_t attn_table_n_row(const struct attn_table *table)
{
    return table ? table->n_row : 0;
}

const struct attn_column *attn_table_column(const struct attn_table *table, size_t column)
{
    return table && column < table->n_column ? &table->columns[column] : NULL;
}

/* Moves *NAME [*size] after the prefix of later columns. */
static void skip_prefix(const char **name, size_t *size)
{
    const size_t n = strlen(ATTN_COLUMN_PREFIX);
    const bool has_prefix = *size > n && memcmp(*name, ATTN_COLUMN_PREFIX, n) == 0;

    *name += has_prefix ? n : 0;
    *size -= has_prefix ? n : 0;
}

size_t attn_table_find_named(const struct attn_table *table, const char *name, size_t size)
{
    for (int is_other = 0; is_other < 2; is_other++) {
        for (size_t c = 0; c < attn_table_n_column(table); c++) {
            const char *own = table->columns[c].name;
            size_t n = strlen(own);

            if (is_other)
                skip_prefix(&own, &n);
            if (n == size && memcmp(own, name, n) == 0 &&
                (!is_other || table->columns[c].since > 0))
                return c;
        }
        skip_prefix(&name, &size);
    }
    return SIZE_MAX;
}

size_t attn_table_find(const struct attn_table *table, const char *name)
{
    return name ? attn_table_find_named(table, name, strlen(name)) : SIZE_MAX;
}

size_t attn_table_find_role(const struct attn_table *table, enum attn_column_role role)
{
    for (size_t c = 0; c < attn_table_n_column(table); c++)
        if (table->columns[c].role == role)
            return c;
    return SIZE_MAX;
}

size_t attn_table_find_spread(const struct attn_table *table, size_t c, unsigned trait)
{
    const unsigned all = ATTN_TRAIT_SD | ATTN_TRAIT_SE | ATTN_TRAIT_LOW | ATTN_TRAIT_HIGH;

    if (c >= attn_table_n_column(table))
        return SIZE_MAX;
    while (++c < attn_table_n_column(table) && (table->columns[c].traits & all) != 0)
        if ((table->columns[c].traits & trait) != 0)
            return c;
    return SIZE_MAX;
}

size_t attn_table_total(const struct attn_table *table, size_t row)
{
    const size_t part = attn_table_find_role(table, ATTN_ROLE_PART);
    const struct attn_cell cell = attn_table_cell(table, row, part);

    return part == SIZE_MAX ? SIZE_MAX : attn_cell_word(&cell, table->columns[part].totals);
}

bool attn_table_is_all_data(const struct attn_table *table, size_t c)
{
    const struct attn_column *column = attn_table_column(table, c);

    if (!column || column->role != ATTN_ROLE_ROW_TYPE)
        return false;
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct attn_cell cell = attn_table_cell(table, row, c);

        if (attn_cell_word(&cell, ATTN_ROW_DATA) != 0)
            return false;
    }
    return true;
}

size_t attn_cell_word(const struct attn_cell *cell, const char *words)
{
    const char *word = words;

    if (cell->type != ATTN_VALUE_TEXT || !words)
        return SIZE_MAX;
    for (size_t i = 0; *word != '\0'; i++) {
        const size_t n = strcspn(word, " ");

        if (n == cell->size && memcmp(word, cell->text, n) == 0)
            return i;
        word += n;
        word += *word == ' ';
    }
    return SIZE_MAX;
}

bool attn_cell_is_equal(const struct attn_cell *a, const struct attn_cell *b)
{
    if (a->type != b->type || a->size != b->size)
        return false;
    switch (a->type) {
    case ATTN_VALUE_TEXT:
        return a->size == 0 || memcmp(a->text, b->text, a->size) == 0;
    case ATTN_VALUE_LIST:
        return a->size == 0 || memcmp(a->list, b->list, a->size * sizeof *a->list) == 0;
    case ATTN_VALUE_REALS:
        return a->size == 0 || memcmp(a->reals, b->reals, a->size * sizeof *a->reals) == 0;
    case ATTN_VALUE_REAL:
        return a->real == b->real || (isnan(a->real) && isnan(b->real));
    default:
        return a->integer == b->integer;
    }
}

struct attn_cell attn_table_cell(const struct attn_table *table, size_t row, size_t column)
{
    const struct stored *stored;

    if (!table || row >= table->n_row || column >= table->n_column)
        return attn_cell_missing();
    stored = &table->cells[row * table->n_column + column];
    switch (stored->type) {
    case ATTN_VALUE_MISSING:
        break;
    case ATTN_VALUE_INTEGER:
        return attn_cell_integer(stored->as.integer);
    case ATTN_VALUE_BOOLEAN:
        return attn_cell_boolean(stored->as.integer != 0);
    case ATTN_VALUE_REAL:
        return attn_cell_real(stored->as.real);
    case ATTN_VALUE_TEXT:
        return attn_cell_text(table->texts.data + stored->as.offset, stored->size);
    case ATTN_VALUE_LIST: /* lists are whole integers in aligned memory */
        return attn_cell_list((const void *)(table->lists.data + stored->as.offset), stored->size);
    case ATTN_VALUE_REALS:
        return attn_cell_reals((const void *)(table->lists.data + stored->as.offset), stored->size);
    }
    return attn_cell_missing();
}

void attn_table_set_real(struct attn_table *table, size_t row, size_t column, double x)
{
    struct stored *stored = &table->cells[row * table->n_column + column];

    stored->type = ATTN_VALUE_REAL;
    stored->as.real = x;
}

void attn_table_free(struct attn_table *table)
{
    if (!table)
        return;
    attn_free(table->columns);
    attn_free(table->words);
    attn_free(table->cells);
    attn_buffer_release(&table->texts);
    attn_buffer_release(&table->lists);
    attn_table_free(table->about);
    attn_buffer_release(&table->page);
    attn_free(table);
}

enum attn_status attn_table_set_about(struct attn_table *table, const struct attn_column *columns,
                                      const struct attn_cell *cells, size_t n,
                                      struct attn_error *err)
{
    struct attn_table *about = NULL;
    enum attn_status status = attn_table_create(attn_table_name(table), columns, n, &about, err);

    ATTN_THEN(status, attn_table_append(about, cells, n, err));
    attn_table_free(status == ATTN_OK ? table->about : about);
    table->about = status == ATTN_OK ? about : table->about;
    return status;
}

const struct attn_table *attn_table_about(const struct attn_table *table)
{
    return table->about;
}

enum attn_status attn_table_set_page(struct attn_table *table, const char *json, size_t size,
                                     struct attn_error *err)
{
    attn_buffer_reset(&table->page);
    attn_buffer_append(&table->page, json, size);
    return attn_buffer_check(&table->page, err);
}

const char *attn_table_page(const struct attn_table *table, size_t *size)
{
    *size = table->page.size;
    return table->page.data;
}

enum attn_status attn_table_copy_about(const struct attn_table *table, struct attn_table *copy,
                                       struct attn_error *err)
{
    const struct attn_table *about = attn_table_about(table);
    const size_t n = about ? attn_table_n_column(about) : 0;
    struct attn_cell *cells;
    enum attn_status status;

    if (table->page.size > 0)
        ATTN_TRY(attn_table_set_page(copy, table->page.data, table->page.size, err));
    if (!about)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(cells, n, err));
    for (size_t i = 0; i < n; i++)
        cells[i] = attn_table_cell(about, 0, i);
    status = attn_table_set_about(copy, attn_table_column(about, 0), cells, n, err);
    attn_free(cells);
    return status;
}
