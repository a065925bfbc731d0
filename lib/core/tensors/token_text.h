/* token_text.h - the tokens of a run as printable text, escaped as in base/text/escape.h. */
#pragma once

#include "base/buffer.h"
#include "base/memory.h"
#include "tensors/output.h"

#include <stdbool.h>

/* Initialize with = {0}; end with attn_token_texts_release. */
struct attn_token_texts {
    struct attn_buffer bytes; /* all texts, concatenated */
    size_t *ends;             /* [n] owns; end of each text in `bytes` */
    size_t n;                 /* number of positions; 0 if the run has no tokens */
    /* [n] owns; for labels: true if the token continues the character of the previous one */
    bool *joins;
};

/* Returns the labels of RUN; if only its encoder is selected, the labels of the encoder, with the
 * selection of both stacks. */
struct attn_labels attn_labels_of_stack(const struct attn_labels *run);

/* Makes the texts of the run's tokens, [0], and of the tokens of its source, [1]. */
enum attn_status attn_token_texts_init(struct attn_token_texts texts[2],
                                       const struct attn_labels *run, struct attn_error *err);

/* Makes the same texts for readers. If several tokens form one character as readers see it (a
 * grapheme cluster), each is shown as that character with the number of the piece:
 * "\xe4\xbd\xa0/1". */
enum attn_status attn_token_labels_init(struct attn_token_texts texts[2],
                                        const struct attn_labels *run, struct attn_error *err);

/* Returns how many characters of the run's tokens are split into several tokens. */
size_t attn_token_labels_n_split(const struct attn_labels *run);

/* Returns how many tokens after POSITION continue its character. */
size_t attn_token_n_joined(const struct attn_token_texts *texts, size_t position);

/* Returns the text of POSITION, borrowed and not null-terminated; empty without tokens. */
const char *attn_token_text(const struct attn_token_texts *texts, size_t position, size_t *size);

void attn_token_texts_release(struct attn_token_texts *texts, size_t n);

/* Appends the text of the run and its pair; if the input was ids, their tokens; nothing for
 * pictures; beside a picture, the question and the answer. */
void attn_labels_append_text(const struct attn_labels *run, struct attn_buffer *out);

/* Returns the length of the prefix PIECE (struct attn_labels) at the beginning of a token that
 * continues a word, otherwise 0. */
size_t attn_word_piece_size(const char *token, size_t size, const char *piece);

/* Returns true if the tokenizer added the token at POSITION of RUN. */
bool attn_token_is_added(const struct attn_labels *run, size_t position);

/* Returns how many tokens the tokenizer added. */
size_t attn_labels_n_added(const struct attn_labels *run);
