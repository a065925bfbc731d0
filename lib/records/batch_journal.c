/*
 * batch_journal.c - see batch_journal.h. The file is a table: four lines that say what the batch
 * is, one with the names of the columns, then whole numbers and digests, with tabs between them.
 * The last column of each line is the CRC-32 of what is before it.
 */
#include "records/batch_journal.h"

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

struct attn_batch_journal {
    char *path;     /* owns */
    int descriptor; /* owns */
    size_t n_file;
};

/* Columns before those of failures, digests and sizes. X(name, field) */
#define CHECKPOINT_MAP(X)                                                                          \
    X("records", n_record)                                                                         \
    X("line", begin)                                                                               \
    X("end", end)                                                                                  \
    X("crc", crc)                                                                                  \
    X("tokens", n_token)                                                                           \
    X("milliseconds", milliseconds)                                                                \
    X("restarts", n_restart)                                                                       \
    X("before", n_line_before)

/* --- Lines ----------------------------------------------------------------------------------- */

/* Ends the line that begins at BEGIN in TEXT by its CRC. */
static void end_line(struct attn_buffer *text, size_t begin)
{
    uLong crc;

    if (text->has_failed)
        return;
    crc = crc32(0, (const Bytef *)text->data + begin, (uInt)(text->size - begin));
    attn_buffer_append_format(text, "\t%08lx\n", crc);
}

static void append_fact(struct attn_buffer *text, const char *name, const char *value)
{
    const size_t begin = text->size;

    attn_buffer_append_string(text, name);
    attn_buffer_append_char(text, '\t');
    attn_buffer_append_string(text, value);
    end_line(text, begin);
}

static void append_names(struct attn_buffer *text, size_t n_file)
{
    const size_t begin = text->size;

#define NAME(name, field) attn_buffer_append_string(text, name "\t");
    CHECKPOINT_MAP(NAME)
#undef NAME
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        attn_buffer_append_format(text, "%s\t", attn_record_failure_code(i));
    attn_buffer_append_format(text, "input\tsizes and digests of %zu files", n_file);
    end_line(text, begin);
}

/* The lines that say what the batch is. */
static void append_facts(struct attn_buffer *text, const struct attn_batch_journal_options *options)
{
    append_fact(text, "attn-cli", ATTN_VERSION);
    append_fact(text, "model", options->identity.model);
    append_fact(text, "options", options->identity.options);
    append_fact(text, "input", options->identity.input);
    append_names(text, options->n_file);
}

static void append_checkpoint(struct attn_buffer *text,
                              const struct attn_batch_checkpoint *checkpoint, size_t n_file)
{
    const size_t begin = text->size;
    const char *between = "";

#define VALUE(name, field)                                                                         \
    attn_buffer_append_format(text, "%s%" PRIu64, between, (uint64_t)checkpoint->field);           \
    between = "\t";
    CHECKPOINT_MAP(VALUE)
#undef VALUE
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        attn_buffer_append_format(text, "\t%" PRIu64, checkpoint->failures[i]);
    attn_buffer_append_format(text, "\t%s", checkpoint->input);
    for (size_t i = 0; i < n_file; i++)
        attn_buffer_append_format(text, "\t%" PRIu64 "\t%s", checkpoint->extents[i].size,
                                  checkpoint->extents[i].hex);
    end_line(text, begin);
}

/* --- Writing --------------------------------------------------------------------------------- */

static enum attn_status report_errno(const struct attn_batch_journal *journal, const char *verb,
                                     struct attn_error *err)
{
    return attn_error_errno(err, verb, journal->path, errno);
}

static enum attn_status write_all(const struct attn_batch_journal *journal,
                                  const struct attn_buffer *text, struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(text, err));
    for (size_t at = 0; at < text->size;) {
        const ssize_t n = write(journal->descriptor, text->data + at, text->size - at);

        if (n < 0 && errno != EINTR)
            return report_errno(journal, "write", err);
        at += n > 0 ? (size_t)n : 0;
    }
    return ATTN_OK;
}

static enum attn_status open_journal(const char *path, size_t n_file, int flags,
                                     struct attn_batch_journal **journal, struct attn_error *err)
{
    struct attn_batch_journal *made = attn_alloc(1, sizeof *made, err);

    if (!made)
        return ATTN_NO_MEMORY;
    made->n_file = n_file;
    made->descriptor = -1;
    made->path = attn_strndup(path, strlen(path), err);
    *journal = made;
    if (!made->path)
        return ATTN_NO_MEMORY;
    made->descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0666);
    return made->descriptor < 0 ? report_errno(made, "write", err) : ATTN_OK;
}

void attn_batch_journal_free(struct attn_batch_journal *journal)
{
    if (!journal)
        return;
    if (journal->descriptor >= 0)
        close(journal->descriptor);
    attn_free(journal->path);
    attn_free(journal);
}

/* Stores MADE, or closes it after a failure. */
static enum attn_status give(enum attn_status status, struct attn_batch_journal *made,
                             struct attn_batch_journal **journal, struct attn_error *err)
{
    if (status == ATTN_OK)
        *journal = made;
    else
        attn_batch_journal_free(made);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

enum attn_status attn_batch_journal_create(const struct attn_batch_journal_options *options,
                                           struct attn_batch_journal **journal,
                                           struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_batch_journal *made = NULL;
    enum attn_status status =
        open_journal(options->path, options->n_file, O_WRONLY | O_CREAT | O_TRUNC, &made, err);

    append_facts(&text, options);
    if (status == ATTN_OK)
        status = write_all(made, &text, err);
    attn_buffer_release(&text);
    return give(status, made, journal, err);
}

enum attn_status attn_batch_journal_append(struct attn_batch_journal *journal,
                                           const struct attn_batch_checkpoint *checkpoint,
                                           bool is_synced, struct attn_error *err)
{
    struct attn_buffer text = {0};
    enum attn_status status;

    append_checkpoint(&text, checkpoint, journal->n_file);
    status = write_all(journal, &text, err);
    if (status == ATTN_OK && is_synced && fdatasync(journal->descriptor) != 0)
        status = report_errno(journal, "write", err);
    attn_buffer_release(&text);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- Reading --------------------------------------------------------------------------------- */

/* A line without its CRC, which was right. */
struct journal_line {
    const char *text;
    size_t size;
    size_t end; /* where the next one begins in the journal */
};

/* The line at AT of TEXT. False where none ends, or its CRC is another. */
static bool next_line(const struct attn_buffer *text, size_t at, struct journal_line *line)
{
    enum { TAIL = 9 }; /* a tab and eight digits */
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

/* The column at *AT, which is then after it; NULL: there is none. */
static const char *read_column(const struct journal_line *line, size_t *at, size_t *size)
{
    const char *begin = line->text + *at;
    const char *tab;

    if (*at >= line->size)
        return NULL;
    tab = memchr(begin, '\t', line->size - *at);
    *size = tab ? (size_t)(tab - begin) : line->size - *at;
    *at += *size + 1;
    return begin;
}

static bool read_uint(const struct journal_line *line, size_t *at, uint64_t *value)
{
    size_t size = 0;
    const char *column = read_column(line, at, &size);

    return column && attn_parse_uint(column, size, value);
}

static bool read_digest(const struct journal_line *line, size_t *at, char hex[ATTN_DIGEST_HEX_SIZE])
{
    size_t size = 0;
    const char *column = read_column(line, at, &size);

    if (!column || size != ATTN_DIGEST_HEX_SIZE - 1)
        return false;
    memcpy(hex, column, size);
    hex[size] = '\0';
    return true;
}

static bool read_checkpoint(const struct journal_line *line, size_t n_file,
                            struct attn_batch_checkpoint *checkpoint)
{
    size_t at = 0;
    uint64_t value = 0;
    bool is_good = true;

#define READ(name, field)                                                                          \
    is_good = is_good && read_uint(line, &at, &value);                                             \
    checkpoint->field = value;
    CHECKPOINT_MAP(READ)
#undef READ
    for (int i = ATTN_RECORD_FAILURE_NONE + 1; i < ATTN_N_RECORD_FAILURE; i++)
        is_good = is_good && read_uint(line, &at, &checkpoint->failures[i]);
    is_good = is_good && read_digest(line, &at, checkpoint->input);
    for (size_t i = 0; i < n_file; i++)
        is_good = is_good && read_uint(line, &at, &checkpoint->extents[i].size) &&
                  read_digest(line, &at, checkpoint->extents[i].hex);
    return is_good && at == line->size + 1;
}

enum attn_status attn_batch_report_other(const char *path, const char *what, const char *remedy,
                                         struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is of a run with %s, expected the same",
                   attn_quote_string(path).text, what);
    attn_error_hint(err, "%s", remedy);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Compares the lines that say what the batch is: *other is what differs, or NULL. *at is then after
 * them; 0: they are not whole. */
static enum attn_status compare_facts(const struct attn_buffer *text,
                                      const struct attn_batch_journal_options *options,
                                      const char **other, size_t *at, struct attn_error *err)
{
    static const char *const names[] = {"another version of attn-cli", "another model",
                                        "other options", "another input", "other outputs"};
    struct attn_buffer expected = {0};
    struct journal_line line, wanted = {.end = 0};
    enum attn_status status;
    size_t i = 0, n = 0;

    append_facts(&expected, options);
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

/* Finds the last checkpoint after AT that the files hold, and where it ends in TEXT, or 0. */
static enum attn_status find_last(const struct attn_batch_journal_options *options,
                                  const struct attn_buffer *text, size_t at,
                                  struct attn_batch_checkpoint *checkpoint, size_t *end,
                                  struct attn_error *err)
{
    struct journal_line line, last = {.end = 0};
    bool is_held = true;

    for (; is_held && next_line(text, at, &line); at = line.end) {
        if (!read_checkpoint(&line, options->n_file, checkpoint))
            break;
        ATTN_TRY(options->holds(options->user, checkpoint, &is_held, err));
        if (is_held)
            last = line;
    }
    if (last.end > 0)
        read_checkpoint(&last, options->n_file, checkpoint);
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

/* Reads the journal into TEXT and opens it, cut after the last checkpoint that the files hold,
 * where there is one. */
static enum attn_status resume(const struct attn_batch_journal_options *options,
                               struct attn_buffer *text, struct attn_batch_checkpoint *checkpoint,
                               struct attn_batch_journal **made, struct attn_error *err)
{
    struct journal_line line;
    const char *other;
    size_t at = 0, end = 0;

    ATTN_TRY(read_whole(options->path, text, err));
    ATTN_TRY(compare_facts(text, options, &other, &at, err));
    if (at == 0 || !next_line(text, at, &line))
        return ATTN_OK;
    if (other)
        return attn_batch_report_other(options->path, other,
                                       "remove it, and is_resumed begins anew", err);
    ATTN_TRY(find_last(options, text, at, checkpoint, &end, err));
    if (end == 0)
        return ATTN_OK;
    ATTN_TRY(open_journal(options->path, options->n_file, O_WRONLY, made, err));
    return ftruncate((*made)->descriptor, (off_t)end) == 0 ? ATTN_OK
                                                           : report_errno(*made, "write", err);
}

enum attn_status attn_batch_journal_resume(const struct attn_batch_journal_options *options,
                                           struct attn_batch_checkpoint *checkpoint,
                                           struct attn_batch_journal **journal,
                                           struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct attn_batch_journal *made = NULL;
    const enum attn_status status = resume(options, &text, checkpoint, &made, err);

    attn_buffer_release(&text);
    *journal = NULL;
    return give(status, made, journal, err);
}
