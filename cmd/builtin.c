/* builtin.c - finds models among the files in builtin_files.S. */
#include "builtin.h"

#include <assert.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* As builtin_files.S lays it out. */
struct builtin_file {
    const char *model;
    struct attn_blob blob;
};

static_assert(sizeof(struct builtin_file) == 4 * sizeof(uint64_t), "builtin_files.S has 4 .quad");

/* The files of a model follow one another. */
extern const struct builtin_file builtin_files[] HIDDEN, builtin_files_end[] HIDDEN;

size_t builtin_blobs(const char *name, struct attn_blob blobs[BUILTIN_MAX_BLOB])
{
    size_t n = 0;
    for (const struct builtin_file *file = builtin_files; file < builtin_files_end; file++)
        if (n < BUILTIN_MAX_BLOB && strcmp(file->model, name) == 0)
            blobs[n++] = file->blob;
    return n;
}

const char *builtin_name(size_t i)
{
    const char *last = "";
    for (const struct builtin_file *file = builtin_files; file < builtin_files_end; file++) {
        if (strcmp(file->model, last) == 0)
            continue;
        last = file->model;
        if (i-- == 0)
            return last;
    }
    return NULL;
}
