/* record_jsonl.c - a line of JSON a record, with the keys in one order: id, labels, n_token, the
 * fields that were chosen, error. */
#include "batch/record_arrays.h"
#include "batch/records_internal.h"
#include "encode/json_writer.h"
#include "writers/labels_json.h"

#include "base/escape.h"
#include "writers/row_text.h"

#include <inttypes.h>
#include <string.h>

static void append(struct attn_buffer *out, const char *text)
{
    attn_buffer_append_string(out, text);
}

/* {"entropy":[[0.41,...],...],...}, with two rows for each layer of two stacks:
 * [[[0.04,...],[0.78,...]],...] */
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
        for (size_t layer = 0; layer < form->n_layer; layer++) {
            append(out, layer == 0 ? "\":[" : ",");
            append(out, form->n_stack > 1 ? "[" : "");
            for (size_t k = 0; k < form->n_stack; k++, values += form->n_head) {
                append(out, k > 0 ? "," : "");
                attn_json_append_row(out, (struct attn_row){.values = values, .n = form->n_head},
                                     form->n_head, form->precision);
            }
            append(out, form->n_stack > 1 ? "]" : "");
        }
        append(out, "]");
    }
    append(out, *separator == '{' ? "{}" : "}");
}

static void append_surprisal(struct attn_buffer *out, const struct attn_record_outcome *outcome,
                             int precision)
{
    struct attn_json_writer json = {.out = out, .comma = ","};

    attn_json_begin(&json, '[');
    for (size_t i = 0; i < outcome->n_token; i++)
        attn_json_float(&json, (float)outcome->surprisal[i], precision);
    attn_json_end(&json);
}

/* [[[0.5,null],...],...],...]: as many brackets as the tensor has axes. */
static void append_tensor(struct attn_buffer *out, const struct attn_record_arrays *arrays,
                          size_t i, int precision)
{
    const struct attn_array *array = attn_record_array(arrays, i);
    static const char *const begins[] = {"", "[", "[["}, *const ends[] = {"", "]", "]]"};
    const size_t width = array->shape[array->rank - 1];
    const size_t n_inner = array->rank == 1 ? 1 : array->shape[array->rank - 2];
    const size_t n_row = array->rank == 3 ? array->shape[0] * n_inner : n_inner;

    append(out, begins[array->rank - 1]);
    for (size_t r = 0; r < n_row; r++) {
        if (r > 0)
            append(out, r % n_inner == 0 ? "],[" : ",");
        attn_json_append_row(out, attn_record_array_cells(arrays, i, r), width, precision);
    }
    append(out, ends[array->rank - 1]);
}

/* {"queries":[0,4],"blocks.0.attn.hook_pattern":[...],...}: as the JSON of a run has them. */
static enum attn_status append_tensors(struct attn_buffer *out,
                                       const struct attn_record_outcome *outcome, int precision,
                                       struct attn_error *err)
{
    struct attn_record_arrays *arrays;
    const char *separator = "{";

    ATTN_TRY(attn_record_arrays_create(outcome, &arrays, err));
    for (size_t i = 0; i < attn_record_arrays_n(arrays); i++) {
        const struct attn_array *array = attn_record_array(arrays, i);

        if (array->data && (strcmp(array->name, "ids") == 0 || strcmp(array->dtype, "<i8") != 0))
            continue; /* ids and tokens are fields of their own */
        append(out, separator);
        separator = ",";
        attn_json_append_string(out, array->name, strlen(array->name));
        append(out, ":");
        if (!array->data) {
            append_tensor(out, arrays, i, precision);
            continue;
        }
        for (size_t k = 0; k < array->shape[0]; k++) /* which rows or heads narrowed ones hold */
            attn_buffer_append_format(out, k > 0 ? ",%" PRId64 : "[%" PRId64,
                                      ((const int64_t *)(const void *)array->data)[k]);
        append(out, "]");
    }
    append(out, *separator == '{' ? "{}" : "}");
    attn_record_arrays_free(arrays);
    return ATTN_OK;
}

/* Appends a field; null where the outcome has no such thing. */
static enum attn_status append_field(struct attn_record_writer *writer,
                                     enum attn_record_field field,
                                     const struct attn_record_outcome *outcome,
                                     struct attn_error *err)
{
    struct attn_buffer *out = &writer->text;
    const struct attn_records_form *form = writer->form;

    switch (field) {
    case ATTN_RECORD_FIELD_IDS:
        attn_json_append_ids(out, outcome->labels, outcome->n_token);
        return ATTN_OK;
    case ATTN_RECORD_FIELD_TOKENS:
        attn_json_append_tokens(out, outcome->labels->tokens, outcome->labels->token_sizes,
                                outcome->n_token);
        return ATTN_OK;
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
        return outcome->capture ? append_tensors(out, outcome, form->precision, err) : ATTN_OK;
    case ATTN_N_RECORD_FIELD:
        break;
    }
    return ATTN_OK;
}

/* "labels":{"condition":"a","n":3}: those that the record has. */
static void append_labels(struct attn_buffer *out, const struct attn_record_outcome *outcome)
{
    struct attn_json_writer json = {.out = out, .comma = ",", .colon = ":"};

    append(out, ",\"labels\":");
    attn_json_begin(&json, '{');
    for (size_t i = 0; i < outcome->n_item_label; i++) {
        const struct attn_item_label *label = &outcome->item_labels[i];

        if (label->value.type == ATTN_VALUE_MISSING)
            continue;
        attn_record_label_push(attn_json_key(&json, label->name), label);
    }
    attn_json_end(&json);
}

static void append_error(struct attn_buffer *out, const struct attn_record_outcome *outcome)
{
    append(out, ",\"error\":{\"code\":");
    attn_json_append_string(out, outcome->failure, strlen(outcome->failure));
    append(out, ",\"message\":");
    attn_json_append_string(out, outcome->message, strlen(outcome->message));
    append(out, "}}\n");
}

/* The fields of a line: those of all, and predictions where only this record asks for some. */
static attn_record_field_set fields_of(const struct attn_records_form *form,
                                       const struct attn_record_outcome *outcome)
{
    const bool is_added =
        form->adds_predictions && outcome->predictions && outcome->predictions->n_next > 0;

    return form->fields | (is_added ? ATTN_RECORD_FIELD_BIT(PREDICTIONS) : 0);
}

static enum attn_status write_jsonl(struct attn_record_writer *writer,
                                    const struct attn_record_outcome *outcome,
                                    struct attn_error *err)
{
    struct attn_buffer *out = &writer->text;
    struct attn_json_writer json = {.out = out};

    append(out, "{\"id\":");
    attn_record_id_push(&json, outcome);
    if (writer->form->has_labels)
        append_labels(out, outcome);
    if (outcome->failure) {
        append_error(out, outcome);
        return ATTN_OK;
    }
    attn_buffer_append_format(out, ",\"n_token\":%zu", outcome->n_token);
    for (int f = 0; f < ATTN_N_RECORD_FIELD; f++) {
        const enum attn_record_field field = (enum attn_record_field)f;
        size_t before;

        if (!(fields_of(writer->form, outcome) & UINT64_C(1) << f))
            continue;
        attn_buffer_append_format(out, ",\"%s\":", attn_record_field_name(field));
        before = out->size;
        ATTN_TRY(append_field(writer, field, outcome, err));
        append(out, out->size == before ? "null" : "");
    }
    append(out, "}\n");
    return ATTN_OK;
}

const struct attn_record_format attn_record_format_jsonl = {
    .name = "jsonl",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .write = write_jsonl,
};
