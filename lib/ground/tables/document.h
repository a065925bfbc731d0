/*
 * document.h - the output of a command: blocks that are added in order, and written as text or as
 * JSON.
 *
 *     struct attn_document document = {0};
 *     attn_document_value(&document, "model", attn_cell_text(name, n));      // JSON only
 *     attn_document_text(&document, "%zu tensors\n\nParameters\n", n_tensor); // text only
 *     attn_document_table(&document, parameters, &(struct attn_document_view){.name = "parameters",
 *         .json = ATTN_JSON_OBJECT, .text = ATTN_TEXT_AMOUNTS});             // in both
 *     attn_document_write(&document, ATTN_FORM_TEXT, sink, &err);
 *     attn_document_release(&document);
 *
 * JSON is one object with a member per line; the rows of a table have a line each, indented by two
 * more blanks than the line of the table's name. Text has aligned columns (tables/text_table.h). A
 * document borrows tables, names and the texts of cells until it is released, but copies the words.
 * If memory runs out, attn_document_write reports it.
 */
#pragma once

#include "tables/table.h"
#include "tables/table_writer_internal.h"
#include "tables/text_table.h"

#include <stdarg.h>

enum attn_document_form { ATTN_FORM_TEXT, ATTN_FORM_JSON };

/* How text shows a table. */
enum attn_text_layout {
    ATTN_TEXT_NOTHING,
    ATTN_TEXT_COLUMNS,  /* the columns that the view lists */
    ATTN_TEXT_SETTINGS, /* of a table with one row: a line per column, its name and its value */
    /* like SETTINGS, with values flush right, and shares of the last column if that is `total` */
    ATTN_TEXT_AMOUNTS
};

/* How JSON holds a table. */
enum attn_json_layout {
    ATTN_JSON_NOTHING,
    ATTN_JSON_MEMBERS, /* of a table with one row: its cells are members of the enclosing object */
    ATTN_JSON_OBJECT,  /* of a table with one row: an object */
    ATTN_JSON_LINES,   /* an array of rows, one row per line */
    ATTN_JSON_ROWS     /* an array of rows on one line */
};

/* How text shows the numbers of a column. */
enum attn_number_style {
    ATTN_NUMBER_PLAIN,
    /* with a prefix (base/text/number.h): bytes, operations or a count, as the unit says */
    ATTN_NUMBER_QUANTITY,
    ATTN_NUMBER_PERCENT, /* the number is a share */
    ATTN_NUMBER_FIXED    /* as many decimals as the column has, whatever the magnitude */
};

/* A column of ATTN_TEXT_COLUMNS. Texts and lists are flush left. */
struct attn_document_column {
    const char *name;    /* name of a column of the table */
    const char *heading; /* NULL: `name`; for items '#' stands for the index of the item: "k_#" */
    enum attn_number_style style;
    size_t width; /* minimum width */
    size_t limit; /* cells that are wider than this don't widen the column; 0: all cells widen it */
    size_t most;  /* longer texts are cut and end in an ellipsis; 0: no text is cut */
    const char *missing; /* shown for a missing cell; NULL: nothing */
    bool is_right;       /* texts are flush right */
    /* If N_ITEM is not 0, each item of a list of reals has a column of its own. Of a list with more
     * than N_ITEM items the middle is shown as "..." or, if SIGN is set, as the sum of the middle.
     * SIGN ("+") is written after each item and END ("=") after the last one. If N_ITEM is 0, the
     * list is one cell. */
    size_t n_item;
    const char *sign, *end;
};

struct attn_document_view {
    const char *name; /* the table's name in JSON */
    enum attn_json_layout json;
    enum attn_text_layout text;
    size_t width; /* minimum width of the names of SETTINGS and AMOUNTS */
    /* [columns] names in the text of AMOUNTS; NULL: the names of the columns */
    const char *const *labels;
    const struct attn_document_column *columns; /* [n_column] */
    size_t n_column;
    size_t indent;     /* blanks before the columns, in addition to two */
    bool has_headings; /* has a line of headings above the columns */
    bool is_joined;    /* JSON: this member is on the same line as the one before */
};

/* An iterator over N items, of which the first ones and the last ones are shown, LIMIT in all, and
 * the item EXTRA. A slot is either one shown item or a gap between shown items. The caller sets
 * `n`, `limit` and `extra` (SIZE_MAX: none); the other members begin as 0. */
struct attn_slot {
    size_t n, limit, extra;
    size_t first, last; /* the slot's items are first .. last - 1 */
    bool is_gap;
};

/* goes to the next slot; returns false after the last */
bool attn_slot_next(struct attn_slot *slot);

/* Initialize with = {0}; free with attn_document_release. */
struct attn_document {
    enum attn_document_kind kind;             /* of its JSON */
    struct attn_document_block *first, *last; /* owned */
    /* returned in place of words if there is no memory for a block */
    struct attn_buffer spare;
    bool has_failed;
};

/* These add words to the text form: a format, which may be part of a line; a text from outside,
 * which is made printable. */
void attn_document_text(struct attn_document *document, const char *format, ...) ATTN_PRINTF(2, 3);
void attn_document_text_list(struct attn_document *document, const char *format, va_list arguments)
    ATTN_PRINTF(2, 0);
void attn_document_escaped(struct attn_document *document, const char *text, size_t size);

/* Functions that add a member NAME to the JSON form: a cell; an object, which holds all members up
 * to attn_document_end. */
void attn_document_value(struct attn_document *document, const char *name, struct attn_cell cell);
void attn_document_begin(struct attn_document *document, const char *name);
void attn_document_end(struct attn_document *document);

/* Adds TABLE, shown as VIEW says; VIEW is copied. If TABLE is NULL, JSON has null and text has
 * nothing. */
void attn_document_table(struct attn_document *document, const struct attn_table *table,
                         const struct attn_document_view *view);

/* Writes the document in FORM. It can be called once for each form. */
enum attn_status attn_document_write(struct attn_document *document, enum attn_document_form form,
                                     struct attn_sink *sink, struct attn_error *err);

void attn_document_release(struct attn_document *document);
