/*
 * json_reader.c - the pull parser: one state, one bit a level, no recursion, no allocation.
 *
 * A string is checked once, when it is pulled; json_token.c relies on that.
 */
#include "formats/json_reader.h"

#include "base/escape.h"
#include "base/utf8.h"

#include <string.h>

struct attn_json_reader attn_json_reader_init(const char *text, size_t size, const char *name)
{
    return (struct attn_json_reader){
        .text = text, .size = size, .name = name, .state = ATTN_JSON_EXPECT_VALUE};
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* The byte at OFFSET, or -1 past the end. */
static int byte_at(const struct attn_json_reader *reader, size_t offset)
{
    return offset < reader->size ? (unsigned char)reader->text[offset] : -1;
}

/* Says what stands at OFFSET: a whole word, else one character, else one byte. */
static enum attn_status refuse(const struct attn_json_reader *reader, size_t offset,
                               const char *expected, struct attn_error *err)
{
    struct attn_quote name = attn_quote_string(reader->name), found;
    size_t left = reader->size - offset, size = 0;
    uint32_t code_point = 0;

    if (left == 0)
        return attn_error_set(err, ATTN_FORMAT, "'%s' ends at byte %zu, expected %s", name.text,
                              offset, expected);
    while (is_word(byte_at(reader, offset + size)) && size < ATTN_QUOTE_SIZE)
        size++;
    if (size == 0)
        size = attn_utf8_decode(reader->text + offset, left, &code_point);
    if (code_point == 0xfeff)
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has a byte order mark at byte %zu, expected %s", name.text,
                              offset, expected);
    found = attn_quote(reader->text + offset, size > 0 ? size : 1);
    return attn_error_set(err, ATTN_FORMAT, "'%s' has '%s' at byte %zu, expected %s", name.text,
                          found.text, offset, expected);
}

static void skip_space(struct attn_json_reader *reader)
{
    int c;

    while ((c = byte_at(reader, reader->offset)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        reader->offset++;
}

static bool in_object(const struct attn_json_reader *reader)
{
    return reader->depth > 0 && (reader->is_object >> (reader->depth - 1) & 1) != 0;
}

/* Stores the token that begins at the reader's offset and ends before END. */
static enum attn_status emit(struct attn_json_reader *reader, enum attn_json_type type, size_t end,
                             struct attn_json_token *token)
{
    *token = (struct attn_json_token){.type = type,
                                      .text = reader->text + reader->offset,
                                      .size = end - reader->offset,
                                      .offset = reader->offset};
    reader->offset = end;
    return ATTN_OK;
}

static void end_value(struct attn_json_reader *reader)
{
    reader->state = reader->depth > 0 ? ATTN_JSON_EXPECT_NEXT : ATTN_JSON_EXPECT_NOTHING;
}

static enum attn_status open_level(struct attn_json_reader *reader, enum attn_json_type type,
                                   struct attn_json_token *token, struct attn_error *err)
{
    uint64_t bit = (uint64_t)1 << (reader->depth % ATTN_JSON_MAX_DEPTH);

    if (reader->depth == ATTN_JSON_MAX_DEPTH)
        return refuse(reader, reader->offset, "at most 64 levels", err);
    if (type == ATTN_JSON_OBJECT_BEGIN)
        reader->is_object |= bit;
    else
        reader->is_object &= ~bit;
    reader->depth++;
    reader->state = ATTN_JSON_EXPECT_FIRST;
    return emit(reader, type, reader->offset + 1, token);
}

static enum attn_status close_level(struct attn_json_reader *reader, struct attn_json_token *token)
{
    enum attn_json_type type = in_object(reader) ? ATTN_JSON_OBJECT_END : ATTN_JSON_ARRAY_END;

    reader->depth--;
    end_value(reader);
    return emit(reader, type, reader->offset + 1, token);
}

static int hex_value(int c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Reads the four digits of a \u escape at OFFSET. */
static enum attn_status read_hex(const struct attn_json_reader *reader, size_t offset,
                                 uint32_t *unit, struct attn_error *err)
{
    uint32_t value = 0;

    for (size_t i = offset; i < offset + 4; i++) {
        int digit = hex_value(byte_at(reader, i));

        if (digit < 0)
            return refuse(reader, i, "four hexadecimal digits after '\\u'", err);
        value = value << 4 | (uint32_t)digit;
    }
    *unit = value;
    return ATTN_OK;
}

static bool is_high_surrogate(uint32_t unit)
{
    return unit >= 0xd800 && unit <= 0xdbff;
}

static bool is_low_surrogate(uint32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Checks the escape whose backslash is at *AT and moves *AT behind it. */
static enum attn_status check_escape(const struct attn_json_reader *reader, size_t *at,
                                     struct attn_error *err)
{
    static const char pair[] = "a high and a low surrogate as a pair";
    size_t start = *at;
    int c = byte_at(reader, start + 1);
    uint32_t high = 0, low = 0;

    if (c != 'u') {
        if (c <= 0 || strchr("\"\\/bfnrt", c) == NULL)
            return refuse(reader, start + 1, "one of \"\\/bfnrtu after a backslash", err);
        *at = start + 2;
        return ATTN_OK;
    }
    if (read_hex(reader, start + 2, &high, err) != ATTN_OK)
        return ATTN_FORMAT;
    *at = start + 6;
    if (is_low_surrogate(high))
        return refuse(reader, start + 1, pair, err);
    if (!is_high_surrogate(high))
        return ATTN_OK;
    if (byte_at(reader, start + 6) != '\\' || byte_at(reader, start + 7) != 'u')
        return refuse(reader, start + 1, pair, err);
    if (read_hex(reader, start + 8, &low, err) != ATTN_OK)
        return ATTN_FORMAT;
    if (!is_low_surrogate(low))
        return refuse(reader, start + 1, pair, err);
    *at = start + 12;
    return ATTN_OK;
}

/* Reads the string whose opening quote is at the reader's offset; the token is its inside. */
static enum attn_status read_string(struct attn_json_reader *reader, enum attn_json_type type,
                                    struct attn_json_token *token, struct attn_error *err)
{
    size_t start = reader->offset + 1, at = start, length;
    bool has_escape = false;
    uint32_t code_point;
    int c;

    while ((c = byte_at(reader, at)) != '"') {
        if (c < 0)
            return refuse(reader, at, "'\"' at the end of a string", err);
        if (c < 0x20)
            return refuse(reader, at, "no control character in a string", err);
        if (c == '\\') {
            has_escape = true;
            if (check_escape(reader, &at, err) != ATTN_OK)
                return ATTN_FORMAT;
        } else if (c < 0x80) {
            at++;
        } else {
            length = attn_utf8_decode(reader->text + at, reader->size - at, &code_point);
            if (length == 0)
                return refuse(reader, at, "valid UTF-8", err);
            at += length;
        }
    }
    *token = (struct attn_json_token){.type = type,
                                      .text = reader->text + start,
                                      .size = at - start,
                                      .has_escape = has_escape,
                                      .offset = reader->offset};
    reader->offset = at + 1;
    return ATTN_OK;
}

/* Moves *AT behind the digits there, of which there must be one. */
static enum attn_status skip_digits(const struct attn_json_reader *reader, size_t *at,
                                    struct attn_error *err)
{
    if (!is_digit(byte_at(reader, *at)))
        return refuse(reader, *at, "a digit", err);
    while (is_digit(byte_at(reader, *at)))
        ++*at;
    return ATTN_OK;
}

static enum attn_status read_number(struct attn_json_reader *reader, struct attn_json_token *token,
                                    struct attn_error *err)
{
    size_t at = reader->offset;
    int c;

    if (byte_at(reader, at) == '-')
        at++;
    if (byte_at(reader, at) == '0')
        at++; /* nothing may follow a leading zero: the next token finds the digit */
    else if (skip_digits(reader, &at, err) != ATTN_OK)
        return ATTN_FORMAT;
    if (byte_at(reader, at) == '.') {
        at++;
        if (skip_digits(reader, &at, err) != ATTN_OK)
            return ATTN_FORMAT;
    }
    c = byte_at(reader, at);
    if (c == 'e' || c == 'E') {
        at++;
        c = byte_at(reader, at);
        if (c == '+' || c == '-')
            at++;
        if (skip_digits(reader, &at, err) != ATTN_OK)
            return ATTN_FORMAT;
    }
    end_value(reader);
    return emit(reader, ATTN_JSON_NUMBER, at, token);
}

static bool has_word(const struct attn_json_reader *reader, const char *word)
{
    size_t size = strlen(word);

    return reader->size - reader->offset >= size &&
           memcmp(reader->text + reader->offset, word, size) == 0;
}

static enum attn_status read_value(struct attn_json_reader *reader, struct attn_json_token *token,
                                   struct attn_error *err)
{
    static const struct {
        const char *word;
        enum attn_json_type type;
    } words[] = {{"true", ATTN_JSON_TRUE}, {"false", ATTN_JSON_FALSE}, {"null", ATTN_JSON_NULL}};
    int c = byte_at(reader, reader->offset);

    if (c == '{')
        return open_level(reader, ATTN_JSON_OBJECT_BEGIN, token, err);
    if (c == '[')
        return open_level(reader, ATTN_JSON_ARRAY_BEGIN, token, err);
    if (c == '-' || is_digit(c))
        return read_number(reader, token, err);
    if (c == '"') {
        if (read_string(reader, ATTN_JSON_STRING, token, err) != ATTN_OK)
            return ATTN_FORMAT;
        end_value(reader);
        return ATTN_OK;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has_word(reader, words[i].word)) {
            end_value(reader);
            return emit(reader, words[i].type, reader->offset + strlen(words[i].word), token);
        }
    }
    if (reader->state == ATTN_JSON_EXPECT_FIRST)
        return refuse(reader, reader->offset, "a value or ']'", err);
    return refuse(reader, reader->offset, "a value", err);
}

/* A key with the colon behind it. */
static enum attn_status read_key(struct attn_json_reader *reader, struct attn_json_token *token,
                                 struct attn_error *err)
{
    struct attn_json_token key;

    if (byte_at(reader, reader->offset) != '"')
        return refuse(reader, reader->offset,
                      reader->state == ATTN_JSON_EXPECT_FIRST ? "a key in quotes or '}'"
                                                              : "a key in quotes",
                      err);
    if (read_string(reader, ATTN_JSON_KEY, &key, err) != ATTN_OK)
        return ATTN_FORMAT;
    skip_space(reader);
    if (byte_at(reader, reader->offset) != ':')
        return refuse(reader, reader->offset, "':'", err);
    reader->offset++;
    reader->state = ATTN_JSON_EXPECT_VALUE;
    *token = key;
    return ATTN_OK;
}

enum attn_status attn_json_next(struct attn_json_reader *reader, struct attn_json_token *token,
                                struct attn_error *err)
{
    bool is_object = in_object(reader);
    int c;

    skip_space(reader);
    c = byte_at(reader, reader->offset);
    if (reader->state == ATTN_JSON_EXPECT_NOTHING) {
        if (c >= 0)
            return refuse(reader, reader->offset, "the end of the text", err);
        return emit(reader, ATTN_JSON_END, reader->offset, token);
    }
    if (reader->state == ATTN_JSON_EXPECT_FIRST || reader->state == ATTN_JSON_EXPECT_NEXT) {
        if (c == (is_object ? '}' : ']'))
            return close_level(reader, token);
    }
    if (reader->state == ATTN_JSON_EXPECT_NEXT) {
        if (c != ',')
            return refuse(reader, reader->offset, is_object ? "',' or '}'" : "',' or ']'", err);
        reader->offset++;
        skip_space(reader);
        reader->state = is_object ? ATTN_JSON_EXPECT_MEMBER : ATTN_JSON_EXPECT_VALUE;
    }
    if (is_object && reader->state != ATTN_JSON_EXPECT_VALUE)
        return read_key(reader, token, err);
    return read_value(reader, token, err);
}

enum attn_status attn_json_skip(struct attn_json_reader *reader, struct attn_error *err)
{
    struct attn_json_token token;
    int depth = reader->depth;

    do {
        enum attn_status status = attn_json_next(reader, &token, err);

        if (status != ATTN_OK)
            return status;
    } while (reader->depth > depth);
    return ATTN_OK;
}
