/*
 * chat_form.h - conversations as a row of lib/parts.c writes them: the templates of models are read
 * and rendered there.
 */
#pragma once

#include "base/source.h"
#include "base/status.h"

#include <stddef.h>

enum { ATTN_ROLE_SIZE = 24 };

/* Where the content of a message is in the text, without the white space at its ends. */
struct attn_talk_span {
    size_t begin, end;         /* bytes; both 0: unknown */
    char role[ATTN_ROLE_SIZE]; /* "user"; "" unless it has ASCII letters and `_` alone */
};

struct attn_chat_request;
struct attn_chat_text;
struct attn_chat_turn;
struct attn_class;
struct attn_input;
struct attn_request_reading;
struct attn_sequence;
struct attn_tokenizer;

struct attn_talker {
    /* Reads the chat template of TOKENIZER from its GGUF file, or from SOURCE with its class FOUND.
     */
    enum attn_status (*read_template)(struct attn_tokenizer *tokenizer,
                                      const struct attn_source *source,
                                      const struct attn_class *found, struct attn_error *err);
    /* Checks that the fields of ASKED fit each other and INPUT, and that READING leaves what a chat
     * template writes as it is. */
    enum attn_status (*check)(const struct attn_chat_request *asked, const struct attn_input *input,
                              const struct attn_request_reading *reading, struct attn_error *err);
    /* Writes TURN, or the messages of ASKED, by the template of ASKED or of the tokenizer. */
    enum attn_status (*write)(const struct attn_chat_request *asked,
                              const struct attn_chat_turn *turn, struct attn_chat_text *written,
                              struct attn_error *err);
    /* Appends the tokens of the continuation of INPUT, if it has one, to those of SEQUENCE. */
    enum attn_status (*append)(const struct attn_request_reading *reading,
                               const struct attn_tokenizer *tokenizer, struct attn_input *input,
                               struct attn_sequence *sequence, struct attn_error *err);
};

/* NULL: templates are not read, and conversations are refused. */
extern const struct attn_talker *const attn_talker;
