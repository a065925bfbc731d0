/*
 * document.h - the output of a command, filled once as blocks in order; forms are functions over
 * them.
 *
 *     struct attn_document document = {0};
 *     attn_document_value(&document, "model", attn_cell_text(name, n));      // in JSON
 *     attn_document_text(&document, "%zu tensors\n\nParameters\n", n_tensor); // in text
 *     attn_document_table(&document, parameters, &(struct attn_document_view){.name = "parameters",
 *         .json = ATTN_JSON_OBJECT, .text = ATTN_TEXT_AMOUNTS});             // in both
 *     attn_document_write(&document, ATTN_FORM_TEXT, sink, &err);
 *     attn_document_release(&document);
 *
 * JSON is one object, a member a line; the rows of a table stand on lines of their own, two blanks
 * further in than the line of its name. Text has columns that line up (encode/text_table.h). A
 * document borrows tables, names and the texts of cells until it is released, and copies words.
 * Lack of memory stays in it, and the write reports it.
 */
#ifndef ATTN_TABLES_DOCUMENT_H
#define ATTN_TABLES_DOCUMENT_H

#include "base/table.h"
#include "encode/text_table.h"
#include "tables/table_writer_internal.h"

#include <stdarg.h>

enum attn_document_form { ATTN_FORM_TEXT, ATTN_FORM_JSON };

/* How text shows a table. */
enum attn_text_layout {
    ATTN_TEXT_NOTHING,
    ATTN_TEXT_ALIGNED,  /* as attn_table_write does */
    ATTN_TEXT_COLUMNS,  /* those that the view names */
    ATTN_TEXT_SETTINGS, /* of one row, a line a column: name and value */
    ATTN_TEXT_AMOUNTS   /* the same, values on the right; with a last column `total` each has its
                           share of it */
};

/* How JSON holds a table. */
enum attn_json_layout {
    ATTN_JSON_NOTHING,
    ATTN_JSON_MEMBERS, /* of one row: members of the object that was begun */
    ATTN_JSON_OBJECT,  /* of one row */
    ATTN_JSON_LINES,   /* an array of rows, a line each */
    ATTN_JSON_ROWS     /* an array of rows on one line */
};

/* How text shows the numbers of a column. */
enum attn_number_style {
    ATTN_NUMBER_PLAIN,
    ATTN_NUMBER_QUANTITY, /* base/number.h: bytes and operations, as the unit is, or a count */
    ATTN_NUMBER_PERCENT,  /* of a share */
    ATTN_NUMBER_FIXED     /* of the column's digits after the point, whatever the magnitude */
};

/* A column for ATTN_TEXT_COLUMNS. Texts and lists are flush left. */
struct attn_document_column {
    const char *name;    /* of the table's column */
    const char *heading; /* NULL: the name; of items: '#' is the number of each, "k_#" */
    enum attn_number_style style;
    size_t width;        /* at least */
    size_t limit;        /* wider cells do not widen the column; 0: all do */
    size_t most;         /* longer texts end in an ellipsis; 0: all are whole */
    const char *missing; /* for a cell without a value; NULL: left empty */
    bool is_right;       /* texts are flush right */
    /* A list of reals takes a column for each of its items, N_ITEM at most: "..." stands for the
     * middle of longer lists or, with SIGN, their sum. 0: the list is one cell. SIGN ("+") follows
     * each item, END ("=") the last one. */
    size_t n_item;
    const char *sign, *end;
};

struct attn_document_view {
    const char *name; /* in JSON */
    enum attn_json_layout json;
    enum attn_text_layout text;
    size_t width;              /* of the names of settings and amounts, at least */
    const char *const *labels; /* [columns] of amounts; NULL: the names of the columns */
    const struct attn_document_column *columns; /* [n_column] */
    size_t n_column;
    /* [n_object] In JSON the columns `exact_pairs` and `exact_bytes` of the object "exact" are its
     * members "pairs" and "bytes"; it is null without such columns. Objects follow the
     * other members of a row, each on a line of its own. */
    const char *const *objects;
    size_t n_object;
    size_t indent;     /* blanks before the columns in addition to two */
    bool has_headings; /* a line of them above the columns */
    bool is_joined;    /* in JSON it follows on the same line */
};

/* Iterates over N items, of which the first and the last of LIMIT are shown, and EXTRA. A slot is a
 * shown item or a gap. Set N, LIMIT and EXTRA (SIZE_MAX: none), the rest is 0. */
struct attn_slot {
    size_t n, limit, extra;
    size_t first, last; /* items first .. last - 1 */
    bool is_gap;
};

bool attn_slot_next(struct attn_slot *slot); /* false after the last */

/* Initialize with = {0}; end with attn_document_release. */
struct attn_document {
    struct attn_document_block *first, *last; /* own */
    struct attn_text_table spare;             /* for tables that memory has no block for */
    struct attn_table_style style;            /* of aligned tables */
    bool has_precision;                       /* JSON has the precision of `style`, too */
    bool is_flush;                            /* no line of JSON is indented */
    bool has_failed;
};

/* Words of text: lines and parts of lines, text from outside (made printable), and a value as
 * aligned tables show it. */
void attn_document_text(struct attn_document *document, const char *format, ...) ATTN_PRINTF(2, 3);
void attn_document_text_list(struct attn_document *document, const char *format, va_list arguments)
    ATTN_PRINTF(2, 0);
void attn_document_escaped(struct attn_document *document, const char *text, size_t size);
void attn_document_cell(struct attn_document *document, const struct attn_column *column,
                        struct attn_cell cell);

/* Rows of cells in N_COLUMN columns after INDENT blanks, for the caller to fill. */
struct attn_text_table *attn_document_grid(struct attn_document *document, size_t n_column,
                                           size_t indent);

/* A member of JSON: a cell, or a value that the caller appends to the buffer; an object holds all
 * members added up to its end. */
void attn_document_value(struct attn_document *document, const char *name, struct attn_cell cell);
struct attn_buffer *attn_document_json(struct attn_document *document, const char *name);
void attn_document_begin(struct attn_document *document, const char *name);
void attn_document_end(struct attn_document *document);

/* TABLE as VIEW, which is copied, has it; NULL is null in JSON and left out of text. */
void attn_document_table(struct attn_document *document, const struct attn_table *table,
                         const struct attn_document_view *view);

/* Once a form. */
enum attn_status attn_document_write(struct attn_document *document, enum attn_document_form form,
                                     struct attn_sink *sink, struct attn_error *err);

void attn_document_release(struct attn_document *document);

#endif
