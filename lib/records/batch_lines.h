/*
 * batch_lines.h - the lines of a file or a pipe, one after the other, each with its place.
 *
 *     struct attn_batch_lines *lines;
 *     attn_batch_lines_open(&options, &lines, &err);
 *     while (attn_batch_lines_next(lines, &line, &is_over, &err) == ATTN_OK && !is_over)
 *         ... line.text.data [line.text.size] ...
 *     attn_batch_lines_free(lines);
 *
 * A line ends with \n, which is no part of its text; the last one may do without. A line that is
 * too long is read to its end, however far that is, in the memory of a short one, and said to be
 * so. A file is cut into shards by its bytes: shard I of N has the lines that begin in the bytes
 * [size*I/N, size*(I+1)/N), so all shards together have each line once, and none looks at more of
 * the file than its own part. Lines of CSV, whose quoted fields may hold \n, are not cut into
 * shards.
 *
 * Errors are at the stage of the input.
 */
#ifndef ATTN_RECORDS_BATCH_LINES_H
#define ATTN_RECORDS_BATCH_LINES_H

#include "base/buffer.h"
#include "records/digest.h"

struct attn_batch_lines;

struct attn_batch_lines_options {
    const char *path; /* NULL or "-": standard input */
    const char *data; /* [n_data] bytes that are read instead; or NULL */
    size_t n_data;
    char separator;          /* of fields of CSV: \n in a quoted one is part of its line; 0: none */
    size_t max_line;         /* bytes of the longest line, without \n */
    size_t shard, n_shard;   /* shard of n_shard, from 0; n_shard 0: all of it */
    struct attn_stop stop;   /* looked at before each wait; lines then end */
    struct sha256_ctx *read; /* gets all bytes of lines that are read, in their order; or NULL */
};

/* A line and its place. Initialize with = {0}; end with attn_batch_line_release. */
struct attn_batch_line {
    struct attn_buffer text; /* without \n; empty where it is too long */
    bool is_too_long;
    uint64_t size;       /* bytes without \n */
    uint64_t n_end;      /* \n in it and at its end */
    uint64_t begin, end; /* bytes of the input: where it begins, and where the next one does */
    uint32_t crc;        /* CRC-32 of its bytes, \n with them */
};

void attn_batch_line_release(struct attn_batch_line *line);

/* Opens what OPTIONS say, which are borrowed. */
enum attn_status attn_batch_lines_open(const struct attn_batch_lines_options *options,
                                       struct attn_batch_lines **lines, struct attn_error *err);
void attn_batch_lines_free(struct attn_batch_lines *lines); /* NULL is allowed */

/* Reads the next line into LINE, or sets *is_over; what the line had before is overwritten. */
enum attn_status attn_batch_lines_next(struct attn_batch_lines *lines, struct attn_batch_line *line,
                                       bool *is_over, struct attn_error *err);

/* Says which separator the fields of all later lines of CSV have. */
void attn_batch_lines_set_separator(struct attn_batch_lines *lines, char separator);

/* Takes the bytes before END, or all there are. ATTN_CANCELED when it is stopped. */
enum attn_status attn_batch_lines_take(struct attn_batch_lines *lines, uint64_t end,
                                       struct attn_error *err);

/*
 * Continues after the line that began at BEGIN and ended before END, with that CRC, from the first
 * one: all bytes up to there are taken, and LINE is that one. ATTN_INVALID at the stage of the
 * options when there is another line.
 */
enum attn_status attn_batch_lines_skip(struct attn_batch_lines *lines, struct attn_batch_line *line,
                                       uint64_t begin, uint64_t end, uint32_t crc,
                                       struct attn_error *err);

/* Begins again with the first line, of all of the input, which is no pipe. */
void attn_batch_lines_rewind(struct attn_batch_lines *lines);

/* Counts the lines of the file before the shard: all of that is read. ATTN_CANCELED when it is
 * stopped. */
enum attn_status attn_batch_lines_count_before(struct attn_batch_lines *lines, uint64_t *n,
                                               struct attn_error *err);

/* What the input begins with, whole lines of at most 256 KiB, or all of it: of a file whichever
 * shard is read, of a pipe before its first line is. Nothing is taken. Borrowed until the next
 * call. */
enum attn_status attn_batch_lines_peek(struct attn_batch_lines *lines, const char **text,
                                       size_t *size, struct attn_error *err);

/* What messages call it: its path, or "standard input". */
const char *attn_batch_lines_name(const struct attn_batch_lines *lines);

/* Whether it is a file that can be sought, and then its size. */
bool attn_batch_lines_is_file(const struct attn_batch_lines *lines, uint64_t *size);

/* Whether PATH is that file. */
bool attn_batch_lines_is_path(const struct attn_batch_lines *lines, const char *path);

/* Where the lines begin and, as far as they were read, end; bytes of the input. */
void attn_batch_lines_range(const struct attn_batch_lines *lines, uint64_t *begin, uint64_t *end);

/* Where part I of N of SIZE bytes begins: SIZE * I / N, without overflow of the product. */
uint64_t attn_batch_lines_share(uint64_t size, uint64_t i, uint64_t n);

/* Where the last line at the most begins: a file's share that is read is of this. 0: not known. */
uint64_t attn_batch_lines_end(const struct attn_batch_lines *lines);

#endif
