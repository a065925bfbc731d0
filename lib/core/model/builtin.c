/* builtin.c - finds models among the files in builtin_files.S. */
#include "model/model_internal.h"

#include <assert.h>
#include <string.h>

static_assert(sizeof(struct attn_builtin_model) == 3 * sizeof(void *), "as builtin_files.S has it");
static_assert(sizeof(struct attn_blob) == 3 * sizeof(void *), "as builtin_files.S has it");

bool attn_builtin_find(const char *name, struct attn_source *source)
{
    if (!name || !source)
        return false;
    for (const struct attn_builtin_model *model = attn_builtin_models; model->name; model++) {
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

    while (attn_builtin_models[n].name && !strchr(attn_builtin_models[n].name, '/'))
        n++;
    return i < n ? attn_builtin_models[i].name : NULL;
}
