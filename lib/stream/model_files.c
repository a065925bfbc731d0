/* model_files.c - see model_files.h. */
#include "stream/model_files.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/thread.h"
#include "catalog/model_parts.h"

#include <inttypes.h>
#include <string.h>

/* Size of a file of the model, and its digest once it was read. */
struct model_file {
    uint64_t n_byte;
    char hex[ATTN_DIGEST_HEX_SIZE];
};

struct attn_model_files {
    struct attn_model_parts parts;
    struct model_file *items; /* [parts.n] owns */
    const volatile sig_atomic_t *cancel;
    atomic_bool is_unwanted; /* set to end early */
    atomic_bool is_done;     /* all files were read */
    struct attn_thread thread;
    bool has_thread;
    struct attn_error err;   /* set if reading failed */
    struct attn_buffer text; /* the result as JSON */
};

static void *read_all(void *user)
{
    struct attn_model_files *files = user;
    const struct attn_stop stop = {files->cancel, &files->is_unwanted};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; i < files->parts.n && status != ATTN_CANCELED; i++) {
        const struct attn_model_part *part = &files->parts.items[i];
        struct model_file *file = &files->items[i];

        if (part->path) {
            status = attn_digest_file(part->path, &stop, &file->n_byte, file->hex, &files->err);
        } else {
            file->n_byte = part->blob->size;
            attn_digest_bytes(part->blob->data, part->blob->size, file->hex);
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
    struct attn_model_files *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->cancel = cancel;
    if (attn_model_parts_find(source, model, &made->parts, err) == ATTN_OK)
        made->items = attn_alloc(made->parts.n, sizeof *made->items, err);
    if (!made->items) {
        attn_model_files_free(made);
        return ATTN_NO_MEMORY; /* no other failure can happen here */
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
        for (size_t i = 0; i < files->parts.n; i++) {
            const struct model_file *file = &files->items[i];
            const char *name = files->parts.items[i].name;

            attn_buffer_append_string(out, i > 0 ? ",{\"name\":" : "{\"name\":");
            attn_json_append_string(out, name, strlen(name));
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
    attn_model_parts_release(&files->parts);
    attn_free(files->items);
    attn_buffer_release(&files->text);
    attn_free(files);
}
