/*
 * table_lines.c - writes tables with aligned columns (tables/table_writer.h): as plain text, and as
 * LaTeX and Markdown for papers.
 *
 * In LaTeX a column of numbers has the type S of siunitx; its table-format is computed from the
 * numbers. Texts and powers of ten in such a column are put in braces. Standard errors are a column
 * in parentheses.
 */
#include "tables/table_writer_internal.h"

#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "tables/table_internal.h"
#include "tables/table_order.h"
#include "tables/text_table.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* A table that is being written. */
struct lines {
    const struct attn_table *table;
    bool is_latex, is_markdown; /* if neither is set: aligned text */
    const struct attn_table_style *style;
    struct attn_text_table grid; /* owns */
    struct attn_buffer plain;    /* owned; a cell's text before it is escaped */
    struct attn_buffer text;     /* owned; the text of a cell, or of the lines around the table */
    size_t types;                /* the column of row types, if all rows are data; or SIZE_MAX */
    bool is_folded; /* standard deviations and errors are left out, because they do not fit */
    size_t bars;    /* column with a bar beside each number, or SIZE_MAX */
    size_t n_bar;   /* columns of text of the longest bar */
    double largest; /* the magnitude that it stands for */
    bool is_cut;    /* rows are left out */
};

enum { MOST_BAR = 20, LEAST_BAR = 6 };

/* Returns true if TEXT [n] has a blank at I that LaTeX and Markdown would drop. */
static bool is_lost_blank(const char *text, size_t n, size_t i)
{
    return text[i] == ' ' && (i == 0 || i + 1 == n || text[i - 1] == ' ');
}

/* Appends TEXT [n] escaped for LaTeX. An empty group "{}" separates characters that TeX would join
 * to a ligature, and those that it would read as an argument of the \\ at the end of the row
 * before. */
static void append_latex(struct attn_buffer *out, const char *text, size_t n)
{
    static const char *const escapes[128] = {['\\'] = "\\textbackslash{}",
                                             ['~'] = "\\textasciitilde{}",
                                             ['^'] = "\\textasciicircum{}",
                                             ['<'] = "\\textless{}",
                                             ['>'] = "\\textgreater{}",
                                             ['|'] = "\\textbar{}",
                                             ['{'] = "\\{",
                                             ['}'] = "\\}",
                                             ['$'] = "\\$",
                                             ['&'] = "\\&",
                                             ['#'] = "\\#",
                                             ['_'] = "\\_",
                                             ['%'] = "\\%",
                                             ['"'] = "\\char34{}"};

    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];
        const char before = i > 0 ? text[i - 1] : '\0';

        if (i > 0 ? strchr("-'\x60,", c) && (before == text[i] || strchr("?!", before))
                  : strchr("[*", c) != NULL)
            attn_buffer_append_string(out, "{}");
        if (is_lost_blank(text, n, i))
            attn_buffer_append_string(out, "\\textvisiblespace{}");
        else if (c < 128 && escapes[c])
            attn_buffer_append_string(out, escapes[c]);
        else
            attn_buffer_append_char(out, text[i]);
    }
}

static void append_markdown(struct attn_buffer *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        attn_buffer_append_string(out, strchr("\\\x60*_[]<>|~&$", text[i]) ? "\\" : "");
        if (is_lost_blank(text, n, i))
            attn_buffer_append_string(out, "\xe2\x90\xa3"); /* U+2423, which shows a blank */
        else
            attn_buffer_append_char(out, text[i]);
    }
}

/* Appends TEXT [n], which is printable, escaped for the form. */
static void append_text(struct lines *lines, const char *text, size_t n)
{
    if (lines->is_latex)
        append_latex(&lines->text, text, n);
    else if (lines->is_markdown)
        append_markdown(&lines->text, text, n);
    else
        attn_buffer_append(&lines->text, text, n);
}

/* Appends the name of column C. It may be the name of a label in a user's file, so it is
 * escaped. */
static void append_name(struct lines *lines, size_t c)
{
    const char *name = attn_table_column(lines->table, c)->name;

    lines->plain.size = 0;
    attn_escape_append(&lines->plain, name, strlen(name));
    append_text(lines, lines->plain.data, lines->plain.size);
}

static bool is_number(const struct lines *lines, size_t c)
{
    const enum attn_value_type type = attn_table_column(lines->table, c)->type;

    return type == ATTN_VALUE_INTEGER || type == ATTN_VALUE_REAL;
}

/* Returns true if column C has standard errors that are shown in parentheses: in LaTeX and
 * Markdown, if the two columns before it are the number and its standard deviation. */
static bool is_error(const struct lines *lines, size_t c)
{
    return (lines->is_latex || lines->is_markdown) && c > 1 &&
           attn_table_find_spread(lines->table, c - 2, ATTN_TRAIT_SD) == c - 1 &&
           attn_table_find_spread(lines->table, c - 2, ATTN_TRAIT_SE) == c;
}

static bool is_spread(const struct attn_column *column)
{
    return (column->traits & (ATTN_TRAIT_SD | ATTN_TRAIT_SE)) != 0;
}

/* Returns true if column C is not shown: it has standard deviations, followed by standard errors in
 * parentheses, or is folded, and the style doesn't keep it; or it has the types of rows that are
 * all data. */
static bool is_left_out(const struct lines *lines, size_t c)
{
    const struct attn_column *column = attn_table_column(lines->table, c);
    const char *kept = lines->style->kept;

    if (c == lines->types)
        return true;
    return (is_error(lines, c + 1) || (lines->is_folded && is_spread(column))) &&
           (!kept || strcmp(column->name, kept) != 0);
}

/* Returns the text of a cell in aligned form. It is valid until the next call. */
static const char *read_cell(struct lines *lines, size_t row, size_t c)
{
    const struct attn_cell cell = attn_table_cell(lines->table, row, c);
    const char *text;

    lines->plain.size = 0;
    attn_table_append_cell(&lines->plain, lines->style->precision,
                           attn_table_column(lines->table, c), &cell);
    text = attn_buffer_string(&lines->plain);
    return text ? text : "";
}

/* Returns true if ROW is in the same group as the row before. */
static bool is_repeated(const struct lines *lines, size_t row)
{
    bool is_same = row > 0 && row < attn_table_n_row(lines->table);

    for (size_t c = 0; is_same && c < lines->style->n_group; c++) {
        const struct attn_cell cell = attn_table_cell(lines->table, row, c);
        const struct attn_cell before = attn_table_cell(lines->table, row - 1, c);

        is_same = attn_cell_is_equal(&cell, &before);
    }
    return is_same;
}

/* These append to `text` the heading of column C, and its cell in ROW. */
static void append_heading(struct lines *lines, size_t c)
{
    attn_buffer_append_string(&lines->text, is_error(lines, c) ? "(se"
                                            : lines->is_latex  ? "{"
                                                               : "");
    if (!is_error(lines, c))
        append_name(lines, c);
    attn_buffer_append_string(&lines->text, is_error(lines, c) ? ")" : lines->is_latex ? "}" : "");
}

static void append_cell(struct lines *lines, size_t row, size_t c)
{
    const char *text = read_cell(lines, row, c), *before = "", *after = "";
    const bool is_missing = strcmp(text, "-") == 0;
    const bool is_word = lines->is_latex && (is_missing || strchr(text, 'n')); /* inf or nan */

    if (!is_number(lines, c)) {
        if (!lines->is_latex || c >= lines->style->n_group || !is_repeated(lines, row))
            append_text(lines, text, strlen(text));
        return;
    }
    if (is_error(lines, c))
        before = lines->is_latex && !is_word ? "(\\num{" : "(",
        after = lines->is_latex && !is_word ? "})" : ")";
    else if (is_word)
        before = "{", after = "}";
    else if (lines->is_latex && strchr(text, 'e'))
        before = "{\\num{", after = "}}";
    attn_buffer_append_format(&lines->text, "%s%s%s", before, is_missing && is_word ? "--" : text,
                              after);
}

/* Returns the number of ROW in the ranked column; 0 for totals, and if it is not finite. */
static double rank_of(const struct lines *lines, size_t row)
{
    const struct attn_cell cell = attn_table_cell(lines->table, row, lines->bars);
    const bool is_total = attn_table_total(lines->table, row) < SIZE_MAX;

    return cell.type == ATTN_VALUE_REAL && isfinite(cell.real) && !is_total ? cell.real : 0;
}

/* Adds the bar of ROW to the grid: as long as the number is large, of another mark below 0. */
static void add_bar(struct lines *lines, size_t row)
{
    static const char *const marks[2][2] = {{"\xe2\x96\x88", "\xe2\x96\x92"}, {"+", "-"}};
    const double number = row < attn_table_n_row(lines->table) ? rank_of(lines, row) : 0;

    lines->text.size = 0;
    for (size_t i = 0; (double)i * lines->largest < (double)lines->n_bar * fabs(number); i++)
        attn_buffer_append_string(&lines->text, marks[lines->style->is_plain][number < 0]);
    attn_text_table_cell(&lines->grid, lines->text.data, lines->text.size);
}

/* Adds a line to the grid: line 0 has the headings; then come, in Markdown, the line of dashes, and
 * the rows. */
static void add_line(struct lines *lines, size_t line)
{
    for (size_t c = 0; c < attn_table_n_column(lines->table); c++) {
        if (is_left_out(lines, c))
            continue;
        lines->text.size = 0;
        if (line == 0)
            append_heading(lines, c);
        else if (lines->is_markdown && line == 1)
            attn_buffer_append_string(&lines->text, is_number(lines, c) ? "--:" : ":--");
        else
            append_cell(lines, line - 1 - lines->is_markdown, c);
        attn_text_table_cell(&lines->grid, lines->text.data, lines->text.size);
        if (c == lines->bars)
            add_bar(lines, line - 1);
    }
}

/* Fills the grid. */
static enum attn_status fill(struct lines *lines, struct attn_error *err)
{
    struct attn_text_table *grid = &lines->grid;
    size_t n = 0;

    grid->kept = 0;
    grid->n_kept = 1 + (lines->bars < SIZE_MAX);
    for (size_t c = 0; c < attn_table_n_column(lines->table); c++)
        n += !is_left_out(lines, c) + (c == lines->bars);
    attn_text_table_begin(grid, n);
    n = 0;
    for (size_t c = 0; c < attn_table_n_column(lines->table); c++) {
        const struct attn_column *column = attn_table_column(lines->table, c);

        if (is_left_out(lines, c))
            continue;
        if (!is_number(lines, c))
            attn_text_table_flush_left(grid, n);
        attn_text_table_widen(grid, n, grid->between ? 0 : column->width);
        if (lines->bars < SIZE_MAX
                ? c == lines->bars
                : lines->style->kept && strcmp(column->name, lines->style->kept) == 0)
            grid->kept = n;
        if (c == lines->bars)
            attn_text_table_flush_left(grid, ++n);
        n++;
    }
    for (size_t line = 0; line <= attn_table_n_row(lines->table) + lines->is_markdown; line++)
        add_line(lines, line);
    ATTN_TRY(attn_buffer_check(&lines->plain, err));
    ATTN_TRY(attn_buffer_check(&lines->text, err));
    return attn_text_table_measure(grid, err);
}

/* Fills the grid, and leaves out the columns that are too many for the width: in text bars become
 * shorter first, then standard deviations and errors go, then the rightmost. */
static enum attn_status fit(struct lines *lines, struct attn_error *err)
{
    const size_t width = lines->style->width;

    for (lines->n_bar = MOST_BAR;; lines->n_bar--) {
        ATTN_TRY(fill(lines, err));
        if (width == 0 || attn_text_table_width(&lines->grid) <= width)
            return ATTN_OK;
        if (lines->bars == SIZE_MAX || lines->n_bar == LEAST_BAR)
            break;
    }
    for (size_t c = 0; !lines->grid.between && c < attn_table_n_column(lines->table); c++)
        lines->is_folded |= is_spread(attn_table_column(lines->table, c));
    if (lines->is_folded)
        ATTN_TRY(fill(lines, err));
    attn_text_table_hide(&lines->grid, width);
    return ATTN_OK;
}

/* Appends the LaTeX type of column C, wide enough for its numbers: "S[table-format=-1.4]". */
static void append_type(struct lines *lines, size_t c)
{
    static const char digits[] = "0123456789";
    size_t n_whole = 1, n_decimal = 0;
    const char *sign = "";

    for (size_t row = 0; row < attn_table_n_row(lines->table); row++) {
        const char *text = read_cell(lines, row, c);
        const size_t n = strspn(text + (*text == '-'), digits);
        const char *point = strchr(text, '.');
        const size_t n_after = point ? strspn(point + 1, digits) : 0;

        if (n == 0 || strchr(text, 'e'))
            continue;
        sign = *text == '-' ? "-" : sign;
        n_whole = n > n_whole ? n : n_whole;
        n_decimal = n_after > n_decimal ? n_after : n_decimal;
    }
    attn_buffer_append_format(&lines->text, "  S[table-format=%s%zu.%zu]\n", sign, n_whole,
                              n_decimal);
}

/* Appends what comes before the headings: the caption, and in LaTeX the begin of the table. */
static void append_head(struct lines *lines)
{
    const char *name = attn_table_name(lines->table);
    const char *caption = lines->style->caption ? lines->style->caption : name;
    const char *label = lines->style->label ? lines->style->label : name;

    attn_buffer_append_string(&lines->text, lines->is_latex
                                                ? "% \\usepackage{booktabs,siunitx}\n"
                                                  "\\begin{table}\n\\centering\n\\caption{"
                                                : "Table: ");
    append_text(lines, caption, strlen(caption));
    attn_buffer_append_string(&lines->text, lines->is_latex ? "}\n\\label{tab:" : "\n\n");
    if (!lines->is_latex)
        return;
    for (; *label != '\0' && (*label != '.' || !lines->style->label); label++)
        attn_buffer_append_char(&lines->text, isalnum((unsigned char)*label) ? *label : '-');
    attn_buffer_append_string(&lines->text, "}\n\\begin{tabular}{\n");
    for (size_t c = 0, n = 0; c < attn_table_n_column(lines->table); c++) {
        if (is_left_out(lines, c) || !attn_text_table_shows(&lines->grid, n++))
            continue;
        if (is_number(lines, c) && !is_error(lines, c))
            append_type(lines, c);
        else
            attn_buffer_append_string(&lines->text, is_number(lines, c) ? "  @{ }r\n" : "  l\n");
    }
    attn_buffer_append_string(&lines->text, "}\n\\toprule\n");
}

/* Appends lines that name the rows that are left out, and the columns that are for the width. */
static void append_hidden(struct lines *lines)
{
    const char *before = lines->is_latex      ? "% not shown: "
                         : lines->is_markdown ? "\n<!-- not shown: "
                                              : "not shown: ";

    if (lines->is_cut) {
        attn_buffer_append_format(&lines->text, "%srows with a smaller |", before);
        append_name(lines, lines->bars);
        attn_buffer_append_format(&lines->text, "| (%s has all rows)\n", lines->style->all_rows);
    }
    if (lines->grid.n_hidden == 0 && !lines->is_folded)
        return;
    if (lines->is_folded) {
        attn_buffer_append_format(&lines->text, "%sstandard deviations and errors", before);
        before = ", ";
    }
    for (size_t c = 0, n = 0; c < attn_table_n_column(lines->table); c++) {
        const bool is_shown = is_left_out(lines, c) || attn_text_table_shows(&lines->grid, n++);

        n += c == lines->bars;
        if (is_shown)
            continue;
        attn_buffer_append_string(&lines->text, before);
        append_name(lines, c);
        before = ", ";
    }
    attn_buffer_append_format(&lines->text, " (%s has all columns)%s\n", lines->style->elsewhere,
                              lines->is_markdown ? " -->" : "");
}

/* Returns true if LaTeX has a rule above ROW: below the headings, next to a group with several
 * rows, and between totals and the rows that they sum. */
static bool is_ruled_off(const struct lines *lines, size_t row)
{
    if (row == 0 || row == attn_table_n_row(lines->table))
        return row == 0;
    if (!is_repeated(lines, row))
        return is_repeated(lines, row - 1) || is_repeated(lines, row + 1);
    return (attn_table_total(lines->table, row) < SIZE_MAX) !=
           (attn_table_total(lines->table, row - 1) < SIZE_MAX);
}

static enum attn_status write(struct lines *lines, struct attn_sink *sink, struct attn_error *err)
{
    static const char rule[] = "\\midrule\n";

    ATTN_TRY(fit(lines, err));
    lines->text.size = 0;
    if (lines->grid.between)
        append_head(lines);
    ATTN_TRY(attn_sink_write_buffer(sink, &lines->text, err));
    for (size_t line = 0; attn_text_table_write_row(&lines->grid, line, sink); line++)
        if (lines->is_latex && is_ruled_off(lines, line))
            attn_sink_write(sink, rule, sizeof rule - 1);
    ATTN_TRY(attn_buffer_check(&lines->grid.line, err));
    if (lines->is_latex)
        attn_buffer_append_string(&lines->text, "\\bottomrule\n\\end{tabular}\n\\end{table}\n");
    append_hidden(lines);
    return attn_sink_write_buffer(sink, &lines->text, err);
}

/* Makes *SORTED the rows of TABLE with the largest numbers in its ranked column, if it has one and
 * a number in it; and finds the largest. */
static enum attn_status rank(struct lines *lines, struct attn_table **sorted,
                             struct attn_error *err)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    const size_t n_row = attn_table_n_row(lines->table);
    struct attn_error unseen = {0}; /* no row has a number */
    size_t c = attn_table_n_column(lines->table);

    while (c-- > 0)
        if ((attn_table_column(lines->table, c)->traits & ATTN_TRAIT_RANKED) != 0)
            order.sort = attn_table_column(lines->table, lines->bars = c)->name;
    order.n_most = lines->style->n_largest;
    order.n_group = lines->style->n_group;
    if (!order.sort || n_row == 0)
        return ATTN_OK;
    if (attn_table_sort(lines->table, &order, sorted, &unseen) != ATTN_OK) {
        lines->bars = SIZE_MAX;
        return unseen.status == ATTN_INVALID ? ATTN_OK : attn_error_copy(err, &unseen);
    }
    lines->is_cut = attn_table_n_row(*sorted) < n_row;
    lines->table = lines->is_cut ? *sorted : lines->table; /* few rows keep their order */
    for (size_t row = 0; row < attn_table_n_row(lines->table); row++)
        lines->largest = fmax(lines->largest, fabs(rank_of(lines, row)));
    return ATTN_OK;
}

enum attn_status attn_table_write_lines(const struct attn_table *table,
                                        const struct attn_table_style *style,
                                        struct attn_sink *sink, struct attn_error *err)
{
    struct lines lines = {.table = table,
                          .is_latex = style->form == ATTN_TABLE_LATEX,
                          .is_markdown = style->form == ATTN_TABLE_MARKDOWN,
                          .style = style,
                          .types = attn_table_find_role(table, ATTN_ROLE_ROW_TYPE),
                          .bars = SIZE_MAX};
    struct attn_table *sorted = NULL;
    enum attn_status status = ATTN_OK;

    if (style->is_chosen || !attn_table_is_all_data(table, lines.types))
        lines.types = SIZE_MAX;
    if (lines.is_latex || lines.is_markdown) {
        lines.grid.begin = lines.is_latex ? "" : "| ";
        lines.grid.between = lines.is_latex ? " & " : " | ";
        lines.grid.end = lines.is_latex ? " \\\\" : " |";
    }
    if (style->form == ATTN_TABLE_ALIGNED && style->n_largest > 0)
        status = rank(&lines, &sorted, err);
    ATTN_THEN(status, write(&lines, sink, err));
    attn_table_free(sorted);
    attn_text_table_release(&lines.grid);
    attn_buffer_release(&lines.plain);
    attn_buffer_release(&lines.text);
    return status;
}
