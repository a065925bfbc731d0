/* token_text.h - the tokens of a run as printable text, escaped by the rules of base/escape.h. */
#ifndef ATTN_WRITERS_TOKEN_TEXT_H
#define ATTN_WRITERS_TOKEN_TEXT_H

#include "base/buffer.h"
#include "writers/output.h"

#include <stdbool.h>

/* Initialize with = {0}; end with attn_token_texts_release. */
struct attn_token_texts {
    struct attn_buffer bytes; /* all texts, one after the other */
    size_t *ends;             /* [n] owns; where each ends in bytes */
    size_t n;                 /* positions; 0 when the run has no tokens */
    bool *joins; /* [n] owns; of labels: whether it goes on with the character of the one before */
};

/* The labels of RUN, or of its encoder by itself if that alone is selected. */
struct attn_labels attn_labels_of_stack(const struct attn_labels *run);

/* Texts of the run's tokens, [0], and of the tokens of the source of cross-attention, [1]. */
enum attn_status attn_token_texts_init(struct attn_token_texts texts[2],
                                       const struct attn_labels *run, struct attn_error *err);

/* The same for readers. Tokens that are pieces of one character, as readers see it (a grapheme
 * cluster), are shown as that character with the number of the piece: "\xe4\xbd\xa0/1". */
enum attn_status attn_token_labels_init(struct attn_token_texts texts[2],
                                        const struct attn_labels *run, struct attn_error *err);

/* The same for N tokens of no run. */
enum attn_status attn_token_texts_of(struct attn_token_texts *texts, const char *const *tokens,
                                     const size_t *sizes, size_t n, struct attn_error *err);
enum attn_status attn_token_labels_of(struct attn_token_texts *texts, const char *const *tokens,
                                      const size_t *sizes, size_t n, struct attn_error *err);

/* How many characters of the run's tokens are in several pieces. */
size_t attn_token_labels_n_split(const struct attn_labels *run);

/* How many tokens after POSITION go on with its character. */
size_t attn_token_n_joined(const struct attn_token_texts *texts, size_t position);

/* The text of POSITION, not terminated, borrowed; empty without tokens. */
const char *attn_token_text(const struct attn_token_texts *texts, size_t position, size_t *size);

void attn_token_texts_release(struct attn_token_texts *texts, size_t n);

/* Appends the text of the run and its pair, or the tokens of ids; empty for pictures. */
void attn_labels_append_text(const struct attn_labels *run, struct attn_buffer *out);

/* Bytes of PIECE (attn_labels) at the beginning of a token that continues a word. */
size_t attn_word_piece_size(const char *token, size_t size, const char *piece);

/* Words: each token with those that continue it, without their prefix. Initialize with = {0}, or
 * with `piece` alone; end with attn_joined_tokens_release, after a failed _init too. */
struct attn_joined_tokens {
    const char *piece; /* as attn_labels has it, or NULL */
    struct attn_buffer bytes;
    const char **texts; /* [n] owns; of `bytes` */
    size_t *sizes;      /* [n] owns */
    size_t n;
};

/* Joins the N TOKENS, 1 or more, whose words are OF_TOKEN [n], as attn_labels has them. */
enum attn_status attn_joined_tokens_init(struct attn_joined_tokens *joined, const size_t *of_token,
                                         size_t n, const char *const *tokens, const size_t *sizes,
                                         struct attn_error *err);
void attn_joined_tokens_release(struct attn_joined_tokens *joined);

/* Whether the tokenizer added the token at POSITION of RUN by itself. */
bool attn_token_is_added(const struct attn_labels *run, size_t position);

/* How many it added. */
size_t attn_labels_n_added(const struct attn_labels *run);

#endif
