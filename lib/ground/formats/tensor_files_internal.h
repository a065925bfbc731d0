/* tensor_files_internal.h - how the readers of formats fill a directory. For this layer. */
#pragma once

#include "base/dtype_internal.h"
#include "base/file.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/ndarray.h"
#include "formats/safetensors.h"
#include "formats/tensor_files.h"

#include <stdbool.h>
#include <stddef.h>

/* A tensor in a directory. It is small, because a header of 100 MB can list two million tensors.
 * `name` and `shape` point into the text of its file. */
struct attn_tensor_record {
    const char *name;  /* ended by NUL */
    const char *shape; /* as text, such as "[2, 3]"; NULL until the tensor was found in its shard */
    size_t offset;     /* byte offset of the data in the file, or in `made` */
    size_t n_byte, name_size;
    int shard;
    unsigned char dtype, rank;
    bool is_made; /* the data are in `made` of its file */
};

/* A file, and the text that contains the names and shapes of its tensors. */
struct attn_tensor_file {
    struct attn_file file;
    char *text;          /* owns */
    unsigned char *made; /* owns; tensors that are not used as the file has them; or NULL */
};

/* What makes the values of tensors later; the first member of its owner's struct. */
struct attn_tensor_maker {
    enum attn_status (*make)(struct attn_tensor_maker *maker, const struct attn_tensor_files *files,
                             struct attn_pool *pool, struct attn_error *err);
    void (*free)(struct attn_tensor_maker *maker);
};

struct attn_tensor_files {
    struct attn_tensor_file *shards; /* [n_shard]; owns */
    int n_shard;
    struct attn_tensor_record *records; /* [count], sorted by name; owns */
    size_t count;
    char *names;        /* owns; the names that attn_tensor_files_rename gave, or NULL */
    const char *format; /* static; "safetensors" */
    struct attn_tensor_maker *maker; /* owns; or NULL */
    bool lacks_head;                 /* the index names an lm_head.weight that no shard has */
};

/* Creates an empty directory with room for N_SHARD files. NULL on failure, with ERR set. */
struct attn_tensor_files *attn_tensor_files_create(int n_shard, struct attn_error *err);

/* Returns the record of the tensor NAME; NULL: there is none. */
struct attn_tensor_record *attn_tensor_files_record(const struct attn_tensor_files *files,
                                                    const char *name, size_t size);

/* Compares the names of two records by bytes as memcmp does, for qsort. */
int attn_tensor_compare_names(const void *a, const void *b);

/* --- One .safetensors file that is already open ----------------------------------------------- */

/* Checks the header of FILE, and that its tensors cover the data without gaps or overlaps. *text
 * becomes a copy of the header, and *records [*count], sorted by name, point into it; so they stay
 * valid when the file is overwritten. The caller frees both with attn_free. */
enum attn_status attn_safetensors_read_header(const struct attn_file *file, char **text,
                                              struct attn_tensor_record **records, size_t *count,
                                              struct attn_error *err);

/* Creates a directory of FILE alone. Takes FILE over, and closes it also on failure. */
enum attn_status attn_safetensors_take(struct attn_file *file, struct attn_tensor_files **out,
                                       struct attn_error *err);

/* Whether SOURCE has a file of weights under one of its usual names, or an index of such files. */
bool attn_tensor_files_are_in(const struct attn_source *source);

/* Hints about an adapter, and about a control vector, in the file %s. */
#define ATTN_FOREIGN_MERGE_GGUF                                                                    \
    "llama-export-lora of llama.cpp merges it with its model into a GGUF file that is read"
#define ATTN_FOREIGN_DIRECTIONS "`steer` resid_post:all=%s adds it, `project` takes it out"

size_t attn_ndarray_n_element(const struct attn_ndarray *array);

/* How many elements of an array are NaN or infinite. */
struct attn_not_finite {
    size_t n_nan, n_above, n_below; /* number of NaN, infinity and -infinity */
};

struct attn_not_finite attn_ndarray_not_finite(const struct attn_ndarray *array);

/* As attn_ndarray_read, for a file that is open already. Takes over *npy, which becomes NULL in any
 * case. */
enum attn_status attn_ndarray_take(const char *path, struct attn_npy_file **npy, int rank,
                                   const char *axes, struct attn_ndarray *array,
                                   struct attn_error *err);

/* Copies the cells of MASK in C order to CELLS, as bytes 0 and 1. ATTN_FORMAT if a cell is neither;
 * the message names the first one. */
enum attn_status attn_mask_array_cells(const struct attn_mask_array *mask, unsigned char *cells,
                                       struct attn_error *err);

/* Opens PATH as a mask: an array of bool, integers or floats. Fails as attn_npy_open does. */
enum attn_status attn_mask_array_open(const char *path, struct attn_mask_array *mask,
                                      struct attn_error *err);

void attn_mask_array_release(struct attn_mask_array *mask); /* {0} is allowed */
