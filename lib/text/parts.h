/*
 * parts.h - the parts of tokenizer.json beside the model, one table each: which types there are,
 * and what becomes of them. Every other type is refused by name.
 *
 * TEXT [size] is the part's value in the file; NULL: there is none.
 */
#ifndef ATTN_TEXT_PARTS_H
#define ATTN_TEXT_PARTS_H

#include "text/tokenizer_internal.h"

/* `normalizer`, `pre_tokenizer`: add stages. The second also says whether the model is by byte. */
enum attn_status attn_parts_read_normalizer(struct attn_tokenizer *tokenizer, const char *text,
                                            size_t size, struct attn_error *err);
enum attn_status attn_parts_read_pre_tokenizer(struct attn_tokenizer *tokenizer, const char *text,
                                               size_t size, struct attn_error *err);

/* `decoder`: adds steps. */
enum attn_status attn_parts_read_decoder(struct attn_tokenizer *tokenizer, const char *text,
                                         size_t size, struct attn_error *err);

/* `post_processor`: fills `post`. */
enum attn_status attn_parts_read_post_processor(struct attn_tokenizer *tokenizer, const char *text,
                                                size_t size, struct attn_error *err);

#endif
