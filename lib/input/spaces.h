/* spaces.h - spaces that were forgotten, or that are one too many: a vocabulary of byte pairs
 * begins a new word with its space. For the files of this layer and above. */
#ifndef ATTN_INPUT_SPACES_H
#define ATTN_INPUT_SPACES_H

#include "base/status_internal.h"
#include "input/input.h"
#include "tokenizer/tokenizer.h"

struct attn_sequence;

/* Initialize with = {0}: all is as it should be. */
struct attn_spaces {
    /* "target", "foil", "continuation": which of them goes on with the word before it; NULL: none
     * does. */
    const char *what;
    const char *text; /* that one; borrowed */
    bool is_at_end;   /* the text ends in a space */
};

enum { ATTN_SPACES_MESSAGE_SIZE = 512 };

/* Whether the text of INPUT ends in a space. TOKENIZER may be NULL. */
bool attn_spaces_are_at_end(const struct attn_input *input, const struct attn_tokenizer *tokenizer);

/* Whether what begins with BYTE and comes after POSITION of TEXT would go on with a word that is
 * complete there. TOKENIZER may be NULL. */
bool attn_spaces_are_forgotten(const struct attn_sequence *text, size_t position, char byte,
                               const struct attn_tokenizer *tokenizer);

/* The same of what stands for the token at POSITION, as an encoder predicts it: the text has white
 * space there that it would leave out. */
bool attn_spaces_are_left_out(const struct attn_sequence *text, size_t position, char byte,
                              const struct attn_tokenizer *tokenizer);

/* Writes a note about SPACES. Returns whether there is anything to say. */
bool attn_spaces_describe(const struct attn_spaces *spaces, char message[ATTN_SPACES_MESSAGE_SIZE]);

void attn_spaces_note(const struct attn_spaces *spaces, struct attn_notes notes);

#endif
