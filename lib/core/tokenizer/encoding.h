/* encoding.h - the tokens of a text, and the options of encoding (tokenizer/tokenizer.h). */
#ifndef ATTN_TOKENIZER_ENCODING_H
#define ATTN_TOKENIZER_ENCODING_H

#include "base/api.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How special tokens in the text, such as <|endoftext|>, are treated. */
enum attn_special {
    ATTN_SPECIAL_PARSE = 0 /* recognized, as by Hugging Face */,
    ATTN_SPECIAL_TEXT = 1 /* plain text */
};

/* Whether the tokenizer adds special tokens, such as Llama's BOS, according to the post-processor
 * of tokenizer.json. */
enum attn_special_tokens {
    ATTN_SPECIAL_TOKENS_DEFAULT = 0, /* as ON; a probe takes it where there is no such token */
    ATTN_SPECIAL_TOKENS_ON = 1,      /* added, as by Hugging Face */
    ATTN_SPECIAL_TOKENS_OFF = 2,     /* the tokens of the text alone */
    ATTN_SPECIAL_TOKENS_BOS = 3      /* added, and one start token (bos_token_id) in front */
};

/* The context of the text. */
enum attn_text_place {
    ATTN_TEXT_BEGINS = 0,   /* it stands alone */
    ATTN_TEXT_CONTINUES = 1 /* it follows another text: no space or U+2581 is added in front */
};

/* How bytes that are not UTF-8 are treated. */
enum attn_invalid_text {
    ATTN_INVALID_TEXT_REFUSE = 0,  /* ATTN_INVALID, with the byte offset in the message */
    ATTN_INVALID_TEXT_REPLACE = 1, /* replaced by U+FFFD, once for each maximal subpart */
    ATTN_INVALID_TEXT_BYTES = 2,   /* encoded as they are; byte-level BPE only */
};

struct attn_encode_options {
    size_t size;                             /* of this struct */
    enum attn_special special;               /* treatment of special tokens in the text */
    enum attn_invalid_text invalid;          /* treatment of bytes that are not UTF-8 */
    enum attn_special_tokens special_tokens; /* whether the tokenizer adds special tokens */
    enum attn_text_place place;              /* whether the text continues another text */
    const volatile sig_atomic_t *cancel;     /* borrowed; if it becomes not 0, the result is
                                                ATTN_CANCELED; NULL: cannot be canceled */
    const char *pair; /* borrowed; [n_pair] a second text, which the tokenizer joins to the first:
                         [CLS] text [SEP] pair [SEP]; NULL: one text */
    size_t n_pair;
    /* Special tokens that begin in these bytes of the text are plain text, as with
     * ATTN_SPECIAL_TEXT; both 0: none. */
    size_t plain_begin, plain_end;
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_encode_options *attn_encode_options_init(struct attn_encode_options *options,
                                                              size_t size);
#define ATTN_ENCODE_DEFAULT ATTN_DEFAULT_OF(attn_encode_options)

/* The text that a token belongs to. */
enum attn_text_part {
    ATTN_TEXT_NONE = 0,   /* the tokenizer added it */
    ATTN_TEXT_FIRST = 1,  /* bytes of the text */
    ATTN_TEXT_SECOND = 2, /* bytes of the pair */
};

/* The tokens of a text, or of two texts. Initialize with = {0}. Owns its arrays, and may be reused.
 */
struct attn_encoding {
    int32_t *ids;  /* [n] */
    size_t *begin; /* [n] byte offsets in its text, half open; a token for a part of a character has
                      the bytes of the whole character */
    size_t *end;   /* [n] */
    size_t n;
    size_t n_front; /* number of tokens at the beginning that the tokenizer added; they have no
                       bytes: 0..0 */
    size_t n_back;  /* number of tokens at the end that the tokenizer added; they have no bytes
                       either */
    size_t capacity;
    uint8_t *types; /* [n] token types, for models with types: mostly 0 for the text and 1 for the
                       pair */
    uint8_t *texts; /* [n] enum attn_text_part; the tokenizer also adds tokens between two texts */
    const void *later[4]; /* NULL: room for fields of later versions */
};

ATTN_API void attn_encoding_release(struct attn_encoding *encoding);

#endif
