/*
 * layer.h - a text made of another, and the way back to where its parts came from.
 *
 * A tokenizer encodes a text that it has changed: a space before the first word, U+2581 for spaces,
 * composed characters, U+FFFD for bytes that are not UTF-8. Each change makes a layer over the text
 * under it. What is kept stands for itself, byte by byte; what is put in stands for some bytes of
 * the text under it, or for none; what is left out has nothing that stands for it.
 *
 *     attn_layer_begin(&layer, slice);
 *     attn_layer_keep(&layer, 0, 3);              // the first three bytes of the slice
 *     attn_layer_put(&layer, "\xe2\x96\x81", 3, 3, 1);  // three bytes that stand for byte 3
 *     status = attn_layer_end(&layer, &err);
 */
#ifndef ATTN_TEXT_LAYER_H
#define ATTN_TEXT_LAYER_H

#include "base/buffer.h"
#include "text/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

/* COUNT times, one after the other: SIZE bytes of the layer, the first at AT, stand for FROM_SIZE
 * bytes of the slice, the first at FROM. After them every byte stands for itself. */
struct attn_splice {
    size_t at, from, count;
    uint32_t size, from_size;
};

/*
 * How many bytes stages that change a text of N may make of it, each of all its slices: U+FFFD and
 * the longest normal form have three for one, and few tokenizers replace a character by more.
 */
static inline size_t attn_layer_limit(size_t n)
{
    return n <= (SIZE_MAX >> 7) ? (n << 6) + (1 << 16) : SIZE_MAX;
}

/* Initialize with = {0} and .n_left; end with attn_layer_release. */
struct attn_layer {
    const char *text; /* [size]; borrowed from the caller or from `copy` */
    size_t size;
    const struct attn_layer *under; /* what it was made of, or NULL: it is the given text */
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

/* Sets `text` and `size`; reports the first allocation that failed. */
enum attn_status attn_layer_end(struct attn_layer *layer, struct attn_error *err);

void attn_layer_release(struct attn_layer *layer);

/* Where in the given text, through all layers, begins what begins at OFFSET of LAYER. */
size_t attn_layer_origin(const struct attn_layer *layer, size_t offset);

/* Turns the places of the tokens from FIRST on, in LAYER, into places in the text under it. */
void attn_layer_map_offsets(const struct attn_layer *layer, size_t first,
                            struct attn_encoding *encoding);

#endif
