/*
 * pipeline.h - a tokenizer is a list of stages, and a text goes down the list:
 *
 *     added tokens > normalizers > added tokens > pre-tokenizers > model
 *
 * A stage is given a slice of a text (layer.h). It hands slices on to the next stage: several when
 * it splits, one of a text of its own when it changes the text. The last stage is the model, which
 * appends tokens with their places in its slice's text; a stage that finds a token itself appends
 * it too. When a stage that changed the text is done, it turns the places of the tokens that were
 * appended meanwhile into places in the text that it was given.
 *
 * A kind of stage is a row of functions: see split.h, change.h, added.h, bpe_model.h, words.c.
 */
#ifndef ATTN_TEXT_PIPELINE_H
#define ATTN_TEXT_PIPELINE_H

#include "text/layer.h"

struct attn_walk;

struct attn_text_stage_kind {
    /* Serves SLICE, which is not empty, as stage AT of the walk. */
    enum attn_status (*run)(struct attn_walk *walk, size_t at, struct attn_slice slice,
                            struct attn_error *err);
    /* What a walk over a text of N bytes needs for this stage, or NULL; *scratch is NULL before. */
    enum attn_status (*begin)(const void *data, size_t n, void **scratch, struct attn_error *err);
    void (*end)(void *scratch); /* NULL is allowed for both */
    void (*free)(void *data);   /* of the stage */
};

struct attn_text_stage {
    const struct attn_text_stage_kind *kind;
    void *data; /* owns */
};

/* More than any published tokenizer has; a file that lists more is refused. */
enum { ATTN_PIPELINE_MAX = 32 };

/* Initialize with = {0}; end with attn_pipeline_release. */
struct attn_pipeline {
    struct attn_text_stage stages[ATTN_PIPELINE_MAX];
    size_t n;
};

/* Appends a stage that owns DATA; frees DATA on failure. A NULL of DATA is lack of memory, which
 * ERR says already, unless KIND needs none. */
enum attn_status attn_pipeline_add(struct attn_pipeline *pipeline,
                                   const struct attn_text_stage_kind *kind, void *data,
                                   struct attn_error *err);
void attn_pipeline_release(struct attn_pipeline *pipeline);

/* One text on its way. */
struct attn_walk {
    const struct attn_pipeline *pipeline;
    const struct attn_encode_options *options;
    struct attn_encoding *encoding;
    bool is_utf8;                     /* else some bytes are to be encoded as they are */
    void *scratch[ATTN_PIPELINE_MAX]; /* of each stage */
};

/* Encodes TEXT [size]: appends its tokens. */
enum attn_status attn_pipeline_encode(const struct attn_pipeline *pipeline, const char *text,
                                      size_t size, const struct attn_encode_options *options,
                                      struct attn_encoding *encoding, struct attn_error *err);

/* Hands SLICE to the stage after AT, unless it is empty. */
static inline enum attn_status attn_walk_next(struct attn_walk *walk, size_t at,
                                              struct attn_slice slice, struct attn_error *err)
{
    if (slice.begin == slice.end)
        return ATTN_OK;
    if (walk->options->cancel && *walk->options->cancel)
        return attn_error_set(err, ATTN_CANCELED, "canceled");
    return walk->pipeline->stages[at + 1].kind->run(walk, at + 1, slice, err);
}

/* Hands the whole text of LAYER, which stage AT has made of its slice, to the stage after it, and
 * then turns the places of the tokens into places in the text under it. */
enum attn_status attn_walk_next_layer(struct attn_walk *walk, size_t at, struct attn_layer *layer,
                                      struct attn_error *err);

/* Hands SLICE to the model. */
static inline enum attn_status attn_walk_model(struct attn_walk *walk, struct attn_slice slice,
                                               struct attn_error *err)
{
    return attn_walk_next(walk, walk->pipeline->n - 2, slice, err);
}

/* `begin` and `end` of stages that make a layer: the scratch is a struct attn_layer. */
enum attn_status attn_layer_scratch_begin(const void *data, size_t n, void **scratch,
                                          struct attn_error *err);
void attn_layer_scratch_end(void *scratch);

#endif
