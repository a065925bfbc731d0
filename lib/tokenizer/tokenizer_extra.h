/* tokenizer_extra.h - facts about a tokenizer. */
#ifndef ATTN_TOKENIZER_TOKENIZER_EXTRA_H
#define ATTN_TOKENIZER_TOKENIZER_EXTRA_H

#include "tokenizer/tokenizer.h"

/* Returns the tokenizer for target texts, borrowed from TOKENIZER: for Marian that of target.spm,
 * else TOKENIZER itself. */
ATTN_API const struct attn_tokenizer *attn_tokenizer_target(const struct attn_tokenizer *tokenizer);

ATTN_API size_t attn_tokenizer_n_vocab(const struct attn_tokenizer *tokenizer);

ATTN_API enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *tokenizer);

/* Whether the files of the tokenizer declare ID as special, like <|endoftext|>. Words of vocab.json
 * are not special. To decode without special tokens, leave them out of the ids. */
ATTN_API bool attn_tokenizer_is_special(const struct attn_tokenizer *tokenizer, int32_t id);

#endif
