/* each_file.c - see each_file.h. earlier_rows.c reads the rows of an earlier run. */
#include "stream/each_file.h"

#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "base/text/number.h"
#include "base/text/path.h"
#include "run/host_internal.h"
#include "stream/earlier_rows.h"
#include "stream/items_internal.h"
#include "tensors/format_internal.h"

#include <string.h>

/* --- Names ------------------------------------------------------------------------------------ */

/* Returns true if PATH is a pipe or a device. */
static bool is_stream(const char *path)
{
    const enum attn_os_kind kind = attn_os_kind(path);

    return strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/dev/fd/", 8) == 0 ||
           kind > ATTN_OS_FOLDER;
}

void attn_each_path_append(struct attn_buffer *out, const char *path, size_t shard, size_t n_shard)
{
    size_t n;
    const char *last = attn_path_last(path, &n), *end = last + n, *dot = end;

    for (const char *at = end; at > last + 1 && dot == end;)
        if (*--at == '.')
            dot = at;
    if (n_shard == 0 || is_stream(path)) /* drops the / at the end of a folder */
        attn_buffer_append(out, path, (size_t)(end - path));
    else
        attn_buffer_append_format(out, "%.*s-%05zu-of-%05zu%.*s", (int)(dot - path), path, shard,
                                  n_shard, (int)(end - dot), dot);
}

/* Makes the error about PATH, WHAT, one of the option of the file. */
static enum attn_status refuse(const struct attn_each_file *file, const char *path,
                               const char *what, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' %s", attn_quote_string(path).text, what);
    attn_error_of(ATTN_INVALID, file->field, err);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_each_file_name(struct attn_each_file *file, const struct attn_items *items,
                                     struct attn_error *err)
{
    const char *path = file->options->path;
    size_t shard, n_shard;

    attn_items_shard(items, &shard, &n_shard);
    if (path) {
        attn_each_path_append(&file->path, path, shard, n_shard);
        if (!attn_buffer_string(&file->path))
            return attn_error_no_memory(err);
        file->is_file = !is_stream(file->path.data);
        if (attn_items_are_of_path(items, file->path.data))
            return refuse(file, file->path.data,
                          "is the input, expected another file for the output", err);
    }
    if (file->options->is_resumed && !file->is_file)
        return refuse(file, path ? path : "the sink",
                      "is a pipe or a device, and `is_resumed` goes on with a file", err);
    if (file->options->is_resumed && file->options->form == ATTN_EACH_MATRICES) {
        refuse(file, path, "is an archive, and `is_resumed` goes on with rows", err);
        attn_error_hint(err, "shards divide a long run");
        return ATTN_INVALID;
    }
    return ATTN_OK;
}

/* --- Opening, and resuming -------------------------------------------------------------------- */

enum attn_status attn_each_file_open(struct attn_each_file *file, const char *format,
                                     const struct attn_records_form *form, struct attn_host *host,
                                     struct attn_error *err)
{
    const struct attn_format named = {.name = file->field};
    const struct attn_output output = {.format = &named, .path = file->path.data};
    const struct attn_records_item item = {format, file->path.data, file->options->sink};

    if (output.path)
        ATTN_TRY(attn_host_check_outputs(host, &output, 1, err));
    return attn_records_open(&item, 1, form, file->options->is_resumed, &file->records, err);
}

/* Finds what an earlier run left: sets *PATH to FILE.part or to the complete FILE, NULL if there is
 * nothing. */
static void find_earlier(struct attn_each_file *file, const char **path)
{
    struct attn_records_part part = {0};

    attn_records_part(file->records, 0, &part);
    file->n_before = part.size;
    file->is_complete = part.size == 0 && attn_os_exists(file->path.data);
    *path = file->is_complete ? file->path.data : part.size > 0 ? part.path : NULL;
}

/* Who gets the items of an earlier run. */
struct taker {
    struct attn_items *items;
    attn_earlier_fn take;
    void *user;
    struct attn_each_result *result;
};

/* Passes on the items whose rows are whole. */
static enum attn_status take_earlier(struct attn_each_file *file, struct attn_earlier *earlier,
                                     const struct taker *taker, struct attn_error *err)
{
    struct attn_item_result found;
    bool is_over;

    for (;;) {
        enum attn_status status = attn_earlier_next(earlier, taker->items, &found, &is_over, err);

        if (status == ATTN_OK && !is_over)
            status = taker->take(taker->user, &found, err);
        if (status == ATTN_OK && !is_over) {
            taker->result->n_failed += found.failure != ATTN_RECORD_FAILURE_NONE;
            file->n_item++;
        }
        attn_earlier_release(earlier);
        if (status != ATTN_OK || is_over)
            return status;
    }
}

/* Continues the file at PATH. */
static enum attn_status go_on(struct attn_each_file *file, const char *path,
                              const struct taker *taker, struct attn_error *err)
{
    struct attn_earlier *earlier;
    enum attn_status status;

    ATTN_TRY(attn_earlier_open(path, file->records, &earlier, err));
    status = take_earlier(file, earlier, taker, err);
    if (status == ATTN_OK)
        status = attn_records_expect(file->records, path, attn_earlier_end(earlier),
                                     file->is_complete, err);
    attn_earlier_free(earlier);
    return status;
}

enum attn_status attn_each_file_resume(struct attn_each_file *file, struct attn_items *items,
                                       attn_earlier_fn take, void *user,
                                       struct attn_each_result *result, struct attn_error *err)
{
    char count[ATTN_QUANTITY_SIZE];
    const char *path;

    if (!file->options->is_resumed)
        return ATTN_OK;
    find_earlier(file, &path);
    if (path)
        ATTN_TRY(attn_error_at(go_on(file, path, &(struct taker){items, take, user, result}, err),
                               ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_records_begin(file->records, (size_t)file->n_item, err));
    result->n_item = result->n_before = file->n_item;
    if (file->is_complete)
        attn_note(file->on_note, file->user, ATTN_NOTE_COMPLETE, "'%s' is complete",
                  attn_quote_string(path).text);
    else if (path)
        attn_note(file->on_note, file->user, ATTN_NOTE_CONTINUED, "'%s' continues at item %s",
                  attn_quote_string(file->path.data).text,
                  attn_quantity_count(file->n_item, count));
    return ATTN_OK;
}

/* --- Writing, and the end --------------------------------------------------------------------- */

enum attn_status attn_each_file_write(struct attn_each_file *file,
                                      const struct attn_item_result *result, struct attn_error *err)
{
    ATTN_TRY(attn_records_write(file->records, result, err));
    file->n_item++;
    return result->is_followed ? ATTN_OK : attn_records_flush(file->records, err);
}

enum attn_status attn_each_file_finish(struct attn_each_file *file, struct attn_error *err)
{
    ATTN_TRY(attn_records_finish(file->records, err));
    if (!file->is_complete)
        return attn_records_commit(file->records, err);
    attn_records_discard(file->records);
    file->records = NULL;
    return ATTN_OK;
}

bool attn_each_file_keep(struct attn_each_file *file, bool is_wrong)
{
    struct attn_records_part part = {0};

    if (!file->records || attn_records_is_abandoned(file->records))
        return false;
    if (!is_wrong)
        attn_records_flush(file->records, NULL);
    else if (file->n_before > 0)
        attn_records_cut(file->records, file->n_before, NULL);
    attn_records_part(file->records, 0, &part);
    if (file->is_file && file->has_rows_alone && (is_wrong ? file->n_before : part.size) > 0)
        return true;
    for (size_t i = 0; attn_records_part(file->records, i, &part); i++)
        attn_os_remove(part.path);
    return false;
}

void attn_each_file_release(struct attn_each_file *file)
{
    attn_records_free(file->records);
    attn_buffer_release(&file->path);
}
