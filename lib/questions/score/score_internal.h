/* score_internal.h - the parts of `score`: score.c reads one text, score_items.c many. Private to
 * score*.c. */
#ifndef ATTN_SCORE_SCORE_INTERNAL_H
#define ATTN_SCORE_SCORE_INTERNAL_H

#include "machine/frame.h"
#include "score/score.h"

extern const struct attn_procedure attn_score_items;

#endif
