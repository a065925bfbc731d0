/* answer_foil.h - the foil of a question that names none. Private to this folder. */
#pragma once

#include "frame/asked.h"
#include "predict/logits.h"

struct attn_buffer;
struct attn_session;

/* What the model says after one position, and before. All borrowed. */
struct attn_next_words {
    const struct attn_run *run;
    struct attn_session *session;     /* fed RUN, with logits after all positions */
    const struct attn_buffer *text;   /* of all tokens */
    size_t position;                  /* the next words are those after it */
    const float *logits;              /* [n_vocab] after `position` */
    const struct attn_scored *ranked; /* [n_vocab] the most probable first */
    size_t n_vocab;
};

/* Returns the first next word that is no special token. */
int32_t attn_next_target(const struct attn_next_words *next);

/* Sets *FOIL to the most probable of the other first ten next words that stands in the text as a
 * whole word of three letters, or of two where the script writes no spaces; has a capital and a
 * space before it if and only if TARGET has; and has a ten-thousandth of its probability. A word
 * that is among the first ten at more than a quarter of the 32 positions before is a function word,
 * and is skipped. ATTN_FOIL_NOTHING if no word is left, or TARGET has no letter. */
enum attn_status attn_next_foil(const struct attn_next_words *next, int32_t target, int32_t *foil,
                                struct attn_error *err);
