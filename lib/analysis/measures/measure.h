/*
 * measure.h - the numbers of a head that can be shown, in the order of output. Each is a value of a
 * metric of this room (head_metrics.c defines them).
 *
 *     attn_measure_set measures;
 *     attn_measures_parse("entropy,induction", &measures, &err);
 *     for (int m = 0; m < ATTN_N_MEASURE; m++)
 *         if (measures & ATTN_MEASURE_BIT(m))
 *             puts(attn_measure_name(m));
 */
#ifndef ATTN_MEASURES_MEASURE_H
#define ATTN_MEASURES_MEASURE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTN_MEASURE_OF_IMAGE(X, i, number)                                                        \
    X(PICTURE_##i, number, "picture_" #i, picture, 0, NULL, "weight on picture " #i, 2,            \
      "the weight on the cells of picture " #i ", if several stand in the text. It does not say "  \
      "which ones")

#define ATTN_MEASURE_OF_EACH_IMAGE(X)                                                              \
    ATTN_MEASURE_OF_IMAGE(X, 0, 34)                                                                \
    ATTN_MEASURE_OF_IMAGE(X, 1, 35)                                                                \
    ATTN_MEASURE_OF_IMAGE(X, 2, 36)                                                                \
    ATTN_MEASURE_OF_IMAGE(X, 3, 37)                                                                \
    ATTN_MEASURE_OF_IMAGE(X, 4, 38)                                                                \
    ATTN_MEASURE_OF_IMAGE(X, 5, 39)                                                                \
    ATTN_MEASURE_OF_IMAGE(X, 6, 40)                                                                \
    ATTN_MEASURE_OF_IMAGE(X, 7, 41)

/* X(ID, number, name, metric, index of its value, unit or NULL, words for titles or NULL, traits,
 * help: its definition and its limits). A is the pattern of a head, i a query, j a key. Values are
 * means over the rows unless the help says otherwise. Traits: it counts rows; is of pictures. */
enum { ATTN_MEASURE_COUNTS = 1, ATTN_MEASURE_OF_PROMPTS = 2 };
#define ATTN_MEASURE_MAP(X)                                                                        \
    X(ENTROPY, 0, "entropy", entropy, 0, "nats", "entropy", 0,                                     \
      "how widely a head looks: -sum_j A_ij ln A_ij, in nats. It grows with the number of "        \
      "keys, so for texts of two lengths it does not say in which the head looks more widely")     \
    X(ENTROPY_NORM, 1, "entropy_norm", entropy, 1, NULL, "entropy as a share of its maximum", 0,   \
      "entropy divided by ln of the number of keys that i sees, 0 to 1. It does not say which "    \
      "keys these are")                                                                            \
    X(MAX, 2, "max", max, 0, NULL, "largest weight of a row", 0,                                   \
      "the largest weight of a row. It does not say on which key: often it is the first")          \
    X(DISTANCE, 3, "distance", distance, 0, "tokens", "distance", 0,                               \
      "how many tokens back a head looks: sum A_ij (i - j) / sum A_ij over all rows. It does "     \
      "not say that any row looks so far back: some rows may look near, others far")               \
    X(DISTANCE_ABS, 25, "distance_abs", distance, 1, "tokens", "distance in either direction", 0,  \
      "how many tokens away a head looks: sum A_ij |i - j| / sum A_ij over all rows. In models "   \
      "that are not causal, distance adds both directions, which cancel; in others both are "      \
      "equal, and this one is shown only when it is named. It does not say in which direction")    \
    X(SELF, 4, "self", self, 0, NULL, "weight on the token itself", 0,                             \
      "A_ii, the weight on the token itself. It does not say that the head reads this word: "      \
      "after the first layer a vector also holds what earlier layers put there")                   \
    X(PREVIOUS, 5, "previous", previous, 0, NULL, "weight on the token before", 0,                 \
      "A_i,i-1, the weight on the token before. It does not say what the head reads there")        \
    X(FIRST, 6, "first", first, 0, NULL, "weight on the first token", 0,                           \
      "A_i0, the weight on the first token, of all rows but the first. Many heads look there "     \
      "when nothing else fits: it does not say that the first token matters")                      \
    X(DUPLICATE, 7, "duplicate", duplicate, 0, NULL, "weight on earlier places of the token", 0,   \
      "the weight on earlier places of the same token, over rows that have such places. It "       \
      "does not say that the head finds them by the token: it may find them by their distance")    \
    X(INDUCTION, 8, "induction", induction, 0, NULL,                                               \
      "weight on what followed earlier places of the token", 0,                                    \
      "the weight on the tokens that followed these places. It does not say that the head "        \
      "writes what it reads there: `attn-cli attribute` measures that")                            \
    X(FAR, 9, "far", far, 0, NULL, "largest weight elsewhere", 0,                                  \
      "the largest weight on a key that is neither the first, the previous nor the token itself, " \
      "over rows that see such a key; of cross-attention, on a place of the source that is "       \
      "neither its first nor its last. It does not say on which one")                              \
    X(N_DUPLICATE, 10, "n_duplicate", duplicate, 1, NULL, NULL, 1,                                 \
      "the number of rows in duplicate. A mean over few rows does not say what the head does "     \
      "elsewhere")                                                                                 \
    X(N_INDUCTION, 11, "n_induction", induction, 1, NULL, NULL, 1,                                 \
      "the number of rows in induction. A mean over few rows does not say what the head does "     \
      "elsewhere")                                                                                 \
    X(N_FAR, 24, "n_far", far, 1, NULL, NULL, 1,                                                   \
      "the number of rows in far. A mean over few rows does not say what the head does elsewhere") \
    X(PUNCTUATION, 12, "punctuation", punctuation, 0, NULL, "weight on punctuation", 0,            \
      "the weight on tokens whose text, without white space around it, has only characters of "    \
      "Unicode's categories P, over rows that see such tokens; only when it is named. It does "    \
      "not say that the head finds them by their text: it may find them by their distance")        \
    X(N_PUNCTUATION, 13, "n_punctuation", punctuation, 1, NULL, NULL, 1,                           \
      "the number of rows in punctuation; only when it is named. It does not say more about "      \
      "them")                                                                                      \
    X(NEXT, 14, "next", next, 0, NULL, NULL, 0,                                                    \
      "A_i,i+1, the weight on the token after, over rows that see it: of encoders; only when it "  \
      "is named. It does not say what the head reads there")                                       \
    X(SEPARATOR, 15, "separator", separator, 0, NULL, NULL, 0,                                     \
      "the weight on [SEP] and </s>, with which an encoder's texts end, over rows that see such "  \
      "tokens; only when it is named. Heads look there when nothing else fits: it does not say "   \
      "that these tokens matter")                                                                  \
    X(N_SEPARATOR, 16, "n_separator", separator, 1, NULL, NULL, 1,                                 \
      "the number of rows in separator; only when it is named. It does not say more about them")   \
    X(PATCH_DISTANCE, 17, "patch_distance", patches, 0, "patches", "distance in patches", 0,       \
      "how far a head looks in a picture (Dosovitskiy 2021, figure 7): sum A_ij d_ij / sum A_ij "  \
      "over patches i and j, where d is the distance of their middles, in patches. It does not "   \
      "say in which direction")                                                                    \
    X(LOCALITY, 18, "locality", patches, 1, NULL, "weight on the patch and its neighbours", 0,     \
      "the weight of a patch on itself and the 8 patches around it. It does not say how it is "    \
      "spread over them")                                                                          \
    X(CLS, 19, "cls", patches, 2, NULL, "weight on [CLS]", 0,                                      \
      "the weight of patches on the first position, [CLS]. It does not say that [CLS] matters")    \
    X(REGISTERS, 20, "registers", patches, 3, NULL, "weight on registers", 0,                      \
      "the weight of patches on the other positions before the patches: registers, or the "        \
      "distillation token of DeiT. It does not say what stands there")                             \
    X(SINK, 21, "sink", sink, 0, NULL, "weight on the sink", 0,                                    \
      "the weight on the sink of a head, 1 less the sum of the row; only in models with sinks "    \
      "(gpt-oss). It does not say that the head is idle")                                          \
    X(MONOTONE, 22, "monotone", alignment, 0, NULL, "order of the places in the source", 0,        \
      "of cross-attention: the correlation of i and the key with the largest weight, over all "    \
      "rows: 1 if a head goes through the source from left to right; only when it is named. It "   \
      "does not say that it looks at the right words: `attn-cli align --evaluate` compares these") \
    X(DIAGONAL, 23, "diagonal", alignment, 1, NULL, "nearness to the diagonal", 0,                 \
      "of cross-attention: 1 - sum_j A_ij |i / (T - 1) - j / (S - 1)|, T rows of the text and S "  \
      "of the source; only when it is named. It does not say in which direction rows are off it")  \
    X(SELF_LATER, 26, "self_later", self, 1, NULL, "weight on the token itself", 0,                \
      "self over all rows but the first, which sees no other token in a causal model; only when "  \
      "it is named. It does not say more than self")                                               \
    X(PICTURE, 27, "picture", picture, 0, NULL, "weight on the picture", 2,                        \
      "of a text with a picture: the weight on the cells of the picture, mean over the positions " \
      "that predict the answer, as the six below. It does not say that the answer uses them: "     \
      "`attn-cli ablate --by picture` measures that")                                              \
    ATTN_MEASURE_OF_EACH_IMAGE(X)                                                                  \
    X(PICTURE_SINKS, 28, "picture_sinks", picture, 0, NULL, "weight on picture sinks", 2,          \
      "the weight on cells that `drop_sinks` leaves out of picture; only with it. It does not "    \
      "say that they hold nothing")                                                                \
    X(QUESTION, 29, "question", picture, 0, NULL, "weight on the question", 2,                     \
      "the weight on the tokens of the question. It does not say which ones")                      \
    X(ANSWER, 30, "answer", picture, 0, NULL, "weight on the answer", 2,                           \
      "the weight on the tokens of the answer so far. It does not say which ones")                 \
    X(OTHER, 31, "other", picture, 0, NULL, "weight on other tokens", 2,                           \
      "the weight on all other tokens: special ones, and the form of the conversation. Heads "     \
      "look there when nothing else fits: it does not say that these tokens matter")               \
    X(SPATIAL_ENTROPY, 32, "spatial_entropy", picture, 0, "nats", "entropy over blobs", 2,         \
      "how scattered the weight on the whole picture is: the entropy of the shares of its blobs, " \
      "neighbouring cells above twice the mean; 0 for one blob, empty without any. It does not "   \
      "say where they are")                                                                        \
    X(BLOBS, 33, "blobs", picture, 0, NULL, "number of blobs", 2,                                  \
      "the number of these blobs. It does not say how large they are")

enum attn_measure {
#define ATTN_MEASURE_ENUM(id, number, ...) ATTN_MEASURE_##id = (number),
    ATTN_MEASURE_MAP(ATTN_MEASURE_ENUM)
#undef ATTN_MEASURE_ENUM
        ATTN_N_MEASURE = 0 ATTN_MEASURE_MAP(ATTN_COUNT)
};

/* A set of measures: bit m stands for measure m. */
typedef uint64_t attn_measure_set;
#define ATTN_MEASURE_BIT(measure) (UINT64_C(1) << (measure))
/* All but those of texts with a picture. */
#define ATTN_MEASURES_ALL (UINT64_C(0) ATTN_MEASURE_MAP(ATTN_MEASURE_BIT_OF_TEXTS))
#define ATTN_MEASURE_BIT_OF_TEXTS(id, number, name, metric, index, unit, words, traits, ...)       \
    | ((uint64_t)(((traits)&ATTN_MEASURE_OF_PROMPTS) == 0) << (number))
/* The measures of tables by default: all before punctuation, and the number of rows of far. */
#define ATTN_MEASURES_DEFAULT                                                                      \
    ((ATTN_MEASURE_BIT(ATTN_MEASURE_PUNCTUATION) - 1) | ATTN_MEASURE_BIT(ATTN_MEASURE_N_FAR))
/* Returns a name such as "entropy"; NULL if MEASURE is no measure, as attn_measure_help does. */
ATTN_API const char *attn_measure_name(enum attn_measure measure);

/* Reads a list such as "entropy,self" into *measures; "all" means all. ATTN_INVALID for an unknown
 * name; the message lists the known ones. */
ATTN_API enum attn_status attn_measures_parse(const char *list, attn_measure_set *measures,
                                              struct attn_error *err);

#endif
