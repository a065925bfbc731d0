/* batch_lines.c - see batch_lines.h. */
#include "cmd/batch_lines.h"

#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    BUFFER_SIZE = 1 << 18,
    WAIT_MILLISECONDS = 100, /* between two questions whether to stop, while nothing comes */
    KEPT_CAPACITY = 1 << 16, /* of a line, from one to the next */
};

struct batch_lines {
    struct batch_lines_options options;
    int descriptor;
    bool is_file;      /* it can be sought */
    struct stat info;  /* of a file, as it was opened */
    uint64_t first;    /* where the lines of the shard begin */
    uint64_t limit;    /* lines that begin from here on are not of the shard */
    uint64_t offset;   /* of buffer[at] in the input */
    size_t at, filled; /* of the buffer: what is read and not taken yet lies between */
    bool is_at_end;    /* nothing follows what is in the buffer */
    char *buffer;      /* [BUFFER_SIZE] owns */
};

const char *batch_lines_name(const struct batch_lines *lines)
{
    const char *path = lines->options.path;
    return path && strcmp(path, "-") != 0 ? path : "standard input";
}

size_t batch_lines_longest(const struct batch_lines *lines)
{
    return lines->options.max_line;
}

/* --- Bytes ------------------------------------------------------------------------------------ */

static enum attn_status check_unchanged(const struct batch_lines *lines, struct attn_error *err)
{
    struct stat now;
    if (fstat(lines->descriptor, &now) != 0)
        return attn_error_errno(err, "read", batch_lines_name(lines), errno);
    if (now.st_size == lines->info.st_size)
        return ATTN_OK;
    char before[ATTN_QUANTITY_SIZE], after[ATTN_QUANTITY_SIZE];
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' had %s bytes when it was opened and has %s now, expected a file "
                          "that does not change while it is read",
                          attn_quote_string(batch_lines_name(lines)).text,
                          attn_quantity_count((uint64_t)lines->info.st_size, before),
                          attn_quantity_count((uint64_t)now.st_size, after));
}

/* Whether bytes of a pipe have come, or its end. */
static bool wait_for_bytes(const struct batch_lines *lines)
{
    struct pollfd wanted = {.fd = lines->descriptor, .events = POLLIN};
    while (!lines->options.is_stopped(lines->options.user))
        if (poll(&wanted, 1, WAIT_MILLISECONDS) > 0)
            return true;
    return false;
}

/* Reads what comes next behind what is in the buffer, which was all taken. */
static enum attn_status fill(struct batch_lines *lines, struct attn_error *err)
{
    ssize_t size = 0;
    lines->at = lines->filled = 0;
    if (lines->is_at_end)
        return ATTN_OK;
    do {
        if (lines->is_file && check_unchanged(lines, err) != ATTN_OK)
            return err->status;
        if (lines->is_file)
            size = pread(lines->descriptor, lines->buffer, BUFFER_SIZE, (off_t)lines->offset);
        else
            size = wait_for_bytes(lines) ? read(lines->descriptor, lines->buffer, BUFFER_SIZE) : 0;
    } while (size < 0 && (errno == EINTR || errno == EAGAIN));
    if (size < 0)
        return attn_error_errno(err, "read", batch_lines_name(lines), errno);
    lines->filled = (size_t)size;
    lines->is_at_end = size == 0;
    return ATTN_OK;
}

/* Where the next \n is behind buffer[at], or the end of what was read. */
static size_t find_end(const struct batch_lines *lines, bool *is_found)
{
    const char *end = memchr(lines->buffer + lines->at, '\n', lines->filled - lines->at);
    *is_found = end != NULL;
    return end ? (size_t)(end - lines->buffer) : lines->filled;
}

static void tell(const struct batch_lines *lines, size_t size)
{
    if (lines->options.on_taken)
        lines->options.on_taken(lines->options.user, lines->buffer + lines->at, size);
}

static void take(struct batch_lines *lines, size_t size)
{
    lines->at += size;
    lines->offset += size;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void begin_line(const struct batch_lines *lines, struct batch_line *line)
{
    if (line->text.capacity > KEPT_CAPACITY)
        attn_buffer_release(&line->text);
    attn_buffer_reset(&line->text);
    line->is_too_long = false;
    line->size = 0;
    line->begin = line->end = lines->offset;
    line->crc = (uint32_t)crc32(0, NULL, 0);
}

/* Appends SIZE bytes of the buffer, which have no \n. */
static void append(const struct batch_lines *lines, struct batch_line *line, size_t size)
{
    line->size += size;
    if (line->size > lines->options.max_line)
        line->is_too_long = true;
    if (line->is_too_long)
        attn_buffer_release(&line->text);
    else
        attn_buffer_append(&line->text, lines->buffer + lines->at, size);
}

/* Reads the line at the place where LINES are; *is_over when there is none. */
static enum attn_status read_line(struct batch_lines *lines, struct batch_line *line, bool *is_over,
                                  struct attn_error *err)
{
    bool is_found = false;
    begin_line(lines, line);
    while (!is_found) {
        if (lines->at == lines->filled && fill(lines, err) != ATTN_OK)
            return err->status;
        if (lines->filled == 0)
            break;
        const size_t size = find_end(lines, &is_found) - lines->at;
        const size_t taken = size + is_found;
        line->crc =
            (uint32_t)crc32(line->crc, (const Bytef *)lines->buffer + lines->at, (uInt)taken);
        append(lines, line, size);
        tell(lines, taken);
        take(lines, taken);
        if (!is_found && lines->options.is_stopped(lines->options.user))
            break;
    }
    line->end = lines->offset;
    *is_over =
        line->end == line->begin || (!is_found && lines->options.is_stopped(lines->options.user));
    return attn_buffer_check(&line->text, err);
}

enum attn_status batch_lines_next(struct batch_lines *lines, struct batch_line *line, bool *is_over,
                                  struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    *is_over = true;
    if (lines->options.is_stopped(lines->options.user))
        return ATTN_OK;
    if (lines->offset < lines->limit)
        status = read_line(lines, line, is_over, err);
    if (status == ATTN_OK && *is_over && lines->is_file)
        status = check_unchanged(lines, err);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

void batch_line_release(struct batch_line *line)
{
    attn_buffer_release(&line->text);
}

/* --- Places ----------------------------------------------------------------------------------- */

static void seek(struct batch_lines *lines, uint64_t offset)
{
    lines->offset = offset;
    lines->at = lines->filled = 0;
    lines->is_at_end = false;
}

static enum attn_status report_other(const struct batch_lines *lines, uint64_t begin,
                                     struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID,
                   "'%s' has another line at byte %llu than the one that was read there, expected "
                   "the same input",
                   attn_quote_string(batch_lines_name(lines)).text, (unsigned long long)begin);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

static enum attn_status report_stopped(struct attn_error *err)
{
    return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
}

static enum attn_status take_until(struct batch_lines *lines, uint64_t end, struct attn_error *err)
{
    while (lines->offset < end) {
        if (lines->at == lines->filled && fill(lines, err) != ATTN_OK)
            return err->status;
        if (lines->options.is_stopped(lines->options.user))
            return report_stopped(err);
        if (lines->filled == 0)
            break;
        const uint64_t left = end - lines->offset;
        const size_t filled = lines->filled - lines->at;
        const size_t size = left < filled ? (size_t)left : filled;
        tell(lines, size);
        take(lines, size);
    }
    return ATTN_OK;
}

enum attn_status batch_lines_take(struct batch_lines *lines, uint64_t end, struct attn_error *err)
{
    return attn_error_at(take_until(lines, end, err), ATTN_STAGE_INPUT, err);
}

enum attn_status batch_lines_skip(struct batch_lines *lines, uint64_t begin, uint64_t end,
                                  uint32_t crc, struct attn_error *err)
{
    struct batch_line line = {.is_too_long = false};
    bool is_over = false;
    enum attn_status status = batch_lines_take(lines, begin, err);
    if (status == ATTN_OK)
        status = batch_lines_next(lines, &line, &is_over, err);
    if (status == ATTN_OK && lines->options.is_stopped(lines->options.user))
        status = report_stopped(err);
    if (status == ATTN_OK && (line.begin != begin || line.end != end || line.crc != crc))
        status = report_other(lines, begin, err);
    batch_line_release(&line);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

/* Counts \n in the bytes before END. */
static enum attn_status count(struct batch_lines *lines, uint64_t end, uint64_t *n,
                              struct attn_error *err)
{
    seek(lines, 0);
    *n = 0;
    while (lines->offset < end) {
        bool is_found;
        if (lines->at == lines->filled && fill(lines, err) != ATTN_OK)
            return err->status;
        if (lines->options.is_stopped(lines->options.user)) /* a count of some would be wrong */
            return report_stopped(err);
        if (lines->filled == 0)
            return ATTN_OK;
        const size_t size = find_end(lines, &is_found) - lines->at + 1;
        *n += is_found && lines->offset + size <= end;
        take(lines, is_found ? size : size - 1);
    }
    return ATTN_OK;
}

enum attn_status batch_lines_count_before(struct batch_lines *lines, uint64_t *n,
                                          struct attn_error *err)
{
    const uint64_t offset = lines->offset;
    enum attn_status status = ATTN_OK;
    *n = 0;
    if (lines->first == 0)
        return ATTN_OK;
    status = count(lines, lines->first, n, err);
    seek(lines, offset);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

bool batch_lines_is_file(const struct batch_lines *lines, uint64_t *size)
{
    *size = lines->is_file ? (uint64_t)lines->info.st_size : 0;
    return lines->is_file;
}

bool batch_lines_is_path(const struct batch_lines *lines, const char *path)
{
    struct stat other;
    return lines->is_file && stat(path, &other) == 0 && other.st_dev == lines->info.st_dev &&
           other.st_ino == lines->info.st_ino;
}

void batch_lines_range(const struct batch_lines *lines, uint64_t *begin, uint64_t *end)
{
    *begin = lines->first;
    *end = lines->offset;
}

uint64_t batch_lines_end(const struct batch_lines *lines)
{
    return lines->is_file ? lines->limit : 0;
}

/* --- Opening ---------------------------------------------------------------------------------- */

/* size * i / n, of which the product may be too large. */
static uint64_t share(uint64_t size, uint64_t i, uint64_t n)
{

    return size / n * i + size % n * i / n;
}

/* Goes to the first line that begins at FROM or behind it. */
static enum attn_status find_line(struct batch_lines *lines, uint64_t from, struct attn_error *err)
{
    bool is_found = false;
    seek(lines, from > 0 ? from - 1 : 0);
    while (from > 0 && !is_found && lines->offset < lines->limit) {
        if (lines->at == lines->filled && fill(lines, err) != ATTN_OK)
            return err->status;
        if (lines->filled == 0 || lines->options.is_stopped(lines->options.user))
            break;
        const size_t end = find_end(lines, &is_found);
        take(lines, end - lines->at + is_found);
    }
    lines->first = lines->offset;
    return ATTN_OK;
}

static enum attn_status cut_shard(struct batch_lines *lines, struct attn_error *err)
{
    const struct batch_lines_options *options = &lines->options;
    const uint64_t size = (uint64_t)lines->info.st_size;
    lines->limit = lines->is_file ? size : UINT64_MAX;
    if (options->n_shard == 0)
        return ATTN_OK;
    if (!lines->is_file) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no file that can be sought, as --shard needs one",
                       attn_quote_string(batch_lines_name(lines)).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    lines->limit = share(size, options->shard + 1, options->n_shard);
    return find_line(lines, share(size, options->shard, options->n_shard), err);
}

static enum attn_status open_input(struct batch_lines *lines, struct attn_error *err)
{
    const char *path = lines->options.path, *name = batch_lines_name(lines);
    lines->descriptor = STDIN_FILENO;
    if (path && strcmp(path, "-") != 0) {
        do {
            lines->descriptor = open(path, O_RDONLY | O_CLOEXEC); /* waits for a FIFO's writer */
        } while (lines->descriptor < 0 && errno == EINTR &&
                 !lines->options.is_stopped(lines->options.user));
        if (lines->descriptor < 0)
            return attn_error_errno(err, "open", name, errno);
    }
    if (fstat(lines->descriptor, &lines->info) != 0)
        return attn_error_errno(err, "read", name, errno);
    if (S_ISDIR(lines->info.st_mode))
        return attn_error_set(err, ATTN_INVALID, "'%s' is a directory, expected a file of lines",
                              attn_quote_string(name).text);
    lines->is_file = S_ISREG(lines->info.st_mode) && lines->descriptor != STDIN_FILENO;
    if (!lines->is_file)
        lines->info.st_size = 0;
    return ATTN_OK;
}

enum attn_status batch_lines_open(const struct batch_lines_options *options,
                                  struct batch_lines **lines, struct attn_error *err)
{
    struct batch_lines *made = calloc(1, sizeof *made);
    enum attn_status status = ATTN_OK;
    if (!made)
        return attn_error_no_memory(err);
    made->options = *options;
    made->buffer = malloc(BUFFER_SIZE);
    if (!made->buffer)
        status = attn_error_no_memory(err);
    if (status == ATTN_OK)
        status = open_input(made, err);
    if (status == ATTN_OK)
        status = cut_shard(made, err);
    if (status == ATTN_OK)
        *lines = made;
    else
        batch_lines_close(made);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

void batch_lines_close(struct batch_lines *lines)
{
    if (!lines)
        return;
    if (lines->descriptor > STDIN_FILENO)
        close(lines->descriptor);
    free(lines->buffer);
    free(lines);
}
