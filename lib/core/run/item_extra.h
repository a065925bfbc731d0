/* item_extra.h - gives an input what its item has beside the text. */
#ifndef ATTN_RUN_ITEM_EXTRA_H
#define ATTN_RUN_ITEM_EXTRA_H

#include "run/item.h"

/* A bit for PAIRS of attn_item_choose: an item may have only a source; its text is then empty. */
#define ATTN_ITEM_SOURCE_ALONE (1U << 31)

/* Gives INPUT, a text of ITEM, the picture and the answer of ITEM if MODEL reads both; other models
 * ignore them. An item without an answer has that of GIVEN. */
ATTN_API void attn_item_see(const struct attn_item *item, const struct attn_model *model,
                            const struct attn_input *given, struct attn_input *input);

#endif
