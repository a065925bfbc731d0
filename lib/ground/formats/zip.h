/*
 * zip.h - the members of a zip file: numpy's .npz, torch's files.
 *
 * Sizes and offsets come from the central directory, with zip64, and are checked against the file.
 * Checksums are not.
 */
#pragma once

#include "base/file.h"
#include "base/status.h"

#include <stddef.h>

/* A member. Its name, which is not terminated, and its bytes are in the file. */
struct attn_zip_member {
    const char *name;
    size_t n_name, header, begin, size; /* byte offsets of its record and of its data */
    size_t n_stored;                    /* bytes in the file */
    bool is_deflated; /* these are not its `size` bytes, but a raw stream of deflate */
};

/* Initialize with = {0}. */
struct attn_zip {
    const struct attn_file *file;    /* borrowed */
    const char *kind;                /* for messages: ".npz file" */
    bool takes_deflated;             /* set before: members may be deflated */
    struct attn_zip_member *members; /* [n] owns; in the order of the file */
    size_t n;
};

/* Reads the directory of FILE. ATTN_FORMAT if it is no zip file or malformed, or two members share
 * a name or bytes; ATTN_UNSUPPORTED if one is compressed or encrypted. Release ZIP in any case. */
enum attn_status attn_zip_read(const struct attn_file *file, const char *kind, struct attn_zip *zip,
                               struct attn_error *err);
void attn_zip_release(struct attn_zip *zip);
