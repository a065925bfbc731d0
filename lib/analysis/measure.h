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

/* X(ID, name, metric, which of its values, unit or NULL, whether it counts rows). A is the pattern
 * of a head, i a query, j a key. */
#define ATTN_MEASURE_MAP(X)                                                                        \
    X(ENTROPY, "entropy", entropy, 0, "nats", false) /* -sum_j A_ij ln A_ij, mean over i */        \
    X(ENTROPY_NORM, "entropy_norm", entropy, 1, NULL, false) /* by ln of the keys that i sees */   \
    X(MAX, "max", max, 0, NULL, false)                       /* the largest weight of a row */     \
    X(DISTANCE, "distance", distance, 0, NULL, false)        /* sum_j A_ij (i - j) */              \
    X(SELF, "self", self, 0, NULL, false)                    /* A_ii */                            \
    X(PREVIOUS, "previous", previous, 0, NULL, false)        /* A_i,i-1 */                         \
    X(FIRST, "first", first, 0, NULL, false)                 /* A_i0 */                            \
    X(DUPLICATE, "duplicate", duplicate, 0, NULL, false) /* on earlier places of the same token */ \
    X(INDUCTION, "induction", induction, 0, NULL, false) /* on what followed these places */       \
    X(FAR, "far", far, 0, NULL, false)                   /* the largest weight on another key */   \
    X(N_DUPLICATE, "n_duplicate", duplicate, 1, NULL, true)                                        \
    X(N_INDUCTION, "n_induction", induction, 1, NULL, true) /* rows that have such keys */

enum attn_measure {
#define ATTN_MEASURE_ENUM(id, ...) ATTN_MEASURE_##id,
    ATTN_MEASURE_MAP(ATTN_MEASURE_ENUM)
#undef ATTN_MEASURE_ENUM
        ATTN_N_MEASURE
};

#define ATTN_MEASURE_BIT(measure) (UINT64_C(1) << (measure))
#define ATTN_MEASURES_ALL (ATTN_MEASURE_BIT(ATTN_N_MEASURE) - 1)

ATTN_API const char *attn_measure_name(enum attn_measure measure); /* "entropy" */
ATTN_API const char *attn_measure_unit(enum attn_measure measure); /* "nats", or NULL */
ATTN_API bool attn_measure_is_count(enum attn_measure measure);    /* of rows: a whole number */
ATTN_API int attn_measures_count(uint64_t measures);               /* how many bits are set */

/* Reads a list like "entropy,self" into a set of bits; "all" is all of them. ATTN_INVALID for an
 * unknown name, and the message lists the known ones. */
ATTN_API enum attn_status attn_measures_parse(const char *list, uint64_t *measures,
                                              struct attn_error *err);

/* --- Inside the library: not installed -------------------------------------------------------- */

struct attn_metric;

/* The metric that finds MEASURE, and which of its values that is. */
const struct attn_metric *attn_measure_metric(enum attn_measure measure, int *which);

#endif
