/* score_internal.h - the parts of `score`: score.c reads one text, score_items.c many. Private to
 * score*.c. */
#ifndef ATTN_QUESTIONS_SCORE_INTERNAL_H
#define ATTN_QUESTIONS_SCORE_INTERNAL_H

#include "questions/frame.h"
#include "questions/score.h"

extern const struct attn_procedure attn_score_items;

#endif
