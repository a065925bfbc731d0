/*
 * finite.h - looks for values of a tensor that are not finite: such weights are damaged.
 *
 *     const struct attn_non_finite found = attn_tensor_find_non_finite(&entry->tensor);
 *     if (found.n_nan + found.n_infinite > 0)
 *         printf("%s, the first at %zu\n", entry->name, found.first);
 */
#ifndef ATTN_MODEL_FINITE_H
#define ATTN_MODEL_FINITE_H

#include "base/dtype.h"

#include <stddef.h>

struct attn_non_finite {
    size_t n_nan, n_infinite; /* elements; a complex one is either when a part of it is */
    size_t first;             /* index of the first, row-major; 0 when there is none */
    double value;             /* what stands there: NaN, infinity or -infinity */
};

/* Reads every element once, from first to last. Types that have only numbers are not read. */
struct attn_non_finite attn_tensor_find_non_finite(const struct attn_tensor *tensor);

#endif
