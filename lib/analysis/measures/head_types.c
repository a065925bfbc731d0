#include "measures/head_types.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/sink_internal.h"
#include "base/text/path.h"
#include "base/version.h"
#include "formats/json.h"
#include "model/model_internal.h"
#include "tables/table_writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PART "heads.json"

/* Sets SOURCE to the place of the part that is built in or lies beside the weights of MODEL; FOLDER
 * has room for its path. Returns false if MODEL has no such part. */
static bool find_own(const struct attn_model *model, char folder[ATTN_PATH_SIZE],
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

/* Writes the path of the folder that keeps the types of MODEL to FOLDER. Returns false if none may,
 * or if a file of weights cannot be found. */
static bool find_kept(const struct attn_model *model, char folder[ATTN_PATH_SIZE])
{
    const struct attn_tensor_files *files = model->st;
    uint64_t key = attn_hash_bytes(model->compute, ATTN_VERSION, strlen(ATTN_VERSION));

    if (!model->types || model->encoder || model->adapter)
        return false;
    for (int i = 0; i < attn_tensor_files_n_shard(files); i++) {
        struct attn_os_info info;

        if (attn_os_stat(attn_tensor_files_path(files, i), &info) != 0)
            return false;
        key = attn_hash_mix(attn_hash_mix(key ^ (uint64_t)info.size) ^ (uint64_t)info.changed);
    }
    for (size_t i = 0; i < attn_tensor_files_count(files); i++) {
        const struct attn_tensor_entry entry = attn_tensor_files_entry(files, i);
        const size_t n_shape = (size_t)entry.tensor.rank * sizeof *entry.tensor.shape;

        key = attn_hash_bytes(key, entry.name, entry.name_size);
        key = attn_hash_bytes(key, (const char *)entry.tensor.shape, n_shape);
    }
    return snprintf(folder, ATTN_PATH_SIZE, "%s/%016llx", model->types, (unsigned long long)key) <
           ATTN_PATH_SIZE;
}

/* Whether the types of MODEL are kept, in FOLDER, by a file that is no link. */
static bool has_kept(const struct attn_model *model, char folder[ATTN_PATH_SIZE])
{
    char path[ATTN_PATH_SIZE];
    struct attn_os_info info;

    return find_kept(model, folder) && attn_path_join(folder, PART, path) &&
           attn_os_stat_link(path, &info) == 0 && info.kind == ATTN_OS_FILE;
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
    if (!find_own(model, folder, &source))
        source = given ? (struct attn_source){.blobs = &part, .n_blob = 1}
                       : (struct attn_source){.directory = has_kept(model, folder) ? folder : NULL};
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

void attn_head_types_keep(const struct attn_model *model, const struct attn_table *heads)
{
    struct attn_source source = {.directory = NULL};
    struct attn_error failure = {0};
    struct attn_sink *sink;
    char folder[ATTN_PATH_SIZE], path[ATTN_PATH_SIZE];

    if (find_own(model, folder, &source) || !find_kept(model, folder) ||
        !attn_path_join(folder, PART, path))
        return;
    for (char *at = path; (at = strchr(at + 1, '/'));) {
        *at = '\0';
        attn_os_make_folder(path);
        *at = '/';
    }
    if (attn_sink_create_file_in(folder, PART, &sink, &failure) != ATTN_OK)
        return;
    if (attn_table_write(heads, ATTN_TABLE_JSON, -1, sink, &failure) == ATTN_OK)
        attn_sink_commit(sink, &failure);
    attn_sink_free(sink);
}
