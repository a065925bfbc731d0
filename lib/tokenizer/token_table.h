/*
 * token_table.h - the tokens of a text, and the training set of a model, as tables (base/table.h).
 *
 *     struct attn_table *tokens;
 *     attn_tokenizer_encode(tokenizer, text, size, &ATTN_ENCODE_DEFAULT, &encoding, &err);
 *     attn_token_table(tokenizer, &encoding, &tokens, &err);
 *     attn_table_write(tokens, ATTN_TABLE_TABBED, -1, sink, &err);
 */
#ifndef ATTN_TOKENIZER_TOKEN_TABLE_H
#define ATTN_TOKENIZER_TOKEN_TABLE_H

#include "base/table.h"
#include "tokenizer/tokenizer.h"

/* A row per token: position, id, begin and end (its bytes in its text, half open), token; if the
 * tokenizer added tokens, `added`, which is "added" for these and missing for others; for two
 * texts, and if not all types are 0, `type`, and `text`, which is "text" or "pair" and missing for
 * added tokens. */
enum attn_status attn_token_table(const struct attn_tokenizer *tokenizer,
                                  const struct attn_encoding *encoding, struct attn_table **table,
                                  struct attn_error *err);

/* Whether ENCODING has tokens of two texts, or of types other than 0. */
bool attn_encoding_has_types(const struct attn_encoding *encoding);

/* A table for the pairs below, without rows: input_ids, target_id, input, target. */
enum attn_status attn_pair_table(struct attn_table **table, struct attn_error *err);

/* Appends the first N of IDS [n + 1], N > 0, and the one that comes next, with their texts.
 * ATTN_INVALID for an id that the vocabulary lacks. */
enum attn_status attn_pair_table_append(struct attn_table *table,
                                        const struct attn_tokenizer *tokenizer, const int32_t *ids,
                                        size_t n, struct attn_error *err);

#endif
