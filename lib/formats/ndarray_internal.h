/* ndarray_internal.h - declarations of ndarray.h that only the library uses. */
#ifndef ATTN_FORMATS_NDARRAY_INTERNAL_H
#define ATTN_FORMATS_NDARRAY_INTERNAL_H

#include "base/dtype_internal.h"
#include "formats/ndarray.h"

/* Elements of all dimensions. */
size_t attn_ndarray_n_element(const struct attn_ndarray *array);

/* How many elements are not finite. */
struct attn_not_finite {
    size_t n_nan, n_above, n_below; /* NaN, infinity, -infinity */
};

struct attn_not_finite attn_ndarray_not_finite(const struct attn_ndarray *array);

/* As attn_ndarray_read for an open file: takes over *npy, which is NULL afterwards in any case. */
enum attn_status attn_ndarray_take(const char *path, struct attn_npy_file **npy, int rank,
                                   const char *axes, struct attn_ndarray *array,
                                   struct attn_error *err);

/* Its cells as bytes of 0 and 1, C order, into CELLS. ATTN_FORMAT names the first other cell. */
enum attn_status attn_mask_array_cells(const struct attn_mask_array *mask, unsigned char *cells,
                                       struct attn_error *err);

#endif
