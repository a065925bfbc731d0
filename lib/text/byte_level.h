/*
 * byte_level.h - GPT-2's tokenizer: special tokens are found, the rest is split into pieces, the
 * bytes of each piece are merged. In its files printable characters stand for bytes.
 */
#ifndef ATTN_TEXT_BYTE_LEVEL_H
#define ATTN_TEXT_BYTE_LEVEL_H

#include "base/source.h"
#include "text/merges.h"
#include "text/special.h"
#include "text/split.h"
#include "text/tokenizer.h"
#include "text/vocabulary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The characters that stand for bytes, both ways; fill with attn_alphabet_init. GPT-2's
 * bytes_to_unicode: 33..126, 161..172 and 174..255 are themselves, the other 68 bytes in ascending
 * order are U+0100..U+0143; a space is U+0120, a newline U+010A.
 */
struct attn_alphabet {
    uint16_t code_point[256]; /* of a byte */
    int16_t byte[0x144];      /* of a code point, -1 for those that stand for none */
};

void attn_alphabet_init(struct attn_alphabet *alphabet);

/*
 * Writes the bytes that KEY [size bytes of UTF-8] stands for to OUT, which has room for SIZE, and
 * stores their number. False when a character of KEY stands for no byte.
 */
bool attn_alphabet_to_bytes(const struct attn_alphabet *alphabet, const char *key, size_t size,
                            char *out, size_t *n_byte);

/* Initialize with = {0}; end with attn_byte_level_release. */
struct attn_byte_level {
    struct attn_specials specials;
    struct attn_merges merges;
    struct attn_split *split; /* owns */
    int32_t byte_ids[256];    /* the token of a single byte, or -1 */
    char *bytes;              /* owns; what the tokens stand for, one after another */
    size_t *begin;            /* owns; [n_vocab + 1] where in `bytes` */
    char *note;               /* owns; what is odd about the vocabulary (unmade.h), or NULL */
    bool has_prefix;          /* a space goes before a text that does not begin with one */
};

/* Reads merges.txt, the files of special.h and tokenizer_config.json of SOURCE. May add to
 * VOCABULARY. */
enum attn_status attn_byte_level_open(struct attn_byte_level *bpe, const struct attn_source *source,
                                      struct attn_vocabulary *vocabulary, struct attn_error *err);
void attn_byte_level_release(struct attn_byte_level *bpe);

/* The bytes of token ID, 0 <= ID < n_vocab. Borrowed. */
static inline const char *attn_byte_level_token(const struct attn_byte_level *bpe, int32_t id,
                                                size_t *size)
{
    *size = bpe->begin[id + 1] - bpe->begin[id];
    return bpe->bytes + bpe->begin[id];
}

/* Appends the tokens of TEXT. OPTIONS->invalid is ATTN_INVALID_TEXT_REFUSE when TEXT is known to be
 * valid UTF-8. */
enum attn_status attn_byte_level_encode(const struct attn_byte_level *bpe, const char *text,
                                        size_t size, const struct attn_encode_options *options,
                                        struct attn_encoding *encoding, struct attn_error *err);

#endif
