/*
 * measure.h - the numbers of a head that can be shown, in the order of output. Each is a value of a
 * metric of this room (head_metrics.c defines them).
 *
 *     attn_measure_set measures;
 *     attn_measures_parse("entropy,induction", &measures, &err);
 *     for (int m = 0; attn_measure_name(m); m++)
 *         if (measures & ATTN_MEASURE_BIT(m))
 *             puts(attn_measure_name(m));
 */
#ifndef ATTN_MEASURES_MEASURE_H
#define ATTN_MEASURES_MEASURE_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Measures that code asks for. measure_rows.h has all: one that is only shown needs no constant,
 * and is asked for by name. */
enum attn_measure {
    ATTN_MEASURE_ENTROPY = 0,
    ATTN_MEASURE_ENTROPY_NORM = 1,
    ATTN_MEASURE_MAX = 2,
    ATTN_MEASURE_DISTANCE = 3,
    ATTN_MEASURE_SELF = 4,
    ATTN_MEASURE_PREVIOUS = 5,
    ATTN_MEASURE_FIRST = 6,
    ATTN_MEASURE_DUPLICATE = 7,
    ATTN_MEASURE_INDUCTION = 8,
    ATTN_MEASURE_FAR = 9,
    ATTN_MEASURE_N_DUPLICATE = 10,
    ATTN_MEASURE_N_INDUCTION = 11,
    ATTN_MEASURE_PUNCTUATION = 12,
    ATTN_MEASURE_N_PUNCTUATION = 13,
    ATTN_MEASURE_NEXT = 14,
    ATTN_MEASURE_SEPARATOR = 15,
    ATTN_MEASURE_N_SEPARATOR = 16,
    ATTN_MEASURE_PATCH_DISTANCE = 17,
    ATTN_MEASURE_LOCALITY = 18,
    ATTN_MEASURE_CLS = 19,
    ATTN_MEASURE_REGISTERS = 20,
    ATTN_MEASURE_SINK = 21,
    ATTN_MEASURE_MONOTONE = 22,
    ATTN_MEASURE_DIAGONAL = 23,
    ATTN_MEASURE_N_FAR = 24,
    ATTN_MEASURE_DISTANCE_ABS = 25,
    ATTN_MEASURE_SELF_LATER = 26,
    ATTN_MEASURE_PICTURE = 27,
    ATTN_MEASURE_PICTURE_SINKS = 28,
    ATTN_MEASURE_QUESTION = 29,
    ATTN_MEASURE_ANSWER = 30,
    ATTN_MEASURE_OTHER = 31,
    ATTN_MEASURE_SPATIAL_ENTROPY = 32,
    ATTN_MEASURE_N_BLOB = 33,
    ATTN_MEASURE_PICTURE_0 = 34,
    ATTN_MEASURE_PICTURE_1 = 35,
    ATTN_MEASURE_PICTURE_2 = 36,
    ATTN_MEASURE_PICTURE_3 = 37,
    ATTN_MEASURE_PICTURE_4 = 38,
    ATTN_MEASURE_PICTURE_5 = 39,
    ATTN_MEASURE_PICTURE_6 = 40,
    ATTN_MEASURE_PICTURE_7 = 41,
};

/* A set of measures: bit m stands for measure m. */
typedef uint64_t attn_measure_set;
#define ATTN_MEASURE_BIT(measure) (UINT64_C(1) << (measure))
enum { ATTN_MOST_MEASURE = 64 }; /* the bits of a set */

/* Returns a name such as "entropy"; NULL if MEASURE is no measure. Numbers have no gaps: MEASURE
 * may count from 0. */
ATTN_API const char *attn_measure_name(enum attn_measure measure);

/* Reads a list such as "entropy,self" into *measures; "all" means all. ATTN_INVALID for an unknown
 * name; the message lists the known ones. */
ATTN_API enum attn_status attn_measures_parse(const char *list, attn_measure_set *measures,
                                              struct attn_error *err);

#endif
