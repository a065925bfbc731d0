/*
 * pipeline.h - a tokenizer is a list of stages, through which a text passes:
 *
 *     added tokens > normalizers > added tokens > pre-tokenizers > model
 *
 * A stage gets a slice of a text and passes slices to the next stage: several if it splits the
 * text, or a slice of a new text if it changes the text. The last stage is the model, which appends
 * tokens with their offsets in the text of its slice; a stage that finds a token itself appends it,
 * too. When a stage that changed the text is done, the offsets of the tokens appended meanwhile are
 * mapped back to the text that the stage got.
 *
 * Each kind of stage is a struct of functions: see stages_internal.h, models_internal.h,
 * added_tokens.h, words.c.
 */
#pragma once

#include "base/buffer.h"
#include "base/os/thread.h"
#include "tokenizer/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

/* --- Layers: changed texts -------------------------------------------------------------------- */

/*
 * A layer is a changed copy of the text under it: with a space before the first word, U+2581 for
 * spaces, composed characters, U+FFFD for bytes that are not UTF-8. Kept bytes correspond to the
 * same bytes below; inserted text corresponds to some bytes of the text below, or to none; deleted
 * bytes have no counterpart.
 *
 *     attn_layer_begin(layer, slice);
 *     attn_layer_keep(layer, 0, 3);                    // the first three bytes of the slice
 *     attn_layer_put(layer, "\xe2\x96\x81", 3, 3, 1);  // three bytes instead of byte 3
 *     return attn_walk_next_layer(walk, at, layer, err);
 */

/* A splice: COUNT consecutive times, SIZE bytes of the layer, from AT on, correspond to FROM_SIZE
 * bytes of the slice, from FROM on. After these, bytes correspond one to one. */
struct attn_splice {
    size_t at, from, count;
    uint32_t size, from_size;
};

/* Returns the maximum number of bytes that a stage may produce from a text of N bytes, over all its
 * slices. U+FFFD and the longest normal form need three bytes for one; few tokenizers need more. */
static inline size_t attn_layer_limit(size_t n)
{
    return n <= (SIZE_MAX >> 7) ? (n << 6) + (1 << 16) : SIZE_MAX;
}

struct attn_layer {
    const char *text; /* [size]; borrowed from the caller or from `copy` */
    size_t size;
    const struct attn_layer *under; /* the layer below; NULL: this is the original text */
    size_t base;                    /* where the slice begins in the text below */
    struct attn_buffer copy;
    struct attn_splice *splices; /* owns; ascending in `at` */
    size_t n_splice, capacity;
    size_t n_left;    /* number of bytes that it may still produce, in this text and later ones */
    bool has_failed;  /* an allocation failed */
    bool is_too_long; /* the limit was exceeded */
};

/* The bytes BEGIN to END-1 of the text of LAYER. */
struct attn_slice {
    const struct attn_layer *layer;
    size_t begin, end;
};

static inline const char *attn_slice_text(struct attn_slice slice)
{
    return slice.layer->text + slice.begin;
}

static inline size_t attn_slice_size(struct attn_slice slice)
{
    return slice.end - slice.begin;
}

/* Empties LAYER, to be filled from SLICE. Offsets passed to the functions below are relative to the
 * slice. */
void attn_layer_begin(struct attn_layer *layer, struct attn_slice slice);

/* Copies SIZE bytes of the slice, from FROM on, to the end of the layer. */
void attn_layer_keep(struct attn_layer *layer, size_t from, size_t size);

/* Appends TEXT [size], which corresponds to FROM_SIZE bytes of the slice at FROM. */
void attn_layer_put(struct attn_layer *layer, const char *text, size_t size, size_t from,
                    size_t from_size);

/* Returns the offset in the original text, below all layers, that belongs to OFFSET of LAYER. */
size_t attn_layer_origin(const struct attn_layer *layer, size_t offset);

/* --- The stages ------------------------------------------------------------------------------- */

struct attn_walk;

struct attn_text_stage_kind {
    /* Processes SLICE, which is not empty, as stage AT of the walk. */
    enum attn_status (*run)(struct attn_walk *walk, size_t at, struct attn_slice slice,
                            struct attn_error *err);
    /* Allocates *scratch, which is NULL before, for a walk over a text of N bytes. NULL: the stage
     * has no scratch. */
    enum attn_status (*begin)(const void *data, size_t n, void **scratch, struct attn_error *err);
    void (*end)(void *scratch); /* frees it; NULL is allowed for both */
    void (*free)(void *data);   /* frees the data of the stage */
    bool makes_layer; /* the scratch is a struct attn_layer, and begin and end are not needed */
};

struct attn_text_stage {
    const struct attn_text_stage_kind *kind;
    void *data; /* owns */
};

/* Maximum number of stages. Published tokenizers have fewer; a file with more is refused. */
enum { ATTN_PIPELINE_MAX = 32 };

/* Initialize with = {0}; end with attn_pipeline_release. */
struct attn_pipeline {
    struct attn_text_stage stages[ATTN_PIPELINE_MAX];
    size_t n;
};

/* Appends a stage that owns DATA; frees DATA on failure. If KIND has data, a NULL DATA means that
 * allocating it failed, which ERR already reports. */
enum attn_status attn_pipeline_add(struct attn_pipeline *pipeline,
                                   const struct attn_text_stage_kind *kind, void *data,
                                   struct attn_error *err);
void attn_pipeline_release(struct attn_pipeline *pipeline);

/* The state of encoding one text. */
struct attn_walk {
    const struct attn_pipeline *pipeline;
    const struct attn_encode_options *options;
    struct attn_encoding *encoding;
    bool is_utf8; /* otherwise some bytes are encoded although they are not UTF-8 */
    void *scratch[ATTN_PIPELINE_MAX]; /* scratch of each stage */
};

/* Encodes TEXT [size] and appends its tokens to ENCODING. */
enum attn_status attn_pipeline_encode(const struct attn_pipeline *pipeline, const char *text,
                                      size_t size, const struct attn_encode_options *options,
                                      struct attn_encoding *encoding, struct attn_error *err);

/* Passes SLICE to the stage after AT, unless it is empty. */
static inline enum attn_status attn_walk_next(struct attn_walk *walk, size_t at,
                                              struct attn_slice slice, struct attn_error *err)
{
    if (slice.begin == slice.end)
        return ATTN_OK;
    if (attn_is_canceled(walk->options->cancel))
        return attn_error_set(err, ATTN_CANCELED, "canceled");
    return walk->pipeline->stages[at + 1].kind->run(walk, at + 1, slice, err);
}

/* Passes the whole text of LAYER, which stage AT has made from its slice, to the next stage. Then
 * maps the offsets of the new tokens to the text below. */
enum attn_status attn_walk_next_layer(struct attn_walk *walk, size_t at, struct attn_layer *layer,
                                      struct attn_error *err);

/* Passes SLICE to the model. */
static inline enum attn_status attn_walk_model(struct attn_walk *walk, struct attn_slice slice,
                                               struct attn_error *err)
{
    return attn_walk_next(walk, walk->pipeline->n - 2, slice, err);
}
