#include "tokenizer/pipeline.h"

#include "base/memory.h"
#include "base/status_internal.h"

void attn_layer_begin(struct attn_layer *layer, struct attn_slice slice)
{
    attn_buffer_reset(&layer->copy);
    layer->under = slice.layer;
    layer->base = slice.begin;
    layer->n_splice = 0;
    layer->has_failed = layer->is_too_long = false;
}

/* Reserves SIZE bytes of the layer's limit. Returns false if they exceed it. */
static bool reserve(struct attn_layer *layer, size_t size)
{
    layer->is_too_long = layer->is_too_long || size > layer->n_left;
    layer->n_left -= layer->is_too_long ? 0 : size;
    return !layer->is_too_long;
}

static void add_splice(struct attn_layer *layer, struct attn_splice splice)
{
    if (ATTN_GROW(layer->splices, layer->capacity, layer->n_splice + 1, NULL) == ATTN_OK)
        layer->splices[layer->n_splice++] = splice;
    else
        layer->has_failed = true;
}

void attn_layer_keep(struct attn_layer *layer, size_t from, size_t size)
{
    const struct attn_splice *last =
        layer->n_splice > 0 ? &layer->splices[layer->n_splice - 1] : NULL;
    size_t next = layer->copy.size; /* the place that follows without a splice */

    if (size == 0 || !reserve(layer, size))
        return;
    if (last)
        next = last->from + last->count * last->from_size +
               (layer->copy.size - last->at - last->count * last->size);
    if (next != from)
        add_splice(layer, (struct attn_splice){.at = layer->copy.size, .from = from});
    attn_buffer_append(&layer->copy, layer->under->text + layer->base + from, size);
}

void attn_layer_put(struct attn_layer *layer, const char *text, size_t size, size_t from,
                    size_t from_size)
{
    struct attn_splice *last = layer->n_splice > 0 ? &layer->splices[layer->n_splice - 1] : NULL;
    const size_t at = layer->copy.size;

    if (!reserve(layer, size))
        return;
    if (last && last->size == size && last->from_size == from_size &&
        last->at + last->count * size == at && last->from + last->count * from_size == from)
        last->count++;
    else
        add_splice(layer, (struct attn_splice){at, from, 1, (uint32_t)size, (uint32_t)from_size});
    attn_buffer_append(&layer->copy, text, size);
}

/* Returns the last splice that begins before LIMIT, or NULL. *HINT is the index, plus one, of the
 * splice found before, because offsets mostly ascend. */
static const struct attn_splice *find_splice(const struct attn_layer *layer, size_t limit,
                                             size_t *hint)
{
    const struct attn_splice *splices = layer->splices;
    size_t low = *hint, high = layer->n_splice;

    if (low > 0 && splices[low - 1].at >= limit)
        low = 0;
    for (int i = 0; i < 8 && low < high && splices[low].at < limit; i++)
        low++;
    while (low < high && splices[low].at < limit) {
        size_t middle = low + (high - low) / 2;

        if (splices[middle].at < limit)
            low = middle + 1;
        else
            high = middle;
    }
    *hint = low;
    return low > 0 ? &splices[low - 1] : NULL;
}

/* Returns the offset in the slice that corresponds to OFFSET. LAST is the last splice that begins
 * before OFFSET, or NULL. Offsets within a splice correspond to its beginning, or to its end if
 * IS_END. */
static size_t slice_offset(const struct attn_splice *last, size_t offset, bool is_end)
{
    size_t size;

    if (!last)
        return offset;
    offset -= last->at;
    size = last->count * last->size;
    if (offset < size)
        return last->from + (offset + (is_end ? last->size - 1 : 0)) / last->size * last->from_size;
    return last->from + last->count * last->from_size + (offset - size);
}

size_t attn_layer_origin(const struct attn_layer *layer, size_t offset)
{
    for (; layer->under; layer = layer->under) {
        size_t hint = 0;

        offset = layer->base + slice_offset(find_splice(layer, offset + 1, &hint), offset, false);
    }
    return offset;
}

enum attn_status attn_pipeline_add(struct attn_pipeline *pipeline,
                                   const struct attn_text_stage_kind *kind, void *data,
                                   struct attn_error *err)
{
    if (kind->free && !data)
        return ATTN_NO_MEMORY;
    if (pipeline->n == ATTN_PIPELINE_MAX) {
        if (kind->free)
            kind->free(data);
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokenizer has more than %d steps, which is not supported",
                              ATTN_PIPELINE_MAX);
    }
    pipeline->stages[pipeline->n++] = (struct attn_text_stage){kind, data};
    return ATTN_OK;
}

void attn_pipeline_release(struct attn_pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->n; i++)
        if (pipeline->stages[i].kind->free)
            pipeline->stages[i].kind->free(pipeline->stages[i].data);
    *pipeline = (struct attn_pipeline){0};
}

/* Runs the stages on GIVEN. WALK owns their scratch memory. */
static enum attn_status run_stages(struct attn_walk *walk, const struct attn_layer *given,
                                   struct attn_error *err)
{
    const struct attn_text_stage *stages = walk->pipeline->stages;

    for (size_t i = 0; i < walk->pipeline->n; i++) {
        const struct attn_text_stage_kind *kind = stages[i].kind;

        if (kind->makes_layer) {
            struct attn_layer *layer;

            ATTN_TRY(ATTN_ALLOC(layer, 1, err));
            walk->scratch[i] = layer;
            layer->n_left = attn_layer_limit(given->size);
        } else if (kind->begin) {
            ATTN_TRY(kind->begin(stages[i].data, given->size, &walk->scratch[i], err));
        }
    }
    return stages[0].kind->run(walk, 0, (struct attn_slice){given, 0, given->size}, err);
}

enum attn_status attn_pipeline_encode(const struct attn_pipeline *pipeline, const char *text,
                                      size_t size, const struct attn_encode_options *options,
                                      struct attn_encoding *encoding, struct attn_error *err)
{
    const struct attn_layer given = {.text = text, .size = size};
    struct attn_walk walk = {.pipeline = pipeline,
                             .options = options,
                             .encoding = encoding,
                             .is_utf8 = options->invalid != ATTN_INVALID_TEXT_BYTES};
    const enum attn_status status = size > 0 ? run_stages(&walk, &given, err) : ATTN_OK;

    for (size_t i = 0; i < pipeline->n; i++) {
        struct attn_layer *layer = walk.scratch[i];

        if (layer && pipeline->stages[i].kind->makes_layer) {
            attn_buffer_release(&layer->copy);
            attn_free(layer->splices);
            attn_free(layer);
        } else if (walk.scratch[i]) {
            pipeline->stages[i].kind->end(walk.scratch[i]);
        }
    }
    return status;
}

enum attn_status attn_walk_next_layer(struct attn_walk *walk, size_t at, struct attn_layer *layer,
                                      struct attn_error *err)
{
    struct attn_encoding *encoding = walk->encoding;
    const size_t first = encoding->n;
    size_t hint = 0, end_hint = 0;

    layer->text = layer->copy.data ? layer->copy.data : "";
    layer->size = layer->copy.size;
    if (layer->is_too_long)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokenizer makes more than 64 times its bytes of the text, which "
                              "is not supported");
    if (layer->has_failed)
        return attn_error_no_memory(err);
    ATTN_TRY(attn_buffer_check(&layer->copy, err));
    ATTN_TRY(attn_walk_next(walk, at, (struct attn_slice){layer, 0, layer->size}, err));
    for (size_t i = first; i < encoding->n; i++) {
        size_t begin = encoding->begin[i], end = encoding->end[i];

        begin = slice_offset(find_splice(layer, begin + 1, &hint), begin, false);
        end = slice_offset(find_splice(layer, end, &end_hint), end, true);
        encoding->begin[i] = layer->base + begin;
        encoding->end[i] = layer->base + end;
    }
    return ATTN_OK;
}
