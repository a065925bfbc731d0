/* batch_model.c - see batch_model.h. */
#include "cmd/batch_model.h"

#include "cmd/batch_digest.h"

#include "tool.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WEIGHTS "model.safetensors"

/* One of the files. */
struct part {
    char *name; /* owns */
    char *path; /* owns; NULL: it is in memory */
};

struct batch_model {
    struct part *parts;         /* [digests.n] owns */
    struct batch_digest *items; /* [digests.n] owns: one for each part */
    struct batch_digests digests;
    size_t capacity;
    struct attn_buffer text; /* what they are */
};

/* Adds a part; PATH NULL: the BYTES [size]. */
static enum attn_status add(struct batch_model *files, const char *name, const char *path,
                            const struct attn_blob *blob, struct attn_error *err)
{
    struct batch_digests *digests = &files->digests;
    struct part part = {strdup(name), path ? strdup(path) : NULL};
    struct part *parts = realloc(files->parts, (digests->n + 1) * sizeof *parts);
    files->parts = parts ? parts : files->parts;
    struct batch_digest *items = realloc(files->items, (digests->n + 1) * sizeof *items);
    files->items = digests->items = items ? items : files->items;
    if (!parts || !items || !part.name || (path && !part.path)) {
        free(part.name);
        free(part.path);
        return attn_error_no_memory(err);
    }
    items[digests->n] = (struct batch_digest){
        .path = part.path,
        .end = BATCH_DIGEST_TO_END,
        .bytes = blob ? blob->data : NULL,
        .size = blob ? blob->size : 0,
    };
    parts[digests->n++] = part;
    return ATTN_OK;
}

/* The path that stands in for the part NAME, or NULL. */
static const char *find_override(const struct attn_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_override; i++)
        if (strcmp(source->overrides[i].name, name) == 0)
            return source->overrides[i].path;
    return NULL;
}

static const struct attn_blob *find_blob(const struct attn_source *source, const char *name)
{
    for (size_t i = 0; i < source->n_blob; i++)
        if (strcmp(source->blobs[i].name, name) == 0)
            return &source->blobs[i];
    return NULL;
}

/* Adds the part NAME where there is one. */
static enum attn_status add_part(struct batch_model *files, const struct attn_source *source,
                                 const char *name, struct attn_error *err)
{
    const char *path = find_override(source, name);
    const struct attn_blob *blob = path ? NULL : find_blob(source, name);
    char *made = NULL;
    enum attn_status status = ATTN_OK;
    if (!path && !blob && source->directory) {
        if (asprintf(&made, "%s/%s", source->directory, name) < 0)
            return attn_error_no_memory(err);
        path = access(made, R_OK) == 0 ? made : NULL;
    }
    if (path || blob)
        status = add(files, name, path, blob, err);
    free(made);
    return status;
}

static enum attn_status add_weights(struct batch_model *files, const struct attn_source *source,
                                    const struct attn_model *model, struct attn_error *err)
{
    const struct attn_safetensors *weights = attn_model_safetensors(model);
    const int n = attn_safetensors_n_shard(weights);
    enum attn_status status = ATTN_OK;
    if (find_blob(source, WEIGHTS) && !find_override(source, WEIGHTS))
        return add_part(files, source, WEIGHTS, err);
    for (int i = 0; i < n && status == ATTN_OK; i++) {
        const char *path = attn_safetensors_path(weights, i), *slash = strrchr(path, '/');
        status = add(files, n == 1 ? WEIGHTS : (slash ? slash + 1 : path), path, NULL, err);
    }
    return status;
}

enum attn_status batch_model_start(const struct attn_source *source, const struct attn_model *model,
                                   const volatile sig_atomic_t *cancel, struct batch_model **files,
                                   struct attn_error *err)
{
    static const char *const texts[] = {
#define PART_NAME(part, max) part,
        ATTN_TEXT_BOUND_MAP(PART_NAME)
#undef PART_NAME
    };
    struct batch_model *made = calloc(1, sizeof *made);
    enum attn_status status = ATTN_OK;
    if (!made)
        return attn_error_no_memory(err);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && status == ATTN_OK; i++)
        status = add_part(made, source, texts[i], err);
    if (status == ATTN_OK)
        status = add_weights(made, source, model, err);
    if (status != ATTN_OK) {
        batch_model_free(made);
        return status;
    }
    made->digests.cancel = cancel;
    batch_digests_start(&made->digests);
    *files = made;
    return ATTN_OK;
}

bool batch_model_is_ready(const struct batch_model *files)
{
    return files->digests.is_done;
}

enum attn_status batch_model_wait(struct batch_model *files, const char **text,
                                  struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    if (files->text.size == 0) {
        status = batch_digests_wait(&files->digests, err);
        attn_buffer_append_char(&files->text, '[');
        for (size_t i = 0; i < files->digests.n; i++) {
            const char *name = files->parts[i].name;
            attn_buffer_append_string(&files->text, i > 0 ? ",{\"name\":" : "{\"name\":");
            attn_json_append_string(&files->text, name, strlen(name));
            attn_buffer_append_format(&files->text, ",\"bytes\":%" PRIu64 ",\"sha256\":\"%s\"}",
                                      files->items[i].n_byte, files->items[i].hex);
        }
        attn_buffer_append_char(&files->text, ']');
    }
    *text = attn_buffer_string(&files->text);
    if (status == ATTN_OK)
        status = attn_buffer_check(&files->text, err);
    return attn_error_at(status, ATTN_STAGE_MODEL, err);
}

void batch_model_free(struct batch_model *files)
{
    if (!files)
        return;
    batch_digests_stop(&files->digests);
    for (size_t i = 0; i < files->digests.n; i++) {
        free(files->parts[i].name);
        free(files->parts[i].path);
    }
    free(files->parts);
    free(files->items);
    attn_buffer_release(&files->text);
    free(files);
}
