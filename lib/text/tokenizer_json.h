/*
 * tokenizer_json.h - tokenizers from tokenizer.json, the file of the library tokenizers: its parts
 * become stages. A part that is not known is refused by name.
 */
#ifndef ATTN_TEXT_TOKENIZER_JSON_H
#define ATTN_TEXT_TOKENIZER_JSON_H

#include "text/tokenizer_internal.h"

/* Sets up TOKENIZER, which is zeroed, from the file of SOURCE. */
enum attn_status attn_tokenizer_json_read(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err);

#endif
