/* mask_token.h - where an encoder predicts: at mask tokens, [MASK] or <mask>. For the files of this
 * layer and above. */
#ifndef ATTN_PREDICT_MASK_TOKEN_H
#define ATTN_PREDICT_MASK_TOKEN_H

#include "input/sequence.h"
#include "predict/answer_internal.h"

/* Whether ID is the mask token: the one that the tokenizer's files name, else a special token
 * [MASK] or <mask>. False if TOKENIZER is NULL. */
bool attn_token_is_mask(const struct attn_tokenizer *tokenizer, int32_t id);

/* Finds the id of the mask token. False if TOKENIZER has none or is NULL. */
bool attn_mask_id(const struct attn_tokenizer *tokenizer, int32_t *id);

/* Selects the positions of the mask tokens in the text. The caller frees *masks. ATTN_INVALID at
 * ATTN_STAGE_OPTIONS without mask tokens. */
enum attn_status attn_masks_select(const struct attn_answer_scope *scope,
                                   struct attn_selection **masks, struct attn_error *err);

/* Whether TEXT has one mask token; its position in *POSITION. */
bool attn_mask_is_only(const struct attn_tokenizer *tokenizer, const struct attn_sequence *text,
                       size_t *position);

/* Finds the position of the only mask token. ATTN_INVALID without a mask token, and with several:
 * then FIELD, `at` or `queries`, must name one. */
enum attn_status attn_mask_find(const struct attn_answer_scope *scope, const char *field,
                                size_t *position, struct attn_error *err);

#endif
