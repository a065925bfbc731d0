/*
 * batch_journal.c - see batch_journal.h. The file is a table: four lines that say what the batch is,
 * one with the names of the columns, then whole numbers and digests, with tabs between them. The last
 * column of each line is the CRC-32 of what is before it.
 */
#include "cmd/batch_journal.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

struct batch_journal {
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

/* --- Lines ------------------------------------------------------------------------------------ */

/* Ends the line that begins at BEGIN in TEXT by its CRC. */
static void end_line(struct attn_buffer *text, size_t begin)
{
    if (text->has_failed)
        return;
    const uLong crc = crc32(0, (const Bytef *)text->data + begin, (uInt)(text->size - begin));
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

static void append_checkpoint(struct attn_buffer *text, const struct batch_checkpoint *checkpoint,
                              size_t n_file)
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

/* --- Writing ---------------------------------------------------------------------------------- */

static enum attn_status report_errno(const struct batch_journal *journal, const char *verb,
                                     struct attn_error *err)
{
    return attn_error_errno(err, verb, journal->path, errno);
}

static enum attn_status write_all(const struct batch_journal *journal,
                                  const struct attn_buffer *text, struct attn_error *err)
{
    if (attn_buffer_check(text, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    for (size_t at = 0; at < text->size;) {
        const ssize_t n = write(journal->descriptor, text->data + at, text->size - at);
        if (n < 0 && errno != EINTR)
            return report_errno(journal, "write", err);
        at += n > 0 ? (size_t)n : 0;
    }
    return ATTN_OK;
}

static enum attn_status open_journal(const char *path, size_t n_file, int flags,
                                     struct batch_journal **journal, struct attn_error *err)
{
    struct batch_journal *made = calloc(1, sizeof *made);
    if (made)
        made->path = strdup(path);
    if (!made || !made->path) {
        free(made);
        return attn_error_no_memory(err);
    }
    made->n_file = n_file;
    made->descriptor = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0666);
    *journal = made;
    return made->descriptor < 0 ? report_errno(made, "write", err) : ATTN_OK;
}

void batch_journal_close(struct batch_journal *journal)
{
    if (!journal)
        return;
    if (journal->descriptor >= 0)
        close(journal->descriptor);
    free(journal->path);
    free(journal);
}

enum attn_status batch_journal_create(const struct batch_journal_options *options,
                                      struct batch_journal **journal, struct attn_error *err)
{
    const struct batch_identity *identity = &options->identity;
    struct attn_buffer text = {0};
    struct batch_journal *made = NULL;
    enum attn_status status =
        open_journal(options->path, options->n_file, O_WRONLY | O_CREAT | O_TRUNC, &made, err);
    append_fact(&text, "attn-cli", ATTN_VERSION);
    append_fact(&text, "model", identity->model);
    append_fact(&text, "options", identity->options);
    append_fact(&text, "input", identity->input);
    append_names(&text, options->n_file);
    if (status == ATTN_OK)
        status = write_all(made, &text, err);
    attn_buffer_release(&text);
    if (status == ATTN_OK)
        *journal = made;
    else
        batch_journal_close(made);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

enum attn_status batch_journal_append(struct batch_journal *journal,
                                      const struct batch_checkpoint *checkpoint, bool is_synced,
                                      struct attn_error *err)
{
    struct attn_buffer text = {0};
    append_checkpoint(&text, checkpoint, journal->n_file);
    enum attn_status status = write_all(journal, &text, err);
    if (status == ATTN_OK && is_synced && fdatasync(journal->descriptor) != 0)
        status = report_errno(journal, "write", err);
    attn_buffer_release(&text);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* A line without its CRC, which was right. */
struct line {
    const char *text;
    size_t size;
    size_t end; /* where the next one begins in the journal */
};

/* The line at *AT of TEXT, and *AT behind it. False where none ends, or its CRC is another. */
static bool next_line(const struct attn_buffer *text, size_t at, struct line *line)
{
    enum { TAIL = 9 }; /* a tab and eight digits */
    const char *begin = text->data + at;
    const char *end = at < text->size ? memchr(begin, '\n', text->size - at) : NULL;
    char expected[TAIL + 1];
    if (!end || end - begin < TAIL)
        return false;
    *line = (struct line){begin, (size_t)(end - begin) - TAIL, (size_t)(end - text->data) + 1};
    snprintf(expected, sizeof(expected), "\t%08lx",
             crc32(0, (const Bytef *)line->text, (uInt)line->size));
    return memcmp(line->text + line->size, expected, TAIL) == 0;
}

/* The column at *AT, which is then behind it; NULL: there is none. */
static const char *read_column(const struct line *line, size_t *at, size_t *size)
{
    const char *begin = line->text + *at;
    if (*at >= line->size)
        return NULL;
    const char *tab = memchr(begin, '\t', line->size - *at);
    *size = tab ? (size_t)(tab - begin) : line->size - *at;
    *at += *size + 1;
    return begin;
}

static bool read_uint(const struct line *line, size_t *at, uint64_t *value)
{
    size_t size = 0;
    const char *column = read_column(line, at, &size);
    return column && attn_parse_uint(column, size, value);
}

static bool read_digest(const struct line *line, size_t *at, char hex[BATCH_DIGEST_HEX_SIZE])
{
    size_t size = 0;
    const char *column = read_column(line, at, &size);
    if (!column || size != BATCH_DIGEST_HEX_SIZE - 1)
        return false;
    memcpy(hex, column, size);
    hex[size] = '\0';
    return true;
}

static bool read_checkpoint(const struct line *line, size_t n_file,
                            struct batch_checkpoint *checkpoint)
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

enum attn_status batch_report_other(const char *path, const char *what, const char *remedy,
                                    struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' is of a run with %s, expected the same",
                   attn_quote_string(path).text, what);
    attn_error_hint(err, "%s", remedy);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Reads the lines that say what the batch is. *at is then behind them; 0: they are not whole. */
static const char *compare_facts(const struct attn_buffer *text,
                                 const struct batch_identity *identity, size_t n_file, size_t *at)
{
    struct attn_buffer expected[5] = {{0}};
    static const char *const names[] = {"another version of attn-cli", "another model",
                                        "other options", "another input", "other outputs"};
    const char *other = NULL;
    append_fact(&expected[0], "attn-cli", ATTN_VERSION);
    append_fact(&expected[1], "model", identity->model);
    append_fact(&expected[2], "options", identity->options);
    append_fact(&expected[3], "input", identity->input);
    append_names(&expected[4], n_file);
    *at = 0;
    for (size_t i = 0; i < 5; i++) {
        struct line line;
        const bool is_whole = next_line(text, *at, &line);
        if (!is_whole)
            *at = 0;
        if (!is_whole)
            break;
        if (!other && (line.end - *at != expected[i].size ||
                       memcmp(line.text, expected[i].data, expected[i].size) != 0))
            other = names[i];
        *at = line.end;
    }
    for (size_t i = 0; i < 5; i++)
        attn_buffer_release(&expected[i]);
    return other;
}

/* Finds the last checkpoint behind AT that the files hold, and where it ends in TEXT, or 0. */
static enum attn_status find_last(const struct batch_journal_options *options,
                                  const struct attn_buffer *text, size_t at,
                                  struct batch_checkpoint *checkpoint, size_t *end,
                                  struct attn_error *err)
{
    struct line line, last = {.end = 0};
    enum attn_status status = ATTN_OK;
    bool is_held = true;
    for (; status == ATTN_OK && is_held && next_line(text, at, &line); at = line.end) {
        if (!read_checkpoint(&line, options->n_file, checkpoint))
            break;
        status = options->holds(options->user, checkpoint, &is_held, err);
        if (is_held)
            last = line;
    }
    if (last.end > 0)
        read_checkpoint(&last, options->n_file, checkpoint);
    *end = last.end;
    return status;
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

/* Where the last checkpoint of TEXT that the files hold ends; 0: there is none. */
static enum attn_status find_place(const struct batch_journal_options *options,
                                   const struct attn_buffer *text,
                                   struct batch_checkpoint *checkpoint, size_t *end,
                                   struct attn_error *err)
{
    size_t at = 0;
    struct line line;
    const char *other = compare_facts(text, &options->identity, options->n_file, &at);
    *end = 0;
    if (at == 0 || !next_line(text, at, &line))
        return ATTN_OK;
    if (other)
        return batch_report_other(options->path, other, "remove it, and --resume begins anew", err);
    return find_last(options, text, at, checkpoint, end, err);
}

enum attn_status batch_journal_resume(const struct batch_journal_options *options,
                                      struct batch_checkpoint *checkpoint,
                                      struct batch_journal **journal, struct attn_error *err)
{
    struct attn_buffer text = {0};
    struct batch_journal *made = NULL;
    size_t end = 0;
    enum attn_status status = read_whole(options->path, &text, err);
    *journal = NULL;
    if (status == ATTN_OK && text.size > 0)
        status = find_place(options, &text, checkpoint, &end, err);
    if (status == ATTN_OK && end > 0)
        status = open_journal(options->path, options->n_file, O_WRONLY, &made, err);
    if (status == ATTN_OK && made && ftruncate(made->descriptor, (off_t)end) != 0)
        status = report_errno(made, "write", err);
    attn_buffer_release(&text);
    if (status == ATTN_OK)
        *journal = made;
    else
        batch_journal_close(made);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
