/*
 * json_reader.h - a strict pull parser for JSON text from outside (RFC 8259).
 *
 * Refuses what lenient parsers accept: text that is not UTF-8, a byte order mark, NUL, raw control
 * characters in strings, lone surrogate escapes, leading zeros, NaN, trailing commas or text, more
 * than 64 levels. Duplicate keys are left to attn_json_check_keys. Pulling allocates nothing:
 * tokens are slices of the text. After a failure the reader cannot be used.
 *
 *     struct attn_json_reader reader = attn_json_reader_init(text, size, "model.safetensors");
 *     while ((status = attn_json_next(&reader, &token, &err)) == ATTN_OK &&
 *            token.type != ATTN_JSON_END) ...
 */
#ifndef ATTN_FORMATS_JSON_READER_H
#define ATTN_FORMATS_JSON_READER_H

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
    ATTN_JSON_KEY, /* a member's name; its value is the next token */
    ATTN_JSON_STRING,
    ATTN_JSON_NUMBER,
    ATTN_JSON_TRUE,
    ATTN_JSON_FALSE,
    ATTN_JSON_NULL,
    ATTN_JSON_END /* after the one value; white space only may follow it */
};

struct attn_json_token {
    enum attn_json_type type;
    const char *text; /* slice of the text: strings without their quotes, still escaped; numbers as
                         written */
    size_t size;
    bool has_escape; /* strings: at least one backslash */
    size_t offset;   /* offset of the token in the text, bytes */
};

struct attn_json_reader {
    const char *text, *name; /* borrowed; name is the file's, for messages */
    size_t size, offset;
    int depth;
    uint64_t is_object; /* bit d: level d is an object */
    enum {
        ATTN_JSON_EXPECT_VALUE,
        ATTN_JSON_EXPECT_FIRST,
        ATTN_JSON_EXPECT_NEXT,
        ATTN_JSON_EXPECT_MEMBER,
        ATTN_JSON_EXPECT_NOTHING
    } state;
};

struct attn_json_reader attn_json_reader_init(const char *text, size_t size, const char *name);

/* The next token. ATTN_FORMAT has name, byte offset, and the text that was found and expected. */
enum attn_status attn_json_next(struct attn_json_reader *reader, struct attn_json_token *token,
                                struct attn_error *err);

/* Reads the next member at once if it is "key": N, a number of at most nine digits; a vocabulary
 * has 50,000. Stores the unescaped key at TO [room], also as scratch. False if the member has
 * another form, is malformed, or ROOM may be too small; then attn_json_next reads it. */
bool attn_json_read_count(struct attn_json_reader *reader, char *to, size_t room, size_t *size,
                          uint32_t *count);

/* Skips the next element of a list at once if it is a string or a list of strings; a tokenizer has
 * 50,000 merges. False if it is something else or malformed; then it is not consumed. */
bool attn_json_skip_strings(struct attn_json_reader *reader);

/* Skips the value that would come next, with everything in it. */
enum attn_status attn_json_skip(struct attn_json_reader *reader, struct attn_error *err);

/* The unescaped string of a KEY or STRING token, which may have NUL (\u0000): appended to OUT, or
 * stored at TO [token->size], which may be the token's own text. The second returns the size. */
void attn_json_unescape(const struct attn_json_token *token, struct attn_buffer *out);
size_t attn_json_unescape_to(const struct attn_json_token *token, char *to);

/* Whether the unescaped string equals TEXT. */
bool attn_json_equals(const struct attn_json_token *token, const char *text);

/* Whether the unescaped string holds NUL, which a C string cannot. */
bool attn_json_has_nul(const struct attn_json_token *token);

/* Order of two unescaped strings, by bytes as memcmp; a hash that is the same for equal ones. It
 * is not secret: the author of a text can make any number of strings collide. */
int attn_json_compare(const struct attn_json_token *a, const struct attn_json_token *b);
uint64_t attn_json_hash(const struct attn_json_token *token);

/* A number token of digits alone as an exact integer; false otherwise, or above 2^64-1. */
bool attn_json_uint(const struct attn_json_token *token, uint64_t *value);

/* One pass over what READER has not read yet: its grammar, and no key twice in one object. At most
 * 4 GiB; allocates 8 bytes for each key of the objects that are open. */
enum attn_status attn_json_check_keys(struct attn_json_reader reader, struct attn_error *err);

#endif
