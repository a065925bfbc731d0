/* token_texts.h - the bytes of the tokens of a text. An id that the vocabulary lacks, for a row of
 * the embedding that no text leads to, is "[50290]". */
#ifndef CMD_TOKEN_TEXTS_H
#define CMD_TOKEN_TEXTS_H

#include "attn.h"

/* Initialize with = {0}; end with token_texts_release. */
struct token_texts {
    const char **bytes; /* [n] owned; what they point to is mostly the tokenizer's, and not
                           terminated */
    size_t *sizes;      /* [n] owned */
    char (*made)[16];   /* [n] owned, or NULL: what stands for ids without a token */
};

/* Finds those of IDS [n]. Reports and returns an exit code. */
int token_texts_find(const struct attn_tokenizer *tokenizer, const int32_t *ids, size_t n,
                     struct token_texts *texts);
void token_texts_release(struct token_texts *texts);

#endif
