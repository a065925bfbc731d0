/* ledger_journal.c - the journal: see ledger_internal.h. The file is a table: four lines with the
 * identity of the results, a line with column names, then lines of integers and digests, separated
 * by tabs, with the state of the sinks at the end. The last column of each line is the CRC-32 of
 * the text before it, so an incomplete line is ignored. */
#include "stream/ledger_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "base/version.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* The first columns of a checkpoint; those of failures, digests and sizes follow. X(name, field) */
#define CHECKPOINT_MAP(X)                                                                          \
    X("records", n_record)                                                                         \
    X("line", begin)                                                                               \
    X("end", end)                                                                                  \
    X("crc", crc)                                                                                  \
    X("tokens", n_token)                                                                           \
    X("milliseconds", milliseconds)                                                                \
    X("restarts", n_restart)                                                                       \
    X("before", n_line_before)

/* Appends the CRC to the line that begins at BEGIN in TEXT. */
static void end_line(struct attn_buffer *text, size_t begin)
{
    uLong crc;

    if (text->has_failed)
        return;
    crc = crc32(0, (const Bytef *)text->data + begin, (uInt)(text->size - begin));
    attn_buffer_append_format(text, "\t%08lx\n", crc);
}

/* Appends the lines with the identity of the results, and the names of the columns. */
static void append_facts(struct attn_buffer *text, const struct attn_ledger *ledger)
{
    const char *const facts[][2] = {{"attn-cli", ATTN_VERSION},
                                    {"model", ledger->identity.model},
                                    {"options", ledger->identity.options},
                                    {"input", ledger->identity.input}};
    size_t begin;

    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        begin = text->size;
        attn_buffer_append_string(text, facts[i][0]);
        attn_buffer_append_char(text, '\t');
        attn_buffer_append_string(text, facts[i][1]);
        end_line(text, begin);
    }
    begin = text->size;
#define NAME(name, field) attn_buffer_append_string(text, name "\t");
    CHECKPOINT_MAP(NAME)
#undef NAME
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        attn_buffer_append_format(text, "%s\t", attn_record_failure_code(i));
    attn_buffer_append_format(text, "input\tsizes and digests of %zu files\tstate", ledger->n_file);
    end_line(text, begin);
}

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

enum attn_status attn_ledger_journal_create(struct attn_ledger *ledger, struct attn_error *err)
{
    struct attn_buffer text = {0};

    ATTN_TRY(open_journal(ledger, O_CREAT | O_TRUNC, err));
    append_facts(&text, ledger);
    return close_failed(write_all(ledger, &text, err), ledger);
}

enum attn_status attn_ledger_journal_append(const struct attn_ledger *ledger,
                                            struct attn_error *err)
{
    const struct attn_ledger_done *done = &ledger->done;
    struct attn_buffer text = {0};
    const char *between = "";

#define VALUE(name, field)                                                                         \
    attn_buffer_append_format(&text, "%s%" PRIu64, between, (uint64_t)done->field);                \
    between = "\t";
    CHECKPOINT_MAP(VALUE)
#undef VALUE
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        attn_buffer_append_format(&text, "\t%" PRIu64, done->failures[i]);
    attn_buffer_append_format(&text, "\t%s", done->input);
    for (size_t i = 0; i < ledger->n_file; i++)
        attn_buffer_append_format(&text, "\t%" PRIu64 "\t%s", ledger->extents[i].size,
                                  ledger->extents[i].hex);
    attn_buffer_append_char(&text, '\t');
    attn_buffer_append(&text, ledger->state.data, ledger->state.size);
    end_line(&text, 0);
    ATTN_TRY(write_all(ledger, &text, err));
    return ledger->options->is_synced && fdatasync(ledger->journal) != 0
               ? attn_error_errno(err, "write", ledger->journal_path.data, errno)
               : ATTN_OK;
}

/* A line with a correct CRC, without the CRC. */
struct journal_line {
    const char *text;
    size_t size;
    size_t end; /* where the next line begins in the journal */
};

/* Reads the line at AT in TEXT. Returns false if the line is incomplete or its CRC is wrong. */
static bool next_line(const struct attn_buffer *text, size_t at, struct journal_line *line)
{
    enum { TAIL = 9 }; /* a tab and the eight digits of the CRC */
    const char *begin = text->data + at;
    const char *end = at < text->size ? memchr(begin, '\n', text->size - at) : NULL;
    char expected[TAIL + 1];

    if (!end || end - begin < TAIL)
        return false;
    *line =
        (struct journal_line){begin, (size_t)(end - begin) - TAIL, (size_t)(end - text->data) + 1};
    snprintf(expected, sizeof expected, "\t%08lx",
             crc32(0, (const Bytef *)line->text, (uInt)line->size));
    return memcmp(line->text + line->size, expected, TAIL) == 0;
}

/* Reads the column at *AT and advances *AT: a digest into HEX or, if HEX is NULL, a number. */
static bool read_column(const struct journal_line *line, size_t *at, uint64_t *value,
                        char hex[ATTN_DIGEST_HEX_SIZE])
{
    const char *begin = line->text + *at;
    const char *tab;
    size_t size;

    if (*at >= line->size)
        return false;
    tab = memchr(begin, '\t', line->size - *at);
    size = tab ? (size_t)(tab - begin) : line->size - *at;
    *at += size + 1;
    if (!hex)
        return attn_parse_uint(begin, size, value);
    if (size != ATTN_DIGEST_HEX_SIZE - 1)
        return false;
    memcpy(hex, begin, size);
    hex[size] = '\0';
    return true;
}

/* Reads a checkpoint into ledger->done and its extents. */
static bool read_checkpoint(const struct journal_line *line, struct attn_ledger *ledger)
{
    struct attn_ledger_done *done = &ledger->done;
    size_t at = 0;
    uint64_t value = 0;
    bool is_good = true;

#define READ(name, field)                                                                          \
    is_good = is_good && read_column(line, &at, &value, NULL);                                     \
    done->field = value;
    CHECKPOINT_MAP(READ)
#undef READ
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        is_good = is_good && read_column(line, &at, &done->failures[i], NULL);
    is_good = is_good && read_column(line, &at, NULL, done->input);
    for (size_t i = 0; i < ledger->n_file; i++)
        is_good = is_good && read_column(line, &at, &ledger->extents[i].size, NULL) &&
                  read_column(line, &at, NULL, ledger->extents[i].hex);
    if (is_good && at <= line->size) { /* the rest of the line */
        attn_buffer_reset(&ledger->state);
        attn_buffer_append(&ledger->state, line->text + at, line->size - at);
        at = line->size + 1;
    }
    return is_good && done->n_record > 0 && at == line->size + 1;
}

/* Compares the lines with the identity. *OTHER is what differs, or NULL. *AT is set to the end of
 * these lines; 0: they are incomplete. */
static enum attn_status compare_facts(const struct attn_buffer *text,
                                      const struct attn_ledger *ledger, const char **other,
                                      size_t *at, struct attn_error *err)
{
    static const char *const names[] = {"another version of attn-cli", "another model",
                                        "other options", "another input", "other outputs"};
    struct attn_buffer expected = {0};
    struct journal_line line, wanted = {.end = 0};
    enum attn_status status;
    size_t i = 0, n = 0;

    append_facts(&expected, ledger);
    status = attn_buffer_check(&expected, err);
    *other = NULL;
    for (*at = 0; i < sizeof names / sizeof *names && next_line(text, *at, &line); i++) {
        const bool is_wanted = next_line(&expected, n, &wanted);

        if (!*other && (!is_wanted || line.size != wanted.size ||
                        memcmp(line.text, wanted.text, wanted.size) != 0))
            *other = names[i];
        n = wanted.end;
        *at = line.end;
    }
    if (i < sizeof names / sizeof *names)
        *at = 0;
    attn_buffer_release(&expected);
    return status;
}

/* Finds the last checkpoint after AT that the parts contain. Sets *END to its end in TEXT, or 0. */
static enum attn_status find_last(struct attn_ledger *ledger, const struct attn_buffer *text,
                                  size_t at, size_t *end, struct attn_error *err)
{
    struct journal_line line, last = {.end = 0};
    bool is_held = true;

    for (; is_held && next_line(text, at, &line); at = line.end) {
        if (!read_checkpoint(&line, ledger))
            break;
        ATTN_TRY(attn_ledger_parts_hold(ledger->parts, ledger->extents, &is_held, err));
        if (is_held)
            last = line;
    }
    if (last.end > 0)
        read_checkpoint(&last, ledger);
    *end = last.end;
    return ATTN_OK;
}

static enum attn_status read_whole(const char *path, struct attn_buffer *text,
                                   struct attn_error *err)
{
    enum { PIECE = 1 << 16 };
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = 1;

    if (descriptor < 0)
        return errno == ENOENT ? ATTN_OK : attn_error_errno(err, "open", path, errno);
    while (n > 0 || (n < 0 && errno == EINTR)) {
        char *room = attn_buffer_reserve(text, PIECE);

        n = room ? read(descriptor, room, PIECE) : 0;
        text->size += n > 0 ? (size_t)n : 0;
    }
    if (n < 0)
        attn_error_errno(err, "read", path, errno);
    close(descriptor);
    return n < 0 ? ATTN_IO : attn_buffer_check(text, err);
}

/* Reads the journal into TEXT, and opens it truncated after the last checkpoint that the parts
 * contain, if there is one. */
static enum attn_status resume(struct attn_ledger *ledger, struct attn_buffer *text,
                               struct attn_error *err)
{
    const char *path = ledger->journal_path.data, *other;
    struct journal_line line;
    size_t at = 0, end = 0;

    ATTN_TRY(read_whole(path, text, err));
    ATTN_TRY(compare_facts(text, ledger, &other, &at, err));
    if (at == 0 || !next_line(text, at, &line))
        return ATTN_OK;
    if (other)
        return attn_ledger_report_other(path, other, "remove it, and `is_resumed` begins anew",
                                        err);
    ATTN_TRY(find_last(ledger, text, at, &end, err));
    if (end == 0)
        return ATTN_OK;
    ATTN_TRY(open_journal(ledger, 0, err));
    return ftruncate(ledger->journal, (off_t)end) == 0
               ? ATTN_OK
               : attn_error_errno(err, "write", path, errno);
}

enum attn_status attn_ledger_journal_resume(struct attn_ledger *ledger, struct attn_error *err)
{
    struct attn_buffer text = {0};
    const enum attn_status status = resume(ledger, &text, err);

    attn_buffer_release(&text);
    return close_failed(status, ledger);
}
