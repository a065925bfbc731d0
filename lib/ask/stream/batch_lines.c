#include "stream/batch_lines.h"

#include "base/memory.h"
#include "base/os/os.h"
#include "base/os/thread.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "base/text/path.h"
#include "formats/json_writer.h"

#include <errno.h>
#include <string.h>

enum {
    BUFFER_SIZE = 1 << 18,
    WAIT_MILLISECONDS = 100, /* interval of checks whether to stop, while no input arrives */
    /* a line's buffer that is larger than this is freed before the next line */
    KEPT_CAPACITY = 1 << 16,
};

/* State of the scanner inside a line of CSV or FASTA. */
enum field_state {
    FIELD_BEGIN,
    FIELD_PLAIN,
    FIELD_QUOTED,
    /* after a quote in a quoted field: either its end, or the first half of a doubled quote */
    FIELD_QUOTE,
    /* FASTA: at the beginning of a record; FIELD_BEGIN: at the beginning of any other line */
    FIELD_RECORD,
};

struct attn_batch_lines {
    struct attn_batch_lines_options options;
    int descriptor;
    bool is_file;             /* the input is seekable */
    struct attn_os_info info; /* status of the file when it was opened */
    uint64_t limit;           /* no line begins at or after this offset */
    uint64_t offset;          /* offset of buffer[at] in the input */
    size_t at, filled;        /* buffer[at, filled) was read but not consumed */
    bool is_before;           /* FASTA: in the lines before the first record */
    bool is_at_end;           /* no input follows after the buffer */
    size_t n_mark;            /* bytes of the byte order mark at the beginning, which is skipped */
    char csv_end;             /* ends a line of CSV: \n, or \r if the input begins without \n */
    enum field_state state;   /* for CSV and FASTA: the state at the end of the scanned bytes */
    char *buffer;             /* [BUFFER_SIZE] owns */
};

bool attn_must_stop(const struct attn_stop *stop)
{
    return attn_is_canceled(stop->cancel) || (stop->is_unwanted && *stop->is_unwanted);
}

enum attn_status attn_report_stopped(struct attn_error *err)
{
    return attn_error_set(err, ATTN_CANCELED, "%s", attn_status_text(ATTN_CANCELED));
}

const char *attn_batch_lines_name(const struct attn_batch_lines *lines)
{
    const char *path = lines->options.path;

    if (lines->options.data && !path)
        return "data";
    return path && strcmp(path, "-") != 0 ? path : "standard input";
}

/* --- Bytes ----------------------------------------------------------------------------------- */

static enum attn_status check_unchanged(const struct attn_batch_lines *lines,
                                        struct attn_error *err)
{
    char before[ATTN_QUANTITY_SIZE], after[ATTN_QUANTITY_SIZE];
    struct attn_os_info now;

    if (lines->options.data)
        return ATTN_OK;
    if (attn_os_stat_open(lines->descriptor, &now) != 0)
        return attn_error_errno(err, "read", attn_batch_lines_name(lines), errno);
    if (now.size == lines->info.size)
        return ATTN_OK;
    return attn_error_set(err, ATTN_INVALID,
                          "'%s' had %s bytes when it was opened and has %s now, expected a file "
                          "that does not change while it is read",
                          attn_quote_string(attn_batch_lines_name(lines)).text,
                          attn_quantity_count((uint64_t)lines->info.size, before),
                          attn_quantity_count((uint64_t)now.size, after));
}

/* Reads more input after the bytes in the buffer, which must have room. A pipe is awaited until it
 * has bytes or ends. */
static enum attn_status read_more(struct attn_batch_lines *lines, struct attn_error *err)
{
    const uint64_t place = lines->offset + (lines->filled - lines->at);
    char *to = lines->buffer + lines->filled;
    const size_t room = BUFFER_SIZE - lines->filled;
    ptrdiff_t size;

    do {
        size = 0;
        if (lines->options.data) {
            const uint64_t left = lines->options.n_data - place;

            size = (ptrdiff_t)(left < room ? left : room);
            memcpy(to, lines->options.data + place, (size_t)size);
        } else if (lines->is_file) {
            ATTN_TRY(check_unchanged(lines, err));
            size = attn_os_read_at(lines->descriptor, to, room, place);
        } else {
            while (!attn_must_stop(&lines->options.stop) &&
                   !attn_os_wait(lines->descriptor, false, WAIT_MILLISECONDS))
                continue;
            if (!attn_must_stop(&lines->options.stop))
                size = attn_os_read(lines->descriptor, to, room);
        }
    } while (size < 0 && (errno == EINTR || errno == EAGAIN));
    if (size < 0)
        return attn_error_errno(err, "read", attn_batch_lines_name(lines), errno);
    lines->filled += (size_t)size;
    lines->is_at_end = size == 0;
    return ATTN_OK;
}

enum attn_status attn_text_find_mark(const char *text, size_t size, const char *name,
                                     size_t *n_mark, struct attn_error *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    /* first bytes, `*` for any but NUL; UTF-32 before the UTF-16 that begins so, too */
    static const struct {
        char first[5];
        size_t n;
        const char *name;
    } wide[] = {{"\xff\xfe\0\0", 4, "utf-32"}, {"\0\0\xfe\xff", 4, "utf-32"},
                {"*\0\0\0", 4, "utf-32le"},    {"\0\0\0*", 4, "utf-32be"},
                {"\xff\xfe", 2, "utf-16"},     {"\xfe\xff", 2, "utf-16"},
                {"*\0*\0", 4, "utf-16le"},     {"\0*\0*", 4, "utf-16be"}};

    *n_mark =
        size >= sizeof mark - 1 && memcmp(text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
        size_t n = 0;

        while (n < wide[i].n && n < size &&
               (wide[i].first[n] == '*' ? text[n] != 0 : text[n] == wide[i].first[n]))
            n++;
        if (n < wide[i].n)
            continue;
        attn_error_set(err, ATTN_FORMAT, "'%s' is UTF-%.2s: it begins with '%s', expected UTF-8",
                       attn_quote_string(name).text, wide[i].name + 4, attn_quote(text, n).text);
        attn_error_hint(err, "'iconv -f %s -t utf-8' converts it", wide[i].name);
        return ATTN_FORMAT;
    }
    return ATTN_OK;
}

/* Reads the first lines, of at most BUFFER_SIZE bytes, without consuming them: finds a byte order
 * mark, FASTA if may_be_fasta, and the character that ends lines of CSV. */
static enum attn_status find_form(struct attn_batch_lines *lines, struct attn_error *err)
{
    char first;

    while (lines->filled < BUFFER_SIZE && !lines->is_at_end &&
           !memchr(lines->buffer, '\n', lines->filled))
        ATTN_TRY(read_more(lines, err));
    ATTN_TRY(attn_text_find_mark(lines->buffer, lines->filled, attn_batch_lines_name(lines),
                                 &lines->n_mark, err));
    first = lines->filled > lines->n_mark ? lines->buffer[lines->n_mark] : '\0';
    lines->csv_end =
        memchr(lines->buffer, '\n', lines->filled) || !memchr(lines->buffer, '\r', lines->filled)
            ? '\n'
            : '\r';
    if (!lines->options.may_be_fasta || (first != '>' && first != ';'))
        return ATTN_OK;
    lines->options.is_fasta = true;
    lines->state = FIELD_RECORD;
    return ATTN_OK;
}

/* Reads more input if the whole buffer was consumed. It stays empty at the end of the input. */
static enum attn_status fill(struct attn_batch_lines *lines, struct attn_error *err)
{
    if (lines->at < lines->filled)
        return ATTN_OK;
    lines->at = lines->filled = 0;
    if (lines->offset == 0)
        return find_form(lines, err);
    return lines->is_at_end ? ATTN_OK : read_more(lines, err);
}

/* Returns the state after C. *IS_END: C ends a line of CSV. */
static enum field_state next_state(const struct attn_batch_lines *lines, char c, bool *is_end)
{
    *is_end = false;
    if (lines->state == FIELD_QUOTED)
        return c == '"' ? FIELD_QUOTE : FIELD_QUOTED;
    *is_end = c == lines->csv_end;
    if (c == lines->options.separator || *is_end)
        return FIELD_BEGIN;
    return c == '"' && lines->state != FIELD_PLAIN ? FIELD_QUOTED : FIELD_PLAIN;
}

/* Like find_end, for a line of CSV. */
static size_t find_end_of_csv(struct attn_batch_lines *lines, bool *is_found, uint64_t *n_end)
{
    size_t i = lines->at;

    *is_found = false;
    for (; i < lines->filled && !*is_found; i++) {
        *n_end += lines->buffer[i] == lines->csv_end;
        lines->state = next_state(lines, lines->buffer[i], is_found);
    }
    return *is_found ? i - 1 : i;
}

/* Like find_end, for a record of FASTA, which ends where the next one begins. */
static size_t find_end_of_record(struct attn_batch_lines *lines, bool *is_found, uint64_t *n_end)
{
    *is_found = false;
    for (size_t i = lines->at; i < lines->filled; i++) {
        const char c = lines->buffer[i];

        if (c == '>' && lines->state == FIELD_BEGIN) {
            lines->state = FIELD_RECORD;
            *is_found = true;
            return i;
        }
        if (lines->state == FIELD_RECORD)
            lines->is_before = c != '>';
        lines->state = c == '\n' ? FIELD_BEGIN : FIELD_PLAIN;
        *n_end += c == '\n';
    }
    return lines->filled;
}

/* Returns the offset in the buffer after the next end of line, or the end of the buffer if
 * *IS_FOUND is false. Each byte is scanned once. *N_END grows by the number of ends of lines. */
static size_t find_end(struct attn_batch_lines *lines, bool *is_found, uint64_t *n_end)
{
    const char *end;

    if (lines->options.is_fasta)
        return find_end_of_record(lines, is_found, n_end);
    if (lines->options.separator)
        return find_end_of_csv(lines, is_found, n_end);
    end = memchr(lines->buffer + lines->at, '\n', lines->filled - lines->at);
    *is_found = end;
    *n_end += *is_found;
    return end ? (size_t)(end - lines->buffer) : lines->filled;
}

static void skip(struct attn_batch_lines *lines, size_t size)
{
    lines->at += size;
    lines->offset += size;
}

/* Consumes SIZE bytes, and updates the digest of the bytes read. */

/* --- FASTA ----------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Appends the letters in the lines TEXT [size], leaving out blanks and comment lines. */
static void append_letters(const char *text, size_t size, struct attn_buffer *letters)
{
    bool is_note = false;

    for (size_t i = 0; i < size; i++) {
        if (i == 0 || text[i - 1] == '\n')
            is_note = text[i] == ';';
        if (!is_note && !is_blank(text[i]))
            attn_buffer_append_char(letters, text[i]);
    }
    if (letters->size > 0 && letters->data[letters->size - 1] == '*')
        letters->size--;
}

/* Replaces TEXT, a FASTA record, by the equivalent JSON object. */
static enum attn_status write_object(struct attn_buffer *text, struct attn_error *err)
{
    const char *mark = memchr(text->data, '>', text->size), *end = text->data + text->size;
    const char *id = mark ? mark + 1 : end, *line = memchr(id, '\n', (size_t)(end - id));
    const char *rest, *last = line ? line : end;
    struct attn_buffer object = {0}, letters = {0};
    struct attn_json_writer json = {.out = &object};

    while (last > id && is_blank(last[-1]))
        last--;
    for (rest = id; rest < last && !is_blank(*rest);)
        rest++;
    attn_json_begin(&json, '{');
    if (rest > id)
        attn_json_string(attn_json_key(&json, "id"), id, (size_t)(rest - id));
    while (rest < last && is_blank(*rest))
        rest++;
    if (rest < last)
        attn_json_string(attn_json_key(&json, "description"), rest, (size_t)(last - rest));
    append_letters(line ? line + 1 : end, line ? (size_t)(end - line - 1) : 0, &letters);
    if (letters.size > 0)
        attn_json_string(attn_json_key(&json, "text"), letters.data, letters.size);
    else
        attn_json_end((attn_json_begin(attn_json_key(&json, "ids"), '['), &json));
    attn_json_end(&json);
    object.has_failed |= letters.has_failed;
    attn_buffer_release(&letters);
    attn_buffer_release(text);
    *text = object;
    return attn_buffer_check(text, err);
}

/* --- Lines ----------------------------------------------------------------------------------- */

/* Reads the line at the current offset. *IS_OVER: there is none. */
static enum attn_status read_line(struct attn_batch_lines *lines, struct attn_batch_line *line,
                                  bool *is_over, struct attn_error *err)
{
    bool is_found = false;
    uint64_t begun;

    if (line->text.capacity > KEPT_CAPACITY)
        attn_buffer_release(&line->text);
    attn_buffer_reset(&line->text);
    *line = (struct attn_batch_line){.text = line->text, .begin = lines->offset};
    ATTN_TRY(fill(lines, err));
    if (lines->offset == 0) /* the mark is in the first line */
        skip(lines, lines->n_mark);
    begun = lines->offset;
    while (!is_found) {
        const char *begin;
        size_t size, n_after;

        ATTN_TRY(fill(lines, err));
        if (lines->filled == 0)
            break;
        size = find_end(lines, &is_found, &line->n_end) - lines->at;
        begin = lines->buffer + lines->at;
        n_after = is_found && !lines->options.is_fasta;
        line->size += size;
        if (line->size > lines->options.max_line)
            line->is_too_long = true;
        if (line->is_too_long)
            attn_buffer_release(&line->text);
        else
            attn_buffer_append(&line->text, begin, size);
        skip(lines, size + n_after);
        if (!is_found && attn_must_stop(&lines->options.stop))
            break;
    }
    line->end = lines->offset;
    *is_over = line->end == begun || (!is_found && attn_must_stop(&lines->options.stop));
    return attn_buffer_check(&line->text, err);
}

enum attn_status attn_batch_lines_next(struct attn_batch_lines *lines, struct attn_batch_line *line,
                                       bool *is_over, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    bool has_before = false; /* FASTA: lines precede the first record */

    for (bool is_first = true; is_first || (status == ATTN_OK && lines->is_before);
         is_first = false) {
        has_before = !is_first;
        lines->is_before = false;
        *is_over = true;
        if (attn_must_stop(&lines->options.stop))
            return ATTN_OK;
        if (lines->offset < lines->limit)
            status = read_line(lines, line, is_over, err);
    }
    if (status == ATTN_OK && *is_over && has_before)
        status = attn_error_set(err, ATTN_FORMAT,
                                "'%s' has no record of FASTA, expected a line that begins with >",
                                attn_quote_string(attn_batch_lines_name(lines)).text);
    if (status == ATTN_OK && !*is_over && lines->options.is_fasta && !line->is_too_long)
        status = write_object(&line->text, err);
    if (status == ATTN_OK && *is_over && lines->is_file)
        status = check_unchanged(lines, err);
    return attn_error_at(status, ATTN_STAGE_INPUT, err);
}

void attn_batch_lines_set_separator(struct attn_batch_lines *lines, char separator)
{
    lines->options.separator = separator;
}

void attn_batch_line_release(struct attn_batch_line *line)
{
    attn_buffer_release(&line->text);
}

void attn_batch_lines_seek(struct attn_batch_lines *lines, uint64_t offset)
{
    lines->offset = offset;
    lines->at = lines->filled = 0;
    lines->is_at_end = false;
    lines->state = lines->options.is_fasta ? FIELD_RECORD : FIELD_BEGIN;
}

void attn_batch_lines_note_mark(const struct attn_batch_lines *lines, attn_note_fn on_note,
                                void *user)
{
    if (lines->n_mark > 0)
        attn_note(on_note, user, ATTN_NOTE_MARK, "a byte order mark in front of '%s' was skipped",
                  attn_quote_string(attn_batch_lines_name(lines)).text);
}

bool attn_batch_lines_is_file(const struct attn_batch_lines *lines, uint64_t *size)
{
    *size = lines->is_file ? (uint64_t)lines->info.size : 0;
    return lines->is_file;
}

bool attn_batch_lines_is_path(const struct attn_batch_lines *lines, const char *path)
{
    struct attn_os_info other;
    return lines->is_file && !lines->options.data && attn_os_stat(path, &other) == 0 &&
           other.device == lines->info.device && other.number == lines->info.number;
}

uint64_t attn_batch_lines_place(const struct attn_batch_lines *lines)
{
    return lines->offset;
}

uint64_t attn_batch_lines_end(const struct attn_batch_lines *lines)
{
    return lines->is_file ? lines->limit : 0;
}

/* --- Opening --------------------------------------------------------------------------------- */

uint64_t attn_batch_lines_share(uint64_t size, uint64_t i, uint64_t n)
{
    return size / n * i + size % n * i / n;
}

static enum attn_status open_input(struct attn_batch_lines *lines, struct attn_error *err)
{
    const char *path = lines->options.path, *name = attn_batch_lines_name(lines);

    lines->descriptor = ATTN_OS_INPUT;
    if (lines->options.data) {
        lines->is_file = true;
        lines->info.size = (int64_t)lines->options.n_data;
        lines->limit = lines->options.n_data;
        return ATTN_OK;
    }
    if (path && strcmp(path, "-") != 0) {
        do {
            /* opening a FIFO waits for its writer */
            lines->descriptor = attn_os_open(path, ATTN_OS_READ, 0);
        } while (lines->descriptor < 0 && errno == EINTR && !attn_must_stop(&lines->options.stop));
        if (lines->descriptor < 0)
            return attn_error_errno(err, "open", name, errno);
    }
    if (attn_os_stat_open(lines->descriptor, &lines->info) != 0)
        return attn_error_errno(err, "read", name, errno);
    if (lines->info.kind == ATTN_OS_FOLDER)
        return attn_error_set(err, ATTN_INVALID, "'%s' is a directory, expected a file of lines",
                              attn_quote_string(name).text);
    lines->is_file = lines->info.kind == ATTN_OS_FILE && lines->descriptor != ATTN_OS_INPUT;
    if (!lines->is_file)
        lines->info.size = 0;
    lines->limit = lines->is_file ? (uint64_t)lines->info.size : UINT64_MAX;
    return ATTN_OK;
}

bool attn_path_is_fasta(const char *path)
{
    static const char *const ends[] = {".fasta", ".fa", ".faa"};

    for (size_t i = 0; path && i < sizeof ends / sizeof *ends; i++)
        if (attn_path_has_ending(path, ends[i]))
            return true;
    return false;
}

enum attn_status attn_batch_lines_open(const struct attn_batch_lines_options *options,
                                       struct attn_batch_lines **lines, struct attn_error *err)
{
    struct attn_batch_lines *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = *options;
    made->options.is_fasta |= options->may_be_fasta && attn_path_is_fasta(options->path);
    made->state = made->options.is_fasta ? FIELD_RECORD : FIELD_BEGIN;
    made->buffer = attn_alloc_uninitialized(BUFFER_SIZE, 1, err);
    status = made->buffer ? open_input(made, err) : ATTN_NO_MEMORY;
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_INPUT, err), lines, made,
                     attn_batch_lines_free);
}

void attn_batch_lines_free(struct attn_batch_lines *lines)
{
    if (!lines)
        return;
    if (lines->descriptor > ATTN_OS_INPUT)
        attn_os_close(lines->descriptor);
    attn_free(lines->buffer);
    attn_free(lines);
}
