/*
 * model_parts.h - lists the files that a model was read from: its texts and its weights.
 *
 *     struct attn_model_parts parts = {0};
 *     attn_model_parts_find(&source, model, &parts, &err);
 *     ... parts.items[i].name, and .path or .blob ...
 *     attn_model_parts_release(&parts);
 */
#pragma once

#include "model/model.h"

#include <stdint.h>

struct attn_model_part {
    char *name;                   /* owns; such as "config.json" */
    char *path;                   /* owns; NULL: the part is in memory */
    const struct attn_blob *blob; /* the bytes of a part in memory; borrowed from the source */
    bool is_there;                /* the path leads to a file, with this device and inode: */
    uint64_t device, inode;
};

/* Initialize with = {0}; end with attn_model_parts_release, also after a failure. */
struct attn_model_parts {
    struct attn_model_part *items; /* [n] owns */
    size_t n, capacity;
};

/* Lists the files of MODEL, which was opened from SOURCE; the texts come first. Errors:
 * ATTN_NO_MEMORY. */
enum attn_status attn_model_parts_find(const struct attn_source *source,
                                       const struct attn_model *model,
                                       struct attn_model_parts *parts, struct attn_error *err);
void attn_model_parts_release(struct attn_model_parts *parts);
