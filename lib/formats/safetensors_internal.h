/*
 * safetensors_internal.h - one .safetensors file that is already open. For this layer and tests.
 */
#ifndef ATTN_FORMATS_SAFETENSORS_INTERNAL_H
#define ATTN_FORMATS_SAFETENSORS_INTERNAL_H

#include "base/file.h"
#include "formats/safetensors.h"

/*
 * What a directory keeps of a tensor: little, since a header of 100 MB can hold two million. NAME
 * and SHAPE lie in the copy of the header that it was read from.
 */
struct attn_safetensors_record {
    const char *name;  /* terminated */
    const char *shape; /* as the header has it, "[2, 3]"; NULL until the tensor was found */
    size_t offset;     /* of the data in the file */
    size_t n_byte, name_size;
    int shard;
    unsigned char dtype, rank;
};

/*
 * Checks the header of FILE and that its tensors tile the data. *text is a copy of it and *records
 * [*count], sorted by name, point into it: what is checked stays so when the file is overwritten.
 * Both belong to the caller (attn_free).
 */
enum attn_status attn_safetensors_read_header(const struct attn_file *file, char **text,
                                              struct attn_safetensors_record **records,
                                              size_t *count, struct attn_error *err);

/* A directory of FILE alone, which it takes over (closes it on failure too). */
enum attn_status attn_safetensors_take(struct attn_file *file, struct attn_safetensors **out,
                                       struct attn_error *err);

/* Order by name: bytes as memcmp. For qsort over records. */
int attn_safetensors_compare_names(const void *a, const void *b);

#endif
