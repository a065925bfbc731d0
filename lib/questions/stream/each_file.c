/* each_file.c - see each_file.h. earlier_rows.c reads the rows of an earlier run. */
#include "stream/each_file.h"

#include "base/hash.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "base/text/path.h"
#include "base/version.h"
#include "run/host_internal.h"
#include "stream/earlier_rows.h"
#include "stream/items_internal.h"
#include "tensors/format_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
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
    attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' %s", attn_quote_string(path).text, what);
    return attn_error_of(ATTN_INVALID, file->field, err);
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
    if (file->options->is_resumed && !file->has_rows_alone) {
        refuse(file, path, "is an archive or one document, and `is_resumed` goes on with lines",
               err);
        return attn_error_hint(err, "shards divide a long run");
    }
    return ATTN_OK;
}

/* --- The key ---------------------------------------------------------------------------------- */

enum { KEY_SIZE = 255 }; /* bytes of the line */

/* Opens or creates FILE.part.key. */
static enum attn_status open_key(struct attn_each_file *file, struct attn_error *err)
{
    const unsigned how = ATTN_OS_READ_WRITE | ATTN_OS_NO_LINK;
    const char *path, *option = file->options->key ? file->options->key : "";

    file->own.options = attn_hash_bytes(0, ATTN_VERSION, strlen(ATTN_VERSION));
    for (size_t n; *option; option += n + (option[n] == '\n')) {
        n = strcspn(option, "\n");
        file->own.options += attn_hash_bytes(0, option, n);
    }
    if (!file->is_file || !file->has_rows_alone)
        return ATTN_OK;
    attn_buffer_append_format(&file->key_path, "%s.part.key", file->path.data);
    path = attn_buffer_string(&file->key_path);
    if (!path)
        return attn_error_no_memory(err);
    file->key_file = attn_os_open(path, how, 0);
    if (file->key_file < 0)
        file->key_file = attn_os_open(path, how | ATTN_OS_NEW, 0666);
    return file->key_file < 0 ? attn_error_errno(err, "write", path, errno) : ATTN_OK;
}

/* Reads the line. Returns false if it is missing; then none is written. */
static bool read_key(struct attn_each_file *file)
{
    struct attn_each_key *key = &file->key;
    char line[KEY_SIZE + 1] = "";

    if (file->key_path.data && attn_os_read_at(file->key_file, line, KEY_SIZE, 0) == KEY_SIZE &&
        sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %191[^\n]", &key->options, &key->n_read,
               &key->items, file->state) >= 3)
        return true;
    key->n_read = UINT64_MAX;
    return false;
}

static void close_key(struct attn_each_file *file, bool is_removed)
{
    if (file->key_path.data && file->key_file >= 0)
        attn_os_close(file->key_file);
    if (file->key_path.data && is_removed)
        attn_os_remove(file->key_path.data);
    attn_buffer_release(&file->key_path);
}

static void read_item(struct attn_each_file *file, const struct attn_item *item)
{
    file->own.n_read = item ? (uint64_t)item->number + 1 : UINT64_MAX;
    file->own.items = item ? item->seal : 0;
}

/* Writes that the rows of ITEM may follow, unless the earlier run did. */
static enum attn_status write_key(struct attn_each_file *file, const struct attn_item *item,
                                  struct attn_error *err)
{
    char line[KEY_SIZE + 1];

    read_item(file, item);
    snprintf(line, sizeof line, "%016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %-203s\n",
             file->own.options, file->own.n_read, file->own.items, file->state);
    return !file->key_path.data || file->own.n_read <= file->key.n_read ||
                   attn_os_write_at(file->key_file, line, KEY_SIZE, 0) == KEY_SIZE
               ? ATTN_OK
               : attn_error_errno(err, "write", file->key_path.data, errno);
}

/* Returns an error if the key is of other options, another version, or of other ITEMS. */
static enum attn_status check_key(struct attn_each_file *file, struct attn_items *items,
                                  struct attn_error *err)
{
    const bool has_options = file->key.options == file->own.options;
    const char *what = has_options ? "items" : "options or version";
    struct attn_item *next;

    for (size_t i = 0; has_options && file->own.n_read < file->key.n_read; i++) {
        ATTN_TRY(attn_items_peek(items, i, &next, err));
        read_item(file, next);
    }
    if (has_options && file->own.n_read == file->key.n_read && file->own.items == file->key.items)
        return ATTN_OK;
    file->is_other = true;
    if (err)
        *err = (struct attn_error){0};
    attn_refuse(err, ATTN_STAGE_INPUT, "'%s' has rows of other %s, expected those of this run",
                attn_quote_string(file->path.data).text, what);
    return attn_error_hint(err, "remove '%s.part' to begin anew, or give the former %s to go on",
                           file->path.data, what);
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
    ATTN_TRY(attn_records_open(&item, form, file->options->is_resumed, &file->records, err));
    return attn_error_at(open_key(file, err), ATTN_STAGE_OUTPUT, err);
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
            read_item(file, found.item);
            taker->result->n_failed += found.failure != ATTN_REASON_NONE;
            file->n_item++;
        }
        attn_earlier_release(earlier);
        if (status != ATTN_OK || is_over)
            return status;
    }
}

/* Continues the file at PATH: with a line of the key, or complete, after its rows; else all rows
 * are computed again and compared. */
static enum attn_status go_on(struct attn_each_file *file, const char *path,
                              const struct taker *taker, struct attn_error *err)
{
    struct attn_earlier *earlier;
    enum attn_status status;
    const bool has_key = read_key(file);

    if (!has_key && !file->is_complete)
        return attn_records_expect(file->records, path, 0, false, err);
    ATTN_TRY(attn_earlier_open(path, file->records, &earlier, err));
    status = take_earlier(file, earlier, taker, err);
    if (has_key && (status == ATTN_OK || status == ATTN_INVALID)) {
        const enum attn_status checked = check_key(file, taker->items, err);

        status = checked == ATTN_OK ? status : checked;
    }
    ATTN_THEN(status, attn_records_expect(file->records, path, attn_earlier_end(earlier),
                                          file->is_complete, err));
    attn_earlier_free(earlier);
    return status;
}

enum attn_status attn_each_file_resume(struct attn_each_file *file, struct attn_items *items,
                                       attn_earlier_fn take, void *user,
                                       struct attn_each_result *result, struct attn_error *err)
{
    char count[ATTN_QUANTITY_SIZE];
    struct attn_records_part part = {0};
    const char *path; /* what an earlier run left: FILE.part, or the complete FILE */

    if (!file->options->is_resumed)
        return ATTN_OK;
    attn_records_part(file->records, 0, &part);
    file->n_before = part.size;
    file->is_complete = part.size == 0 && attn_os_exists(file->path.data);
    path = file->is_complete ? file->path.data : part.size > 0 ? part.path : NULL;
    if (path)
        ATTN_TRY(attn_error_at(go_on(file, path, &(struct taker){items, take, user, result}, err),
                               ATTN_STAGE_OPTIONS, err));
    ATTN_TRY(attn_records_begin(file->records, err));
    result->n_item = result->n_before = file->n_item;
    if (file->is_complete)
        attn_note(file->on_note, file->user, ATTN_NOTE_COMPLETE,
                  "'%s' is complete, and its last rows are those of this run",
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
    ATTN_TRY(write_key(file, result->item, err));
    ATTN_TRY(attn_records_write(file->records, result, err));
    file->n_item++;
    return result->is_followed ? ATTN_OK : attn_records_flush(file->records, err);
}

enum attn_status attn_each_file_finish(struct attn_each_file *file, struct attn_error *err)
{
    ATTN_TRY(attn_records_finish(file->records, err));
    if (!file->is_complete)
        ATTN_TRY(attn_records_commit(file->records, err));
    close_key(file, true);
    if (!file->is_complete)
        return ATTN_OK;
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
    close_key(file, true);
    return false;
}

void attn_each_file_release(struct attn_each_file *file)
{
    close_key(file, false);
    attn_records_free(file->records);
    attn_buffer_release(&file->path);
}
