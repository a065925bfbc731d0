/*
 * special.h - tokens that stand for themselves in a text and are found before it is split, like
 * <|endoftext|>.
 *
 * Which tokens are special: `<|endoftext|>` when the vocabulary has it; all of added_tokens.json
 * ({"token": id}); those that special_tokens_map.json names (strings, objects with "content", lists
 * of both) when the vocabulary has them. tokenizer_config.json is not asked.
 */
#ifndef ATTN_TEXT_SPECIAL_H
#define ATTN_TEXT_SPECIAL_H

#include "base/source.h"
#include "text/vocabulary.h"

#include <stdbool.h>

struct attn_special_token {
    const char *text; /* its key; borrowed from the vocabulary */
    size_t size;      /* bytes, not 0 */
    int32_t id;
};

/* Initialize with = {0}; end with attn_specials_release. */
struct attn_specials {
    struct attn_special_token *tokens; /* owns; [n] by first byte, then longest first */
    size_t n;
    size_t first[257]; /* those that begin with byte b are first[b] .. first[b + 1] - 1 */
    bool *is_special;  /* owns; by id */
};

/*
 * Reads the files of SOURCE. Adds what added_tokens.json has to VOCABULARY, which must be finished
 * and must not change afterwards.
 */
enum attn_status attn_specials_read(struct attn_specials *specials,
                                    const struct attn_source *source,
                                    struct attn_vocabulary *vocabulary, struct attn_error *err);
void attn_specials_release(struct attn_specials *specials);

/*
 * The first special token in TEXT at or after FROM, the longest of those that begin there, with its
 * place in *begin. NULL when there is none; *begin is then SIZE.
 */
const struct attn_special_token *attn_specials_find(const struct attn_specials *specials,
                                                    const char *text, size_t size, size_t from,
                                                    size_t *begin);

#endif
