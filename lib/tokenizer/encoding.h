/* encoding.h - the tokens of a text, and the options of encoding (tokenizer/tokenizer.h). */
#ifndef ATTN_TOKENIZER_ENCODING_H
#define ATTN_TOKENIZER_ENCODING_H

#include "base/api.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Special tokens (<|endoftext|>) written in the text. */
enum attn_special {
    ATTN_SPECIAL_PARSE = 0 /* recognized, as Hugging Face does */,
    ATTN_SPECIAL_TEXT = 1 /* plain text */
};

/* Special tokens that the tokenizer adds to a text, like the BOS of Llama, according to the
 * post-processor of tokenizer.json. */
enum attn_special_tokens {
    ATTN_SPECIAL_TOKENS_ON = 0, /* added, as Hugging Face does */
    ATTN_SPECIAL_TOKENS_OFF = 1 /* the tokens of the text alone */
};

/* Where the text stands. */
enum attn_text_place {
    ATTN_TEXT_BEGINS = 0,   /* by itself */
    ATTN_TEXT_CONTINUES = 1 /* after another text: no space or U+2581 is put in front of it */
};

/* Bytes that are not UTF-8. */
enum attn_invalid_text {
    ATTN_INVALID_TEXT_REFUSE = 0,  /* ATTN_INVALID, with the byte offset */
    ATTN_INVALID_TEXT_REPLACE = 1, /* U+FFFD for each maximal subpart */
    ATTN_INVALID_TEXT_BYTES = 2,   /* encoded as they are; byte-level BPE only */
};

struct attn_encode_options {
    size_t size;                             /* of this struct */
    enum attn_special special;               /* treatment of special tokens in the text */
    enum attn_invalid_text invalid;          /* treatment of bytes that are not UTF-8 */
    enum attn_special_tokens special_tokens; /* whether the tokenizer adds its own */
    enum attn_text_place place;              /* whether it goes on with another text */
    const volatile sig_atomic_t *cancel;     /* borrowed; not 0: ATTN_CANCELED; NULL: never */
    const char *pair; /* borrowed; [n_pair] a second text, which follows the first as the tokenizer
                         defines: [CLS] text [SEP] pair [SEP]; NULL: absent */
    size_t n_pair;
};

#define ATTN_ENCODE_DEFAULT                                                                        \
    ((struct attn_encode_options){.size = sizeof(struct attn_encode_options)})

/* Whose token it is. */
enum attn_text_part {
    ATTN_TEXT_NONE = 0,   /* the tokenizer added it */
    ATTN_TEXT_FIRST = 1,  /* bytes of the text */
    ATTN_TEXT_SECOND = 2, /* bytes of the pair */
};

/* The tokens of a text, or of two. Initialize with = {0}; may be reused; owns its arrays. */
struct attn_encoding {
    int32_t *ids;  /* [n] */
    size_t *begin; /* [n] byte offsets in its text, half open; a token that is part of a character
                      keeps its bytes */
    size_t *end;   /* [n] */
    size_t n;
    size_t n_front; /* the first of them that the tokenizer added; they have no bytes: 0..0 */
    size_t n_back;  /* the last of them that it added; they have no bytes either */
    size_t capacity;
    uint8_t *types; /* [n] token types, for models with types: 0, and mostly 1 for the pair */
    uint8_t *texts; /* [n] enum attn_text_part; between two texts are added ones, too */
};

ATTN_API void attn_encoding_release(struct attn_encoding *encoding);

#endif
