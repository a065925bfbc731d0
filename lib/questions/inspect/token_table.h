/*
 * token_table.h - the tokens of a text, and training pairs of a model, as tables (tables/table.h).
 *
 *     struct attn_table *tokens;
 *     attn_tokenizer_encode(tokenizer, text, size, &ATTN_ENCODE_DEFAULT, &encoding, &err);
 *     attn_token_table(tokenizer, &encoding, NULL, &tokens, &err);
 *     attn_table_write(tokens, ATTN_TABLE_TABBED, -1, sink, &err);
 */
#pragma once

#include "input/talk.h"
#include "tokenizer/tokenizer.h"

/* Creates a table with a row for each token. It has `added` if the tokenizer added tokens, or with
 * CHAT, the text of which they are, `message`, missing for what the template writes; for two texts,
 * or if some types are not 0, `type` and `text`. ENCODING may be NULL: an empty table with all
 * columns. */
enum attn_status attn_token_table(const struct attn_tokenizer *tokenizer,
                                  const struct attn_encoding *encoding,
                                  const struct attn_chat_text *chat, struct attn_table **table,
                                  struct attn_error *err);

/* Whether ENCODING has tokens of two texts, or of types other than 0. */
bool attn_encoding_has_types(const struct attn_encoding *encoding);

/* Creates an empty table for training pairs: input_ids, target_id, input, target. */
enum attn_status attn_pair_table(struct attn_table **table, struct attn_error *err);

/* Appends a training pair: the first N > 0 of IDS [n + 1], the next id, and their texts. Returns
 * ATTN_INVALID for an id that the vocabulary lacks. */
enum attn_status attn_pair_table_append(struct attn_table *table,
                                        const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                        size_t n, struct attn_error *err);
