/*
 * added_json.h - `added_tokens` of tokenizer.json.
 */
#ifndef ATTN_TEXT_ADDED_JSON_H
#define ATTN_TEXT_ADDED_JSON_H

#include "text/tokenizer_internal.h"

/*
 * Fills `added` of TOKENIZER from TEXT [size], the value in the file, and adds those that the
 * vocabulary lacks to it. The library tokenizers does not use the ids of the file: a token of the
 * vocabulary keeps its id, others are numbered from the vocabulary's size on. A file that says
 * otherwise is refused.
 */
enum attn_status attn_added_json_read(struct attn_tokenizer *tokenizer, const char *text,
                                      size_t size, struct attn_error *err);

#endif
