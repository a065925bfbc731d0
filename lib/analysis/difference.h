/*
 * difference.h - how far an attention is from the exact one: measures on rows of the pattern and on
 * context vectors, in double precision.
 *
 *     struct attn_difference_sums sums = {0};
 *     if (attn_row_difference_find(&exact, &other, 5, &row)) // row by row
 *         attn_difference_add_row(&sums, &row);
 *     attn_difference_add_vector(&sums, z, other_z, d_value);
 *     attn_difference_finish(&sums, &difference);            // difference.values[ATTN_DIFFERENCE_TV]
 *
 * a are exact weights, b those of the other; weights are >= 0. A row whose exact weights are all 0,
 * as of a query that may look at nothing, has nothing to be far from and is left out.
 */
#ifndef ATTN_ANALYSIS_DIFFERENCE_H
#define ATTN_ANALYSIS_DIFFERENCE_H

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * X(ID, name). What is said of a head, over the rows that were added:
 * TV          total variation of a row, 1/2 sum |a - b|: the mean
 * TV_MOST     the largest
 * KL          KL(a || b) = sum a ln(a/b) - a + b in nats: the mean. Infinite where a key that has
 *             weight is left out, as nearly always with sparse kinds. (For rows that add to 1 it is
 *             the usual one; for others it stays >= 0, and 0 only for equal rows.)
 * KL_BACK  KL(b || a) in nats: the mean. Of a softmax over fewer keys with the same scores it is
 *             -ln(1 - mass lost)
 * RECALL      of the K keys with the largest a, the share that is among the K with the largest b:
 *             the mean. Only keys with weight count, and of equal ones the earlier
 * MASS_LOST   sum of a over keys that are no cells of the other row: the mean
 * Z_ERROR     |z - z'| / |z|, lengths over all rows and components (Frobenius norm)
 * Z_COSINE    cosine of the angle between z and z' of a row: the mean. 1 when both are 0, 0 when
 *             one is
 */
#define ATTN_DIFFERENCE_MAP(X)                                                                     \
    X(TV, "tv")                                                                                    \
    X(TV_MOST, "tv_most")                                                                          \
    X(KL, "kl")                                                                                    \
    X(KL_BACK, "kl_back")                                                                          \
    X(RECALL, "recall")                                                                            \
    X(MASS_LOST, "mass_lost")                                                                      \
    X(Z_ERROR, "z_error")                                                                          \
    X(Z_COSINE, "z_cosine")

enum attn_difference_measure {
#define ATTN_DIFFERENCE_ENUM(id, name) ATTN_DIFFERENCE_##id,
    ATTN_DIFFERENCE_MAP(ATTN_DIFFERENCE_ENUM)
#undef ATTN_DIFFERENCE_ENUM
        ATTN_N_DIFFERENCE
};

/* NaN where nothing was added: low-rank attention has no pattern. */
struct attn_difference {
    double values[ATTN_N_DIFFERENCE];
    size_t n_row;         /* rows of the pattern */
    size_t n_kl_infinite; /* of them, those whose KL is infinite */
};

/* Cells of one row of a pattern. */
struct attn_weight_row {
    const float *weights; /* [n] */
    const int32_t *keys;  /* [n] ascending; NULL: cell j is key j */
    size_t n;
};

/* The measures of one row. */
struct attn_row_difference {
    double tv, kl, kl_back, recall, mass_lost;
};

enum { ATTN_MOST_RECALLED = 64 };

ATTN_API const char *attn_difference_name(enum attn_difference_measure measure); /* "tv" */

/* Compares two rows; K is 1..ATTN_MOST_RECALLED. False, with nothing stored, for a row that is left
 * out. */
ATTN_API bool attn_row_difference_find(const struct attn_weight_row *exact,
                                       const struct attn_weight_row *other, size_t k,
                                       struct attn_row_difference *difference);

/* What has been added of a head; initialize with = {0}. */
struct attn_difference_sums {
    size_t n_row, n_kl_infinite, n_vector;
    double tv, tv_most, kl, kl_back, recall, mass_lost;
    double z_square, z_square_error, z_cosine;
};

ATTN_API void attn_difference_add_row(struct attn_difference_sums *sums,
                                      const struct attn_row_difference *row);

/* Compares context vectors of N components. */
ATTN_API void attn_difference_add_vector(struct attn_difference_sums *sums, const float *exact,
                                         const float *other, size_t n);

/* Adds all of OTHER, for the means over several heads. */
ATTN_API void attn_difference_add(struct attn_difference_sums *sums,
                                  const struct attn_difference_sums *other);

ATTN_API void attn_difference_finish(const struct attn_difference_sums *sums,
                                     struct attn_difference *difference);

/* KL(p || q) in nats of the two distributions whose logits these are [n], not yet normalized. */
ATTN_API double attn_logits_kl(const float *exact, const float *other, size_t n);

#endif
