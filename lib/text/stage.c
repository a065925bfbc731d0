/* stage.c - see stage.h. */
#include "text/stage.h"

#include "base/memory.h"
#include "base/utf8.h"

enum attn_status attn_stages_add(struct attn_stages *stages, const struct attn_stage_kind *kind,
                                 void *data, struct attn_error *err)
{
    if (kind->free && !data)
        return ATTN_NO_MEMORY;
    if (stages->n == ATTN_STAGE_MAX) {
        if (kind->free)
            kind->free(data);
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the tokenizer has more than %d steps, which is not supported",
                              ATTN_STAGE_MAX);
    }
    stages->list[stages->n++] = (struct attn_stage){kind, data};
    return ATTN_OK;
}

void attn_stages_release(struct attn_stages *stages)
{
    for (size_t i = 0; i < stages->n; i++)
        if (stages->list[i].kind->free)
            stages->list[i].kind->free(stages->list[i].data);
    *stages = (struct attn_stages){0};
}

enum attn_status attn_stages_encode(const struct attn_stages *stages, const char *text, size_t size,
                                    const struct attn_encode_options *options,
                                    struct attn_encoding *encoding, struct attn_error *err)
{
    const struct attn_layer given = {.text = text, .size = size};
    struct attn_walk walk = {.stages = stages,
                             .options = options,
                             .encoding = encoding,
                             .is_utf8 = options->invalid != ATTN_INVALID_TEXT_BYTES};
    enum attn_status status = ATTN_OK;

    if (size == 0)
        return ATTN_OK;
    for (size_t i = 0; status == ATTN_OK && i < stages->n; i++)
        if (stages->list[i].kind->begin)
            status = stages->list[i].kind->begin(stages->list[i].data, size, &walk.scratch[i], err);
    if (status == ATTN_OK)
        status = stages->list[0].kind->run(&walk, 0, (struct attn_slice){&given, 0, size}, err);
    for (size_t i = 0; i < stages->n; i++)
        if (stages->list[i].kind->end && walk.scratch[i])
            stages->list[i].kind->end(walk.scratch[i]);
    return status;
}

enum attn_status attn_walk_next_layer(struct attn_walk *walk, size_t at, struct attn_layer *layer,
                                      struct attn_error *err)
{
    const size_t first = walk->encoding->n;

    ATTN_TRY(attn_layer_end(layer, err));
    ATTN_TRY(attn_walk_next(walk, at, (struct attn_slice){layer, 0, layer->size}, err));
    attn_layer_map_offsets(layer, first, walk->encoding);
    return ATTN_OK;
}

enum attn_status attn_layer_scratch_begin(const void *data, size_t n, void **scratch,
                                          struct attn_error *err)
{
    struct attn_layer *layer = attn_alloc(1, sizeof *layer, err);

    (void)data;
    *scratch = layer;
    if (!layer)
        return ATTN_NO_MEMORY;
    layer->n_left = attn_layer_limit(n);
    return ATTN_OK;
}

void attn_layer_scratch_end(void *scratch)
{
    attn_layer_release(scratch);
    attn_free(scratch);
}
