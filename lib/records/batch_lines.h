/*
 * batch_lines.h - reads the lines of a file or a pipe.
 *
 *     struct attn_batch_lines *lines;
 *     attn_batch_lines_open(&options, &lines, &err);
 *     while (attn_batch_lines_next(lines, &line, &is_over, &err) == ATTN_OK && !is_over)
 *         ... line.text.data [line.text.size] ...
 *     attn_batch_lines_free(lines);
 *
 * A line ends with \n, which is not part of its text; the last \n may be missing. The text of a
 * line that is too long is skipped in constant memory. Shard I of N has the lines that begin in the
 * bytes [size*I/N, size*(I+1)/N) of a file: each line is in one shard, and a shard reads its part
 * alone. Lines of CSV, whose quoted fields may have \n, have no shards.
 *
 * A record of FASTA, from > at the begin of a line up to the next one, is a line, too. Its text is
 * {"id": first word, "description": rest of the line, "text": the letters} then: white space, one
 * final *, and lines that begin with ; are left out. Without letters it has "ids": [] instead.
 *
 * Errors are at the stage of the input.
 */
#ifndef ATTN_RECORDS_BATCH_LINES_H
#define ATTN_RECORDS_BATCH_LINES_H

#include "base/buffer.h"
#include "records/digest.h"

/* Whether PATH, or NULL, ends as files of FASTA do: .fasta, .fa or .faa. */
bool attn_path_is_fasta(const char *path);

struct attn_batch_lines;

struct attn_batch_lines_options {
    const char *path; /* NULL or "-": standard input */
    const char *data; /* [n_data] bytes instead of a file; or NULL */
    size_t n_data;
    bool is_fasta;            /* it has FASTA */
    bool may_be_fasta;        /* it has FASTA if its name ends in .fasta, .fa or .faa, or it begins
                                 with > or ; */
    char separator;           /* of CSV: \n in a quoted field is part of the line; 0: not CSV */
    size_t max_line;          /* bytes of the longest line, without \n */
    size_t shard, n_shard;    /* shard of n_shard, from 0; n_shard 0: all lines */
    struct attn_stop stop;    /* ends the lines; checked before each wait */
    struct attn_sha256 *read; /* gets the bytes of all lines, in order; or NULL */
};

/* A line and its place. Initialize with = {0}; end with attn_batch_line_release. */
struct attn_batch_line {
    struct attn_buffer text; /* without \n; empty if it is too long */
    bool is_too_long;
    uint64_t size;       /* bytes without the last \n */
    uint64_t n_end;      /* \n in it and at its end */
    uint64_t begin, end; /* offsets of this line and of the next one */
    uint32_t crc;        /* CRC-32 of its bytes with \n */
};

void attn_batch_line_release(struct attn_batch_line *line);

/* OPTIONS are borrowed. */
enum attn_status attn_batch_lines_open(const struct attn_batch_lines_options *options,
                                       struct attn_batch_lines **lines, struct attn_error *err);
void attn_batch_lines_free(struct attn_batch_lines *lines); /* NULL is allowed */

/* Reads the next line into LINE, which is overwritten, or sets *is_over. */
enum attn_status attn_batch_lines_next(struct attn_batch_lines *lines, struct attn_batch_line *line,
                                       bool *is_over, struct attn_error *err);

/* Sets the separator for all later lines of CSV. */
void attn_batch_lines_set_separator(struct attn_batch_lines *lines, char separator);

/* Reads the bytes up to END. ATTN_CANCELED if it is stopped. */
enum attn_status attn_batch_lines_take(struct attn_batch_lines *lines, uint64_t end,
                                       struct attn_error *err);

/* Reads all bytes up to the line from BEGIN to END, which LINE becomes. ATTN_INVALID at the stage
 * of the options if that line has another CRC. */
enum attn_status attn_batch_lines_skip(struct attn_batch_lines *lines, struct attn_batch_line *line,
                                       uint64_t begin, uint64_t end, uint32_t crc,
                                       struct attn_error *err);

/* Begins again with the first line of the file. */
void attn_batch_lines_rewind(struct attn_batch_lines *lines);

/* Counts the lines before the shard: reads all of them. ATTN_CANCELED if it is stopped. */
enum attn_status attn_batch_lines_count_before(struct attn_batch_lines *lines, uint64_t *n,
                                               struct attn_error *err);

/* The beginning of the input, whole lines of at most 256 KiB, whatever the shard. Call it before
 * the first line of a pipe. Borrowed until the next call. */
enum attn_status attn_batch_lines_peek(struct attn_batch_lines *lines, const char **text,
                                       size_t *size, struct attn_error *err);

/* The path, or "standard input". */
const char *attn_batch_lines_name(const struct attn_batch_lines *lines);

/* Whether the input is a seekable file, or memory, and its size. */
bool attn_batch_lines_is_file(const struct attn_batch_lines *lines, uint64_t *size);

/* Whether PATH is the input. */
bool attn_batch_lines_is_path(const struct attn_batch_lines *lines, const char *path);

/* Offsets of the first line and of the next one. */
void attn_batch_lines_range(const struct attn_batch_lines *lines, uint64_t *begin, uint64_t *end);

/* Where part I of N of SIZE bytes begins: SIZE * I / N, without overflow of the product. */
uint64_t attn_batch_lines_share(uint64_t size, uint64_t i, uint64_t n);

/* The offset before which the last line begins; 0 if it is not known. */
uint64_t attn_batch_lines_end(const struct attn_batch_lines *lines);

#endif
