/* record_id.c - see record_id.h. */
#include "records/record_id.h"

#include "encode/csv_field.h"

#include "base/escape.h"

#include <stdio.h>
#include <string.h>

static void note(struct attn_record_writer *writer, const struct attn_outcome *outcome)
{
    const struct attn_records_form *form = writer->form;
    char message[ATTN_QUOTE_SIZE + 160];

    *writer->has_noted_id = true;
    if (!form->on_note)
        return;
    snprintf(message, sizeof message,
             "the id '%s' of record %zu begins like a formula: a spreadsheet runs it, unless the "
             "column is imported as text",
             attn_quote(outcome->id, outcome->n_id).text, outcome->number);
    form->on_note(form->user, message);
}

void attn_record_id_append(struct attn_record_writer *writer, struct attn_buffer *out,
                           const struct attn_outcome *outcome)
{
    if (!outcome->id) {
        attn_buffer_append_format(out, "%zu", outcome->number);
        return;
    }
    if (!*writer->has_noted_id && outcome->has_text_id && outcome->n_id > 0 &&
        memchr("=+-@\t\r", outcome->id[0], 6))
        note(writer, outcome);
    attn_csv_field_append(out, outcome->id, outcome->n_id);
}
