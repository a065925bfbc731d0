/*
 * measure.h - the numbers of a head: which there are, in the order in which they are shown. Each is
 * what a measure of this layer finds (analysis/entropy.c and its neighbours define them).
 *
 *     uint64_t measures;
 *     attn_measures_parse("entropy,induction", &measures, &err);
 *     for (int m = 0; m < ATTN_N_MEASURE; m++)
 *         if (measures & ATTN_MEASURE_BIT(m))
 *             puts(attn_measure_name(m));
 */
#ifndef ATTN_ANALYSIS_MEASURE_H
#define ATTN_ANALYSIS_MEASURE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* X(ID, name, metric, which of its values, unit or NULL, whether it counts rows, help: what it is,
 * and what it does not say). A is the pattern of a head, i a query, j a key; without another word
 * it is the mean over the rows. */
#define ATTN_MEASURE_MAP(X)                                                                        \
    X(ENTROPY, "entropy", entropy, 0, "nats", false,                                               \
      "how widely a head looks: -sum_j A_ij ln A_ij, in nats. It grows with the keys that a row "  \
      "sees, so of texts of two lengths it does not say which is looked at more widely")           \
    X(ENTROPY_NORM, "entropy_norm", entropy, 1, NULL, false,                                       \
      "the same, divided by ln of the keys that i sees, 0 to 1. It does not say which keys these " \
      "are")                                                                                       \
    X(MAX, "max", max, 0, NULL, false,                                                             \
      "the largest weight of a row. It does not say on which key: often it is the first")          \
    X(DISTANCE, "distance", distance, 0, NULL, false,                                              \
      "how many tokens back a head looks: sum A_ij (i - j) / sum A_ij over all rows. It does not " \
      "say that there is anything so far back: some rows may look near, others far")               \
    X(SELF, "self", self, 0, NULL, false,                                                          \
      "A_ii, on the token itself. It does not say that its word is read: after the first layer "   \
      "a vector also holds what earlier layers put there")                                         \
    X(PREVIOUS, "previous", previous, 0, NULL, false,                                              \
      "A_i,i-1, on the token before. It is a place: it does not say what is read there")           \
    X(FIRST, "first", first, 0, NULL, false,                                                       \
      "A_i0 of all rows but the first. Most heads look there when they find nothing: it does not " \
      "say that the first token matters")                                                          \
    X(DUPLICATE, "duplicate", duplicate, 0, NULL, false,                                           \
      "on earlier places of the same token, over rows that have such. It does not say that they "  \
      "were found by the token: they may have been found by their distance")                       \
    X(INDUCTION, "induction", induction, 0, NULL, false,                                           \
      "on what followed these places. It does not say that the head writes what it finds there: "  \
      "`attn-cli attribute` does")                                                                 \
    X(FAR, "far", far, 0, NULL, false,                                                             \
      "the largest weight on a key that is neither the first, the previous nor the token itself. " \
      "It does not say on which one")                                                              \
    X(N_DUPLICATE, "n_duplicate", duplicate, 1, NULL, true,                                        \
      "rows that duplicate is made of. A score of few rows does not say what a head does "         \
      "elsewhere")                                                                                 \
    X(N_INDUCTION, "n_induction", induction, 1, NULL, true,                                        \
      "rows that induction is made of. Likewise it does not say more than these rows do")          \
    X(PUNCTUATION, "punctuation", punctuation, 0, NULL, false,                                     \
      "on tokens whose text, without white space around it, is of Unicode's categories P alone, "  \
      "over rows that see such; only when it is named. It does not say that the head finds them "  \
      "by that: they may stand at one distance")                                                   \
    X(N_PUNCTUATION, "n_punctuation", punctuation, 1, NULL, true,                                  \
      "rows that punctuation is made of; only when it is named. It does not say more than they "   \
      "do")

enum attn_measure {
#define ATTN_MEASURE_ENUM(id, ...) ATTN_MEASURE_##id,
    ATTN_MEASURE_MAP(ATTN_MEASURE_ENUM)
#undef ATTN_MEASURE_ENUM
        ATTN_N_MEASURE
};

#define ATTN_MEASURE_BIT(measure) (UINT64_C(1) << (measure))
#define ATTN_MEASURES_ALL (ATTN_MEASURE_BIT(ATTN_N_MEASURE) - 1)
/* What tables have when nothing is chosen: all but punctuation. */
#define ATTN_MEASURES_DEFAULT (ATTN_MEASURE_BIT(ATTN_MEASURE_PUNCTUATION) - 1)

/* "entropy"; NULL, as unit and help are, for a number that is no measure's. */
ATTN_API const char *attn_measure_name(enum attn_measure measure);
ATTN_API const char *attn_measure_unit(enum attn_measure measure); /* "nats", or NULL */
ATTN_API const char *attn_measure_help(enum attn_measure measure); /* sentences, no full stop */
ATTN_API bool attn_measure_is_count(enum attn_measure measure);    /* of rows: a whole number */
ATTN_API int attn_measures_count(uint64_t measures);               /* how many bits are set */

/* Reads a list like "entropy,self" into a set of bits; "all" is all of them. ATTN_INVALID for an
 * unknown name, and the message lists the known ones. */
ATTN_API enum attn_status attn_measures_parse(const char *list, uint64_t *measures,
                                              struct attn_error *err);

#endif
