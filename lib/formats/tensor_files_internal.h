/* tensor_files_internal.h - how the readers of formats fill a directory. For this layer. */
#ifndef ATTN_FORMATS_TENSOR_FILES_INTERNAL_H
#define ATTN_FORMATS_TENSOR_FILES_INTERNAL_H

#include "base/file.h"
#include "formats/safetensors.h"
#include "formats/tensor_files.h"

/* A tensor in a directory: small, because a header of 100 MB can list two million. NAME and SHAPE
 * point into the text of its file. */
struct attn_tensor_record {
    const char *name;  /* terminated */
    const char *shape; /* as text, "[2, 3]"; NULL until the tensor was found */
    size_t offset;     /* offset of the data in the file */
    size_t n_byte, name_size;
    int shard;
    unsigned char dtype, rank;
};

/* A file, and the text that contains the names and shapes of its tensors. */
struct attn_tensor_file {
    struct attn_file file;
    char *text; /* owns */
};

struct attn_tensor_files {
    struct attn_tensor_file *shards; /* [n_shard]; owns */
    int n_shard;
    struct attn_tensor_record *records; /* [count], by name; owns */
    size_t count;
};

/* An empty directory with room for N_SHARD files; NULL on failure, with err set. */
struct attn_tensor_files *attn_tensor_files_create(int n_shard, struct attn_error *err);

/* The record of NAME, or NULL. */
struct attn_tensor_record *attn_tensor_files_record(const struct attn_tensor_files *files,
                                                    const char *name, size_t size);

/* Order by name: bytes as memcmp. For qsort over records. */
int attn_tensor_compare_names(const void *a, const void *b);

/* --- One .safetensors file that is already open ----------------------------------------------- */

/* Checks the header of FILE and that its tensors tile the data. *text is a copy of it and *records
 * [*count], sorted by name, point into it: checked values stay valid when the file is overwritten.
 * Both belong to the caller (attn_free). */
enum attn_status attn_safetensors_read_header(const struct attn_file *file, char **text,
                                              struct attn_tensor_record **records, size_t *count,
                                              struct attn_error *err);

/* A directory of FILE alone, which it takes over (closes it on failure too). */
enum attn_status attn_safetensors_take(struct attn_file *file, struct attn_tensor_files **out,
                                       struct attn_error *err);

#endif
