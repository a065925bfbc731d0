/*
 * npy_layout.h - the header of a .npy file, read strictly: where the data lie and what they are.
 */
#ifndef ATTN_FORMATS_NPY_LAYOUT_H
#define ATTN_FORMATS_NPY_LAYOUT_H

#include "base/file.h"
#include "formats/npy.h"

#include <stdbool.h>

struct attn_npy_layout {
    enum attn_dtype dtype;
    bool is_big_endian;
    bool is_fortran_order; /* the first dimension varies fastest */
    int rank;
    size_t shape[ATTN_MAX_RANK]; /* product times the element's size fits a size_t */
    size_t n_element;
    size_t data_start; /* bytes before the data, which reach to the end of the file */
};

enum attn_status attn_npy_read_layout(const struct attn_file *file, struct attn_npy_layout *layout,
                                      struct attn_error *err);

/* Reads FILE, which is taken over (zeroed) whatever happens. */
enum attn_status attn_npy_take(struct attn_file *file, struct attn_npy_file **out,
                               struct attn_error *err);

#endif
