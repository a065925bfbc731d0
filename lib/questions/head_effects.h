/*
 * head_effects.h - what each head does for an answer, as the columns of `heads`: its direct effect,
 * the change without it, and the change when it is taken from the run of another text. The numbers
 * are those of the questions `attribute`, `ablate` and `patch`. Private to lib/questions.
 */
#ifndef ATTN_QUESTIONS_HEAD_EFFECTS_H
#define ATTN_QUESTIONS_HEAD_EFFECTS_H

#include "questions/frame.h"
#include "questions/heads.h"
#include "questions/parts.h"

/* The effects of a head. NaN: the question has no row for the head. */
struct attn_head_effect {
    double direct;  /* `value` of attribute */
    double patched; /* `value` of patch minus that of its base */
    double share;   /* `effect` of patch */
};

/* Reads the names of effects in LIST, "direct,entropy,weight", into EFFECTS, and copies the other
 * names to REST, which has room for all of LIST. */
void attn_head_effects_read(const char *list, unsigned *effects, char *rest);

/* Checks that ARGS have what their effects need, and no answer or text without an effect. */
enum attn_status attn_head_effects_check(const struct attn_heads_args *args,
                                         struct attn_error *err);

/* Asks `attribute` and `patch` about the input of FRAME, as the effects of ARGS require, and sets
 * EFFECTS [parts->n], those of PARTS. *WHOLE becomes the difference of both texts, for PATCHED. */
enum attn_status attn_head_effects_find(const struct attn_frame *frame,
                                        const struct attn_heads_args *args,
                                        const struct attn_parts *parts,
                                        struct attn_head_effect *effects, double *whole,
                                        struct attn_error *err);

#endif
