/* model_files.c - see model_files.h. */
#include "records/model_files.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "formats/safetensors.h"
#include "model/model_internal.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define WEIGHTS "model.safetensors"

struct model_file {
    char *name;                   /* owns */
    char *path;                   /* owns; NULL: it is in memory */
    const struct attn_blob *blob; /* of one in memory; borrowed */
    uint64_t n_byte;
    char hex[ATTN_DIGEST_HEX_SIZE]; /* of these, once all are read */
};

struct attn_model_files {
    struct model_file *items; /* [n] owns */
    size_t n, capacity;
    const volatile sig_atomic_t *cancel;
    atomic_bool is_unwanted; /* end early */
    atomic_bool is_done;     /* all were looked at */
    struct attn_thread thread;
    bool has_thread;
    struct attn_error err;   /* why it failed */
    struct attn_buffer text; /* what they are */
};

/* --- Which they are -------------------------------------------------------------------------- */

/* Adds a file; PATH NULL: the bytes of BLOB. */
static enum attn_status add(struct attn_model_files *files, const char *name, const char *path,
                            const struct attn_blob *blob, struct attn_error *err)
{
    struct model_file *file;

    ATTN_TRY(attn_grow(&files->items, &files->capacity, files->n + 1, sizeof *files->items, err));
    file = &files->items[files->n++];
    *file = (struct model_file){.name = attn_strndup(name, strlen(name), err), .blob = blob};
    if (path)
        file->path = attn_strndup(path, strlen(path), err);
    return file->name && (!path || file->path) ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Adds the part NAME where there is one. */
static enum attn_status add_part(struct attn_model_files *files, const struct attn_source *source,
                                 const char *name, struct attn_error *err)
{
    const char *path = attn_source_override(source, name);
    const struct attn_blob *blob = path ? NULL : attn_source_blob(source, name);
    struct attn_buffer joined = {0};
    enum attn_status status = ATTN_OK;

    if (!path && !blob && source->directory) {
        attn_buffer_append_format(&joined, "%s/%s", source->directory, name);
        path = attn_buffer_string(&joined);
        status = attn_buffer_check(&joined, err);
        if (path && access(path, R_OK) != 0)
            path = NULL;
    }
    if (status == ATTN_OK && (path || blob))
        status = add(files, name, path, blob, err);
    attn_buffer_release(&joined);
    return status;
}

static enum attn_status add_all(struct attn_model_files *files, const struct attn_source *source,
                                const struct attn_model *model, struct attn_error *err)
{
    static const char *const texts[] = {
#define PART_NAME(part, max) part,
        ATTN_TEXT_BOUND_MAP(PART_NAME)
#undef PART_NAME
    };
    const struct attn_safetensors *weights = attn_model_safetensors(model);
    const int n = attn_safetensors_n_shard(weights);

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ATTN_TRY(add_part(files, source, texts[i], err));
    if (attn_source_blob(source, WEIGHTS) && !attn_source_override(source, WEIGHTS))
        return add_part(files, source, WEIGHTS, err);
    for (int i = 0; i < n; i++) {
        const char *path = attn_safetensors_path(weights, i), *slash = strrchr(path, '/');

        ATTN_TRY(add(files, n == 1 ? WEIGHTS : (slash ? slash + 1 : path), path, NULL, err));
    }
    return ATTN_OK;
}

/* --- Reading them ---------------------------------------------------------------------------- */

static void *read_all(void *user)
{
    struct attn_model_files *files = user;
    const struct attn_stop stop = {files->cancel, &files->is_unwanted};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < files->n && status != ATTN_CANCELED; i++) {
        struct model_file *file = &files->items[i];

        if (file->path) {
            status = attn_digest_file(file->path, &stop, &file->n_byte, file->hex, &files->err);
        } else {
            file->n_byte = file->blob->size;
            attn_digest_bytes(file->blob->data, file->blob->size, file->hex);
        }
    }
    files->is_done = status != ATTN_CANCELED;
    return NULL;
}

enum attn_status attn_model_files_start(const struct attn_source *source,
                                        const struct attn_model *model,
                                        const volatile sig_atomic_t *cancel,
                                        struct attn_model_files **files, struct attn_error *err)
{
    struct attn_model_files *made = attn_alloc(1, sizeof *made, err);

    if (!made)
        return ATTN_NO_MEMORY;
    made->cancel = cancel;
    if (add_all(made, source, model, err) != ATTN_OK) {
        attn_model_files_free(made);
        return ATTN_NO_MEMORY; /* nothing else can fail */
    }
    made->has_thread = attn_thread_start(read_all, made, &made->thread);
    if (!made->has_thread)
        read_all(made);
    *files = made;
    return ATTN_OK;
}

bool attn_model_files_are_ready(const struct attn_model_files *files)
{
    return files->is_done;
}

static void join(struct attn_model_files *files)
{
    if (files->has_thread)
        attn_thread_join(&files->thread);
    files->has_thread = false;
}

enum attn_status attn_model_files_wait(struct attn_model_files *files, const char **text,
                                       struct attn_error *err)
{
    struct attn_buffer *out = &files->text;

    join(files);
    if (!files->is_done)
        return attn_error_at(attn_report_stopped(err), ATTN_STAGE_MODEL, err);
    if (files->err.status != ATTN_OK)
        return attn_error_at(attn_error_copy(err, &files->err), ATTN_STAGE_MODEL, err);
    if (out->size == 0) {
        attn_buffer_append_char(out, '[');
        for (size_t i = 0; i < files->n; i++) {
            const struct model_file *file = &files->items[i];

            attn_buffer_append_string(out, i > 0 ? ",{\"name\":" : "{\"name\":");
            attn_json_append_string(out, file->name, strlen(file->name));
            attn_buffer_append_format(out, ",\"bytes\":%" PRIu64 ",\"sha256\":\"%s\"}",
                                      file->n_byte, file->hex);
        }
        attn_buffer_append_char(out, ']');
    }
    *text = attn_buffer_string(out);
    return attn_error_at(attn_buffer_check(out, err), ATTN_STAGE_MODEL, err);
}

void attn_model_files_free(struct attn_model_files *files)
{
    if (!files)
        return;
    files->is_unwanted = true;
    join(files);
    for (size_t i = 0; i < files->n; i++) {
        attn_free(files->items[i].name);
        attn_free(files->items[i].path);
    }
    attn_free(files->items);
    attn_buffer_release(&files->text);
    attn_free(files);
}
