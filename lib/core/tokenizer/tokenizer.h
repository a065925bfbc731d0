/*
 * tokenizer.h - converts text to token ids and back.
 *
 *     struct attn_tokenizer *tokenizer;
 *     struct attn_encoding encoding = {0};
 *     attn_tokenizer_open(&source, &tokenizer, &err);
 *     attn_tokenizer_encode(tokenizer, text, size, &ATTN_ENCODE_DEFAULT, &encoding, &err);
 *     for (size_t i = 0; i < encoding.n; i++)
 *         use(encoding.ids[i], encoding.begin[i], encoding.end[i]);
 *     attn_encoding_release(&encoding);
 *
 * A tokenizer is read from the first of these files that exists. tokenizer.json: BPE, WordPiece,
 * Unigram or WordLevel, with the parts listed in cmd/manual/models.md; results equal those of the
 * library tokenizers. vocab.json: with merges.txt byte-level BPE (Radford et al. 2019), merged in
 * the order of the library tokenizers; alone, words between Unicode white space, or single
 * characters. vocab.txt: BERT's WordPiece. spiece.model: T5's. But Marian's source.spm, target.spm
 * and vocab.json take precedence over all others except a tokenizer.json that was requested.
 * Results of .spm files equal SentencePiece's. The versions of Unicode are those of the library
 * tokenizers (ATTN_UNICODE_VERSIONS).
 */
#ifndef ATTN_TOKENIZER_TOKENIZER_H
#define ATTN_TOKENIZER_TOKENIZER_H

#include "base/source.h"
#include "base/status.h"
#include "tokenizer/encoding.h"

struct attn_tokenizer; /* immutable once open; may be used by several threads at once */

enum attn_tokenizer_kind {
    ATTN_TOKENIZER_WORD = 0, /* also WordLevel of tokenizer.json */
    ATTN_TOKENIZER_CHARACTER = 1,
    ATTN_TOKENIZER_BPE = 2,
    ATTN_TOKENIZER_WORDPIECE = 3, /* BERT's */
    ATTN_TOKENIZER_UNIGRAM = 4    /* T5's, XLM-R's, ALBERT's */
};

/* Opens the tokenizer of SOURCE, and reads no weights. It reads these files: tokenizer.json alone;
 * or vocab.json, with merges.txt for byte-level BPE, and the member "tokenizer" of config.json:
 * {"type": "word"|"char"|"bpe", "drop": ",", "unk": null}; or BERT's vocab.txt. For the latter two,
 * also added_tokens.json, special_tokens_map.json and tokenizer_config.json, whose class, or the
 * class in config.json, tells that merges.txt is RoBERTa's. Returns ATTN_FORMAT for duplicates, bad
 * merges, ids of added tokens that differ from the library's, and, for vocab.json, gaps, and merges
 * that leave three or more tokens unreachable. Returns ATTN_UNSUPPORTED, and names the part, for an
 * unknown part of tokenizer.json. */
ATTN_API enum attn_status attn_tokenizer_open(const struct attn_source *source,
                                              struct attn_tokenizer **tokenizer,
                                              struct attn_error *err);
ATTN_API void attn_tokenizer_free(struct attn_tokenizer *tokenizer); /* NULL is allowed */

/*
 * Encodes TEXT and replaces the contents of ENCODING, which is empty after a failure. Returns
 * ATTN_INVALID for text that is not UTF-8, and for unknown words: the message names the word and
 * its place, and the hint lists the closest known words. OPTIONS may be NULL for the defaults.
 * Takes O(n log n) for any text; parts of tokenizer.json that would take too long fail with
 * ATTN_UNSUPPORTED. A text without words has no tokens.
 *
 * Offsets refer to the original text, whatever changes were made to it. A space or U+2581 inserted
 * at the front belongs to the first character, and a composed character to its first part. If the
 * post-processor trims offsets, they exclude white space at the ends of a token.
 */
ATTN_API enum attn_status attn_tokenizer_encode(const struct attn_tokenizer *tokenizer,
                                                const char *text, size_t size,
                                                const struct attn_encode_options *options,
                                                struct attn_encoding *encoding,
                                                struct attn_error *err);

/* Returns the bytes of one token, borrowed from the tokenizer: " eat" for BPE (not terminated; it
 * may be part of a character), "eat" for words. NULL for an id that the vocabulary lacks: a model
 * may have more rows, and tokenizer.json may have holes. */
ATTN_API const char *attn_tokenizer_token(const struct attn_tokenizer *tokenizer, int32_t id,
                                          size_t *size);

/* Decodes N ids to text: the result of the decoder in tokenizer.json, which is UTF-8; otherwise
 * bytes joined for BPE, words separated by single spaces, or characters joined. *text is allocated,
 * and *size excludes its terminating NUL; free it with attn_tokenizer_text_free. Returns
 * ATTN_INVALID for an unknown id, except that tokenizers of tokenizer.json skip unknown ids of at
 * least 0; ATTN_UNSUPPORTED if the text of the decoder would be too long. */
ATTN_API enum attn_status attn_tokenizer_decode(const struct attn_tokenizer *tokenizer,
                                                const int32_t *ids, size_t n, char **text,
                                                size_t *size, struct attn_error *err);
ATTN_API void attn_tokenizer_text_free(char *text); /* NULL is allowed */

#endif
