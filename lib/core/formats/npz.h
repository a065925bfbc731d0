/*
 * npz.h - reads numpy's .npz files, as numpy.savez writes them: a zip of .npy members that are
 * stored as they are.
 *
 *     struct attn_npz *npz;
 *     struct attn_npy_file *npy;
 *     attn_npz_open("all.npz", &npz, &err);
 *     for (size_t i = 0; i < attn_npz_n_member(npz); i++)
 *         if (attn_npz_read(npz, i, &npy, &err) == ATTN_OK)      // attn_npz_name(npz, i)
 *             ...
 *     attn_npz_free(npz);
 *
 * Sizes and offsets come from the central directory, with zip64, and are checked against the file.
 * Checksums are not.
 */
#ifndef ATTN_FORMATS_NPZ_H
#define ATTN_FORMATS_NPZ_H

#include "formats/npy.h"

struct attn_npz; /* an open file; owns its bytes */

/* ATTN_IO when PATH cannot be read; ATTN_FORMAT when it is no zip file or malformed;
 * ATTN_UNSUPPORTED for members that are compressed or encrypted. */
enum attn_status attn_npz_open(const char *path, struct attn_npz **npz, struct attn_error *err);
void attn_npz_free(struct attn_npz *npz); /* NULL is allowed; first free the arrays read from it */

size_t attn_npz_n_member(const struct attn_npz *npz);

/* Returns the name of member I without ".npy", as numpy.load does; borrowed. */
const char *attn_npz_name(const struct attn_npz *npz, size_t i);

/* Opens member I, which borrows the bytes of NPZ. Fails as attn_npy_open does. The caller frees
 * *npy. */
enum attn_status attn_npz_read(const struct attn_npz *npz, size_t i, struct attn_npy_file **npy,
                               struct attn_error *err);

#endif
