/*
 * nearest.h - "did you mean": the known words that are closest to an unknown one.
 */
#ifndef ATTN_TEXT_NEAREST_H
#define ATTN_TEXT_NEAREST_H

#include "base/status.h"
#include "text/vocabulary.h"

#include <stddef.h>

/*
 * Adds a hint to ERR with up to three words of VOCABULARY. Distance is Damerau and Levenshtein's
 * (neighbours may swap, no part is edited twice) over characters, first without regard to case
 * (A-Z), then with; equal words keep the order of their ids. Where none is near, the hint says what
 * words there are.
 */
void attn_nearest_hint(const struct attn_vocabulary *vocabulary, const char *word, size_t size,
                       struct attn_error *err);

#endif
