/*
 * json_reader.h - a strict parser for JSON text from outside (RFC 8259) that returns token by
 * token.
 *
 * It refuses what lenient parsers accept: text that is not UTF-8, a byte order mark, NUL, raw
 * control characters in strings, lone surrogate escapes, leading zeros, NaN, trailing commas or
 * text, more than 64 levels. attn_json_next_unique finds duplicate keys. Reading tokens allocates
 * nothing: they point into the text. After a failure the reader cannot be used.
 *
 *     struct attn_json_reader reader = attn_json_reader_init(text, size, "model.safetensors");
 *     while ((status = attn_json_next(&reader, &token, &err)) == ATTN_OK &&
 *            token.type != ATTN_JSON_END) ...
 */
#pragma once

#include "base/buffer.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_JSON_MAX_DEPTH = 64 };

enum attn_json_type {
    ATTN_JSON_OBJECT_BEGIN,
    ATTN_JSON_OBJECT_END,
    ATTN_JSON_ARRAY_BEGIN,
    ATTN_JSON_ARRAY_END,
    ATTN_JSON_KEY, /* the name of a member; the next token is its value */
    ATTN_JSON_STRING,
    ATTN_JSON_NUMBER,
    ATTN_JSON_TRUE,
    ATTN_JSON_FALSE,
    ATTN_JSON_NULL,
    ATTN_JSON_END /* comes after the one value; only white space may follow */
};

struct attn_json_token {
    enum attn_json_type type;
    const char *text; /* points into the text: strings without quotes but still with escapes;
                         numbers as written */
    size_t size;
    bool has_escape; /* of strings: there is at least one backslash */
    size_t offset;   /* byte offset of the token in the text */
};

struct attn_json_reader {
    const char *text, *name; /* borrowed; name is the name of the file, for messages */
    size_t size, offset;
    int depth;
    uint64_t is_object; /* bit d: level d is an object, not a list */
    enum {
        ATTN_JSON_EXPECT_VALUE,
        ATTN_JSON_EXPECT_FIRST,
        ATTN_JSON_EXPECT_NEXT,
        ATTN_JSON_EXPECT_MEMBER,
        ATTN_JSON_EXPECT_NOTHING
    } state;
};

struct attn_json_reader attn_json_reader_init(const char *text, size_t size, const char *name);

/* Reads the next token. The message of ATTN_FORMAT has the name of the file, the byte offset, and
 * what was found and expected. */
enum attn_status attn_json_next(struct attn_json_reader *reader, struct attn_json_token *token,
                                struct attn_error *err);

/* A fast path for vocabularies, which have 50,000 members: reads the next member if it is "key": N
 * with at most nine digits. Stores the decoded key at TO [room], which is also used as scratch.
 * False if the member has another form or is malformed, or ROOM may be too small; then nothing was
 * read. */
bool attn_json_read_count(struct attn_json_reader *reader, char *to, size_t room, size_t *size,
                          uint32_t *count);

/* A fast path for lists of merges, which have 50,000 elements: skips the next element if it is a
 * string or a list of strings. False if it is something else or malformed; then nothing was read.
 */
bool attn_json_skip_strings(struct attn_json_reader *reader);

/* Skips the next value with all that it contains. */
enum attn_status attn_json_skip(struct attn_json_reader *reader, struct attn_error *err);

/* Decode the string of a KEY or STRING token; the result may contain NUL (\u0000). The first
 * appends it to OUT. The second stores it at TO [token->size], which may be the token's own text,
 * and returns its size. */
void attn_json_unescape(const struct attn_json_token *token, struct attn_buffer *out);
size_t attn_json_unescape_to(const struct attn_json_token *token, char *to);

/* Whether the decoded string equals TEXT. */
bool attn_json_equals(const struct attn_json_token *token, const char *text);

/* Whether the decoded string contains NUL, which a C string cannot hold. */
bool attn_json_has_nul(const struct attn_json_token *token);

/* The first compares two decoded strings by bytes as memcmp does. The second returns a hash, equal
 * for equal decoded strings. The hash is not secret: the author of a text can make any number of
 * strings collide. */
int attn_json_compare(const struct attn_json_token *a, const struct attn_json_token *b);
uint64_t attn_json_hash(const struct attn_json_token *token);

/* Converts a number token that has only digits into an exact integer. False for others and above
 * 2^64 - 1. */
bool attn_json_uint(const struct attn_json_token *token, uint64_t *value);

/* A key of an object that is still open. */
struct attn_json_place {
    uint32_t hash, offset; /* offset of its opening quote in the text */
};

/* The keys of all objects that are still open, the outermost first. Initially zeroed. */
struct attn_json_keys {
    struct attn_json_place *keys; /* [count]; owns; release it with attn_free */
    size_t count, capacity;
    size_t first[ATTN_JSON_MAX_DEPTH]; /* index of the first key of each level */
};

/* As attn_json_next, and when an object ends, checks that it has no key twice. KEYS is that of all
 * tokens since the begin of the text, which may have at most 4 GiB. */
enum attn_status attn_json_next_unique(struct attn_json_reader *reader, struct attn_json_keys *keys,
                                       struct attn_json_token *token, struct attn_error *err);

/* Checks the grammar of all that READER has not read yet, and that no object has a key twice. Adds
 * the number of keys of the root to *n_key, unless N_KEY is NULL. */
enum attn_status attn_json_check_keys(struct attn_json_reader reader, size_t *n_key,
                                      struct attn_error *err);
