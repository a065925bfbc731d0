/*
 * safetensors.h - the tensor directory of a .safetensors file, or of the shards that an index
 * names.
 *
 *     struct attn_safetensors *st;
 *     attn_safetensors_open_file("model.safetensors", ATTN_MAP, &st, &err);
 *     for (size_t i = 0; i < attn_safetensors_count(st); i++)
 *         puts(attn_safetensors_entry(st, i).name);
 *     attn_safetensors_free(st);
 *
 * Layout of a file: u64 little-endian N, then N bytes of JSON {"NAME": {"dtype", "shape",
 * "data_offsets": [begin, end]}, ..., "__metadata__": {string: string}}, then the data, which the
 * tensors tile without holes or overlaps. Everything is checked before the directory exists: see
 * FORMAT.md of Hugging Face's safetensors (README, "Format"); stricter here: no tensor name twice.
 */
#ifndef ATTN_FORMATS_SAFETENSORS_H
#define ATTN_FORMATS_SAFETENSORS_H

#include "base/dtype.h"
#include "base/sink.h"
#include "base/source.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_safetensors; /* one file or several shards; owns their maps */

/* One tensor of the directory, which its name and data belong to. */
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

void attn_safetensors_free(struct attn_safetensors *st); /* NULL is allowed */

size_t attn_safetensors_count(const struct attn_safetensors *st);

/* Entry 0 .. count-1 in ascending order of name (bytes). */
struct attn_safetensors_entry attn_safetensors_entry(const struct attn_safetensors *st, size_t i);

/* Looks for NAME by binary search: whether it is there, and then *entry unless that is NULL. */
bool attn_safetensors_find(const struct attn_safetensors *st, const char *name,
                           struct attn_safetensors_entry *entry);

/* The files: 1 or more; the path and the size in bytes of number SHARD. */
int attn_safetensors_n_shard(const struct attn_safetensors *st);
const char *attn_safetensors_path(const struct attn_safetensors *st, int shard);
size_t attn_safetensors_file_size(const struct attn_safetensors *st, int shard);

/*
 * Copies the SIZE bytes at DATA, which lie in one of its files, without touching a page of a map.
 * False where that cannot be done; COPY then holds anything.
 */
bool attn_safetensors_read_again(const struct attn_safetensors *st, const void *data, size_t size,
                                 void *copy);

/* Whether ADDRESS lies in one of its maps (for a SIGBUS handler; async-signal-safe). */
bool attn_safetensors_owns_address(const struct attn_safetensors *st, const void *address);

/* A tensor that is written: into a whole file, or its beginning, after which the data of the
 * tensors follows in their order. Borrows all of it. */
struct attn_written_tensor {
    const char *name; /* UTF-8 */
    struct attn_tensor tensor;
};

/* A member of the metadata. Borrows both texts. */
struct attn_written_fact {
    const char *key, *value;
};

/*
 * Writes what comes before the data of the N TENSORS, whose names are all different: the header,
 * with N_FACT members of metadata beside "format". It is padded with spaces to a multiple of 8
 * bytes, so that a map has the tensors aligned. Failures of SINK stick to it.
 */
enum attn_status attn_safetensors_write_header(struct attn_sink *sink,
                                               const struct attn_written_fact *facts, size_t n_fact,
                                               const struct attn_written_tensor *tensors, size_t n,
                                               struct attn_error *err);

/* Writes a file of the N TENSORS in the order given, without metadata. */
enum attn_status attn_safetensors_write(struct attn_sink *sink,
                                        const struct attn_written_tensor *tensors, size_t n,
                                        struct attn_error *err);

#endif
