/* builtin.c - finds models among the files in builtin_files.S. */
#include "model/builtin.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* As builtin_files.S lays it out. */
struct builtin_model {
    const char *name;
    const struct attn_blob *blobs; /* [n_blob] */
    size_t n_blob;
};

static_assert(sizeof(struct builtin_model) == 3 * sizeof(uint64_t), "builtin_files.S has 3 .quad");
static_assert(sizeof(struct attn_blob) == 3 * sizeof(uint64_t), "builtin_files.S has 3 .quad");

/* Ends with a row without a name. */
extern const struct builtin_model attn_builtin_models[] HIDDEN;

bool attn_builtin_find(const char *name, struct attn_source *source)
{
    if (!name || !source)
        return false;
    for (const struct builtin_model *model = attn_builtin_models; model->name; model++) {
        if (strcmp(model->name, name) != 0)
            continue;
        source->directory = NULL;
        source->name = model->name;
        source->blobs = model->blobs;
        source->n_blob = model->n_blob;
        return true;
    }
    return false;
}

const char *attn_builtin_name(size_t i)
{
    size_t n = 0;

    while (attn_builtin_models[n].name)
        n++;
    return i < n ? attn_builtin_models[i].name : NULL;
}
