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

struct attn_head_types {
    size_t n_head, n;              /* of a layer, of all */
    struct attn_head_type items[]; /* [n] those without a kind have no type */
};

/* Sets SOURCE to the place of the part beside the weights of MODEL; FOLDER has room for its path.
 * False if there is none. */
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

bool attn_head_types_are_of(const struct attn_model *model)
{
    char folder[ATTN_PATH_SIZE];
    struct attn_source source = {.directory = NULL};

    return find_part(model, folder, &source);
}

/* Returns the share KEY of ROW, 0 to 1; 0 if it has none. */
static double share_of(const struct attn_node *row, const char *key)
{
    double share = 0;

    return attn_node_double(attn_node_find(row, key), &share) && share > 0 ? fmin(share, 1) : 0;
}

/* Takes the type of the head of ROW, if it is one. */
static void take_row(struct attn_head_types *types, const struct attn_node *row)
{
    const char *name = attn_node_string(attn_node_find(row, "type"));
    int64_t layer = -1, head = -1;
    struct attn_head_type type = {.kind = name ? attn_head_kind_find(name, strlen(name)) : NULL};

    if (!type.kind || !attn_node_int(attn_node_find(row, "layer"), &layer) ||
        !attn_node_int(attn_node_find(row, "head"), &head) || layer < 0 || head < 0 ||
        (size_t)head >= types->n_head || (size_t)layer >= types->n / types->n_head)
        return;
    type.name = type.kind->name;
    type.weight = share_of(row, "share");
    type.park = share_of(row, "park");
    for (size_t k = 0; k < ATTN_N_MIX_CLASS; k++) {
        char key[24];

        snprintf(key, sizeof key, "rest_%s", attn_head_kind_at(k)->name);
        type.shares[k] = share_of(row, key);
    }
    types->items[(size_t)layer * types->n_head + (size_t)head] = type;
}

enum attn_status attn_head_types_read(const struct attn_model *model, const struct attn_blob *given,
                                      struct attn_head_types **types, struct attn_error *err)
{
    static const char *const names[] = {"rows", NULL};
    const size_t n_head = model->config.n_head, n = model->config.n_layer * n_head;
    struct attn_source source = {.directory = NULL};
    const struct attn_node *row;
    struct attn_blob part;
    struct attn_json *json = NULL;
    struct attn_error failure = {0};
    char folder[ATTN_PATH_SIZE];
    enum attn_status status;

    *types = NULL;
    if (n == 0 || model->encoder || model->adapter)
        return ATTN_OK;
    if (!find_part(model, folder, &source)) {
        if (!given)
            return ATTN_OK;
        part = (struct attn_blob){PART, given->data, given->size};
        source = (struct attn_source){.blobs = &part, .n_blob = 1};
    }
    status = attn_json_read_part(&source, PART, names, &json, &failure);
    if (status == ATTN_NO_MEMORY)
        return attn_error_copy(err, &failure);
    if (status != ATTN_OK)
        return ATTN_OK;
    *types = attn_alloc(1, sizeof **types + n * sizeof *(*types)->items, err);
    if (*types) {
        (*types)->n_head = n_head;
        (*types)->n = n;
        row = attn_node_find(attn_json_root(json), "rows");
        for (row = row ? attn_node_first(row) : NULL; row; row = attn_node_next(row))
            take_row(*types, row);
    }
    attn_json_free(json);
    return *types ? ATTN_OK : ATTN_NO_MEMORY;
}

void attn_head_types_free(struct attn_head_types *types)
{
    attn_free(types);
}

const struct attn_head_type *attn_head_types_find(const struct attn_head_types *types,
                                                  const struct attn_location *at)
{
    const size_t i = (size_t)at->layer * (types ? types->n_head : 0) + (size_t)at->head;

    return types && at->stack == ATTN_STACK_ONLY && at->head >= 0 && i < types->n &&
                   types->items[i].kind
               ? &types->items[i]
               : NULL;
}
