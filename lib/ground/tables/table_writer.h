/*
 * table_writer.h - writes tables (tables/table.h): for reading, for spreadsheets, for programs.
 *
 *     attn_table_write(table, ATTN_TABLE_CSV, -1, sink, &err);
 *
 * Aligned text has a line of column names, two blanks between columns, and `-` for a missing value;
 * numbers are flush right. Tab-separated lines have no line of names. CSV has a line of names,
 * fields that follow RFC 4180, and empty fields for missing values. JSON is one document,
 * {"schema": 1, "kind": "table", "table": NAME, "rows": [{COLUMN: VALUE, ...}, ...]}; JSON lines
 * are one object per row. A document may have further members before "rows", which apply to all
 * rows. In both, missing values, NaN and infinities are null.
 *
 * Text, LaTeX and Markdown leave out the column of row types (ATTN_ROW_TYPE) if all rows are data.
 *
 * LaTeX and Markdown show the same numbers as aligned text. Standard errors (ATTN_TRAIT_SE) are a
 * column in parentheses after their column, and a column of deviations (ATTN_TRAIT_SD) between the
 * two is left out. LaTeX needs the packages booktabs and siunitx, and longtable for a table that is
 * longer than a page.
 *
 * Texts are escaped by the rules of base/text/escape.h, and in JSON by those of JSON. In CSV the
 * first character of a text is escaped (\x3d) if it is = + - or @, so that no spreadsheet runs the
 * text. Labels of a user's file are exceptions (ATTN_NOTATION_LABEL). Booleans are true and false
 * in JSON, yes and no in aligned text, else 1 and 0; lists are [1, 2]. Reals follow the notation of
 * their column. Where that is fixed decimals, aligned text shows 0 as "0", and a number that these
 * decimals would show as zero as 1.2e-07.
 */
#ifndef ATTN_TABLES_TABLE_WRITER_H
#define ATTN_TABLES_TABLE_WRITER_H

#include "base/sink.h"
#include "tables/table.h"

enum attn_table_form {
    ATTN_TABLE_ALIGNED = 0,
    ATTN_TABLE_TABBED = 1,
    ATTN_TABLE_CSV = 2,
    ATTN_TABLE_JSON = 3,
    ATTN_TABLE_JSON_LINES = 4,
    ATTN_TABLE_LATEX = 5,   /* for papers */
    ATTN_TABLE_MARKDOWN = 6 /* GitHub's dialect */
};

/* How a table is written. All members but the first two are for aligned text, LaTeX and Markdown.
 * If the table is too wide for these, its rightmost columns are left out, in text after standard
 * deviations and errors, and the last line names them. */
struct attn_table_style {
    enum attn_table_form form;
    int precision;         /* see attn_table_write */
    size_t width;          /* columns of the terminal; 0: unlimited */
    const char *elsewhere; /* where to find all columns, for the last line: "--csv -" */
    /* name of a column that must not be left out, because the table is about it; or NULL */
    const char *kept;
    const char *caption; /* of LaTeX and Markdown, printable; NULL: the table's name */
    const char *label;   /* LaTeX label, up to the first '.'; NULL: the table's name */
    size_t n_group;      /* the first N columns name a group; LaTeX has rules between groups */
    /* CSV and JSON end with the column of row types, "data", also if the table has none */
    bool has_row_types;
    bool is_chosen; /* the columns were chosen: none is added or left out for what it says */
    /* Aligned text shows only so many rows of each group, beside totals: those with the largest
     * magnitudes in the first column with ATTN_TRAIT_RANKED, with bars. 0, or a table without such
     * a column: all rows */
    size_t n_largest;
    const char *all_rows; /* how to get all rows, for the last line: "--limit 0" */
    bool is_plain;        /* bars are ASCII */
};

/* Writes all of TABLE to SINK. PRECISION is the number of decimals (0 to 17) of reals whose
 * notation is shortest or fixed; -1: as their notation says. Returns ATTN_INVALID for another
 * precision. A failed write is not reported here: see attn_sink_check. */
ATTN_API enum attn_status attn_table_write(const struct attn_table *table,
                                           enum attn_table_form form, int precision,
                                           struct attn_sink *sink, struct attn_error *err);

#endif
