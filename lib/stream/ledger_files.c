/* ledger_files.c - the journal and the manifest: see ledger_internal.h. */
#include "stream/ledger_internal.h"

#include "base/escape.h"
#include "base/file.h"
#include "base/number.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "formats/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- The journal ------------------------------------------------------------------------------ */

/* Writes TEXT to the journal, and releases it. */
static enum attn_status write_all(const struct attn_ledger *ledger, struct attn_buffer *text,
                                  struct attn_error *err)
{
    enum attn_status status = attn_buffer_check(text, err);

    for (size_t at = 0; status == ATTN_OK && at < text->size;) {
        const ssize_t n = write(ledger->journal, text->data + at, text->size - at);

        if (n < 0 && errno != EINTR)
            status = attn_error_errno(err, "write", ledger->journal_path.data, errno);
        at += n > 0 ? (size_t)n : 0;
    }
    attn_buffer_release(text);
    return status;
}

static enum attn_status open_journal(struct attn_ledger *ledger, int flags, struct attn_error *err)
{
    const char *path = ledger->journal_path.data;

    ledger->journal = open(path, flags | O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0666);
    return ledger->journal < 0 ? attn_error_errno(err, "write", path, errno) : ATTN_OK;
}

/* If STATUS is a failure, closes the journal: it will be recreated, or not be resumed. Returns
 * STATUS. */
static enum attn_status close_failed(enum attn_status status, struct attn_ledger *ledger)
{
    if (status != ATTN_OK && ledger->journal >= 0) {
        close(ledger->journal);
        ledger->journal = -1;
    }
    return status;
}

enum attn_status attn_ledger_journal_append(struct attn_ledger *ledger, struct attn_error *err)
{
    const bool is_first = ledger->journal < 0;
    const char *path = ledger->journal_path.data;
    struct attn_buffer text = {0};

    if (is_first)
        ATTN_TRY(open_journal(ledger, O_CREAT | O_TRUNC, err));
    attn_ledger_text_append(ledger, is_first ? ATTN_LEDGER_FIRST : ATTN_LEDGER_LINE, NULL, &text);
    if (is_first)
        ATTN_TRY(close_failed(write_all(ledger, &text, err), ledger));
    else
        ATTN_TRY(write_all(ledger, &text, err));
    if (!ledger->options->is_synced)
        return ATTN_OK;
    if (fdatasync(ledger->journal) != 0)
        return attn_error_errno(err, "write", path, errno);
    return is_first ? attn_sink_sync_name(path, err) : ATTN_OK;
}

/* Returns the size of the line at AT in the journal FILE; 0 if it is incomplete. */
static size_t line_size(const struct attn_file *file, size_t at)
{
    const unsigned char *begin = file->data + at;
    const unsigned char *end = at < file->size ? memchr(begin, '\n', file->size - at) : NULL;

    return end ? (size_t)(end - begin) + 1 : 0;
}

/* Sets ledger->done to the last checkpoint in FILE that the parts contain, and *END to where it
 * ends in FILE; 0: there is none. */
static enum attn_status find_last(struct attn_ledger *ledger, const struct attn_file *file,
                                  size_t *end, struct attn_error *err)
{
    static const char former[] = "attn-cli\t"; /* begins the journals of earlier versions */
    const char *text = (const char *)file->data, *other = NULL;
    enum attn_ledger_form form = ATTN_LEDGER_FIRST;
    size_t begin = 0, n;
    bool is_held = true;

    if (file->size >= sizeof former - 1 && memcmp(text, former, sizeof former - 1) == 0)
        other = "another version of attn-cli";
    for (*end = 0; !other && is_held && (n = line_size(file, *end)) > 0;) {
        const enum attn_status status =
            attn_ledger_text_read(ledger, form, text + *end, n, &other, err);

        if (status == ATTN_FORMAT || (status == ATTN_OK && !other && ledger->done.n_record == 0))
            break;
        ATTN_TRY(status);
        if (!other)
            ATTN_TRY(attn_ledger_parts_hold(ledger->parts, ledger->extents, &is_held, err));
        if (is_held) {
            begin = *end;
            *end += n;
            form = ATTN_LEDGER_LINE;
        }
    }
    if (other)
        return attn_ledger_report_other(ledger->journal_path.data, other,
                                        "remove it, and `is_resumed` begins anew", err);
    if (*end == 0)
        return ATTN_OK;
    form = begin == 0 ? ATTN_LEDGER_FIRST : ATTN_LEDGER_LINE;
    return attn_ledger_text_read(ledger, form, text + begin, *end - begin, &other, err);
}

enum attn_status attn_ledger_journal_resume(struct attn_ledger *ledger, struct attn_error *err)
{
    const char *path = ledger->journal_path.data;
    struct attn_file file;
    enum attn_status status;
    size_t end = 0;

    if (access(path, F_OK) != 0)
        return ATTN_OK;
    ATTN_TRY(attn_file_open_regular(path, ATTN_READ, &file, err));
    status = find_last(ledger, &file, &end, err);
    attn_file_release(&file);
    ATTN_TRY(status);
    if (end == 0)
        return ATTN_OK;
    ATTN_TRY(open_journal(ledger, 0, err));
    return ftruncate(ledger->journal, (off_t)end) == 0
               ? ATTN_OK
               : close_failed(attn_error_errno(err, "write", path, errno), ledger);
}

/* --- The manifest ----------------------------------------------------------------------------- */

enum attn_status attn_ledger_manifest_write(struct attn_ledger *ledger,
                                            const struct attn_host *host, struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_sink *sink = NULL;
    enum attn_status status;

    attn_ledger_text_append(ledger, ATTN_LEDGER_MANIFEST, host, &text);
    status = attn_buffer_check(&text, err);
    if (status == ATTN_OK)
        status = attn_sink_create_file(ledger->manifest_path.data, &sink, err);
    if (status == ATTN_OK) {
        if (ledger->options->is_synced)
            attn_sink_sync(sink);
        attn_sink_write(sink, text.data, text.size);
        status = attn_sink_commit(sink, err);
    }
    attn_sink_free(sink);
    attn_buffer_release(&text);
    return status;
}

bool attn_ledger_manifest_is_of(const char *path, const uint64_t *input_size)
{
    const struct attn_node *input, *bytes;
    struct attn_json *json = NULL;
    struct attn_file file;
    int64_t size = -1;
    bool is_same;

    if (attn_file_open_regular(path, ATTN_READ, &file, NULL) != ATTN_OK)
        return true;
    is_same = attn_json_parse(&file, &json, NULL) == ATTN_OK;
    input = is_same ? attn_node_find(attn_json_root(json), "input") : NULL;
    bytes = input ? attn_node_find(input, "bytes") : NULL;
    is_same = bytes && (input_size ? attn_node_int(bytes, &size) && (uint64_t)size == *input_size
                                   : attn_node_is_null(bytes));
    attn_json_free(json);
    attn_file_release(&file);
    return is_same;
}

/* Sets the error that the manifest was changed. */
static enum attn_status report_changed(const char *path, struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is not as it was written, expected it unchanged",
                   attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_ledger_manifest_read(struct attn_ledger *ledger, struct attn_error *err)
{
    const char *path = ledger->manifest_path.data, *other = NULL;
    struct attn_file file;
    enum attn_status status;

    if (attn_file_open_regular(path, ATTN_READ, &file, NULL) != ATTN_OK)
        return ATTN_OK;
    status = attn_ledger_text_read(ledger, ATTN_LEDGER_MANIFEST, (const char *)file.data, file.size,
                                   &other, err);
    attn_file_release(&file);
    if (other)
        return attn_ledger_report_other(path, other,
                                        "without `is_resumed` the results are replaced", err);
    ledger->is_whole = status == ATTN_OK;
    return status == ATTN_FORMAT ? report_changed(path, err) : status;
}

/* Sets the error that OUTPUT differs from the manifest PATH. WHAT describes the difference. */
static enum attn_status report_output(const char *output, const char *path, const char *what,
                                      struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' %s, expected the file recorded in '%s'",
                   attn_quote_string(output).text, what, attn_quote_string(path).text);
    attn_error_hint(err, "remove '%s' to compute all anew", attn_quote_string(path).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Compares the size of OUTPUT with EXTENT; with STOP, compares its digest instead. */
static enum attn_status compare_output(const char *output, const char *path,
                                       const struct attn_ledger_extent *extent,
                                       const struct attn_stop *stop, struct attn_error *err)
{
    char what[80], found[ATTN_QUANTITY_SIZE], expected[ATTN_QUANTITY_SIZE];
    char hex[ATTN_DIGEST_HEX_SIZE];
    struct stat info;
    uint64_t size;

    if (stop) {
        ATTN_TRY(
            attn_error_at(attn_digest_file(output, stop, &size, hex, err), ATTN_STAGE_OUTPUT, err));
        return strcmp(hex, extent->hex) == 0 ? ATTN_OK
                                             : report_output(output, path, "has other bytes", err);
    }
    if (stat(output, &info) != 0)
        return report_output(output, path, "cannot be found", err);
    if ((uint64_t)info.st_size == extent->size)
        return ATTN_OK;
    snprintf(what, sizeof what, "has %s bytes and not %s",
             attn_quantity_count((uint64_t)info.st_size, found),
             attn_quantity_count(extent->size, expected));
    return report_output(output, path, what, err);
}

enum attn_status attn_ledger_manifest_compare(const struct attn_ledger *ledger,
                                              struct attn_error *err)
{
    const struct attn_stop stop = {.cancel = ledger->cancel};
    struct attn_records_part part;

    for (int pass = 0; pass < 2; pass++) { /* first compares all sizes, then all bytes */
        const struct attn_ledger_extent *extent = ledger->extents;

        for (size_t i = 0; attn_records_part(ledger->records, i, &part); i++)
            if (part.target)
                ATTN_TRY(compare_output(part.target, ledger->manifest_path.data, extent++,
                                        pass == 0 ? NULL : &stop, err));
    }
    return ATTN_OK;
}

enum attn_status attn_ledger_report_other(const char *path, const char *what, const char *remedy,
                                          struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is of a run with %s, expected the same",
                   attn_quote_string(path).text, what);
    attn_error_hint(err, "%s", remedy);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}
