/*
 * json_writer.c - one document:
 *
 *     {"schema": 1, "model": ..., "options": {...}, "ids": [...], "tokens": [...],
 *      "offsets": [[begin, end], ...], "tensors": {"blocks.0.attn.hook_pattern": [[[...]]], ...},
 *      "predictions": {"top": [{"id", "token", "probability"}], "next": [{"text", "logprob"}]}}
 *
 * where "top" has also a "position" when positions were chosen
 *
 * Tensors have the names and shapes that they have in archives; a row of numbers is a line. Masked
 * cells and what is no finite number are null. What the run does not know (the tokens of ids
 * without a vocabulary) is null too; predictions, the positions of tokens that the tokenizer
 * "added", and the "source_tokens" of cross-attention are there when there are some; "kv_heads",
 * the key/value head of each head, where heads share them. Texts are strings by JSON's rules, and
 * bytes of tokens that are not UTF-8 stand as \xNN (base/escape.h).
 */
#include "output/arrays.h"
#include "output/json_numbers.h"
#include "output/labels_json.h"
#include "output/token_text.h"
#include "output/writer.h"

#include "base/escape.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

struct json_writer {
    struct attn_writer base;
    struct attn_arrays arrays;
    struct attn_buffer text; /* what is being made; written and emptied row by row */
    bool has_tensors;        /* one was begun */
    bool has_predictions;    /* they were written, and the tensors ended before */
};

/* --- Pieces ---------------------------------------------------------------------------------- */

static void append(struct json_writer *w, const char *text)
{
    attn_buffer_append_string(&w->text, text);
}

/* Hands what was made to the sink. */
static enum attn_status flush(struct json_writer *w, struct attn_error *err)
{
    enum attn_status status = attn_buffer_check(&w->text, err);

    if (status == ATTN_OK)
        attn_sink_write(w->base.sink, w->text.data, w->text.size);
    w->text.size = 0;
    return status;
}

/* --- Before the tensors ----------------------------------------------------------------------- */

static void append_tokens(struct json_writer *w)
{
    const struct attn_labels *run = &w->base.labels;

    append(w, ",\n\"tokens\": ");
    attn_json_append_tokens(&w->text, run->tokens, run->token_sizes, w->base.n_position);
    if (run->source_tokens) {
        append(w, ",\n\"source_tokens\": ");
        attn_json_append_tokens(&w->text, run->source_tokens, run->source_token_sizes,
                                attn_selection_dims(run->selection)->n_source);
    }
}

/* The positions of the tokens that the tokenizer added, if there are any. */
static void append_added(struct json_writer *w)
{
    const struct attn_labels *run = &w->base.labels;
    const char *separator = ",\n\"added\": [";

    for (size_t p = 0; p < w->base.n_position; p++)
        if (attn_token_is_added(run, p)) {
            attn_buffer_append_format(&w->text, "%s%zu", separator, p);
            separator = ",";
        }
    append(w, run->n_front + run->n_back > 0 ? "]" : "");
}

/* Which key/value head each head reads, where several share one. */
static void append_kv_heads(struct json_writer *w)
{
    const struct attn_dims *dims = attn_selection_dims(w->base.labels.selection);
    const struct attn_array_axes *axes = w->base.labels.axes;
    const size_t n_head = dims->n_head / (axes ? axes->n_batch : 1);
    const size_t n_shared = dims->n_head / dims->n_kv_head;

    if (n_shared == 1)
        return;
    for (size_t head = 0; head < n_head; head++)
        attn_buffer_append_format(&w->text, head > 0 ? ",%zu" : ",\n\"kv_heads\": [%zu",
                                  head / n_shared);
    append(w, "]");
}

static void append_positions(struct json_writer *w)
{
    const struct attn_labels *run = &w->base.labels;

    append(w, ",\n\"ids\": ");
    attn_json_append_ids(&w->text, run, w->base.n_position);
    append_added(w);
    append(w, ",\n\"offsets\": ");
    attn_json_append_offsets(&w->text, run, w->base.n_position);
}

/* --- Tensors ------------------------------------------------------------------------------- */

static void begin_tensor(struct json_writer *w, const struct attn_array *array)
{
    append(w, w->has_tensors ? ",\n" : "\n");
    attn_json_append_string(&w->text, array->name, strlen(array->name));
    append(w, ": ");
    w->has_tensors = true;
}

/* `queries` and `blocks.L.heads`, which say what narrowed tensors hold. */
static void append_integers(struct json_writer *w, const struct attn_array *array)
{
    const int64_t *values = (const int64_t *)(const void *)array->data;

    begin_tensor(w, array);
    for (size_t i = 0; i < array->shape[0]; i++)
        attn_buffer_append_format(&w->text, i > 0 ? ",%" PRId64 : "[%" PRId64, values[i]);
    append(w, "]");
}

/* An attn_row_text_fn; what stands before the first row of an event is there already. */
static void append_event_row(const struct attn_writer *writer, const struct attn_trace_event *event,
                             const struct attn_place *place, size_t r, struct attn_buffer *text)
{
    attn_buffer_append_string(text, r > 0 ? ",\n" : "");
    attn_json_append_row(text, attn_event_row(event, r), place->extent.n_col,
                         writer->options.precision);
}

/* The brackets before ROW of GROUP: of a head, of a position when the heads of one lie together. A
 * tensor of rank 4 has groups of groups. */
static void append_before_row(struct json_writer *w, const struct attn_array *array, size_t group,
                              size_t row)
{
    if (row > 0) {
        append(w, ",\n");
    } else if (group > 0) {
        append(w, array->rank == 4 && group % array->shape[1] == 0 ? "]],[[\n" : "],[\n");
    } else {
        begin_tensor(w, array);
        append(w, &"[[[\n"[ATTN_NPY_RANK_MAX - array->rank]);
    }
}

static void end_tensor(struct json_writer *w, const struct attn_array *array)
{
    append(w, &"]]]"[ATTN_NPY_RANK_MAX - array->rank]);
}

/* An array that was put together in memory. */
static enum attn_status write_gathered(struct json_writer *w, struct attn_array *array,
                                       struct attn_error *err)
{
    const float *values = (const float *)(const void *)array->data;
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < array->shape[0]; i++)
        for (size_t j = 0; j < array->shape[1] && status == ATTN_OK; j++) {
            append_before_row(w, array, i, j);
            attn_json_append_row(&w->text,
                                 (struct attn_row){.values = values, .n = array->shape[2]},
                                 array->shape[2], w->base.options.precision);
            values += array->shape[2];
            status = flush(w, err);
        }
    end_tensor(w, array);
    attn_array_drop(array);
    return status;
}

static enum attn_status write_rows(struct json_writer *w, const struct attn_array *array,
                                   const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    enum attn_status status;

    append_before_row(w, array, place->head, place->row);
    status = flush(w, err);
    if (status == ATTN_OK)
        status =
            attn_writer_write_rows(&w->base, event, place, append_event_row, w->base.sink, err);
    if (place->is_last)
        end_tensor(w, array);
    return status;
}

/* --- The format ---------------------------------------------------------------------------- */

static enum attn_status open_json(struct attn_writer *writer, struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;

    ATTN_TRY(attn_arrays_init(&w->arrays, writer, err));
    writer->is_in_order = true;
    attn_buffer_append_format(&w->text, "{\n\"schema\": %d,\n\"model\": ", ATTN_JSON_SCHEMA);
    attn_json_append_text(&w->text, writer->labels.model,
                          writer->labels.model ? strlen(writer->labels.model) : 0);
    append(w, ",\n\"options\": ");
    attn_json_append_options(&w->text, &w->base.labels);
    append_tokens(w);
    append_positions(w);
    append_kv_heads(w);
    append(w, ",\n\"tensors\": {");
    for (size_t i = 0; i < w->arrays.n_small; i++)
        if (strcmp(w->arrays.items[i].dtype, "<i8") == 0 &&
            strcmp(w->arrays.items[i].name, "ids") != 0)
            append_integers(w, &w->arrays.items[i]);
    return flush(w, err);
}

static enum attn_status event_json(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;
    struct attn_array *array = attn_arrays_find(&w->arrays, event);
    enum attn_status status;

    if (!attn_array_is_scattered(writer, event->site))
        return write_rows(w, array, event, place, err);
    status = attn_arrays_gather(&w->arrays, event, place, err);
    return status == ATTN_OK && place->is_last ? write_gathered(w, array, err) : status;
}

static enum attn_status predictions_json(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;

    append(w, "\n},\n\"predictions\": ");
    attn_json_append_predictions(&w->text, predictions, w->base.options.precision, true);
    w->has_predictions = true;
    return flush(w, err);
}

static enum attn_status finish_json(struct attn_writer *writer, struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;

    append(w, w->has_predictions ? "\n}\n" : "\n}\n}\n"); /* of the tensors and of the document */
    return flush(w, err);
}

static void release_json(struct attn_writer *writer)
{
    struct json_writer *w = (struct json_writer *)writer;

    attn_arrays_release(&w->arrays);
    attn_buffer_release(&w->text);
}

static const struct attn_writer_ops ops = {
    .size = sizeof(struct json_writer),
    .open = open_json,
    .event = event_json,
    .finish = finish_json,
    .predictions = predictions_json,
    .release = release_json,
};

const struct attn_format attn_json_format = {
    .name = "json",
    .argument = "FILE",
    .help = "write tensors, tokens and predictions into one JSON document",
    .title = "JSON",
    .is_decimal = true,
    .has_predictions = true,
    .tensors = &ops,
    .has_tables = true,
    .table_form = ATTN_TABLE_JSON,
};
