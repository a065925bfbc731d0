/*
 * byte_level.h - GPT-2's tokenizer: special tokens are found, the rest is split into pieces, the
 * bytes of each piece are merged.
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

/* Initialize with = {0}; end with attn_byte_level_release. */
struct attn_byte_level {
    struct attn_specials specials;
    struct attn_merges merges;
    struct attn_split *split; /* owns */
    int32_t byte_ids[256];    /* the token of a single byte, or -1 */
    char *bytes;              /* owns; what the tokens stand for, one after another */
    size_t *begin;            /* owns; [n_vocab + 1] where in `bytes` */
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
