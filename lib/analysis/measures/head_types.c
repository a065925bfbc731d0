/* head_types.c - see head_types.h. */
#include "measures/head_types.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/text/path.h"
#include "formats/json.h"
#include "model/model_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PART "heads.json"

/* Sets SOURCE to the place of the part beside the weights of MODEL; FOLDER has room for its path.
 * Returns false if MODEL has no such part. */
static bool find_part(const struct attn_model *model, char folder[ATTN_PATH_SIZE],
                      struct attn_source *source)
{
    const char *path = attn_tensor_files_path(model->st, 0), *slash = attn_os_last_slash(path);
    const struct attn_tensor_entry first = attn_tensor_files_entry(model->st, 0);
    const uintptr_t data = (uintptr_t)first.tensor.data;

    for (const struct attn_builtin_model *own = attn_builtin_models; own->name; own++)
        for (size_t i = 0; i < own->n_blob; i++)
            if (data - (uintptr_t)own->blobs[i].data < own->blobs[i].size)
                return attn_builtin_find(own->name, source) && attn_source_has_part(source, PART);
    if (model->bundle || model->opened.weights ||
        snprintf(folder, ATTN_PATH_SIZE, "%.*s", slash ? (int)(slash - path) : 1,
                 slash ? path : ".") >= ATTN_PATH_SIZE)
        return false;
    source->directory = folder[0] == '\0' ? "/" : folder;
    return attn_source_has_part(source, PART);
}

/* Returns the share KEY of ROW, 0 to 1; 0 if it has none. */
static double share_of(const struct attn_node *row, const char *key)
{
    double share = 0;

    return attn_node_double(attn_node_find(row, key), &share) && share > 0 ? fmin(share, 1) : 0;
}

/* Puts the type of the head of ROW into TYPES [n_layer, n_head], if it is one. */
static void take_row(struct attn_head_type *types, const struct attn_config *config,
                     const struct attn_node *row)
{
    const char *name = attn_node_string(attn_node_find(row, "type"));
    int64_t layer = -1, head = -1;
    struct attn_head_type type = {.kind = name ? attn_head_kind_find(name, strlen(name)) : NULL,
                                  .weight = share_of(row, "share"),
                                  .park = share_of(row, "park")};

    if (!type.kind || !attn_node_int(attn_node_find(row, "layer"), &layer) ||
        !attn_node_int(attn_node_find(row, "head"), &head) || layer < 0 || head < 0 ||
        (size_t)layer >= config->n_layer || (size_t)head >= config->n_head)
        return;
    type.name = type.kind->name;
    for (size_t k = 0; k < ATTN_N_MIX_CLASS; k++) {
        char key[24];

        snprintf(key, sizeof key, "rest_%s", attn_head_kind_at(k)->name);
        type.shares[k] = share_of(row, key);
    }
    types[(size_t)layer * config->n_head + (size_t)head] = type;
}

enum attn_status attn_head_types_read(const struct attn_model *model, const struct attn_blob *given,
                                      struct attn_head_type **types, struct attn_error *err)
{
    static const char *const names[] = {"rows", NULL};
    const struct attn_config *config = &model->config;
    const struct attn_blob part = {PART, given ? given->data : NULL, given ? given->size : 0};
    struct attn_source source = {.directory = NULL};
    struct attn_json *json = NULL;
    struct attn_error failure = {0};
    char folder[ATTN_PATH_SIZE];
    enum attn_status status = ATTN_OK;

    *types = NULL;
    if (!find_part(model, folder, &source))
        source = (struct attn_source){.blobs = &part, .n_blob = given != NULL};
    if (model->encoder || model->adapter || !attn_source_has_part(&source, PART))
        return ATTN_OK;
    if (attn_json_read_part(&source, PART, names, &json, &failure) != ATTN_OK)
        return failure.status == ATTN_NO_MEMORY ? attn_error_copy(err, &failure) : ATTN_OK;
    const struct attn_node *rows = attn_node_find(attn_json_root(json), "rows");

    ATTN_THEN(status, ATTN_ALLOC(*types, config->n_layer * config->n_head, err));
    for (const struct attn_node *row = rows && *types ? attn_node_first(rows) : NULL; row;
         row = attn_node_next(row))
        take_row(*types, config, row);
    attn_json_free(json);
    return status;
}
