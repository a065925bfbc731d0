/*
 * json_writer.h - JSON, pushed piece by piece: commas, colons, quotes and indentation are the
 * writer's.
 *
 *     struct attn_json_writer json = {.out = &buffer, .indent = 1};
 *     attn_json_begin(&json, '{');
 *     attn_json_key(&json, "rows");
 *     attn_json_begin(&json, '[');
 *     attn_json_line(&json);                 // the next value begins a line
 *     attn_json_integer(&json, 3);
 *     attn_json_end(&json);
 *     attn_json_end(&json);                  // {"rows": [\n  3]}
 *
 * Values of an array and members of an object are separated by `comma`, or by "," and a line that
 * is indented by `indent` blanks for each object and array that is open. Lack of memory stays in
 * the buffer. The caller may hand the buffer to a sink and empty it between any two calls.
 */
#ifndef ATTN_ENCODE_JSON_WRITER_H
#define ATTN_ENCODE_JSON_WRITER_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { ATTN_JSON_WRITER_DEPTH = 16 };

/* Initialize with = {.out = BUFFER}. */
struct attn_json_writer {
    struct attn_buffer *out;           /* borrowed */
    const char *comma, *colon;         /* NULL: ", " and ": "; may change between any two calls */
    int indent;                        /* blanks at the begin of a line, for each that is open */
    int depth;                         /* objects and arrays that are open */
    char kind[ATTN_JSON_WRITER_DEPTH]; /* of each level, '{' or '[' */
    bool has_member[ATTN_JSON_WRITER_DEPTH]; /* of each level: it has a member or value */
    bool has_key;                            /* a key waits for its value */
    bool has_line;                           /* the next item begins a line */
};

/* KIND is '{' or '['. */
void attn_json_begin(struct attn_json_writer *json, char kind);
void attn_json_end(struct attn_json_writer *json);

/* Begins an array; where it IS not THERE, writes null instead. Returns IS_THERE. */
bool attn_json_begin_list(struct attn_json_writer *json, bool is_there);

/* In an object, before each value. NAME is terminated. Returns JSON:
 * attn_json_size(attn_json_key(&json, "rows"), n). */
struct attn_json_writer *attn_json_key(struct attn_json_writer *json, const char *name);

/* The next value, member or end begins a line. */
void attn_json_line(struct attn_json_writer *json);

/* TEXT [size bytes] of UTF-8, or terminated; NULL is null. */
void attn_json_string(struct attn_json_writer *json, const char *text, size_t size);
void attn_json_text(struct attn_json_writer *json, const char *text);

void attn_json_integer(struct attn_json_writer *json, int64_t value);
void attn_json_size(struct attn_json_writer *json, uint64_t value);
void attn_json_bool(struct attn_json_writer *json, bool value);
void attn_json_null(struct attn_json_writer *json);

/* The shortest decimal that reads back as the same double; null for NaN and infinity. */
void attn_json_double(struct attn_json_writer *json, double value);

/* PRECISION decimals, or -1: the shortest exact text; null for NaN and infinity. */
void attn_json_float(struct attn_json_writer *json, float value, int precision);

/* The buffer, for a value that the caller appends: a row of numbers. */
struct attn_buffer *attn_json_value(struct attn_json_writer *json);

#endif
