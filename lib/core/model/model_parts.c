#include "model/model_parts.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "formats/bundle.h"
#include "model/model_internal.h"

#include <string.h>

#define WEIGHTS "model.safetensors"

/* Adds the file NAME of a model. If PATH is NULL, its bytes are in BLOB. If MAY_BE_ABSENT, a file
 * that does not exist is left out. */
static enum attn_status add(struct attn_model_parts *parts, const char *name, const char *path,
                            const struct attn_blob *blob, bool may_be_absent,
                            struct attn_error *err)
{
    struct attn_model_part *part;
    struct attn_os_info info = {0};
    const bool is_there = path && attn_os_stat(path, &info) == 0;

    if (!is_there && may_be_absent)
        return ATTN_OK;
    ATTN_TRY(ATTN_GROW(parts->items, parts->capacity, parts->n + 1, err));
    part = &parts->items[parts->n++];
    *part = (struct attn_model_part){.name = attn_strndup(name, strlen(name), err),
                                     .blob = blob,
                                     .is_there = is_there,
                                     .device = info.device,
                                     .inode = info.number};
    if (path)
        part->path = attn_strndup(path, strlen(path), err);
    return part->name && (!path || part->path) ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Adds the part NAME of SOURCE, if there is one. */
static enum attn_status add_part(struct attn_model_parts *parts, const struct attn_source *source,
                                 const char *name, struct attn_error *err)
{
    const char *path = attn_source_override(source, name);
    const struct attn_blob *blob = path ? NULL : attn_source_blob(source, name);
    const bool is_beside = !path && !blob && source->directory;
    struct attn_buffer joined = {0};
    enum attn_status status = ATTN_OK;

    if (is_beside) {
        attn_buffer_append_format(&joined, "%s/%s", source->directory, name);
        path = attn_buffer_string(&joined);
        status = attn_buffer_check(&joined, err);
    }
    if (status == ATTN_OK && (path || blob))
        status = add(parts, name, path, blob, is_beside, err);
    attn_buffer_release(&joined);
    return status;
}

enum attn_status attn_model_parts_find(const struct attn_source *source,
                                       const struct attn_model *model,
                                       struct attn_model_parts *parts, struct attn_error *err)
{
    static const char *const texts[] = {
#define PART_NAME(part, max) part,
        ATTN_TEXT_BOUND_MAP(PART_NAME)
#undef PART_NAME
    };
    static const char *const of_adapter[] = {ATTN_ADAPTER_CONFIG, ATTN_ADAPTER_WEIGHTS};
    const struct attn_tensor_files *weights = attn_model_files(model);
    const int n = attn_tensor_files_n_shard(weights);
    const bool is_bundle = attn_model_bundle(model) != NULL;
    const struct attn_opener *opener = attn_opener_of(source);
    const char *single = is_bundle ? attn_bundles->part : opener ? opener->part : NULL;

    if (attn_source_override(source, WEIGHTS))
        single = WEIGHTS;

    /* If the model is one file, the program reads no other texts than those the caller named, and
     * in a folder the vocabulary beside it. */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(is_bundle || (opener && !source->directory)) ||
            attn_source_override(source, texts[i]))
            ATTN_TRY(add_part(parts, source, texts[i], err));
    for (size_t i = 0; attn_model_adapter(model) && i < sizeof of_adapter / sizeof *of_adapter; i++)
        ATTN_TRY(add_part(parts, source, of_adapter[i], err));
    if (model->opened.weights)
        return ATTN_OK;
    if (model->tower && model->tower->bundle)
        ATTN_TRY(add(parts, attn_bundles->tower_part, attn_tensor_files_path(model->tower->st, 0),
                     NULL, false, err));
    if (attn_source_blob(source, WEIGHTS) && !attn_source_override(source, WEIGHTS))
        return add_part(parts, source, WEIGHTS, err);
    for (int i = 0; i < n; i++) {
        const char *path = attn_tensor_files_path(weights, i), *slash = attn_os_last_slash(path);

        ATTN_TRY(add(parts, n == 1 && single ? single : (slash ? slash + 1 : path), path, NULL,
                     false, err));
    }
    return ATTN_OK;
}

void attn_model_parts_release(struct attn_model_parts *parts)
{
    for (size_t i = 0; i < parts->n; i++) {
        attn_free(parts->items[i].name);
        attn_free(parts->items[i].path);
    }
    attn_free(parts->items);
    *parts = (struct attn_model_parts){0};
}
