#include "tables/table_writer_internal.h"

#include "base/elementary.h"
#include "base/text/escape.h"
#include "formats/float_text.h"
#include "formats/quoting.h"
#include "tables/table_internal.h"

#include <float.h>
#include <math.h>

/* Aligned text shows a number of at least this size by its magnitude, not with fixed decimals. */
static const double large = 1e5;

/* From this size on, doubles have less than one decimal. */
static const double largest_whole = 1e15;

/* Appends VALUE with at most 6 decimals, without zeros at the end. */
static void append_whole(struct attn_buffer *out, double value)
{
    const size_t begin = out->size;

    attn_double_append_as(out, 'f', 6, fabs(value) < 5e-7 ? 0 : value);
    while (out->size > begin && out->data[out->size - 1] == '0')
        out->size--;
    out->size -= out->size > begin && out->data[out->size - 1] == '.';
}

/* Appends CELL, which is a boolean, an integer or a real. A boolean is 1 or 0, or true or false in
 * a label; a real follows COLUMN's notation for programs, or is nan, inf or -inf. */
static void append_number(struct attn_buffer *out, int precision, const struct attn_column *column,
                          const struct attn_cell *cell)
{
    const double value = cell->real;
    char *to;

    if (cell->type == ATTN_VALUE_BOOLEAN && column->notation == ATTN_NOTATION_LABEL) {
        attn_buffer_append_string(out, cell->integer != 0 ? "true" : "false");
    } else if (cell->type != ATTN_VALUE_REAL) {
        attn_buffer_append_integer(out, cell->integer);
    } else if (column->notation == ATTN_NOTATION_FIGURES) {
        attn_double_append_as(out, 'g', column->digits, value);
    } else if (column->notation == ATTN_NOTATION_WHOLE && fabs(value) < largest_whole) {
        append_whole(out, value);
    } else if (column->notation == ATTN_NOTATION_WHOLE ||
               column->notation == ATTN_NOTATION_DOUBLE ||
               column->notation == ATTN_NOTATION_LABEL || !(fabs(value) <= (double)FLT_MAX)) {
        attn_double_append(out, value);
    } else if (precision >= 0) {
        attn_double_append_as(out, 'f', precision, value);
    } else if ((to = attn_buffer_reserve(out, ATTN_FLOAT_TEXT_SIZE))) {
        out->size += attn_format_float((float)value, to);
    }
}

/* Appends a list such as "[1, 2]". If IS_JSON, nan and infinities are null. */
static void append_list(struct attn_buffer *out, int precision, const struct attn_column *column,
                        const struct attn_cell *cell, bool is_json)
{
    attn_buffer_append_char(out, '[');
    for (size_t i = 0; i < cell->size; i++) {
        const struct attn_cell item = cell->type == ATTN_VALUE_LIST
                                          ? attn_cell_integer(cell->list[i])
                                          : attn_cell_real(cell->reals[i]);

        attn_buffer_append_string(out, i > 0 ? ", " : "");
        if (is_json && item.type == ATTN_VALUE_REAL && !isfinite(item.real))
            attn_buffer_append_string(out, "null");
        else
            append_number(out, precision, column, &item);
    }
    attn_buffer_append_char(out, ']');
}

/* Appends CELL as aligned text or as a field between tabs, where a missing value is empty. Reals
 * have fixed decimals; aligned text shows 0 as "0", and by its magnitude a number for which these
 * decimals are too few. */
static void append_plain(struct attn_buffer *out, struct attn_table_style style,
                         const struct attn_column *column, const struct attn_cell *cell)
{
    const bool is_aligned = style.form == ATTN_TABLE_ALIGNED;
    const double size = cell->type == ATTN_VALUE_REAL ? fabs(cell->real) : 0;

    if (cell->type == ATTN_VALUE_MISSING)
        attn_buffer_append_string(out, is_aligned ? "-" : "");
    else if (cell->type == ATTN_VALUE_TEXT)
        attn_escape_append(out, cell->text, cell->size);
    else if (attn_value_is_list(cell->type))
        append_list(out, style.precision, column, cell, false);
    else if (cell->type == ATTN_VALUE_BOOLEAN && is_aligned &&
             column->notation != ATTN_NOTATION_LABEL)
        attn_buffer_append_string(out, cell->integer != 0 ? "yes" : "no");
    else if (cell->type != ATTN_VALUE_REAL || !isfinite(size) || style.precision >= 0 ||
             column->notation != ATTN_NOTATION_FIXED)
        append_number(out, style.precision, column, cell);
    else if (is_aligned && size == 0)
        attn_buffer_append_char(out, '0');
    else if (is_aligned && (size < 0.5 * attn_pow(10, -column->digits) || size >= large))
        attn_double_append_as(out, 'e', 1, cell->real);
    else
        attn_double_append_as(out, 'f', column->digits, cell->real);
}

static void append_csv(struct attn_buffer *out, struct attn_table_style style,
                       const struct attn_column *column, const struct attn_cell *cell)
{
    struct attn_buffer escaped = {0};

    if (cell->type == ATTN_VALUE_MISSING)
        return;
    if (cell->type == ATTN_VALUE_TEXT && column->notation == ATTN_NOTATION_LABEL) {
        attn_csv_field_append(out, cell->text, cell->size);
        return;
    }
    if (cell->type == ATTN_VALUE_TEXT && attn_escape_plain(cell->text, cell->size) == cell->size) {
        attn_csv_text_append(out, cell->text, cell->size);
        return;
    }
    if (cell->type == ATTN_VALUE_TEXT) {
        attn_escape_append(&escaped, cell->text, cell->size);
        attn_csv_text_append(out, escaped.data, escaped.size);
        out->has_failed |= escaped.has_failed;
        attn_buffer_release(&escaped);
        return;
    }
    if (!attn_value_is_list(cell->type)) {
        append_number(out, style.precision, column, cell);
        return;
    }
    attn_buffer_append_string(out, cell->size > 1 ? "\"" : ""); /* the list has commas */
    append_list(out, style.precision, column, cell, false);
    attn_buffer_append_string(out, cell->size > 1 ? "\"" : "");
}

void attn_table_append_styled(struct attn_buffer *out, struct attn_table_style style,
                              const struct attn_column *column, const struct attn_cell *cell)
{
    (style.form == ATTN_TABLE_CSV ? append_csv : append_plain)(out, style, column, cell);
}

void attn_table_append_cell(struct attn_buffer *out, int precision,
                            const struct attn_column *column, const struct attn_cell *cell)
{
    append_plain(out, (struct attn_table_style){.precision = precision}, column, cell);
}

void attn_table_push_cell(struct attn_json_writer *json, const struct attn_column *column,
                          const struct attn_cell *cell, int precision)
{
    if (cell->type == ATTN_VALUE_MISSING ||
        (cell->type == ATTN_VALUE_REAL && !isfinite(cell->real)))
        attn_json_null(json);
    else if (cell->type == ATTN_VALUE_TEXT)
        attn_json_string(json, cell->text, cell->size);
    else if (cell->type == ATTN_VALUE_BOOLEAN)
        attn_json_bool(json, cell->integer != 0);
    else if (attn_value_is_list(cell->type))
        append_list(attn_json_value(json), precision, column, cell, true);
    else
        append_number(attn_json_value(json), precision, column, cell);
}

void attn_table_push_member(struct attn_json_writer *json, const struct attn_column *column,
                            const struct attn_cell *cell, int precision)
{
    attn_table_push_cell(attn_json_key(json, column->name), column, cell, precision);
}
