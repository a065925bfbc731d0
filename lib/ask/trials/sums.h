/* sums.h - compares a sum in double precision with the number that the run computed in float32.
 * Private to lib/questions. */
#pragma once

#include "base/status.h"
#include "kernels/gemm.h"

#include <stdbool.h>

struct attn_sum {
    double value;
    double size;      /* sum of the absolute values of its terms */
    double n_rounded; /* number of roundings in the run, except for a few of the last steps */
    enum attn_compute compute; /* type in which the run multiplied the terms */
};

/* Returns true if SUM equals FOUND, computed by the run, within rounding. */
bool attn_sum_is_right(const struct attn_sum *sum, double found);

/* Returns ATTN_INVALID at the stage ATTN_STAGE_CHECK if SUM, that of PARTS in the
 * message, is not FOUND, the number of the model. */
enum attn_status attn_sum_check(const struct attn_sum *sum, const char *parts, double found,
                                struct attn_error *err);
