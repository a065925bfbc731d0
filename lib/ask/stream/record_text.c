/* record_text.c - see records_internal.h: the parts, keys, labels and headers of a sink. */
#include "stream/records_internal.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/fixed_text.h"
#include "formats/quoting.h"

#include <stdlib.h>
#include <string.h>

enum attn_status attn_record_writer_add_part(struct attn_record_writer *writer, const char *path,
                                             bool is_resumed, struct attn_error *err)
{
    ATTN_TRY(attn_part_open(path, is_resumed, &writer->parts[writer->n_part], err));
    writer->n_part++;
    return ATTN_OK;
}

static const char *unit_of(const struct attn_records_form *form)
{
    return form->unit ? form->unit : "record";
}

/* Sends a note, once, if the text of WHAT, "id", begins like a formula. */
static void note_formula(struct attn_record_writer *writer, const char *what, const char *text,
                         size_t size, size_t number)
{
    const struct attn_records_form *form = writer->form;

    if (writer->has_noted_formula || size == 0 || !memchr("=+-@\t\r", text[0], 6))
        return;
    writer->has_noted_formula = true;
    attn_note(form->on_note, form->user, ATTN_NOTE_FORMULA,
              "the %s '%s' of %s %zu begins like a formula: a spreadsheet runs it, unless the "
              "column is imported as text",
              what, attn_quote(text, size).text, unit_of(form), number);
}

static int by_name(const void *a, const void *b)
{
    const struct attn_named_column *x = a, *y = b;

    return strcmp(x->name, y->name);
}

void attn_record_columns_release(struct attn_record_columns *columns)
{
    attn_free(columns->sorted);
    attn_free(columns->values);
    *columns = (struct attn_record_columns){0};
}

enum attn_status attn_record_columns_set(struct attn_record_columns *columns,
                                         const char *const *names, size_t n, struct attn_error *err)
{
    attn_record_columns_release(columns);
    ATTN_TRY(ATTN_ALLOC(columns->sorted, n, err));
    ATTN_TRY(ATTN_ALLOC(columns->values, n, err));
    for (size_t i = 0; i < n; i++)
        columns->sorted[i] = (struct attn_named_column){names[i], i};
    qsort(columns->sorted, n, sizeof *columns->sorted, by_name);
    columns->names = names;
    columns->n = n;
    return ATTN_OK;
}

/* Returns the column of a label; NULL if it has none. */
static const struct attn_named_column *find_column(const struct attn_record_columns *columns,
                                                   const char *name)
{
    const struct attn_named_column wanted = {.name = name};

    return columns->n > 0 ? bsearch(&wanted, columns->sorted, columns->n, sizeof wanted, by_name)
                          : NULL;
}

/* Sends a note, once, that the label NAME has no column. */
static void note_label(struct attn_record_writer *writer, const char *name, size_t number)
{
    const struct attn_records_form *form = writer->form;

    if (writer->has_noted_label)
        return;
    writer->has_noted_label = true;
    attn_note(form->on_note, form->user, ATTN_NOTE_OMITTED_LABEL,
              "the label '%s' of %s %zu is left out: columns are the labels of the first %s",
              attn_quote_string(name).text, unit_of(form), number, unit_of(form));
}

static void append_value(struct attn_record_writer *writer, struct attn_buffer *out,
                         const struct attn_item_label *label, size_t number)
{
    const struct attn_cell *value = &label->value;

    if (value->type == ATTN_VALUE_TEXT) {
        attn_csv_field_append(out, value->text, value->size);
        note_formula(writer, "label", value->text, value->size, number);
    } else if (value->type != ATTN_VALUE_MISSING) {
        attn_buffer_append_string(out, label->text);
    }
}

void attn_record_id_push(struct attn_json_writer *json, const struct attn_item_result *result)
{
    if (result->item->id_kind == ATTN_RECORD_ID_TEXT)
        attn_json_string(json, result->item->id, result->item->n_id);
    else if (result->item->id)
        attn_buffer_append(attn_json_value(json), result->item->id, result->item->n_id);
    else
        attn_json_size(json, result->item->number);
}

void attn_record_label_push(struct attn_json_writer *json, const struct attn_item_label *label)
{
    if (label->value.type == ATTN_VALUE_TEXT)
        attn_json_string(json, label->value.text, label->value.size);
    else
        attn_buffer_append_string(attn_json_value(json), label->text);
}

/* Appends the labels of RESULT that have a column; sends a note about others. */
static void append_labels(struct attn_record_writer *writer, struct attn_buffer *out,
                          const struct attn_item_result *result)
{
    const struct attn_record_columns *columns = writer->columns;

    for (size_t k = 0; k < columns->n; k++)
        columns->values[k] = NULL;
    for (size_t i = 0; i < result->item->n_label; i++) {
        const struct attn_item_label *label = &result->item->labels[i];
        const struct attn_named_column *column = find_column(columns, label->name);

        if (column)
            columns->values[column->i] = label;
        else
            note_label(writer, label->name, result->item->number);
    }
    for (size_t k = 0; k < columns->n; k++) {
        attn_buffer_append_char(out, ',');
        if (columns->values[k])
            append_value(writer, out, columns->values[k], result->item->number);
    }
}

void attn_record_key_append(struct attn_record_writer *writer, struct attn_buffer *out,
                            const struct attn_item_result *result)
{
    if (!result->item->id) {
        attn_buffer_append_format(out, "%zu", result->item->number);
    } else {
        attn_csv_field_append(out, result->item->id, result->item->n_id);
        if (result->item->id_kind == ATTN_RECORD_ID_TEXT)
            note_formula(writer, "id", result->item->id, result->item->n_id, result->item->number);
    }
    append_labels(writer, out, result);
}

enum attn_status attn_record_header_append(struct attn_record_writer *writer,
                                           const struct attn_column *columns, size_t n,
                                           struct attn_error *err)
{
    const struct attn_record_columns *labels = writer->columns;
    struct attn_buffer *out = &writer->text, full = {0};
    enum attn_status status = ATTN_OK;

    attn_buffer_append_string(out, "id");
    for (size_t i = 0; status == ATTN_OK && i < labels->n; i++) {
        const char *name = labels->names[i];
        bool is_renamed = attn_text_has_word("id error", name, strlen(name));

        for (size_t c = 0; c < n; c++)
            is_renamed |= *attn_record_prefix(name, columns[c].name, columns[c].since, true) != 0;
        attn_buffer_reset(&full);
        attn_buffer_append_string(&full, is_renamed ? ATTN_LABEL_PREFIX : "");
        attn_buffer_append_string(&full, name);
        attn_buffer_string(&full);
        status = attn_buffer_check(&full, err);
        if (status != ATTN_OK)
            break;
        if (is_renamed && find_column(writer->columns, full.data))
            status = attn_record_refuse_labels(name, err);
        attn_buffer_append_char(out, ',');
        attn_csv_field_append(out, full.data, full.size);
    }
    attn_buffer_release(&full);
    for (size_t c = 0; c < n; c++)
        attn_buffer_append_format(out, ",%s%s",
                                  attn_record_column_prefix(labels->names, labels->n, &columns[c]),
                                  columns[c].name);
    attn_buffer_append_string(out, ",error\n");
    return status;
}

enum attn_status attn_record_refuse_labels(const char *name, struct attn_error *err)
{
    const struct attn_quote quote = attn_quote_string(name);

    return attn_error_set(err, ATTN_FORMAT,
                          "the labels '%s' and '" ATTN_LABEL_PREFIX
                          "%s' would both be the column '" ATTN_LABEL_PREFIX
                          "%s', expected another name for one of them",
                          quote.text, quote.text, quote.text);
}
