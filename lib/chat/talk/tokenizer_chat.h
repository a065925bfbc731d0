/* tokenizer_chat.h - reads the chat template of a tokenizer (struct attn_talker). */
#ifndef ATTN_TALK_TOKENIZER_CHAT_H
#define ATTN_TALK_TOKENIZER_CHAT_H

#include "tokenizer/chat_form.h"

enum attn_status attn_tokenizer_read_chat(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source,
                                          const struct attn_class *found, struct attn_error *err);

#endif
