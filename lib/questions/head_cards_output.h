/* head_cards_output.h - the texts and the written tokens of cards (measures/head_cards_internal.h).
 * Private to lib/questions. */
#ifndef ATTN_QUESTIONS_HEAD_CARDS_OUTPUT_H
#define ATTN_QUESTIONS_HEAD_CARDS_OUTPUT_H

#include "measures/head_cards_internal.h"
#include "run/item.h"
#include "run/run_internal.h"

/* Copies the tokens of RUN to TEXT, which must be {0}: as they are printed if IS_PRINTED, otherwise
 * their bytes in the vocabulary. ITEM may be NULL. Release TEXT after a failure, too. */
enum attn_status attn_card_text_read(const struct attn_run *run, const struct attn_item *item,
                                     bool is_printed, struct attn_card_text *text,
                                     struct attn_error *err);

/* Returns the width of the value vectors from which attn_head_cards_write computes tokens; 0 if
 * heads of MODEL write none: it has labels instead of tokens, or no output layer. */
size_t attn_head_cards_vector(const struct attn_model *model);

/* Finds the tokens that the keys of the strongest texts write, each key's token once. */
enum attn_status attn_head_cards_write(struct attn_head_cards *cards, struct attn_host *host,
                                       struct attn_error *err);

#endif
