/*
 * special.h - which tokens of a vocab.json are found in a text before it is split (added.h):
 * `<|endoftext|>` when the vocabulary has it; all of added_tokens.json ({"token": id}); those that
 * special_tokens_map.json names (strings, objects with "content", lists of both) when the vocabulary
 * has them. tokenizer_config.json is not asked.
 */
#ifndef ATTN_TEXT_SPECIAL_H
#define ATTN_TEXT_SPECIAL_H

#include "base/source.h"
#include "text/added.h"
#include "text/vocabulary.h"

/*
 * Reads the files of SOURCE and appends the tokens to ADDED. Adds what added_tokens.json has to
 * VOCABULARY, which must be finished and must not change afterwards.
 */
enum attn_status attn_specials_read(struct attn_added *added, const struct attn_source *source,
                                    struct attn_vocabulary *vocabulary, struct attn_error *err);

#endif
