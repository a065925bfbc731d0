/*
 * tensor_files.h - the tensors of a model's files of weights, whatever their format.
 *
 *     struct attn_tensor_files *files;
 *     attn_safetensors_open_file("model.safetensors", ATTN_MAP, &files, &err);
 *     for (size_t i = 0; i < attn_tensor_files_count(files); i++)
 *         puts(attn_tensor_files_entry(files, i).name);
 *     attn_tensor_files_free(files);
 */
#ifndef ATTN_FORMATS_TENSOR_FILES_H
#define ATTN_FORMATS_TENSOR_FILES_H

#include "base/dtype.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_tensor_files; /* one file or several shards; owns their maps */

/* One tensor, which its name and data belong to. */
struct attn_tensor_entry {
    const char *name; /* terminated; may hold any character but NUL */
    size_t name_size;
    struct attn_tensor tensor; /* data points into the map */
    int shard;                 /* index for attn_tensor_files_path */
    size_t offset;             /* offset of the data in its file, bytes */
};

void attn_tensor_files_free(struct attn_tensor_files *files); /* NULL is allowed */

size_t attn_tensor_files_count(const struct attn_tensor_files *files);

/* Entry 0 .. count-1 in ascending order of name (bytes). */
struct attn_tensor_entry attn_tensor_files_entry(const struct attn_tensor_files *files, size_t i);

/* Looks for NAME by binary search: whether it is there, and then *entry unless that is NULL. */
bool attn_tensor_files_find(const struct attn_tensor_files *files, const char *name,
                            struct attn_tensor_entry *entry);

/* The files: 1 or more; the path and the size in bytes of number SHARD. */
int attn_tensor_files_n_shard(const struct attn_tensor_files *files);
const char *attn_tensor_files_path(const struct attn_tensor_files *files, int shard);
size_t attn_tensor_files_size(const struct attn_tensor_files *files, int shard);

/* Copies the SIZE bytes at DATA, which lie in one of its files, without touching a page of a map.
 * False where that cannot be done; COPY then holds anything. */
bool attn_tensor_files_read_again(const struct attn_tensor_files *files, const void *data,
                                  size_t size, void *copy);

/* Whether ADDRESS lies in one of its maps (for a SIGBUS handler; async-signal-safe). */
bool attn_tensor_files_owns_address(const struct attn_tensor_files *files, const void *address);

#endif
