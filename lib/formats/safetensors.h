/*
 * safetensors.h - the tensor directory of a .safetensors file, or of the shards that an index
 * names.
 *
 * Layout of a file: u64 little-endian N, then N bytes of JSON
 *     {"NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...,
 *      "__metadata__": {string: string}}
 * then the data, which the tensors tile without holes or overlaps. Everything is checked before the
 * directory exists: see "Format" in the README of Hugging Face's safetensors; stricter than its
 * code: no key twice.
 */
#ifndef ATTN_FORMATS_SAFETENSORS_H
#define ATTN_FORMATS_SAFETENSORS_H

#include "base/dtype.h"
#include "base/file.h"

struct attn_safetensors; /* one file or several shards; owns their maps */

/* One tensor of the directory. Borrowed from it. */
struct attn_safetensors_entry {
    const char *name; /* terminated; may hold any character but NUL */
    size_t name_size;
    struct attn_tensor tensor; /* data points into the map */
    int shard;                 /* index for attn_safetensors_path */
    size_t offset;             /* of the data in its file, bytes */
};

/* Opens one file. */
enum attn_status attn_safetensors_open_file(const char *path, enum attn_load load,
                                            struct attn_safetensors **out, struct attn_error *err);

/* Opens `model.safetensors` of SOURCE, or the shards of `model.safetensors.index.json`. */
enum attn_status attn_safetensors_open(const struct attn_source *source, enum attn_load load,
                                       struct attn_safetensors **out, struct attn_error *err);

/* Parses a file that is already open and takes it over (closes it on failure too). */
enum attn_status attn_safetensors_take(struct attn_file *file, struct attn_safetensors **out,
                                       struct attn_error *err);

void attn_safetensors_close(struct attn_safetensors *st); /* NULL is allowed */

size_t attn_safetensors_count(const struct attn_safetensors *st);

/* Entry 0 .. count-1 in ascending order of name (bytes). */
const struct attn_safetensors_entry *attn_safetensors_entry(const struct attn_safetensors *st,
                                                            size_t i);

/* By binary search; NULL when there is none. */
const struct attn_safetensors_entry *attn_safetensors_find(const struct attn_safetensors *st,
                                                           const char *name);

const char *attn_safetensors_path(const struct attn_safetensors *st, int shard);

/* Whether ADDRESS lies in one of its maps (for a SIGBUS handler; async-signal-safe). */
bool attn_safetensors_owns_address(const struct attn_safetensors *st, const void *address);

#endif
