/* npy_internal.h - reads a .npy file that is already open: tests read bytes in memory this way. */
#ifndef ATTN_FORMATS_NPY_INTERNAL_H
#define ATTN_FORMATS_NPY_INTERNAL_H

#include "base/file.h"
#include "formats/npy.h"

/* Reads FILE, which is taken over (zeroed) whatever happens. */
enum attn_status attn_npy_take(struct attn_file *file, enum attn_npy_types types,
                               struct attn_npy_file **out, struct attn_error *err);

#endif
