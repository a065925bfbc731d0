/*
 * json_writer.h - writes JSON piece by piece; adds commas, colons, quotes and indentation.
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
 * Values of an array and members of an object are separated by `comma`, or, after attn_json_line,
 * by "," and a new line that is indented by `indent` blanks for each open object or array. If
 * memory runs out, attn_buffer_check of the buffer reports it. The caller may write the buffer to a
 * sink and empty it between any two calls.
 */
#pragma once

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

enum { ATTN_JSON_WRITER_DEPTH = 16 };

/* Initialize with = {.out = BUFFER}. */
struct attn_json_writer {
    struct attn_buffer *out;   /* borrowed */
    const char *comma, *colon; /* NULL: ", " and ": "; may change between any two calls */
    int indent;                /* blanks at the start of a line for each open object or array */
    int depth;                 /* number of open objects and arrays */
    char kind[ATTN_JSON_WRITER_DEPTH];       /* of each level: '{' or '[' */
    bool has_member[ATTN_JSON_WRITER_DEPTH]; /* of each level: it already has a member or a value */
    bool has_key;                            /* a key was written, and its value comes next */
    bool has_line;                           /* the next item begins a new line */
};

/* X(ID, kind, schema). The kinds of JSON documents. The number grows when a name in such a document
 * or its meaning changes. */
#define ATTN_DOCUMENT_MAP(X)                                                                       \
    X(RUN, "run", 1)                                                                               \
    X(TABLE, "table", 1)                                                                           \
    X(INSPECT, "inspect", 1)                                                                       \
    X(GENERATE, "generate", 1)                                                                     \
    X(TOKENIZE, "tokenize", 1)                                                                     \
    X(MANIFEST, "manifest", 1)                                                                     \
    X(ERROR, "error", 1)                                                                           \
    X(HELP, "help", 1)                                                                             \
    X(PAGE, "page", 1)

enum attn_document_kind {
#define ATTN_DOCUMENT_ENUM(id, kind, schema) ATTN_DOCUMENT_##id,
    ATTN_DOCUMENT_MAP(ATTN_DOCUMENT_ENUM)
#undef ATTN_DOCUMENT_ENUM
};

/* Writes the members "schema" and "kind", with which each document begins. */
void attn_json_head(struct attn_json_writer *json, enum attn_document_kind kind);

/* Begins an object ('{') or an array ('['). */
void attn_json_begin(struct attn_json_writer *json, char kind);
void attn_json_end(struct attn_json_writer *json);

/* Begins an array or, if not IS_THERE, writes null instead. Returns IS_THERE. */
bool attn_json_begin_list(struct attn_json_writer *json, bool is_there);

/* Writes the key NAME (terminated) of the next value of an object. Returns JSON, so that calls can
 * be nested: attn_json_size(attn_json_key(&json, "rows"), n). */
struct attn_json_writer *attn_json_key(struct attn_json_writer *json, const char *name);

/* Makes the next value, member or end begin a new line. */
void attn_json_line(struct attn_json_writer *json);

/* These write a string of UTF-8: TEXT [size bytes], or terminated; NULL is written as null. */
void attn_json_string(struct attn_json_writer *json, const char *text, size_t size);
void attn_json_text(struct attn_json_writer *json, const char *text);

/* Writes TEXT as a string, and releases it. */
void attn_json_buffer(struct attn_json_writer *json, struct attn_buffer *text);

void attn_json_integer(struct attn_json_writer *json, int64_t value);
void attn_json_ids(struct attn_json_writer *json, const int32_t *ids, size_t n); /* a list */
void attn_json_size(struct attn_json_writer *json, uint64_t value);
void attn_json_bool(struct attn_json_writer *json, bool value);
void attn_json_null(struct attn_json_writer *json);

/* Writes the shortest decimal that reads back as the same double; null for NaN and infinity. */
void attn_json_double(struct attn_json_writer *json, double value);

/* Writes VALUE with PRECISION decimals, or if PRECISION is -1, as the shortest text that reads back
 * as the same number; null for NaN and infinity. */
void attn_json_float(struct attn_json_writer *json, float value, int precision);

/* Returns the buffer, to which the caller appends the next value itself, as a row of numbers. */
struct attn_buffer *attn_json_value(struct attn_json_writer *json);
