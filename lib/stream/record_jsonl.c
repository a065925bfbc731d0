/* record_jsonl.c - one line of JSON per record, with the keys in a fixed order: id, labels,
 * n_token, the selected fields, error. */
#include "formats/json_writer.h"
#include "stream/record_arrays.h"
#include "stream/records_internal.h"
#include "tensors/labels_json.h"

#include "tensors/format_internal.h"

#include <string.h>

/* Writes {"entropy":[[0.41,...],...],...}; with two stacks, each layer has two rows:
 * [[[0.04,...],[0.78,...]],...]. */
static void push_measures(struct attn_json_writer *json, const struct attn_records_form *form,
                          const float *values)
{
    attn_json_begin(json, '{');
    for (int m = 0; m < ATTN_N_MEASURE; m++) {
        if (!(form->measures & ATTN_MEASURE_BIT(m)))
            continue;
        attn_json_begin(attn_json_key(json, attn_measure_name((enum attn_measure)m)), '[');
        for (size_t layer = 0; layer < form->n_layer; layer++) {
            if (form->n_stack > 1)
                attn_json_begin(json, '[');
            for (size_t k = 0; k < form->n_stack; k++, values += form->n_head)
                attn_json_append_row(attn_json_value(json),
                                     (struct attn_row){.values = values, .n = form->n_head},
                                     form->n_head, form->precision);
            if (form->n_stack > 1)
                attn_json_end(json);
        }
        attn_json_end(json);
    }
    attn_json_end(json);
}

static void push_surprisal(struct attn_json_writer *json, const struct attn_item_result *result,
                           int precision)
{
    attn_json_begin(json, '[');
    for (size_t i = 0; i < result->n_token; i++)
        attn_json_float(json, (float)result->surprisal[i], precision);
    attn_json_end(json);
}

/* Writes {"queries":[0,4],"blocks.0.attn.hook_pattern":[[[0.5,null],...],...],...}, as in the JSON
 * of a run. */
static enum attn_status push_tensors(struct attn_json_writer *json,
                                     const struct attn_item_result *result, int precision,
                                     struct attn_error *err)
{
    struct attn_record_arrays *arrays;

    ATTN_TRY(attn_record_arrays_create(result, &arrays, err));
    attn_json_begin(json, '{');
    for (size_t i = 0; i < attn_record_arrays_n(arrays); i++) {
        const struct attn_array *array = attn_record_array(arrays, i);
        const size_t width = array->shape[array->rank - 1];
        const size_t n_inner = array->rank > 1 ? array->shape[array->rank - 2] : 1;

        if (array->data) {
            attn_json_push_narrowed(json, array);
            continue;
        }
        attn_json_key(json, array->name);
        for (size_t r = 0; r < array->size / sizeof(float) / width; r++) {
            attn_json_begin_row(json, array, r / n_inner, r % n_inner);
            attn_json_append_row(attn_json_value(json), attn_record_array_cells(arrays, i, r),
                                 width, precision);
        }
        attn_json_end_rows(json, array);
    }
    attn_json_end(json);
    attn_record_arrays_free(arrays);
    return ATTN_OK;
}

/* Writes the value of a field; null if the result lacks it. */
static enum attn_status push_field(struct attn_json_writer *json,
                                   const struct attn_records_form *form,
                                   enum attn_record_field field,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_labels *labels = result->labels;

    if (field == ATTN_RECORD_FIELD_IDS)
        attn_json_append_ids(attn_json_value(json), labels, result->n_token);
    else if (field == ATTN_RECORD_FIELD_TOKENS)
        attn_json_append_tokens(attn_json_value(json), labels->tokens, labels->token_sizes,
                                result->n_token);
    else if (field == ATTN_RECORD_FIELD_OFFSETS)
        attn_json_append_offsets(attn_json_value(json), labels, result->n_token);
    else if (field == ATTN_RECORD_FIELD_MEASURES && result->measures)
        push_measures(json, form, result->measures);
    else if (field == ATTN_RECORD_FIELD_SURPRISAL && result->surprisal)
        push_surprisal(json, result, form->precision);
    else if (field == ATTN_RECORD_FIELD_PREDICTIONS)
        attn_json_append_predictions(attn_json_value(json), &result->predictions, form->precision,
                                     false);
    else if (field == ATTN_RECORD_FIELD_TENSORS && result->capture)
        return push_tensors(json, result, form->precision, err);
    else
        attn_json_null(json);
    return ATTN_OK;
}

/* Writes "labels":{"condition":"a","n":3} with the labels that the record has. */
static void push_labels(struct attn_json_writer *json, const struct attn_item_result *result)
{
    attn_json_begin(attn_json_key(json, "labels"), '{');
    for (size_t i = 0; i < result->item->n_label; i++) {
        const struct attn_item_label *label = &result->item->labels[i];

        if (label->value.type != ATTN_VALUE_MISSING)
            attn_record_label_push(attn_json_key(json, label->name), label);
    }
    attn_json_end(json);
}

static void push_error(struct attn_json_writer *json, const struct attn_item_result *result)
{
    attn_json_begin(attn_json_key(json, "error"), '{');
    attn_json_text(attn_json_key(json, "code"), attn_record_failure_code(result->failure));
    attn_json_text(attn_json_key(json, "message"), result->err.message);
    attn_json_end(json);
}

static enum attn_status write_jsonl(struct attn_record_writer *writer,
                                    const struct attn_item_result *result, struct attn_error *err)
{
    struct attn_json_writer json = {.out = &writer->text, .comma = ",", .colon = ":"};
    const bool is_added = writer->form->adds_predictions && result->predictions.n_next > 0;
    const attn_record_field_set fields =
        writer->form->fields | (is_added ? ATTN_RECORD_FIELD_BIT(PREDICTIONS) : 0);

    attn_json_begin(&json, '{');
    attn_record_id_push(attn_json_key(&json, "id"), result);
    if (writer->form->has_labels)
        push_labels(&json, result);
    if (result->failure)
        push_error(&json, result);
    else
        attn_json_size(attn_json_key(&json, "n_token"), result->n_token);
    for (int f = 0; f < ATTN_N_RECORD_FIELD && !result->failure; f++) {
        const enum attn_record_field field = (enum attn_record_field)f;

        if (fields & UINT64_C(1) << f)
            ATTN_TRY(push_field(attn_json_key(&json, attn_record_field_name(field)), writer->form,
                                field, result, err));
    }
    attn_json_end(&json);
    attn_buffer_append_char(&writer->text, '\n');
    return ATTN_OK;
}

const struct attn_item_sink attn_item_sink_jsonl = {
    .name = "jsonl",
    .size = sizeof(struct attn_record_writer),
    .is_text = true,
    .add = write_jsonl,
};
