/* spaces.h - missing and superfluous spaces: in a vocabulary of byte pairs, the first token of a
 * word contains the space before it. For the files of this layer and above. */
#pragma once

#include "base/status_internal.h"
#include "input/input.h"
#include "input/input_extra.h"
#include "tokenizer/tokenizer.h"

struct attn_sequence;

enum { ATTN_SPACES_MESSAGE_SIZE = 512 };

/* Whether the text of INPUT ends in a space. TOKENIZER may be NULL. */
bool attn_spaces_are_at_end(const struct attn_input *input, const struct attn_tokenizer *tokenizer);

/* Whether a continuation that begins with BYTE, after POSITION of TEXT, would be glued to the
 * preceding word, which is complete. TOKENIZER may be NULL. */
bool attn_spaces_are_forgotten(const struct attn_sequence *text, size_t position, char byte,
                               const struct attn_tokenizer *tokenizer);

/* Whether replacing the token at POSITION by an encoder's prediction that begins with BYTE would
 * drop white space that the text has there. */
bool attn_spaces_are_left_out(const struct attn_sequence *text, size_t position, char byte,
                              const struct attn_tokenizer *tokenizer);

/* Writes the text of a note about SPACES to MESSAGE. Returns false if no space is missing or
 * superfluous. */
bool attn_spaces_describe(const struct attn_spaces *spaces, char message[ATTN_SPACES_MESSAGE_SIZE]);

void attn_spaces_note(const struct attn_spaces *spaces, struct attn_notes notes);
