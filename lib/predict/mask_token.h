/* mask_token.h - finds the mask tokens, [MASK] or <mask>, at which an encoder predicts. For the
 * files of this layer and above. */
#ifndef ATTN_PREDICT_MASK_TOKEN_H
#define ATTN_PREDICT_MASK_TOKEN_H

#include "input/sequence.h"
#include "predict/answer_internal.h"

/* Finds the id of the mask token. Returns false if TOKENIZER has no mask token or is NULL. */
bool attn_mask_id(const struct attn_tokenizer *tokenizer, int32_t *id);

/* Selects the positions at which an encoder predicts: those of the mask tokens, or for a model that
 * labels tokens, all tokens of the text. The caller frees *masks. Returns ATTN_INVALID with the
 * stage ATTN_STAGE_OPTIONS if there are no such positions. */
enum attn_status attn_masks_select(const struct attn_answer_scope *scope,
                                   struct attn_selection **masks, struct attn_error *err);

/* Whether TEXT has exactly one mask token. If so, *POSITION receives its position. */
bool attn_mask_is_only(const struct attn_tokenizer *tokenizer, const struct attn_sequence *text,
                       size_t *position);

/* Finds the position of the only mask token. Returns ATTN_INVALID if there is no mask token, or if
 * there are several: then the user must name one by FIELD, `at` or `queries`. */
enum attn_status attn_mask_find(const struct attn_answer_scope *scope, const char *field,
                                size_t *position, struct attn_error *err);

#endif
