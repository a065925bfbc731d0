/* record_jsonl.c - one line of JSON per item, with the keys in a fixed order: id, labels, n_token,
 * ids, tokens, predictions, tensors; or id, labels, error. */
#include "formats/json_writer.h"
#include "stream/record_arrays.h"
#include "stream/records_internal.h"
#include "tensors/format_internal.h"
#include "tensors/labels_json.h"

/* Writes {"queries":[0,4],"blocks.0.attn.hook_pattern":[[[0.5,null],...],...],...}, as in the JSON
 * of a run. */
static enum attn_status push_tensors(struct attn_json_writer *json,
                                     const struct attn_item_result *result, struct attn_error *err)
{
    struct attn_record_arrays *arrays;

    ATTN_TRY(attn_record_arrays_create(result, &arrays, err));
    attn_json_begin(attn_json_key(json, "tensors"), '{');
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
                                 width, -1);
        }
        attn_json_end_rows(json, array);
    }
    attn_json_end(json);
    attn_record_arrays_free(arrays);
    return ATTN_OK;
}

/* Writes "labels":{"condition":"a","n":3} with the labels that the item has. */
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

void attn_record_error_push(struct attn_json_writer *json, const struct attn_item_result *result)
{
    attn_json_begin(attn_json_key(json, "error"), '{');
    attn_json_text(attn_json_key(json, "code"), attn_reason_text(result->failure));
    attn_json_text(attn_json_key(json, "message"), result->err.message);
    attn_json_end(json);
}

/* Writes the results of an item that did not fail. */
static enum attn_status push_result(struct attn_json_writer *json,
                                    const struct attn_records_form *form,
                                    const struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_labels *labels = result->labels;

    attn_json_size(attn_json_key(json, "n_token"), result->n_token);
    attn_json_append_ids(attn_json_value(attn_json_key(json, "ids")), labels, result->n_token);
    attn_json_append_tokens(attn_json_value(attn_json_key(json, "tokens")), labels->tokens,
                            labels->token_sizes, result->n_token);
    if (form->has_predictions || result->predictions.n_next > 0)
        attn_json_append_predictions(attn_json_value(attn_json_key(json, "predictions")),
                                     &result->predictions, -1, false);
    return form->has_tensors ? push_tensors(json, result, err) : ATTN_OK;
}

static enum attn_status write_jsonl(struct attn_record_writer *writer,
                                    const struct attn_item_result *result, struct attn_error *err)
{
    struct attn_json_writer json = {.out = &writer->text, .comma = ",", .colon = ":"};

    attn_json_begin(&json, '{');
    attn_record_id_push(attn_json_key(&json, "id"), result);
    push_labels(&json, result);
    if (result->failure)
        attn_record_error_push(&json, result);
    else
        ATTN_TRY(push_result(&json, writer->form, result, err));
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
