#include "input/spaces.h"

#include "base/status_internal.h"
#include "input/sequence.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <string.h>

/* Whether C is an ASCII letter or digit, which words in scripts with spaces are made of. */
static bool is_word_byte(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool has_spaces(const struct attn_tokenizer *tokenizer)
{
    return tokenizer && attn_tokenizer_kind(tokenizer) == ATTN_TOKENIZER_BPE;
}

bool attn_spaces_are_at_end(const struct attn_input *input, const struct attn_tokenizer *tokenizer)
{
    return has_spaces(tokenizer) && input->text && input->n_text > 0 &&
           input->text[input->n_text - 1] == ' ';
}

bool attn_spaces_are_forgotten(const struct attn_sequence *text, size_t position, char byte,
                               const struct attn_tokenizer *tokenizer)
{
    const char *before, *after = NULL;
    size_t n_before = 0, n_after = 0;

    if (!has_spaces(tokenizer) || !text->ids || !is_word_byte(byte))
        return false;
    before = attn_tokenizer_token(tokenizer, text->ids[position], &n_before);
    if (position + 1 < text->n)
        after = attn_tokenizer_token(tokenizer, text->ids[position + 1], &n_after);
    return before && n_before > 0 && is_word_byte(before[n_before - 1]) &&
           !(after && n_after > 0 && is_word_byte(after[0]));
}

bool attn_spaces_are_left_out(const struct attn_sequence *text, size_t position, char byte,
                              const struct attn_tokenizer *tokenizer)
{
    const struct attn_encoding *encoding = &text->encoding;
    size_t size = 0;
    const char *token;

    if (!has_spaces(tokenizer) || encoding->n != text->n || position == 0 || !is_word_byte(byte))
        return false;
    token = attn_tokenizer_token(tokenizer, text->ids[position], &size);
    return encoding->end[position - 1] > 0 &&
           (encoding->begin[position] >
                encoding->end[position - 1] || /* white space between the tokens, which the mask
                                                  token replaced */
            encoding->end[position] - encoding->begin[position] > size ||
            (token && size > 0 && token[0] == ' '));
}

bool attn_spaces_describe(const struct attn_spaces *spaces, char message[ATTN_SPACES_MESSAGE_SIZE])
{
    static const char reason[] = "; a new word begins with its space";
    const struct attn_quote text = attn_quote_string(spaces->text ? spaces->text : "");

    if (spaces->what)
        snprintf(message, ATTN_SPACES_MESSAGE_SIZE,
                 "the %s '%s' goes on with the last word%s: ' %s'", spaces->what, text.text, reason,
                 text.text);
    else if (spaces->is_at_end)
        snprintf(message, ATTN_SPACES_MESSAGE_SIZE, "the text ends in a space%s, so leave it out",
                 reason);
    return spaces->what || spaces->is_at_end;
}

void attn_spaces_note(const struct attn_spaces *spaces, struct attn_notes notes)
{
    char message[ATTN_SPACES_MESSAGE_SIZE];

    if (attn_spaces_describe(spaces, message))
        attn_note(notes.on_note, notes.user, ATTN_NOTE_SPACES, "%s", message);
}
