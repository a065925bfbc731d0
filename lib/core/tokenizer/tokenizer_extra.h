/* tokenizer_extra.h - what a tokenizer is, which of its tokens are special, and which begin a word.
 */
#ifndef ATTN_TOKENIZER_TOKENIZER_EXTRA_H
#define ATTN_TOKENIZER_TOKENIZER_EXTRA_H

#include "tokenizer/tokenizer.h"

/* Return its kind, and how many tokens it has. */
ATTN_API enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *tokenizer);
ATTN_API size_t attn_tokenizer_n_vocab(const struct attn_tokenizer *tokenizer);

/* Whether the files of the tokenizer declare ID as special, like <|endoftext|>. Words of vocab.json
 * are not special. To decode without special tokens, leave them out of the ids. */
ATTN_API bool attn_tokenizer_is_special(const struct attn_tokenizer *tokenizer, int32_t id);

/* Sets begins[i] to whether a word begins at token i of IDS [n]: it begins at the first token, and
 * at a token that begins with white space or follows white space. A token of white space only
 * belongs to the next word, or after the last word to that one. Special tokens and ids without text
 * are separate words. A token without a space before it (the full stop of "table.", Chinese)
 * belongs to the preceding word. For a word-level tokenizer every
 * token is a word, for WordPiece each token without "##". (Clark et al. 2019, section 4.1, merge
 * words in the same way.) */
ATTN_API void attn_words_mark(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                              bool *begins);

/* Returns the prefix of tokens that continue a word ("##"), or NULL. Borrowed. TOKENIZER may be
 * NULL. */
ATTN_API const char *attn_words_piece(const struct attn_tokenizer *tokenizer);

/* Stores CODE_POINT in lower case, or as it is. Returns the length: 1, or 2 for U+0130. */
ATTN_API size_t attn_lowercase(uint32_t code_point, uint32_t lower[2]);

#endif
