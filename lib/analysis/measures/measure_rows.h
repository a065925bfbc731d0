/* measure_rows.h - the list of measures. A row makes few objects again: measure.c, head_metrics.c
 * and those that ask for one measure or have columns. All others know sets, names and traits. */
#pragma once

#include "measures/measure.h"
#include "measures/metric.h"

/* What a measure is, and which sets it belongs to. */
enum attn_measure_trait {
    ATTN_OF_COUNT = 1,         /* it counts rows, so that it is a whole number */
    ATTN_OF_OPEN = 2,          /* it may be above 1 */
    ATTN_OF_LINEAR = 4,        /* 1 is its largest value */
    ATTN_OF_USUAL = 8,         /* tables of texts have it by default */
    ATTN_OF_PATCHES = 16,      /* tables of pictures have it by default */
    ATTN_OF_BESIDE = 32,       /* only of texts with a picture; not in "all" */
    ATTN_OF_USUAL_BESIDE = 64, /* tables of these have it by default */
};

#define ATTN_MEASURE_OF_IMAGE(X, i, number)                                                        \
    X(PICTURE_##i, number, "picture_" #i, picture, 0, NULL, "weight on picture " #i,               \
      ATTN_OF_BESIDE,                                                                              \
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
 * help: its definition and its limits). A is the pattern of a head, i a query, j a
 * key. Values are means over the rows unless the help says otherwise. */
#define ATTN_MEASURE_MAP(X)                                                                        \
    X(ENTROPY, 0, "entropy", entropy, 0, "nats", "entropy",                                        \
      ATTN_OF_OPEN | ATTN_OF_USUAL | ATTN_OF_PATCHES,                                              \
      "how widely a head looks: -sum_j A_ij ln A_ij, in nats. It grows with the number of "        \
      "keys, so for texts of two lengths it does not say in which the head looks more widely")     \
    X(ENTROPY_NORM, 1, "entropy_norm", entropy, 1, NULL, "entropy as a share of its maximum",      \
      ATTN_OF_LINEAR | ATTN_OF_USUAL | ATTN_OF_PATCHES,                                            \
      "entropy divided by ln of the number of keys that i sees, 0 to 1. It does not say which "    \
      "keys these are")                                                                            \
    X(MAX, 2, "max", max, 0, NULL, "largest weight of a row", ATTN_OF_USUAL | ATTN_OF_PATCHES,     \
      "the largest weight of a row. It does not say on which key: often it is the first")          \
    X(DISTANCE, 3, "distance", distance, 0, "tokens", "distance", ATTN_OF_OPEN | ATTN_OF_USUAL,    \
      "how many tokens back a head looks: sum A_ij (i - j) / sum A_ij over all rows. It does "     \
      "not say that any row looks so far back: some rows may look near, others far")               \
    X(DISTANCE_ABS, 25, "distance_abs", distance, 1, "tokens", "distance in either direction", 0,  \
      "how many tokens away a head looks: sum A_ij |i - j| / sum A_ij over all rows. In models "   \
      "that are not causal, distance adds both directions, which cancel; in others both are "      \
      "equal, and this one is shown only when it is named. It does not say in which direction")    \
    X(SELF, 4, "self", self, 0, NULL, "weight on the token itself",                                \
      ATTN_OF_USUAL | ATTN_OF_PATCHES,                                                             \
      "A_ii, the weight on the token itself. It does not say that the head reads this word: "      \
      "after the first layer a vector also holds what earlier layers put there")                   \
    X(PREVIOUS, 5, "previous", previous, 0, NULL, "weight on the token before", ATTN_OF_USUAL,     \
      "A_i,i-1, the weight on the token before. It does not say what the head reads there")        \
    X(FIRST, 6, "first", first, 0, NULL, "weight on the first token",                              \
      ATTN_OF_USUAL | ATTN_OF_PATCHES,                                                             \
      "A_i0, the weight on the first token, of all rows but the first. Many heads look there "     \
      "when nothing else fits: it does not say that the first token matters")                      \
    X(DUPLICATE, 7, "duplicate", duplicate, 0, NULL, "weight on earlier places of the token",      \
      ATTN_OF_USUAL | ATTN_OF_PATCHES,                                                             \
      "the weight on earlier places of the same token, over rows that have such places. It "       \
      "does not say that the head finds them by the token: it may find them by their distance")    \
    X(INDUCTION, 8, "induction", induction, 0, NULL,                                               \
      "weight on what followed earlier places of the token", ATTN_OF_USUAL | ATTN_OF_PATCHES,      \
      "the weight on the tokens that followed these places. It does not say that the head "        \
      "writes what it reads there: `attn-cli attribute` measures that")                            \
    X(FAR, 9, "far", far, 0, NULL, "largest weight elsewhere", ATTN_OF_USUAL | ATTN_OF_PATCHES,    \
      "the largest weight on a key that is neither the first, the previous nor the token itself, " \
      "over rows that see such a key; of cross-attention, on a place of the source that is "       \
      "neither its first nor its last. It does not say on which one")                              \
    X(N_DUPLICATE, 10, "n_duplicate", duplicate, 1, NULL, NULL,                                    \
      ATTN_OF_COUNT | ATTN_OF_OPEN | ATTN_OF_USUAL | ATTN_OF_PATCHES,                              \
      "the number of rows in duplicate. A mean over few rows does not say what the head does "     \
      "elsewhere")                                                                                 \
    X(N_INDUCTION, 11, "n_induction", induction, 1, NULL, NULL,                                    \
      ATTN_OF_COUNT | ATTN_OF_OPEN | ATTN_OF_USUAL | ATTN_OF_PATCHES,                              \
      "the number of rows in induction. A mean over few rows does not say what the head does "     \
      "elsewhere")                                                                                 \
    X(N_FAR, 24, "n_far", far, 1, NULL, NULL,                                                      \
      ATTN_OF_COUNT | ATTN_OF_OPEN | ATTN_OF_USUAL | ATTN_OF_PATCHES,                              \
      "the number of rows in far. A mean over few rows does not say what the head does elsewhere") \
    X(PUNCTUATION, 12, "punctuation", punctuation, 0, NULL, "weight on punctuation", 0,            \
      "the weight on tokens whose text, without white space around it, has only characters of "    \
      "Unicode's categories P, over rows that see such tokens; only when it is named. It does "    \
      "not say that the head finds them by their text: it may find them by their distance")        \
    X(N_PUNCTUATION, 13, "n_punctuation", punctuation, 1, NULL, NULL,                              \
      ATTN_OF_COUNT | ATTN_OF_OPEN,                                                                \
      "the number of rows in punctuation; only when it is named. It does not say more about "      \
      "them")                                                                                      \
    X(NEXT, 14, "next", next, 0, NULL, NULL, 0,                                                    \
      "A_i,i+1, the weight on the token after, over rows that see it: of encoders; only when it "  \
      "is named. It does not say what the head reads there")                                       \
    X(SEPARATOR, 15, "separator", separator, 0, NULL, NULL, 0,                                     \
      "the weight on [SEP] and </s>, with which an encoder's texts end, over rows that see such "  \
      "tokens; only when it is named. Heads look there when nothing else fits: it does not say "   \
      "that these tokens matter")                                                                  \
    X(N_SEPARATOR, 16, "n_separator", separator, 1, NULL, NULL, ATTN_OF_COUNT | ATTN_OF_OPEN,      \
      "the number of rows in separator; only when it is named. It does not say more about them")   \
    X(PATCH_DISTANCE, 17, "patch_distance", patches, 0, "patches", "distance in patches",          \
      ATTN_OF_OPEN | ATTN_OF_PATCHES,                                                              \
      "how far a head looks in a picture (Dosovitskiy 2021, figure 7): sum A_ij d_ij / sum A_ij "  \
      "over patches i and j, where d is the distance of their middles, in patches. It does not "   \
      "say in which direction")                                                                    \
    X(LOCALITY, 18, "locality", patches, 1, NULL, "weight on the patch and its neighbours",        \
      ATTN_OF_PATCHES,                                                                             \
      "the weight of a patch on itself and the 8 patches around it. It does not say how it is "    \
      "spread over them")                                                                          \
    X(CLS, 19, "cls", patches, 2, NULL, "weight on [CLS]", ATTN_OF_PATCHES,                        \
      "the weight of patches on the first position, [CLS]. It does not say that [CLS] matters")    \
    X(REGISTERS, 20, "registers", patches, 3, NULL, "weight on registers", ATTN_OF_PATCHES,        \
      "the weight of patches on the other positions before the patches: registers, or the "        \
      "distillation token of DeiT. It does not say what stands there")                             \
    X(SINK, 21, "sink", sink, 0, NULL, "weight on the sink", 0,                                    \
      "the weight on the sink of a head, 1 less the sum of the row; only in models with sinks "    \
      "(gpt-oss). It does not say that the head is idle")                                          \
    X(MONOTONE, 22, "monotone", alignment, 0, NULL, "order of the places in the source", 0,        \
      "of cross-attention: the correlation of i and the key with the largest weight, over all "    \
      "rows: 1 if a head goes through the source from left to right; only when it is named. It "   \
      "does not say that it looks at the right words: `attn-cli align --evaluate` compares these") \
    X(DIAGONAL, 23, "diagonal", alignment, 1, NULL, "nearness to the diagonal", ATTN_OF_LINEAR,    \
      "of cross-attention: 1 - sum_j A_ij |i / (T - 1) - j / (S - 1)|, T rows of the text and S "  \
      "of the source; only when it is named. It does not say in which direction rows are off it")  \
    X(SELF_LATER, 26, "self_later", self, 1, NULL, "weight on the token itself", 0,                \
      "self over all rows but the first, which sees no other token in a causal model; only when "  \
      "it is named. It does not say more than self")                                               \
    X(PICTURE, 27, "picture", picture, 0, NULL, "weight on the picture",                           \
      ATTN_OF_BESIDE | ATTN_OF_USUAL_BESIDE,                                                       \
      "of a text with a picture: the weight on the cells of the picture, mean over the positions " \
      "that predict the answer, as the six below. It does not say that the answer uses them: "     \
      "`attn-cli ablate --by picture` measures that")                                              \
    ATTN_MEASURE_OF_EACH_IMAGE(X)                                                                  \
    X(PICTURE_SINKS, 28, "picture_sinks", picture, 0, NULL, "weight on picture sinks",             \
      ATTN_OF_BESIDE,                                                                              \
      "the weight on cells that `drop_sinks` leaves out of picture; only with it. It does not "    \
      "say that they hold nothing")                                                                \
    X(QUESTION, 29, "question", picture, 0, NULL, "weight on the question",                        \
      ATTN_OF_BESIDE | ATTN_OF_USUAL_BESIDE,                                                       \
      "the weight on the tokens of the question. It does not say which ones")                      \
    X(ANSWER, 30, "answer", picture, 0, NULL, "weight on the answer",                              \
      ATTN_OF_BESIDE | ATTN_OF_USUAL_BESIDE,                                                       \
      "the weight on the tokens of the answer so far. It does not say which ones")                 \
    X(OTHER, 31, "other", picture, 0, NULL, "weight on other tokens",                              \
      ATTN_OF_BESIDE | ATTN_OF_USUAL_BESIDE,                                                       \
      "the weight on all other tokens: special ones, and the form of the conversation. Heads "     \
      "look there when nothing else fits: it does not say that these tokens matter")               \
    X(SPATIAL_ENTROPY, 32, "spatial_entropy", picture, 0, "nats", "entropy over blobs",            \
      ATTN_OF_OPEN | ATTN_OF_BESIDE | ATTN_OF_USUAL_BESIDE,                                        \
      "how scattered the weight on the whole picture is: the entropy of the shares of its blobs, " \
      "neighbouring cells above twice the mean; 0 for one blob, empty without any. It does not "   \
      "say where they are")                                                                        \
    X(N_BLOB, 33, "n_blob", picture, 0, NULL, "number of blobs",                                   \
      ATTN_OF_OPEN | ATTN_OF_BESIDE | ATTN_OF_USUAL_BESIDE,                                        \
      "the number of these blobs. It does not say how large they are")

enum { ATTN_N_MEASURE = 0 ATTN_MEASURE_MAP(ATTN_COUNT) };

#define ATTN_METRIC_DECLARE(id, number, name, metric, ...)                                         \
    extern const struct attn_metric attn_metric_##metric;
ATTN_MEASURE_MAP(ATTN_METRIC_DECLARE)
#undef ATTN_METRIC_DECLARE

/* The measures in the order of ATTN_MEASURE_MAP, which is the order in which they are shown. */
extern const enum attn_measure attn_measure_order[ATTN_N_MEASURE];
