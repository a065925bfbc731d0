/* talk.h - texts as conversations: where the messages are, and which positions are the user's. */
#pragma once

#include "input/sequence.h"
#include "tokenizer/chat_form.h"

/* The name of a message: its number and its role, "0_system"; "1_message" if the role is unknown.
 */
struct attn_message_name {
    char text[ATTN_ROLE_SIZE + 24];
};

/* Returns the name of message I of MESSAGES. */
struct attn_message_name attn_message_name(const struct attn_talk_span *messages, size_t i);

/* A text that a template wrote. Initialize with = {0}; end with attn_chat_release. */
struct attn_chat_text {
    char *text; /* [size] owns; terminated */
    size_t size;
    struct attn_talk_span *messages; /* [n] owns; where the content of each is */
    size_t n;
    /* Of the sequence in attn_chat_place: tokens of each message, places that name them, names. */
    int64_t *positions;
    struct attn_item_place *named;
    struct attn_message_name *names;
    struct attn_places places; /* of `named` */
};

/* Whether ASKED puts texts without a picture into the form of a conversation. Those beside one are
 * put there unless it has a form and this is false. */
bool attn_chat_is_wanted(const struct attn_chat_request *asked);

/* What a user says to a model. */
struct attn_chat_turn {
    const struct attn_tokenizer *tokenizer;
    const char *model; /* its name */
    const char *text;  /* [size] */
    size_t size;
    size_t n_picture; /* before the text */
};

void attn_chat_release(struct attn_chat_text *written);

/* Fills TOKENS with the positions of SEQUENCE that have bytes BEGIN to END - 1 of its text, beside
 * a picture those of the question alone. Returns their number. */
size_t attn_chat_tokens(const struct attn_sequence *sequence, size_t begin, size_t end,
                        int64_t *tokens);

/* Makes the places of WRITTEN, the text of SEQUENCE, of which bytes BEGIN to END are what the user
 * said: the position `user`, and OTHERS; without a picture also each message by number and role,
 * `0_system`, and the last of each role, `system`. SEQUENCE borrows them. */
enum attn_status attn_chat_place(struct attn_chat_text *written, size_t begin, size_t end,
                                 const struct attn_places *others, struct attn_sequence *sequence,
                                 struct attn_error *err);

/* Returns where the user's last words are in WRITTEN; {0} if unknown. */
struct attn_talk_span attn_chat_user(const struct attn_chat_text *written);
