/* pipeline.c - see pipeline.h. */
#include "text/pipeline.h"

#include "base/memory.h"
#include "base/utf8.h"

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

/* Sends GIVEN down; what the stages need belongs to WALK. */
static enum attn_status run_stages(struct attn_walk *walk, const struct attn_layer *given,
                                   struct attn_error *err)
{
    const struct attn_text_stage *stages = walk->pipeline->stages;

    for (size_t i = 0; i < walk->pipeline->n; i++)
        if (stages[i].kind->begin)
            ATTN_TRY(stages[i].kind->begin(stages[i].data, given->size, &walk->scratch[i], err));
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

    for (size_t i = 0; i < pipeline->n; i++)
        if (walk.scratch[i])
            pipeline->stages[i].kind->end(walk.scratch[i]);
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
