/*
 * npy.h - reads numpy's .npy files: one array of plain numbers, converted as it is read.
 *
 *     struct attn_npy_file *npy;
 *     attn_npy_open("q.npy", ATTN_READ, ATTN_NPY_FLOATS, &npy, &err);
 *     attn_npy_read_floats(npy, out, &err);      // attn_npy_n_element(npy) of them
 *     attn_npy_free(npy);
 *
 * Versions 1.0, 2.0 and 3.0 (numpy/lib/format.py); bool, signed and unsigned integers of 1 to 8
 * bytes, float16, float32 and float64, little or big endian, in C or Fortran order. Everything is
 * checked before there is an array: the header is a Python dict with its three keys once each and
 * no others, and the data have exactly the size of the shape. Nothing in a file is evaluated;
 * arrays of objects, which are pickles, are refused.
 *
 * And arrays of .npz files, as numpy.savez writes them: a zip of .npy members that are stored as
 * they are.
 *
 *     struct attn_ndarray array = {.name = "all.npz"};
 *     attn_npz_read("all.npz", "weights", NULL, &array, &err);
 *     attn_ndarray_release(&array);
 *
 * Sizes and offsets come from the central directory, with zip64, and are checked against the file.
 * Checksums are not.
 */
#pragma once

#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/ndarray.h"

#include <stddef.h>

struct attn_npy_file; /* one file; owns its bytes */

/* The types that a caller accepts. Messages name them when a file has another type. */
enum attn_npy_types {
    ATTN_NPY_NUMBERS, /* booleans, integers and floats */
    ATTN_NPY_FLOATS,  /* float32, float64 and float16; the caller refuses other types */
};

/* The most bytes of a file before its data. */
enum { ATTN_NPY_HEAD_MAX = (1 << 16) + 12 };

/* Opens PATH, a file or a pipe. TAKEN are the types that the caller accepts. ATTN_IO if it cannot
 * be read; ATTN_FORMAT if it is not a .npy file, malformed, truncated or too long; ATTN_UNSUPPORTED
 * for other types (objects, complex numbers, records, text, dates), more than ATTN_MAX_RANK
 * dimensions or a header that is too long. */
enum attn_status attn_npy_open(const char *path, enum attn_load load, enum attn_npy_types taken,
                               struct attn_npy_file **out, struct attn_error *err);

void attn_npy_free(struct attn_npy_file *npy); /* NULL is allowed */

const char *attn_npy_path(const struct attn_npy_file *npy); /* borrowed from the file */
size_t attn_npy_n_element(const struct attn_npy_file *npy);
/* The array as it lies in the file, at any alignment; a size may be 0. Its data is NULL if the
 * elements are of another byte order or in Fortran order; borrowed. */
struct attn_tensor attn_npy_tensor(const struct attn_npy_file *npy);
/* Numpy's name, such as "float32". */
const char *attn_npy_dtype_name(const struct attn_npy_file *npy);

/* Converts all elements to float32, rounded to nearest even as numpy's astype does, and stores them
 * in C order in OUT [n_element]. Values that are too large become infinite; NaN and infinities
 * stay. */
void attn_npy_read_floats(const struct attn_npy_file *npy, float *out);

/* Returns the elements in the file itself if they are float32 in this machine's byte order, in C
 * order and aligned; else NULL. Borrowed. */
const float *attn_npy_floats_in_place(const struct attn_npy_file *npy);

/* Copies the elements of a uint8 array to OUT [n_element], in C order. */
void attn_npy_read_bytes(const struct attn_npy_file *npy, unsigned char *out);

/* Copies the elements of a mask in C order to OUT [n_element], as bytes 0 and 1. ATTN_FORMAT if a
 * cell is neither; the message has its index and value, and OUT may be partly written. */
enum attn_status attn_npy_read_cells(const struct attn_npy_file *npy, unsigned char *out,
                                     struct attn_error *err);

/* Reads the open FILE, and takes it over in any case (it becomes zero). For members of archives,
 * and for tests with bytes in memory. No byte after the first ATTN_NPY_HEAD_MAX is read. */
enum attn_status attn_npy_take(struct attn_file *file, enum attn_npy_types taken,
                               struct attn_npy_file **out, struct attn_error *err);

/* Reads the array NAME, or if there is none OTHER (or NULL), of the archive PATH: its shape and its
 * numbers, as float32, into ARRAY, whose name stays. A member may have ".npy" at its end, as of
 * numpy.load. ATTN_IO if PATH cannot be read; ATTN_FORMAT if it is no zip file or malformed;
 * ATTN_UNSUPPORTED for members that are compressed or encrypted; ATTN_INVALID if it has neither. */
enum attn_status attn_npz_read(const char *path, const char *name, const char *other,
                               struct attn_ndarray *array, struct attn_error *err);
