/*
 * tensor_files.h - the tensors of the files that hold a model's weights, in any format.
 *
 *     struct attn_tensor_files *files;
 *     attn_safetensors_open_file("model.safetensors", ATTN_MAP, &files, &err);
 *     for (size_t i = 0; i < attn_tensor_files_count(files); i++)
 *         puts(attn_tensor_files_entry(files, i).name);
 *     attn_tensor_files_free(files);
 */
#pragma once

#include "base/dtype.h"
#include "base/pool.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct attn_tensor_files; /* one file or several shards; owns their mapped files */

/* One tensor. Its name and data are borrowed from the files. */
struct attn_tensor_entry {
    const char *name; /* ended by NUL; may contain any other character */
    size_t name_size;
    struct attn_tensor tensor; /* its data are in the mapped file, or were gathered from it */
    int shard;                 /* number of its file, for attn_tensor_files_path */
    size_t offset; /* byte offset of the data in that file, or among those that were gathered */
};

void attn_tensor_files_free(struct attn_tensor_files *files); /* NULL is allowed */

size_t attn_tensor_files_count(const struct attn_tensor_files *files);

/* Returns entry I of 0 .. count-1, in ascending order of name (by bytes). */
struct attn_tensor_entry attn_tensor_files_entry(const struct attn_tensor_files *files, size_t i);

/* Looks for NAME by binary search. Returns whether it is there; if so sets *entry, unless ENTRY is
 * NULL. */
bool attn_tensor_files_find(const struct attn_tensor_files *files, const char *name,
                            struct attn_tensor_entry *entry);

/* Returns the name of the format, "safetensors". */
const char *attn_tensor_files_format(const struct attn_tensor_files *files);

/* Return the number of files, which is 1 or more; the path of file SHARD; and its size in bytes. */
int attn_tensor_files_n_shard(const struct attn_tensor_files *files);
const char *attn_tensor_files_path(const struct attn_tensor_files *files, int shard);
size_t attn_tensor_files_size(const struct attn_tensor_files *files, int shard);

/* Writes the new name of the tensor NAME, which is at most as long, to RENAMED. False: the tensor
 * is left out. */
typedef bool attn_tensor_rename_fn(void *user, const char *name, char *renamed);

/* Gives all tensors of FILES the names that RENAME writes. If two are equal, returns ATTN_FORMAT
 * and names both tensors; FILES is then unchanged. */
enum attn_status attn_tensor_files_rename(struct attn_tensor_files *files,
                                          attn_tensor_rename_fn *rename, void *user,
                                          struct attn_error *err);

/* Copies the SIZE bytes at DATA, which are in one of the files, by reading the file instead of the
 * mapped memory. False if that is not possible; COPY is then undefined. */
bool attn_tensor_files_read_again(const struct attn_tensor_files *files, const void *data,
                                  size_t size, void *copy);

/* Makes, once, the values of tensors that are undefined until then, because the files hold them in
 * another form. Any thread. FILES and POOL may be NULL. */
enum attn_status attn_tensor_files_make(const struct attn_tensor_files *files,
                                        struct attn_pool *pool, struct attn_error *err);

/* Whether ADDRESS is in a mapped file. For a handler of SIGBUS: async-signal-safe. */
bool attn_tensor_files_owns_address(const struct attn_tensor_files *files, const void *address);
