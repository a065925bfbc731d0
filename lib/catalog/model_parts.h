/*
 * model_parts.h - which files a model is made of: its texts and its weights. For the files of this
 * layer, and of those above.
 *
 *     struct attn_model_parts parts = {0};
 *     attn_model_parts_find(&source, model, &parts, &err);
 *     ... parts.items[i].name, and .path or .blob ...
 *     attn_model_parts_release(&parts);
 */
#ifndef ATTN_CATALOG_MODEL_PARTS_H
#define ATTN_CATALOG_MODEL_PARTS_H

#include "model/model.h"

#include <sys/types.h>

struct attn_model_part {
    char *name;                   /* owns; "config.json" */
    char *path;                   /* owns; NULL: it is in memory */
    const struct attn_blob *blob; /* of a part in memory; borrowed from the source */
    bool is_there;                /* there is a file at this path, with: */
    dev_t device;
    ino_t inode;
};

/* Initialize with = {0}; end with attn_model_parts_release, after a failed _find too. */
struct attn_model_parts {
    struct attn_model_part *items; /* [n] owns */
    size_t n, capacity;
};

/* Finds the files of MODEL, which was opened from SOURCE: texts first. Errors: ATTN_NO_MEMORY. */
enum attn_status attn_model_parts_find(const struct attn_source *source,
                                       const struct attn_model *model,
                                       struct attn_model_parts *parts, struct attn_error *err);
void attn_model_parts_release(struct attn_model_parts *parts);

#endif
