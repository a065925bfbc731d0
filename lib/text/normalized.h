/*
 * normalized.h - the normalized text, which is encoded, and the way back to the text that was
 * given.
 *
 * They are the same bytes unless something has to be put in: a space before the first word, U+FFFD
 * for bytes that are not UTF-8.
 */
#ifndef ATTN_TEXT_NORMALIZED_H
#define ATTN_TEXT_NORMALIZED_H

#include "base/buffer.h"
#include "text/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>

/* COUNT times, one after the other: SIZE bytes of the normalized text, the first at AT, stand for
 * FROM_SIZE bytes of the given text, the first at FROM. */
struct attn_splice {
    size_t at, from, count;
    unsigned char size, from_size; /* 1 to 4 */
};

/* Initialize with = {0}; end with attn_normalized_release. */
struct attn_normalized {
    const char *text; /* borrowed from the caller or from `copy` */
    size_t size;
    struct attn_buffer copy;     /* used when there are splices */
    struct attn_splice *splices; /* owns; ascending */
    size_t n_splice, capacity;
};

struct attn_normalization {
    bool adds_space;       /* before the text, unless it is empty or begins with one */
    bool replaces_invalid; /* U+FFFD for each maximal subpart of what is not UTF-8 */
};

/* May be called again with the next text. */
enum attn_status attn_normalized_set(struct attn_normalized *normalized, const char *text,
                                     size_t size, struct attn_normalization how,
                                     struct attn_error *err);
void attn_normalized_release(struct attn_normalized *normalized);

/* Where in the given text something begins or ends that does so at OFFSET of the normalized text;
 * what lies within a splice gets all that it stands for. */
size_t attn_normalized_begin(const struct attn_normalized *normalized, size_t offset);
size_t attn_normalized_end(const struct attn_normalized *normalized, size_t offset);

/* Turns the offsets of the tokens from FIRST on into those of a text in which the given one begins
 * at BASE. */
void attn_normalized_map_offsets(const struct attn_normalized *normalized, size_t base,
                                 size_t first, struct attn_encoding *encoding);

#endif
