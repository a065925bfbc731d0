/*
 * json_writer.c - the formats json and jsonl. The first is one document:
 *
 *     {"schema": 1, "kind": "run", "model": ..., "options": {...}, "ids": [...], "tokens": [...],
 *      "offsets": [[begin, end], ...], "tensors": {"blocks.0.attn.hook_pattern": [[[...]]], ...},
 *      "predictions": {"top": [{"id", "token", "prob"}], "next": [{"text", "log_prob"}]}}
 *
 * where "top" has also a "position" when positions were chosen
 *
 * Tensors have the names and shapes that they have in archives; a row of numbers is a line. Masked
 * cells, NaN and infinity are null. Unknown values (the tokens of ids without a vocabulary) are
 * null, too. Predictions, the positions of tokens that the tokenizer "added", and the
 * "source_tokens" of cross-attention are present if the run has any; "kv_heads", the key/value head
 * of each head, if heads share them; "picture", its size in pixels, tiles and cells, if the text
 * has one. Texts are strings by JSON's rules, and bytes of tokens that are not UTF-8 stand as \xNN
 * (base/text/escape.h).
 */
#include "formats/json_writer.h"
#include "base/sink_internal.h"
#include "input/reader.h"
#include "input/seen.h"
#include "tensors/arrays.h"
#include "tensors/format_internal.h"
#include "tensors/labels_internal.h"
#include "tensors/labels_json.h"
#include "tensors/token_text.h"
#include "tensors/writer.h"

#include "tables/table_writer.h"

#include <string.h>

struct json_writer {
    struct attn_writer base;
    struct attn_arrays arrays;
    struct attn_buffer text;      /* pending text, written and cleared row by row */
    struct attn_json_writer json; /* writes to `text` */
};

/* Begins a line with the key of a member, whose value the caller appends. */
static struct attn_json_writer *begin_member(struct json_writer *w, const char *name)
{
    attn_json_line(&w->json);
    attn_json_key(&w->json, name);
    return &w->json;
}

/* Begins a line with the key of a member, whose value the caller appends to the buffer as text. */
static struct attn_buffer *begin_value(struct json_writer *w, const char *name)
{
    return attn_json_value(begin_member(w, name));
}

/* --- Before the tensors -------------------------------------------------------------------- */

/* Writes the sizes of the first image in the text, and if there are several a list of all. */
static void push_images(struct json_writer *w)
{
    const struct attn_picture_prompt *prompt = attn_labels_prompt(&w->base.labels);

    attn_json_begin(begin_member(w, "picture"), '{');
    prompt->reader->write_image(prompt, 0, &w->json);
    attn_json_end(&w->json);
    if (prompt->n_image < 2)
        return;
    attn_json_begin(begin_member(w, "pictures"), '[');
    for (size_t i = 0; i < prompt->n_image; i++) {
        attn_json_begin(&w->json, '{');
        prompt->reader->write_image(prompt, i, &w->json);
        attn_json_end(&w->json);
    }
    attn_json_end(&w->json);
}

static void push_labels(struct json_writer *w)
{
    const struct attn_labels *run = &w->base.labels;
    const struct attn_dims *dims = attn_selection_dims(run->selection);
    const size_t n = w->base.n_position, n_shared = dims->n_head / dims->n_kv_head;

    attn_json_append_tokens(begin_value(w, "tokens"), run->tokens, run->token_sizes, n);
    if (run->source_tokens)
        attn_json_append_tokens(begin_value(w, "source_tokens"), run->source_tokens,
                                run->source_token_sizes, dims->n_source);
    attn_json_append_ids(begin_value(w, "ids"), run, n);
    if (attn_labels_n_added(run) > 0) {
        attn_json_begin(begin_member(w, "added"), '[');
        for (size_t p = 0; p < n; p++)
            if (attn_token_is_added(run, p))
                attn_json_size(&w->json, p);
        attn_json_end(&w->json);
    }
    attn_json_append_offsets(begin_value(w, "offsets"), run, n);
    if (attn_labels_prompt(run))
        push_images(w);
    if (n_shared == 1)
        return;
    /* for each head, the key/value head that it reads */
    attn_json_begin(begin_member(w, "kv_heads"), '[');
    for (size_t head = 0; head < dims->n_head / (run->axes ? run->axes->n_batch : 1); head++)
        attn_json_size(&w->json, head / n_shared);
    attn_json_end(&w->json);
}

/* --- Tensors ------------------------------------------------------------------------------- */

/* Begins a line with ROW of GROUP (labels_json.h). Returns the buffer to which its numbers are
 * appended. */
static struct attn_buffer *begin_row(struct json_writer *w, const struct attn_array *array,
                                     size_t group, size_t row)
{
    if (row == 0 && group == 0)
        begin_member(w, array->name);
    attn_json_begin_row(&w->json, array, group, row);
    attn_json_line(&w->json);
    return attn_json_value(&w->json);
}

/* Appends row R (attn_row_text_fn). Text before the first row of the event was written already. */
static void append_event_row(const struct attn_writer *writer, const struct attn_trace_event *event,
                             const struct attn_place *place, size_t r, struct attn_buffer *text)
{
    size_t begin;

    attn_buffer_append_string(text, r > 0 ? ",\n" : "");
    begin = text->size;
    /* a single number, without brackets */
    if (attn_site_layout(event->at.site) == ATTN_LAYOUT_HEADS) {
        attn_row_append_text(text, attn_event_row(event, r), place->extent.n_col,
                             writer->options.precision, "null");
        if (!text->has_failed)
            text->data[begin] = ' ';
        return;
    }
    attn_json_append_row(text, attn_event_row(event, r), place->extent.n_col,
                         writer->options.precision);
}

/* Writes an array that was collected in memory. */
static enum attn_status write_gathered(struct json_writer *w, struct attn_array *array,
                                       struct attn_error *err)
{
    const size_t *inner = &array->shape[array->rank - 2];
    const size_t n_group = array->shape[0] * (array->rank == 4 ? array->shape[1] : 1);
    struct attn_row row = {.values = (const float *)(const void *)array->data, .n = inner[1]};

    for (size_t i = 0; i < n_group; i++)
        for (size_t j = 0; j < inner[0]; j++, row.values += row.n) {
            attn_json_append_row(begin_row(w, array, i, j), row, row.n, w->base.options.precision);
            ATTN_TRY(attn_sink_write_buffer(w->base.sink, &w->text, err));
        }
    attn_json_end_rows(&w->json, array);
    attn_array_drop(array);
    return ATTN_OK;
}

/* --- The format ---------------------------------------------------------------------------- */

static enum attn_status open_json(struct attn_writer *writer, struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;

    ATTN_TRY(attn_arrays_init(&w->arrays, writer, err));
    writer->is_in_order = true;
    w->json = (struct attn_json_writer){.out = &w->text, .comma = ","};
    attn_json_begin(&w->json, '{');
    attn_json_line(&w->json);
    attn_json_head(&w->json, ATTN_DOCUMENT_RUN);
    attn_json_text(begin_member(w, "model"), writer->labels.model);
    attn_json_append_options(begin_value(w, "options"), &writer->labels);
    push_labels(w);
    attn_json_begin(begin_member(w, "tensors"), '{');
    for (size_t i = 0; i < w->arrays.n_small; i++) {
        attn_json_line(&w->json);
        attn_json_push_narrowed(&w->json, &w->arrays.items[i]);
    }
    return attn_sink_write_buffer(w->base.sink, &w->text, err);
}

static enum attn_status event_json(struct attn_writer *writer, const struct attn_trace_event *event,
                                   const struct attn_place *place, struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;
    struct attn_array *array = attn_arrays_find(&w->arrays, event);

    if (attn_array_is_of_image(writer, event->at.site)) {
        ATTN_TRY(attn_arrays_gather(&w->arrays, event, place, err));
        for (array = NULL; place->is_last && (array = attn_arrays_next(&w->arrays, event, array));)
            ATTN_TRY(write_gathered(w, array, err));
        return ATTN_OK;
    }
    /* rows of pixels come one after another, and are those of tiles and channels */
    if (attn_array_is_scattered(writer, event->at.site) ||
        (attn_site_is_of_image(event->at.site) && array->rank == 4)) {
        ATTN_TRY(attn_arrays_gather(&w->arrays, event, place, err));
        return place->is_last ? write_gathered(w, array, err) : ATTN_OK;
    }
    begin_row(w, array, place->head, place->row);
    ATTN_TRY(attn_sink_write_buffer(w->base.sink, &w->text, err));
    ATTN_TRY(attn_writer_write_rows(writer, event, place, append_event_row, writer->sink, err));
    if (place->is_last)
        attn_json_end_rows(&w->json, array);
    return ATTN_OK;
}

static enum attn_status predictions_json(struct attn_writer *writer,
                                         const struct attn_predictions *predictions,
                                         struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;

    attn_json_line(&w->json);
    attn_json_end(&w->json); /* ends the tensors */
    attn_json_append_predictions(begin_value(w, "predictions"), predictions,
                                 writer->options.precision, true);
    return attn_sink_write_buffer(w->base.sink, &w->text, err);
}

static enum attn_status finish_json(struct attn_writer *writer, struct attn_error *err)
{
    struct json_writer *w = (struct json_writer *)writer;

    while (w->json.depth > 0) { /* ends the tensors and the document */
        attn_json_line(&w->json);
        attn_json_end(&w->json);
    }
    attn_buffer_append_char(&w->text, '\n');
    return attn_sink_write_buffer(w->base.sink, &w->text, err);
}

static void release_json(struct attn_writer *writer)
{
    struct json_writer *w = (struct json_writer *)writer;

    attn_arrays_release(&w->arrays);
    attn_buffer_release(&w->text);
}

const struct attn_format attn_json_format = {
    .name = "json",
    .holds_stacks = true,
    .argument = "FILE",
    .help = "write tensors, tokens and predictions into one JSON document",
    .table_help = "write it as one JSON document",
    .medium = ATTN_MEDIUM_DECIMAL,
    .title = "JSON",
    .has_predictions = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct json_writer),
            .open = open_json,
            .event = event_json,
            .finish = finish_json,
            .predictions = predictions_json,
            .release = release_json,
        },
    .has_tables = true,
    .table_form = ATTN_TABLE_JSON,
};

/* Tables with one object per row (tables/table_writer.h). Tensors are not supported. */
const struct attn_format attn_jsonl_format = {
    .name = "jsonl",
    .holds_stacks = true,
    .argument = "FILE",
    .help = "write the tables of predictions as JSON lines, one object per row",
    .table_help = "write it as one JSON object per row",
    .medium = ATTN_MEDIUM_ROWS,
    .title = "JSON lines",
    .has_predictions = true,
    .has_tables = true,
    .table_form = ATTN_TABLE_JSON_LINES,
};
