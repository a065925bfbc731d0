/* ndarray_internal.h - declarations of ndarray.h that only the library uses. */
#ifndef ATTN_FORMATS_NDARRAY_INTERNAL_H
#define ATTN_FORMATS_NDARRAY_INTERNAL_H

#include "base/dtype_internal.h"
#include "formats/ndarray.h"

size_t attn_ndarray_n_element(const struct attn_ndarray *array);

/* How many elements of an array are NaN or infinite. */
struct attn_not_finite {
    size_t n_nan, n_above, n_below; /* number of NaN, infinity and -infinity */
};

struct attn_not_finite attn_ndarray_not_finite(const struct attn_ndarray *array);

/* As attn_ndarray_read, for a file that is open already. Takes over *npy, which becomes NULL in any
 * case. */
enum attn_status attn_ndarray_take(const char *path, struct attn_npy_file **npy, int rank,
                                   const char *axes, struct attn_ndarray *array,
                                   struct attn_error *err);

/* Copies the cells of MASK in C order to CELLS, as bytes 0 and 1. ATTN_FORMAT if a cell is neither;
 * the message names the first one. */
enum attn_status attn_mask_array_cells(const struct attn_mask_array *mask, unsigned char *cells,
                                       struct attn_error *err);

#endif
