/*
 * batch_lines.h - reads the lines of a file or a pipe.
 *
 *     struct attn_batch_lines *lines;
 *     attn_batch_lines_open(&options, &lines, &err);
 *     while (attn_batch_lines_next(lines, &line, &is_over, &err) == ATTN_OK && !is_over)
 *         ... line.text.data [line.text.size] ...
 *     attn_batch_lines_free(lines);
 *
 * A line ends with \n, which is not part of its text; the last \n may be missing. Lines of CSV end
 * with \r if the input begins without \n. A byte order mark in front of the first line is skipped.
 * The text of a line that is too long is skipped in constant memory.
 *
 * A record of FASTA, from a > that begins a line up to the next one, is returned as a line. Its
 * text is {"id": first word, "description": rest of the line, "text": the letters} then: white
 * space, one final *, and lines that begin with ; are left out. Without letters it has "ids": []
 * instead.
 *
 * Errors have the stage of the input.
 */
#pragma once

#include "base/buffer.h"
#include "base/note.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns true if PATH, which may be NULL, has an ending of FASTA files: .fasta, .fa or .faa. */
bool attn_path_is_fasta(const char *path);

/* Finds a byte order mark in front of TEXT, the beginning of the file NAME. *N_MARK is its size, 0
 * without one. ATTN_FORMAT if it is a mark of UTF-16. */
enum attn_status attn_text_find_mark(const char *text, size_t size, const char *name,
                                     size_t *n_mark, struct attn_error *err);

/* Flags that stop long operations. Borrowed; each may be NULL. */
struct attn_stop {
    const volatile sig_atomic_t *cancel; /* nonzero: canceled */
    const atomic_bool *is_unwanted;      /* true: the result is not needed any more */
};

bool attn_must_stop(const struct attn_stop *stop);

/* Sets and returns ATTN_CANCELED. */
enum attn_status attn_report_stopped(struct attn_error *err);

struct attn_batch_lines;

struct attn_batch_lines_options {
    const char *path; /* NULL or "-": standard input */
    const char *data; /* [n_data] bytes to read instead of a file; or NULL */
    size_t n_data;
    bool is_fasta; /* the input is FASTA */
    /* the input is FASTA if its name ends with .fasta, .fa or .faa, or if it begins with > or ; */
    bool may_be_fasta;
    char separator;        /* of CSV: a quoted field may contain \n; 0: not CSV */
    size_t max_line;       /* maximum bytes of a line, without \n */
    struct attn_stop stop; /* flags that end reading; checked before each wait */
};

/* A line with its offsets. Initialize with = {0}; end with attn_batch_line_release. */
struct attn_batch_line {
    struct attn_buffer text; /* without the final \n; empty if the line is too long */
    bool is_too_long;
    uint64_t size;       /* bytes without the final \n */
    uint64_t n_end;      /* number of ends of lines in it, including the final one */
    uint64_t begin, end; /* offsets of this line and of the next one */
};

void attn_batch_line_release(struct attn_batch_line *line);

/* Opens the input. OPTIONS are borrowed. */
enum attn_status attn_batch_lines_open(const struct attn_batch_lines_options *options,
                                       struct attn_batch_lines **lines, struct attn_error *err);
void attn_batch_lines_free(struct attn_batch_lines *lines); /* NULL is allowed */

/* Reads the next line into LINE, overwriting it, or sets *IS_OVER. */
enum attn_status attn_batch_lines_next(struct attn_batch_lines *lines, struct attn_batch_line *line,
                                       bool *is_over, struct attn_error *err);

/* Sets the separator for all later lines of CSV. */
void attn_batch_lines_set_separator(struct attn_batch_lines *lines, char separator);

/* Goes on with the line of the file that begins at OFFSET. */
void attn_batch_lines_seek(struct attn_batch_lines *lines, uint64_t offset);

/* Returns the path, or "standard input". */
const char *attn_batch_lines_name(const struct attn_batch_lines *lines);

/* Sends a note if a byte order mark was skipped. */
void attn_batch_lines_note_mark(const struct attn_batch_lines *lines, attn_note_fn on_note,
                                void *user);

/* Returns true if the input is a seekable file, or memory; sets *SIZE. */
bool attn_batch_lines_is_file(const struct attn_batch_lines *lines, uint64_t *size);

/* Returns true if PATH is the input. */
bool attn_batch_lines_is_path(const struct attn_batch_lines *lines, const char *path);

/* Returns the offset of the next line to read. Not while another thread reads. */
uint64_t attn_batch_lines_place(const struct attn_batch_lines *lines);

/* Returns where part I of N of SIZE bytes begins: SIZE * I / N, without overflow. */
uint64_t attn_batch_lines_share(uint64_t size, uint64_t i, uint64_t n);

/* Returns the offset before which the last line begins; 0 if it is not known. */
uint64_t attn_batch_lines_end(const struct attn_batch_lines *lines);
