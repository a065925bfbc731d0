/*
 * npz.h - reads arrays of numpy's .npz files, as numpy.savez writes them: a zip of .npy members
 * that are stored as they are.
 *
 *     struct attn_ndarray array = {.name = "all.npz"};
 *     attn_npz_read("all.npz", "weights", NULL, &array, &err);
 *     attn_ndarray_release(&array);
 *
 * Sizes and offsets come from the central directory, with zip64, and are checked against the file.
 * Checksums are not.
 */
#ifndef ATTN_FORMATS_NPZ_H
#define ATTN_FORMATS_NPZ_H

#include "formats/ndarray.h"

/* Reads the array NAME, or if there is none OTHER (or NULL), of the archive PATH: its shape and its
 * numbers, as float32, into ARRAY, whose name stays. A member may have ".npy" at its end, as of
 * numpy.load. ATTN_IO if PATH cannot be read; ATTN_FORMAT if it is no zip file or malformed;
 * ATTN_UNSUPPORTED for members that are compressed or encrypted; ATTN_INVALID if it has neither. */
enum attn_status attn_npz_read(const char *path, const char *name, const char *other,
                               struct attn_ndarray *array, struct attn_error *err);

#endif
