/*
 * pipeline.h - a tokenizer is a list of stages, and a text goes down the list:
 *
 *     added tokens > normalizers > added tokens > pre-tokenizers > model
 *
 * A stage gets a slice of a text. It passes slices to the next stage: several when it splits, or a
 * slice of a new text when it changes the text. The last stage is the model, which appends tokens
 * with their places in its slice's text; a stage that finds a token itself appends it too. When a
 * stage that changed the text is done, the places of the tokens that were appended meanwhile are
 * mapped to the text that it got.
 *
 * A kind of stage is a row of functions: see stages_internal.h, models_internal.h, added_tokens.h,
 * words.c.
 */
#ifndef ATTN_TOKENIZER_PIPELINE_H
#define ATTN_TOKENIZER_PIPELINE_H

#include "base/buffer.h"
#include "base/thread.h"
#include "tokenizer/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

/* --- A text made of another ------------------------------------------------------------------- */

/*
 * A changed text is a layer over the text under it: a space before the first word, U+2581 for
 * spaces, composed characters, U+FFFD for bytes that are not UTF-8. Kept bytes correspond to
 * themselves; inserted text corresponds to some bytes of the text under it, or to none; deleted
 * bytes have no counterpart.
 *
 *     attn_layer_begin(layer, slice);
 *     attn_layer_keep(layer, 0, 3);                     // the first three bytes of the slice
 *     attn_layer_put(layer, "\xe2\x96\x81", 3, 3, 1);   // three bytes instead of byte 3
 *     return attn_walk_next_layer(walk, at, layer, err);
 */

/* COUNT times, one after the other: SIZE bytes of the layer, the first at AT, stand for FROM_SIZE
 * bytes of the slice, the first at FROM. After them every byte stands for itself. */
struct attn_splice {
    size_t at, from, count;
    uint32_t size, from_size;
};

/* The most bytes that stages which change a text of N may produce, each from all its slices: U+FFFD
 * and the longest normal form have three for one; few tokenizers need more. */
static inline size_t attn_layer_limit(size_t n)
{
    return n <= (SIZE_MAX >> 7) ? (n << 6) + (1 << 16) : SIZE_MAX;
}

struct attn_layer {
    const char *text; /* [size]; borrowed from the caller or from `copy` */
    size_t size;
    const struct attn_layer *under; /* the layer under it; NULL: it is the given text */
    size_t base;                    /* where in that the slice begins */
    struct attn_buffer copy;
    struct attn_splice *splices; /* owns; ascending in `at` */
    size_t n_splice, capacity;
    size_t n_left;    /* bytes that it may still hold, in this text and those after it */
    bool has_failed;  /* an allocation failed */
    bool is_too_long; /* there were no bytes left */
};

/* Bytes BEGIN..END of the text of LAYER. */
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

/* Empties LAYER, to be made of SLICE. Offsets below are those in the slice. */
void attn_layer_begin(struct attn_layer *layer, struct attn_slice slice);

/* Appends SIZE bytes of the slice as they are, from FROM on. */
void attn_layer_keep(struct attn_layer *layer, size_t from, size_t size);

/* Appends SIZE bytes of TEXT, which stand for FROM_SIZE bytes at FROM. */
void attn_layer_put(struct attn_layer *layer, const char *text, size_t size, size_t from,
                    size_t from_size);

/* The offset in the given text, through all layers, that corresponds to OFFSET of LAYER. */
size_t attn_layer_origin(const struct attn_layer *layer, size_t offset);

/* --- The stages ------------------------------------------------------------------------------- */

struct attn_walk;

struct attn_text_stage_kind {
    /* Serves SLICE, which is not empty, as stage AT of the walk. */
    enum attn_status (*run)(struct attn_walk *walk, size_t at, struct attn_slice slice,
                            struct attn_error *err);
    /* Allocates *scratch, which is NULL before, for a walk over a text of N bytes; or NULL. */
    enum attn_status (*begin)(const void *data, size_t n, void **scratch, struct attn_error *err);
    void (*end)(void *scratch); /* NULL is allowed for both */
    void (*free)(void *data);   /* data of the stage */
    bool makes_layer; /* the scratch is a struct attn_layer; no begin and end are needed */
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

/* Appends a stage that owns DATA; frees DATA on failure. DATA of NULL means lack of memory, which
 * ERR reports already, unless KIND has no data. */
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
    void *scratch[ATTN_PIPELINE_MAX]; /* memory of each stage */
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
    if (attn_is_canceled(walk->options->cancel))
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

#endif
