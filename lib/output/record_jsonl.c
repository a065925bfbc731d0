/* record_jsonl.c - a line of JSON a record, with the keys in one order: id, n_token, the fields that
 * were chosen, error. */
#include "output/float_text.h"
#include "output/labels_json.h"
#include "output/record_format.h"

#include "base/escape.h"

#include <math.h>
#include <string.h>

static void append(struct attn_buffer *out, const char *text)
{
    attn_buffer_append_string(out, text);
}

static void append_id(struct attn_buffer *out, const struct attn_outcome *outcome)
{
    append(out, "{\"id\":");
    if (!outcome->id)
        attn_buffer_append_format(out, "%zu", outcome->number);
    else if (outcome->has_text_id)
        attn_json_append_string(out, outcome->id, outcome->n_id);
    else
        attn_buffer_append(out, outcome->id, outcome->n_id);
}

static void append_error(struct attn_buffer *out, const struct attn_outcome *outcome)
{
    append(out, ",\"error\":{\"code\":");
    attn_json_append_string(out, outcome->failure, strlen(outcome->failure));
    append(out, ",\"message\":");
    attn_json_append_string(out, outcome->message, strlen(outcome->message));
    append(out, "}");
}

static enum attn_status append_tokens(struct attn_buffer *out, const struct attn_outcome *outcome,
                                      struct attn_error *err)
{
    struct attn_token_texts texts = {0};
    enum attn_status status = attn_token_texts_init(&texts, outcome->labels, err);

    attn_json_append_tokens(out, &texts);
    attn_token_texts_release(&texts);
    return status;
}

/* [1,2,null] */
static void append_row(struct attn_buffer *out, const float *values, size_t n, int precision)
{
    char *to = NULL;

    attn_buffer_append_char(out, '[');
    for (size_t i = 0; i < n; i++) {
        if (i % ATTN_NUMBERS_AT_ONCE == 0)
            to = attn_buffer_reserve(out,
                                     (size_t)ATTN_NUMBERS_AT_ONCE * (1 + ATTN_NUMBER_TEXT_SIZE));
        if (!to)
            return;
        if (i > 0)
            *to++ = ',';
        if (isfinite(values[i]))
            to += attn_number_text(values[i], precision, to);
        else
            to = (char *)memcpy(to, "null", 4) + 4;
        out->size = (size_t)(to - out->data);
    }
    attn_buffer_append_char(out, ']');
}

/* {"entropy":[[0.41,...],...],...} */
static void append_measures(struct attn_buffer *out, const struct attn_records_form *form,
                            const float *values)
{
    const char *separator = "{\"";

    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        if (!(form->measures & ATTN_MEASURE_BIT(m)))
            continue;
        append(out, separator);
        append(out, attn_measure_name((enum attn_measure)m));
        separator = ",\"";
        for (size_t layer = 0; layer < form->n_layer; layer++, values += form->n_head) {
            append(out, layer == 0 ? "\":[" : ",");
            append_row(out, values, form->n_head, form->precision);
        }
        append(out, "]");
    }
    append(out, *separator == '{' ? "{}" : "}");
}

static void append_surprisal(struct attn_buffer *out, const struct attn_outcome *outcome,
                             int precision)
{
    for (size_t i = 0; i < outcome->n_token; i++) {
        attn_buffer_append_char(out, i > 0 ? ',' : '[');
        attn_json_append_number(out, (float)outcome->surprisal[i], precision);
    }
    append(out, outcome->n_token > 0 ? "]" : "[]");
}

/* Appends a field; null where the outcome has no such thing. */
static enum attn_status append_field(struct attn_record_writer *writer,
                                     enum attn_record_field field,
                                     const struct attn_outcome *outcome, struct attn_error *err)
{
    struct attn_buffer *out = &writer->text;
    const struct attn_records_form *form = writer->form;

    switch (field) {
    case ATTN_RECORD_FIELD_IDS:
        attn_json_append_ids(out, outcome->labels, outcome->n_token);
        return ATTN_OK;
    case ATTN_RECORD_FIELD_TOKENS:
        return append_tokens(out, outcome, err);
    case ATTN_RECORD_FIELD_OFFSETS:
        attn_json_append_offsets(out, outcome->labels, outcome->n_token);
        return ATTN_OK;
    case ATTN_RECORD_FIELD_MEASURES:
        if (outcome->measures)
            append_measures(out, form, outcome->measures);
        break;
    case ATTN_RECORD_FIELD_SURPRISAL:
        if (outcome->surprisal)
            append_surprisal(out, outcome, form->precision);
        break;
    case ATTN_RECORD_FIELD_PREDICTIONS:
        if (outcome->predictions)
            attn_json_append_predictions(out, outcome->predictions, form->precision, false);
        break;
    case ATTN_RECORD_FIELD_TENSORS:
    case ATTN_N_RECORD_FIELD:
        break;
    }
    return ATTN_OK;
}

static enum attn_status write_jsonl(struct attn_record_writer *writer,
                                    const struct attn_outcome *outcome, struct attn_error *err)
{
    struct attn_buffer *out = &writer->text;
    enum attn_status status = ATTN_OK;

    append_id(out, outcome);
    if (outcome->failure) {
        append_error(out, outcome);
        append(out, "}\n");
        return ATTN_OK;
    }
    attn_buffer_append_format(out, ",\"n_token\":%zu", outcome->n_token);
    for (int f = 0; f < ATTN_N_RECORD_FIELD && status == ATTN_OK; f++) {
        const enum attn_record_field field = (enum attn_record_field)f;
        size_t before;

        if (!(writer->form->fields & UINT64_C(1) << f))
            continue;
        attn_buffer_append_format(out, ",\"%s\":", attn_record_field_name(field));
        before = out->size;
        status = append_field(writer, field, outcome, err);
        append(out, out->size == before ? "null" : "");
    }
    append(out, "}\n");
    return status;
}

const struct attn_record_format attn_record_format_jsonl = {
    .name = "jsonl",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .write = write_jsonl,
};
