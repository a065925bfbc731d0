/*
 * difference.h - how far an attention is from exact attention: a measure (metric.h) of rows of the
 * pattern and of context vectors, in double precision.
 *
 *     struct attn_difference d = found->heads[0].local; // as attn_compare finds it
 *     printf("%g\n", d.values[ATTN_DIFFERENCE_TV]);
 *
 * Letters: a are the exact weights of a row, b the other ones, all >= 0. A row whose exact weights
 * are all 0, for example because all keys are masked, is not compared.
 */
#ifndef ATTN_MEASURES_DIFFERENCE_H
#define ATTN_MEASURES_DIFFERENCE_H

#include "tables/table.h"

/* clang-format off */
/*
 * X(ID, name, unit). The values of a head, over its compared rows:
 *
 * TV          total variation of a row, 1/2 sum |a - b|: the mean
 * TV_MOST     the largest
 * KL          KL(a || b) = sum a ln(a/b) - a + b: the mean. Infinite where a key that has weight is
 *             left out, as nearly always with sparse kinds. (For rows that add to 1 it is the usual
 *             one; for others it stays >= 0, and 0 only for equal rows.)
 * KL_BACK     KL(b || a): the mean. For a softmax over fewer keys with the same scores it is
 *             -ln(1 - mass lost)
 * RECALL      share of the K keys with the largest a that are among the K with the largest b: the
 *             mean. Only keys with weight count, ties go to the earlier key
 * MASS_LOST   sum of a over keys that are not cells of the other row: the mean
 * Z_ERROR     |Z - Z'| / |Z|: Z are all context vectors of the head under one another, |Z| is the
 *             root of the sum of their squares (Frobenius norm)
 * Z_COSINE    cosine of the angle between z and z' of a row: the mean. 1 when both are 0, 0 when
 *             one is
 * ROWS        compared rows of the pattern
 * ROWS_KL_INFINITE  compared rows whose KL is infinite
 */
/* clang-format on */
#define ATTN_DIFFERENCE_MAP(X)                                                                     \
    X(TV, 0, "tv", NULL)                                                                           \
    X(TV_MOST, 1, "tv_max", NULL)                                                                  \
    X(KL, 2, "kl", "nats")                                                                         \
    X(KL_BACK, 3, "kl_back", "nats")                                                               \
    X(RECALL, 4, "recall", NULL)                                                                   \
    X(MASS_LOST, 5, "mass_lost", NULL)                                                             \
    X(Z_ERROR, 6, "z_error", NULL)                                                                 \
    X(Z_COSINE, 7, "z_cosine", NULL)                                                               \
    X(ROWS, 8, "rows", NULL)                                                                       \
    X(ROWS_KL_INFINITE, 9, "rows_kl_infinite", NULL)

enum attn_difference_value {
#define ATTN_DIFFERENCE_ENUM(id, number, ...) ATTN_DIFFERENCE_##id = (number),
    ATTN_DIFFERENCE_MAP(ATTN_DIFFERENCE_ENUM)
#undef ATTN_DIFFERENCE_ENUM
        ATTN_N_DIFFERENCE = 0 ATTN_DIFFERENCE_MAP(ATTN_COUNT)
};

/* A value is NaN if nothing was compared, as for low-rank attention, which has no pattern. Numbers
 * of rows are whole numbers. */
struct attn_difference {
    double values[ATTN_N_DIFFERENCE];
};

enum { ATTN_MOST_RECALLED = 64 }; /* largest K of RECALL */

#endif
