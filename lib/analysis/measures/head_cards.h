/*
 * head_cards.h - the cards of heads: what each head does in many texts, shown by its typical
 * pattern, its distances, and texts. attn_heads fills them, and pages draw them:
 *
 *     attn_head_cards_create(&cards, &err);
 *     args.cards = cards; // heads/heads.h
 *     picture.cards = cards; // pictures/table_view.h
 *     attn_head_cards_free(cards);
 */
#ifndef ATTN_MEASURES_HEAD_CARDS_H
#define ATTN_MEASURES_HEAD_CARDS_H

#include "base/api.h"
#include "base/status.h"

struct attn_head_cards;

/* Creates cards without heads. The caller frees *cards. */
ATTN_API enum attn_status attn_head_cards_create(struct attn_head_cards **cards,
                                                 struct attn_error *err);
ATTN_API void attn_head_cards_free(struct attn_head_cards *cards); /* NULL is allowed */

#endif
