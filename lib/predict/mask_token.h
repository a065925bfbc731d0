/* mask_token.h - where an encoder predicts: at mask tokens, [MASK] or <mask>. For the files of this
 * layer and above. */
#ifndef ATTN_PREDICT_MASK_TOKEN_H
#define ATTN_PREDICT_MASK_TOKEN_H

#include "input/sequence.h"
#include "predict/answer_internal.h"

/* Whether ID is the mask token: that which the tokenizer's files name, else a special token that is
 * called so. TOKENIZER may be NULL: no. */
bool attn_token_is_mask(const struct attn_tokenizer *tokenizer, int32_t id);

/* The id of the mask token in *ID; false: TOKENIZER, which may be NULL, has none. */
bool attn_mask_id(const struct attn_tokenizer *tokenizer, int32_t *id);

/* Selects the positions of the mask tokens in the text: *masks is the caller's. ATTN_INVALID, at
 * the stage of options, when there are none. */
enum attn_status attn_masks_select(const struct attn_answer_scope *scope,
                                   struct attn_selection **masks, struct attn_error *err);

/* Whether TEXT has one mask token; its position in *POSITION. */
bool attn_mask_is_only(const struct attn_tokenizer *tokenizer, const struct attn_sequence *text,
                       size_t *position);

/* The position of the only mask token. Likewise when there is none, or more than one: then FIELD,
 * `at` or `queries`, says where. */
enum attn_status attn_mask_find(const struct attn_answer_scope *scope, const char *field,
                                size_t *position, struct attn_error *err);

#endif
