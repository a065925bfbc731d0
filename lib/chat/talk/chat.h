/* chat.h - writes conversations in the form that the template of a model gives them. */
#pragma once

#include "input/talk.h"

/* Whether ASKED needs a chat template beside a picture, or TOKENIZER has one. Otherwise `on` is the
 * form of the family. */
bool attn_chat_has_template(const struct attn_chat_request *asked,
                            const struct attn_tokenizer *tokenizer);

/* Returns the first token of the answer with which SEQUENCE, the text of WRITTEN, ends: of its
 * continuation, or of the last message if that is the assistant's; 0 if it ends otherwise. */
size_t attn_chat_answer(const struct attn_chat_text *written, const struct attn_sequence *sequence);

/* Appends the tokens of the continuation of INPUT, if it has one, to those of SEQUENCE, and the
 * continuation to its text, which SEQUENCE then owns. */
enum attn_status attn_chat_append(const struct attn_request_reading *reading,
                                  const struct attn_tokenizer *tokenizer, struct attn_input *input,
                                  struct attn_sequence *sequence, struct attn_error *err);

/* Checks that the fields of ASKED fit each other and INPUT, and that READING leaves what a chat
 * template writes as it is. */
enum attn_status attn_chat_check(const struct attn_chat_request *asked,
                                 const struct attn_input *input,
                                 const struct attn_request_reading *reading,
                                 struct attn_error *err);

/* Writes TURN, or the messages of ASKED, by the template of ASKED or of the tokenizer. */
enum attn_status attn_chat_write(const struct attn_chat_request *asked,
                                 const struct attn_chat_turn *turn, struct attn_chat_text *written,
                                 struct attn_error *err);
