/*
 * table_writer.h - writes tables (base/table.h): for reading, for spreadsheets, for programs.
 *
 *     attn_table_write(table, ATTN_TABLE_CSV, -1, sink, &err);
 *
 * Aligned text has a line of column names, two blanks between columns, and `-` for a missing value;
 * numbers stand to the right. Tab-separated lines have no names. CSV has a line of names, fields as
 * RFC 4180 wants them, and empty fields for missing values. JSON is one document,
 * {"schema": 1, "table": NAME, "rows": [{COLUMN: VALUE, ...}, ...]}; JSON lines are one object a
 * row. A document may have more members before "rows", which hold for all rows. In both, missing
 * values, NaN and infinities are null.
 *
 * LaTeX and Markdown have the numbers of aligned text. A column of ATTN_TRAIT_SE stands in
 * parentheses after its column, and one of ATTN_TRAIT_SD between both is left out. LaTeX needs the
 * packages booktabs and siunitx, and longtable for a table that is longer than a page.
 *
 * Texts are escaped as base/escape.h has it, and in JSON by JSON's own rules; in CSV one that
 * begins with = + - or @ begins with its code instead, \x3d, so that no spreadsheet runs it. Labels
 * of a user's file are exceptions (ATTN_NOTATION_LABEL).
 * Booleans are true and false in JSON, yes and no in aligned text, else 1 and 0; lists are [1, 2].
 * Reals follow their column's notation. Where that is fixed digits, aligned text shows 0 as 0, and
 * what these digits say nothing about by its magnitude, 1.2e-07.
 */
#ifndef ATTN_TABLES_TABLE_WRITER_H
#define ATTN_TABLES_TABLE_WRITER_H

#include "base/sink.h"
#include "base/table.h"

/* "schema" of every JSON document: it grows when a name or its meaning changes. */
enum { ATTN_JSON_SCHEMA = 1 };

enum attn_table_form {
    ATTN_TABLE_ALIGNED = 0,
    ATTN_TABLE_TABBED = 1,
    ATTN_TABLE_CSV = 2,
    ATTN_TABLE_JSON = 3,
    ATTN_TABLE_JSON_LINES = 4,
    ATTN_TABLE_LATEX = 5,   /* for papers */
    ATTN_TABLE_MARKDOWN = 6 /* as GitHub has it */
};

/* How a table is written. All but the first two are of aligned text, LaTeX and Markdown, where
 * columns on the right that do not fit are left out, and a last line names them. */
struct attn_table_style {
    enum attn_table_form form;
    int precision;         /* as in attn_table_write */
    size_t width;          /* columns of a terminal; 0: any */
    const char *elsewhere; /* where all columns are, in words of the caller: "--csv -" */
    const char *kept;      /* a column that stays, the subject of the table; or NULL */
    const char *caption;   /* of LaTeX and Markdown, printable; NULL: the name of the table */
    const char *label;     /* of LaTeX, up to its first '.'; NULL: the name of the table */
    size_t n_group;        /* leading columns that name a group; LaTeX rules groups off */
};

/* Writes all of TABLE to SINK. PRECISION 0..17 are digits after the point for reals whose notation
 * is shortest or fixed; -1: as their notation has it. ATTN_INVALID for another precision; a failure
 * of the sink is the sink's to report (attn_sink_check). */
ATTN_API enum attn_status attn_table_write(const struct attn_table *table,
                                           enum attn_table_form form, int precision,
                                           struct attn_sink *sink, struct attn_error *err);

#endif
