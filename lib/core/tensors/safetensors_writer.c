/*
 * safetensors_writer.c - one file of tensors in Hugging Face's safetensors format, with the names
 * and shapes of NPZ.
 *
 * All sizes follow from the selection, so the header comes first. If the sink can seek, rows are
 * written directly to their place; to a pipe everything is written in order. In both cases, arrays
 * whose rows are scattered ([T,H,E], emitted head by head) are collected in memory first. The
 * format has no text tensors, so tokens are in the metadata as JSON, like the options; version and
 * model are there, too.
 */
#include "tensors/arrays.h"
#include "tensors/labels_json.h"
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/version.h"
#include "formats/safetensors.h"

#include <string.h>

struct safetensors_writer {
    struct attn_array_writer array;
    uint64_t *offsets; /* [array.arrays.n] owns; offset of each array in the data */
    uint64_t begin;    /* offset of the data in the sink */
};

/* --- The header ---------------------------------------------------------------------------- */

static bool is_text(const struct attn_array *array)
{
    return array->dtype[1] == 'U';
}

/* Lists the arrays that are tensors, with their offsets. Returns their number. */
static size_t list_tensors(const struct safetensors_writer *w, struct attn_written_tensor *tensors)
{
    uint64_t offset = 0;
    size_t n = 0;

    for (size_t i = 0; i < w->array.arrays.n; i++) {
        const struct attn_array *array = &w->array.arrays.items[i];
        struct attn_tensor *tensor = &tensors[n].tensor;

        if (is_text(array))
            continue;
        tensors[n++].name = array->name;
        tensor->dtype = array->dtype[1] == 'i' ? ATTN_DTYPE_I64 : ATTN_DTYPE_F32;
        tensor->rank = array->rank;
        memcpy(tensor->shape, array->shape, sizeof array->shape);
        w->offsets[i] = offset;
        offset += array->size;
    }
    return n;
}

/* Adds a fact whose value is JSON. */
static void add_fact(struct attn_written_fact *facts, size_t *n, const char *key,
                     struct attn_buffer *text)
{
    facts[(*n)++] = (struct attn_written_fact){key, attn_buffer_string(text)};
}

static enum attn_status write_header(struct safetensors_writer *w,
                                     const struct attn_written_tensor *tensors, size_t n,
                                     struct attn_error *err)
{
    const struct attn_labels *labels = &w->array.base.labels;
    struct attn_written_fact facts[7] = {
        {"schema", "1"}, {"kind", "tensors"}, {"version", ATTN_VERSION}};
    struct attn_buffer options = {0}, texts = {0}, source_texts = {0};
    size_t n_fact = 3;
    enum attn_status status;

    if (labels->model)
        facts[n_fact++] = (struct attn_written_fact){"model", labels->model};
    attn_json_append_options(&options, labels);
    attn_json_append_tokens(&texts, labels->tokens, labels->token_sizes, w->array.base.n_position);
    attn_json_append_tokens(&source_texts, labels->source_tokens, labels->source_token_sizes,
                            attn_selection_dims(labels->selection)->n_source);
    add_fact(facts, &n_fact, "options", &options);
    if (labels->tokens)
        add_fact(facts, &n_fact, "tokens", &texts);
    if (labels->source_tokens)
        add_fact(facts, &n_fact, "source_tokens", &source_texts);
    texts.has_failed |= options.has_failed | source_texts.has_failed;
    status = attn_buffer_check(&texts, err);
    ATTN_THEN(status,
              attn_safetensors_write_header(w->array.base.sink, facts, n_fact, tensors, n, err));
    attn_buffer_release(&options);
    attn_buffer_release(&texts);
    attn_buffer_release(&source_texts);
    return status;
}

/* --- The format ---------------------------------------------------------------------------- */

/* Writes a part of an array to its place (attn_array_put_fn). */
static void put_piece(struct attn_writer *writer, struct attn_array *array, size_t offset,
                      const void *bytes, size_t size)
{
    const struct safetensors_writer *w = (struct safetensors_writer *)writer;

    if (is_text(array)) /* in the header */
        return;
    if (writer->is_in_order)
        attn_sink_write(writer->sink, bytes, size);
    else
        attn_sink_write_at(writer->sink,
                           w->begin + w->offsets[array - w->array.arrays.items] + offset, bytes,
                           size);
}

static enum attn_status open_safetensors(struct attn_writer *writer, struct attn_error *err)
{
    struct safetensors_writer *w = (struct safetensors_writer *)writer;
    struct attn_written_tensor *tensors;
    enum attn_status status;

    writer->is_in_order = !attn_sink_is_seekable(writer->sink);
    ATTN_TRY(attn_arrays_init(&w->array.arrays, writer, err));
    w->offsets = attn_alloc(w->array.arrays.n, sizeof *w->offsets, err);
    tensors = attn_alloc(w->array.arrays.n, sizeof *tensors, err);
    status = w->offsets && tensors ? write_header(w, tensors, list_tensors(w, tensors), err)
                                   : ATTN_NO_MEMORY;
    attn_free(tensors);
    w->begin = attn_sink_position(writer->sink);
    w->array.put = put_piece;
    return status == ATTN_OK ? attn_array_writer_begin(&w->array, err) : status;
}

static void release_safetensors(struct attn_writer *writer)
{
    struct safetensors_writer *w = (struct safetensors_writer *)writer;

    attn_arrays_release(&w->array.arrays);
    attn_free(w->offsets);
}

const struct attn_format attn_safetensors_format = {
    .name = "safetensors",
    .holds_stacks = true,
    .argument = "FILE",
    .help = "write all tensors into one file for safetensors.safe_open, with their tokens in its "
            "metadata",
    .medium = ATTN_MEDIUM_BINARY,
    .title = "safetensors",
    .holds_arrays = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct safetensors_writer),
            .open = open_safetensors,
            .event = attn_array_writer_event,
            .release = release_safetensors,
        },
};
