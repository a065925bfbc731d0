/*
 * tokenizer.h - text to token ids and back.
 *
 *     struct attn_tokenizer *tokenizer;
 *     struct attn_encoding encoding = {0};
 *     attn_tokenizer_open(&source, &tokenizer, &err);
 *     attn_tokenizer_encode(tokenizer, text, size, &ATTN_ENCODE_DEFAULT, &encoding, &err);
 *     for (size_t i = 0; i < encoding.n; i++)
 *         use(encoding.ids[i], encoding.begin[i], encoding.end[i]);
 *     attn_encoding_release(&encoding);
 *
 * A tokenizer is read from tokenizer.json if it is there: BPE, WordPiece, Unigram or WordLevel
 * with the parts that the table in cmd/manual/models.md lists. Results equal those of the library
 * tokenizers for that file. Otherwise it is read from vocab.json: with merges.txt byte-level BPE
 * (Radford et al. 2019), merged in the order of the library tokenizers; alone, word level: words
 * between Unicode white space, or single characters. Otherwise it is read from vocab.txt: BERT's
 * WordPiece; or from T5's spiece.model. Marian's source.spm, target.spm and vocab.json come before
 * all but a tokenizer.json that was asked for. Results of .spm files equal SentencePiece's.
 * The versions of Unicode are those of the library tokenizers (ATTN_UNICODE_VERSIONS).
 */
#ifndef ATTN_TOKENIZER_TOKENIZER_H
#define ATTN_TOKENIZER_TOKENIZER_H

#include "base/source.h"
#include "base/status.h"
#include "tokenizer/encoding.h"

struct attn_tokenizer; /* immutable once open; may be used by several threads at once */

enum attn_tokenizer_kind {
    ATTN_TOKENIZER_WORD = 0, /* WordLevel of tokenizer.json, too */
    ATTN_TOKENIZER_CHARACTER = 1,
    ATTN_TOKENIZER_BPE = 2,
    ATTN_TOKENIZER_WORDPIECE = 3, /* BERT's */
    ATTN_TOKENIZER_UNIGRAM = 4    /* T5's, XLM-R's, ALBERT's */
};

/* Opens the tokenizer of SOURCE; reads no weights. The files: tokenizer.json alone; or vocab.json,
 * with merges.txt byte-level BPE, and config.json's "tokenizer": {"type": "word"|"char"|"bpe",
 * "drop": ",", "unk": null}; or BERT's vocab.txt; for these two also added_tokens.json,
 * special_tokens_map.json and tokenizer_config.json, whose class, or the class in config.json,
 * identifies RoBERTa's merges.txt. ATTN_FORMAT for duplicates, bad merges, ids of added tokens that
 * differ from the library's, and, for vocab.json, gaps, and merges that leave three or more tokens
 * unreachable. ATTN_UNSUPPORTED names an unknown part of tokenizer.json. */
ATTN_API enum attn_status attn_tokenizer_open(const struct attn_source *source,
                                              struct attn_tokenizer **tokenizer,
                                              struct attn_error *err);
ATTN_API void attn_tokenizer_free(struct attn_tokenizer *tokenizer); /* NULL is allowed */

/* The tokenizer of target texts, borrowed from TOKENIZER: for Marian that of target.spm, else
 * TOKENIZER itself. */
ATTN_API const struct attn_tokenizer *attn_tokenizer_target(const struct attn_tokenizer *tokenizer);

ATTN_API size_t attn_tokenizer_n_vocab(const struct attn_tokenizer *tokenizer);

/*
 * Replaces the contents of ENCODING; after a failure it is empty. ATTN_INVALID for text that is not
 * UTF-8 and for unknown words: the message names the word and its place, the hint the closest known
 * words. OPTIONS may be NULL: the defaults. Time is O(n log n) for any text, except for parts of
 * tokenizer.json, which fail with ATTN_UNSUPPORTED if they would take too long. A text without
 * words has no tokens.
 *
 * Offsets refer to the given text, whatever changes were made to it. A space or U+2581 that was
 * inserted at the front belongs to the first character, a composed character to its first part;
 * where the post-processor trims offsets, white space at the ends of a token is left out.
 */
ATTN_API enum attn_status attn_tokenizer_encode(const struct attn_tokenizer *tokenizer,
                                                const char *text, size_t size,
                                                const struct attn_encode_options *options,
                                                struct attn_encoding *encoding,
                                                struct attn_error *err);

ATTN_API enum attn_tokenizer_kind attn_tokenizer_kind(const struct attn_tokenizer *tokenizer);

/* The bytes of one token, borrowed from the tokenizer: " eat" for BPE (not terminated; may be part
 * of a character), "eat" for words. NULL for an id that the vocabulary lacks (a model may have more
 * rows, and tokenizer.json may have holes). */
ATTN_API const char *attn_tokenizer_token(const struct attn_tokenizer *tokenizer, int32_t id,
                                          size_t *size);

/* Whether ID is special, like <|endoftext|>, according to the files of the tokenizer; words of
 * vocab.json are not. To decode without them, leave them out of the ids. */
ATTN_API bool attn_tokenizer_is_special(const struct attn_tokenizer *tokenizer, int32_t id);

/* The text of N ids: the result of the decoder of tokenizer.json, which is UTF-8; otherwise bytes
 * joined for BPE, words separated by single spaces, characters joined. *text is allocated, its size
 * excludes a terminating NUL; free it with attn_tokenizer_text_free. ATTN_INVALID for an unknown
 * id; tokenizer.json skips those from 0 on. ATTN_UNSUPPORTED if the text of its decoder would be
 * too long. */
ATTN_API enum attn_status attn_tokenizer_decode(const struct attn_tokenizer *tokenizer,
                                                const int32_t *ids, size_t n, char **text,
                                                size_t *size, struct attn_error *err);
ATTN_API void attn_tokenizer_text_free(char *text); /* NULL is allowed */

#endif
