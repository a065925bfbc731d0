/* json_reader.c - see json_reader.h. The parser keeps one state and one bit for each level; it does
 * not recurse and does not allocate. A string is checked when it is read; functions that decode it
 * rely on that. */
#include "formats/json_reader.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "base/text/utf8.h"

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

/* Returns the byte at OFFSET; -1 at and after the end of the text. */
static int byte_at(const struct attn_json_reader *reader, size_t offset)
{
    return offset < reader->size ? (unsigned char)reader->text[offset] : -1;
}

/* Reports that the text at OFFSET is not what was EXPECTED. The message quotes a whole word there,
 * else one character, else one byte. */
static enum attn_status refuse_text(const struct attn_json_reader *reader, size_t offset,
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

/* Returns the offset of the first byte at or after OFFSET that is not white space. */
static size_t skip_space(const struct attn_json_reader *reader, size_t offset)
{
    int c;

    while ((c = byte_at(reader, offset)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        offset++;
    return offset;
}

static bool in_object(const struct attn_json_reader *reader)
{
    return reader->depth > 0 && (reader->is_object >> (reader->depth - 1) & 1) != 0;
}

/* Stores the token from the reader's offset to before END, and moves the reader to END. */
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
        return refuse_text(reader, reader->offset, "at most 64 levels", err);
    if (type == ATTN_JSON_OBJECT_BEGIN)
        reader->is_object |= bit;
    else
        reader->is_object &= ~bit;
    reader->depth++;
    reader->state = ATTN_JSON_EXPECT_FIRST;
    return emit(reader, type, reader->offset + 1, token);
}

/* The value of each hexadecimal digit plus 1; 0 for other bytes. A table, because a vocabulary may
 * have 30,000 escapes. */
static const unsigned char hex_values[256] = {
    ['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
    ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
    ['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16};

/* Reads the four hexadecimal digits of a \u escape at OFFSET into *unit. */
static enum attn_status read_hex(const struct attn_json_reader *reader, size_t offset,
                                 uint32_t *unit, struct attn_error *err)
{
    uint32_t value = 0;

    for (size_t i = offset; i < offset + 4; i++) {
        const unsigned digit = i < reader->size ? hex_values[(unsigned char)reader->text[i]] : 0;

        if (digit == 0)
            return refuse_text(reader, i, "four hexadecimal digits after '\\u'", err);
        value = value << 4 | (digit - 1);
    }
    *unit = value;
    return ATTN_OK;
}

static bool is_low_surrogate(uint32_t unit)
{
    return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Reads the escape whose backslash is at *at, and moves *at past it. */
static enum attn_status read_escape(const struct attn_json_reader *reader, size_t *at,
                                    uint32_t *code_point, struct attn_error *err)
{
    static const char pair[] = "a high and a low surrogate as a pair";
    static const char letters[] = "\"\\/bfnrt", characters[] = "\"\\/\b\f\n\r\t";
    const size_t start = *at;
    const int c = byte_at(reader, start + 1);
    const char *letter;
    uint32_t low = 0;

    if (c != 'u') {
        letter = c > 0 ? strchr(letters, c) : NULL;
        if (!letter)
            return refuse_text(reader, start + 1, "one of \"\\/bfnrtu after a backslash", err);
        *code_point = (unsigned char)characters[letter - letters];
        *at = start + 2;
        return ATTN_OK;
    }
    if (read_hex(reader, start + 2, code_point, err) != ATTN_OK)
        return ATTN_FORMAT;
    *at = start + 6;
    if (is_low_surrogate(*code_point))
        return refuse_text(reader, start + 1, pair, err);
    if (*code_point < 0xd800 || *code_point > 0xdbff) /* no high surrogate */
        return ATTN_OK;
    if (byte_at(reader, start + 6) != '\\' || byte_at(reader, start + 7) != 'u')
        return refuse_text(reader, start + 1, pair, err);
    if (read_hex(reader, start + 8, &low, err) != ATTN_OK)
        return ATTN_FORMAT;
    if (!is_low_surrogate(low))
        return refuse_text(reader, start + 1, pair, err);
    *code_point = 0x10000 + ((*code_point - 0xd800) << 10) + (low - 0xdc00);
    *at = start + 12;
    return ATTN_OK;
}

/* A word of 8 bytes that are all BYTE. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Returns a word with the highest bit of each byte set if that byte of WORD is below N <= 128.
 * Bytes after the first one found may be wrong. */
static uint64_t find_below(uint64_t word, unsigned n)
{
    return (word - EACH(n)) & ~word & EACH(0x80);
}

/* Returns a word with the highest bit of each byte set if that byte of WORD is no plain ASCII
 * character: a control character, quote, backslash or byte above 127. Bytes after the first one
 * found may be wrong. */
static uint64_t find_special(uint64_t word)
{
    return find_below(word, 0x20) | find_below(word ^ EACH('"'), 1) |
           find_below(word ^ EACH('\\'), 1) | (word & EACH(0x80));
}

/* Returns the offset, AT or later, of the first byte that is not plain ASCII of a string. */
static size_t skip_plain(const struct attn_json_reader *reader, size_t at)
{
    const unsigned char *text = (const unsigned char *)reader->text;

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    for (uint64_t word, found; reader->size - at >= sizeof word; at += sizeof word) {
        memcpy(&word, text + at, sizeof word);
        found = find_special(word);
        if (found != 0)
            return at + (size_t)__builtin_ctzll(found) / 8;
    }
#endif
    while (at < reader->size && text[at] >= 0x20 && text[at] < 0x80 && text[at] != '"' &&
           text[at] != '\\')
        at++;
    return at;
}

/* Finds the offset of the closing quote of the string that opens at START, and whether it has
 * escapes. */
static enum attn_status find_end(const struct attn_json_reader *reader, size_t start, size_t *end,
                                 bool *has_escape, struct attn_error *err)
{
    size_t at = start + 1, length;
    uint32_t code_point;
    int c;

    *has_escape = false;
    for (at = skip_plain(reader, at); (c = byte_at(reader, at)) != '"';
         at = skip_plain(reader, at)) {
        if (c < 0)
            return refuse_text(reader, at, "'\"' at the end of a string", err);
        if (c < 0x20)
            return refuse_text(reader, at, "no control character in a string", err);
        if (c == '\\') {
            *has_escape = true;
            if (read_escape(reader, &at, &code_point, err) != ATTN_OK)
                return ATTN_FORMAT;
        } else {
            length = attn_utf8_decode(reader->text + at, reader->size - at, &code_point);
            if (length == 0)
                return refuse_text(reader, at, "valid UTF-8", err);
            at += length;
        }
    }
    *end = at;
    return ATTN_OK;
}

/* Makes TOKEN the inside of the string whose opening quote is at the reader's offset and whose
 * closing quote is at END. */
static void emit_string(const struct attn_json_reader *reader, enum attn_json_type type, size_t end,
                        bool has_escape, struct attn_json_token *token)
{
    *token = (struct attn_json_token){.type = type,
                                      .text = reader->text + reader->offset + 1,
                                      .size = end - reader->offset - 1,
                                      .has_escape = has_escape,
                                      .offset = reader->offset};
}

/* Moves *at past digits; there must be at least one. */
static enum attn_status skip_digits(const struct attn_json_reader *reader, size_t *at,
                                    struct attn_error *err)
{
    if (!is_digit(byte_at(reader, *at)))
        return refuse_text(reader, *at, "a digit", err);
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
        at++; /* a digit after a leading zero is refused as the next token */
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

static enum attn_status read_string(struct attn_json_reader *reader, struct attn_json_token *token,
                                    struct attn_error *err)
{
    bool has_escape = false;
    size_t end = 0;

    if (find_end(reader, reader->offset, &end, &has_escape, err) != ATTN_OK)
        return ATTN_FORMAT;
    emit_string(reader, ATTN_JSON_STRING, end, has_escape, token);
    reader->offset = end + 1;
    end_value(reader);
    return ATTN_OK;
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
    if (c == '"')
        return read_string(reader, token, err);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (has_word(reader, words[i].word)) {
            end_value(reader);
            return emit(reader, words[i].type, reader->offset + strlen(words[i].word), token);
        }
    }
    if (reader->state == ATTN_JSON_EXPECT_FIRST)
        return refuse_text(reader, reader->offset, "a value or ']'", err);
    return refuse_text(reader, reader->offset, "a value", err);
}

/* Reads a key and the colon after it. */
static enum attn_status read_key(struct attn_json_reader *reader, struct attn_json_token *token,
                                 struct attn_error *err)
{
    bool has_escape = false;
    size_t end = 0, colon;

    if (byte_at(reader, reader->offset) != '"')
        return refuse_text(reader, reader->offset,
                           reader->state == ATTN_JSON_EXPECT_FIRST ? "a key in quotes or '}'"
                                                                   : "a key in quotes",
                           err);
    if (find_end(reader, reader->offset, &end, &has_escape, err) != ATTN_OK)
        return ATTN_FORMAT;
    colon = skip_space(reader, end + 1);
    if (byte_at(reader, colon) != ':')
        return refuse_text(reader, colon, "':'", err);
    emit_string(reader, ATTN_JSON_KEY, end, has_escape, token);
    reader->offset = colon + 1;
    reader->state = ATTN_JSON_EXPECT_VALUE;
    return ATTN_OK;
}

enum attn_status attn_json_next(struct attn_json_reader *reader, struct attn_json_token *token,
                                struct attn_error *err)
{
    bool is_object = in_object(reader);
    int c;

    reader->offset = skip_space(reader, reader->offset);
    c = byte_at(reader, reader->offset);
    if (reader->state == ATTN_JSON_EXPECT_NOTHING) {
        if (c >= 0)
            return refuse_text(reader, reader->offset, "the end of the text", err);
        return emit(reader, ATTN_JSON_END, reader->offset, token);
    }
    if (reader->state == ATTN_JSON_EXPECT_FIRST || reader->state == ATTN_JSON_EXPECT_NEXT) {
        if (c == (is_object ? '}' : ']')) {
            reader->depth--;
            end_value(reader);
            return emit(reader, is_object ? ATTN_JSON_OBJECT_END : ATTN_JSON_ARRAY_END,
                        reader->offset + 1, token);
        }
    }
    if (reader->state == ATTN_JSON_EXPECT_NEXT) {
        if (c != ',')
            return refuse_text(reader, reader->offset, is_object ? "',' or '}'" : "',' or ']'",
                               err);
        reader->offset++;
        reader->offset = skip_space(reader, reader->offset);
        reader->state = is_object ? ATTN_JSON_EXPECT_MEMBER : ATTN_JSON_EXPECT_VALUE;
    }
    if (is_object && reader->state != ATTN_JSON_EXPECT_VALUE)
        return read_key(reader, token, err);
    return read_value(reader, token, err);
}

/* Returns the offset after the string whose opening quote is at AT; 0: there is no valid string. */
static size_t pass_string(const struct attn_json_reader *reader, size_t at)
{
    bool has_escape = false;
    size_t end = 0;

    return byte_at(reader, at) == '"' && find_end(reader, at, &end, &has_escape, NULL) == ATTN_OK
               ? end + 1
               : 0;
}

/* Returns the offset after the list of strings whose bracket is at AT; 0: there is no valid one. */
static size_t pass_list(const struct attn_json_reader *reader, size_t at)
{
    do {
        at = pass_string(reader, skip_space(reader, at + 1));
        if (at == 0)
            return 0;
        at = skip_space(reader, at);
    } while (byte_at(reader, at) == ',');
    return byte_at(reader, at) == ']' ? at + 1 : 0;
}

bool attn_json_skip_strings(struct attn_json_reader *reader)
{
    size_t at = skip_space(reader, reader->offset);

    if (in_object(reader) || reader->depth == ATTN_JSON_MAX_DEPTH)
        return false;
    if (reader->state == ATTN_JSON_EXPECT_NEXT && byte_at(reader, at) == ',')
        at = skip_space(reader, at + 1);
    else if (reader->state != ATTN_JSON_EXPECT_FIRST)
        return false;
    at = byte_at(reader, at) == '[' ? pass_list(reader, at) : pass_string(reader, at);
    if (at == 0)
        return false;
    reader->offset = at;
    reader->state = ATTN_JSON_EXPECT_NEXT;
    return true;
}

enum attn_status attn_json_skip(struct attn_json_reader *reader, struct attn_error *err)
{
    struct attn_json_token token;
    int depth = reader->depth;

    do
        ATTN_TRY(attn_json_next(reader, &token, err));
    while (reader->depth > depth);
    return ATTN_OK;
}

/* --- Values of tokens: strings without their escapes, exact integers ------------------------- */

/* A position in a string with escapes, which gives its decoded bytes one after the other. */
struct unescaped {
    const char *at, *end;
    char character[4]; /* the decoded character of the last escape */
    size_t size, used; /* number of bytes in `character`; number of them already returned */
};

static struct unescaped unescaped_bytes(const struct attn_json_token *token)
{
    return (struct unescaped){.at = token->text, .end = token->text + token->size};
}

/* Decodes the escape at AT, which was checked. Stores its character, *size bytes, at TO, which may
 * overlap the escape. Returns the offset after the escape. */
static const char *decode_escape(const char *at, const char *end, char *to, size_t *size)
{
    const struct attn_json_reader slice = {.text = at, .size = (size_t)(end - at)};
    uint32_t code_point = 0;
    size_t used = 0;

    (void)read_escape(&slice, &used, &code_point, NULL);
    *size = attn_utf8_encode(code_point, to);
    return at + used;
}

/* Returns the next decoded byte; -1 at the end. */
static int next_byte(struct unescaped *bytes)
{
    if (bytes->used < bytes->size)
        return (unsigned char)bytes->character[bytes->used++];
    if (bytes->at == bytes->end)
        return -1;
    if (*bytes->at != '\\')
        return (unsigned char)*bytes->at++;
    bytes->at = decode_escape(bytes->at, bytes->end, bytes->character, &bytes->size);
    bytes->used = 1;
    return (unsigned char)bytes->character[0];
}

/* Decoding in place is safe: an escape is longer than its character. */
size_t attn_json_unescape_to(const struct attn_json_token *token, char *to)
{
    const char *at = token->text, *end = token->text + token->size;
    size_t size = 0;

    if (!token->has_escape) {
        memmove(to, token->text, token->size);
        return token->size;
    }
    while (at < end) {
        size_t length = 1;

        if (*at == '\\')
            at = decode_escape(at, end, to + size, &length);
        else
            to[size] = *at++;
        size += length;
    }
    return size;
}

/* Decodes the character at *at, which is an escape or not ASCII, to TO and moves *at past it.
 * Returns its size; 0: it is neither, or malformed. */
static size_t copy_special(const struct attn_json_reader *reader, size_t *at, char *to)
{
    const char *from = reader->text + *at;
    uint32_t code_point;
    size_t size = 0;

    if (*from == '\\')
        return read_escape(reader, at, &code_point, NULL) == ATTN_OK
                   ? attn_utf8_encode(code_point, to)
                   : 0;
    if ((unsigned char)*from >= 0x80)
        size = attn_utf8_decode(from, reader->size - *at, &code_point);
    memcpy(to, from, size);
    *at += size;
    return size;
}

/* Decodes U+0120, which stands for a space and begins most keys of a byte-level vocabulary. It may
 * be plain or escaped. Works without a branch, because a processor could not predict it. Returns
 * the number of bytes of TEXT [8] that it takes, 0 if it is not there. TO [2] gets the letter,
 * *size its size. */
static size_t unescape_space_letter(const char *text, char *to, size_t *size)
{
    static const char letter[8] = "\xc4\xa0", escape[8] = "\\u0120";
    uint64_t word, letter_word, escape_word;
    size_t is_letter, is_escape;

    memcpy(&word, text, sizeof word);
    memcpy(&letter_word, letter, sizeof letter_word);
    memcpy(&escape_word, escape, sizeof escape_word);
    memcpy(to, letter, 2);
    is_letter = (word & 0xffff) == letter_word;
    is_escape = (word & 0xffffffffffff) == escape_word;
    *size = 2 * (is_letter | is_escape);
    return 2 * is_letter + 6 * is_escape;
}

/* Decodes the string whose inside begins at AT to TO [room], and stores its size in *size. Returns
 * the offset of its closing quote; 0: there is none, or ROOM is too small. */
static size_t copy_string(const struct attn_json_reader *reader, size_t at, char *to, size_t room,
                          size_t *size)
{
    const char *text = reader->text;
    const size_t end = reader->size;
    uint64_t word, found;
    size_t n = 0, length;

    if (end - at >= sizeof word && room >= 2)
        at += unescape_space_letter(text + at, to, &n);
    /* Room for a word and a character. */
    while (end - at >= sizeof word && room - n >= sizeof word + 4) {
        size_t after;

        memcpy(&word, text + at, sizeof word);
        memcpy(to + n, &word, sizeof word);
        found = find_special(word);
        length = found != 0 ? (size_t)__builtin_ctzll(found) / 8 : sizeof word;
        n += length;
        at += length;
        if (found == 0)
            continue;
        if (text[at] == '"') {
            *size = n;
            return at;
        }
        after = at;
        length = copy_special(reader, &after, to + n);
        if (length == 0)
            break;
        n += length;
        at = after;
    }
    return 0;
}

/* Reads a number of at most nine digits at AT into *count. Returns the offset after it; 0: there is
 * none. */
static size_t read_count(const struct attn_json_reader *reader, size_t at, uint32_t *count)
{
    const size_t first = at;
    uint32_t value = 0;
    int c;

    while (is_digit(c = byte_at(reader, at)) && at - first < 10) {
        value = value * 10 + (uint32_t)(c - '0');
        at++;
    }
    if (at == first || at - first > 9 || (at - first > 1 && reader->text[first] == '0') ||
        c == '.' || c == 'e' || c == 'E')
        return 0;
    *count = value;
    return at;
}

bool attn_json_read_count(struct attn_json_reader *reader, char *to, size_t room, size_t *size,
                          uint32_t *count)
{
    size_t at = skip_space(reader, reader->offset);

    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !in_object(reader))
        return false;
    if (reader->state == ATTN_JSON_EXPECT_NEXT && byte_at(reader, at) == ',')
        at = skip_space(reader, at + 1);
    else if (reader->state != ATTN_JSON_EXPECT_FIRST)
        return false;
    if (byte_at(reader, at) != '"' || (at = copy_string(reader, at + 1, to, room, size)) == 0)
        return false;
    at = skip_space(reader, at + 1);
    if (byte_at(reader, at) != ':')
        return false;
    at = read_count(reader, skip_space(reader, at + 1), count);
    if (at == 0)
        return false;
    reader->offset = at;
    reader->state = ATTN_JSON_EXPECT_NEXT;
    return true;
}

void attn_json_unescape(const struct attn_json_token *token, struct attn_buffer *out)
{
    char *to = attn_buffer_reserve(out, token->size);

    if (to)
        out->size += attn_json_unescape_to(token, to);
}

bool attn_json_equals(const struct attn_json_token *token, const char *text)
{
    struct unescaped bytes = unescaped_bytes(token);
    size_t size = strlen(text);
    int c;

    if (!token->has_escape)
        return token->size == size && memcmp(token->text, text, size) == 0;
    while ((c = next_byte(&bytes)) > 0 && c == (unsigned char)*text)
        text++;
    return c < 0 && *text == '\0';
}

int attn_json_compare(const struct attn_json_token *a, const struct attn_json_token *b)
{
    struct unescaped a_bytes = unescaped_bytes(a), b_bytes = unescaped_bytes(b);
    int a_byte, b_byte;

    if (!a->has_escape && !b->has_escape)
        return attn_compare_texts(a->text, a->size, b->text, b->size);
    do {
        a_byte = next_byte(&a_bytes);
        b_byte = next_byte(&b_bytes);
    } while (a_byte == b_byte && a_byte >= 0);
    return a_byte - b_byte;
}

uint64_t attn_json_hash(const struct attn_json_token *token)
{
    struct unescaped bytes = unescaped_bytes(token);
    uint64_t hash = 0xcbf29ce484222325; /* the FNV-1a hash */
    int c;

    while ((c = next_byte(&bytes)) >= 0)
        hash = (hash ^ (uint64_t)c) * 0x100000001b3;
    return hash;
}

bool attn_json_has_nul(const struct attn_json_token *token)
{
    struct unescaped bytes = unescaped_bytes(token);
    int c = 1;

    if (!token->has_escape)
        return false;
    while (c > 0)
        c = next_byte(&bytes);
    return c == 0;
}

bool attn_json_uint(const struct attn_json_token *token, uint64_t *value)
{
    return token->type == ATTN_JSON_NUMBER && attn_parse_uint(token->text, token->size, value);
}

/*
 * --- Duplicate keys of an object ---------------------------------------------------------------
 *
 * When an object closes, its keys are sorted by hash, and by their bytes if hashes are equal. The
 * hash only saves comparisons: keys that were chosen to collide also cost O(n log n), which a hash
 * table could guarantee only with a secret seed. A key takes 8 bytes here, less than its text, so
 * an object with millions of keys needs less memory here than its text does.
 */

/* Returns the token of KEY, which the reader has already checked. */
static struct attn_json_token token_of(const struct attn_json_place *key, const char *text)
{
    struct attn_json_token token = {ATTN_JSON_KEY, text + key->offset + 1, 0, false, key->offset};

    for (; token.text[token.size] != '"'; token.size++)
        if (token.text[token.size] == '\\') {
            token.has_escape = true;
            token.size++; /* the byte after a backslash may be a quote */
        }
    return token;
}

static int compare_strings(const struct attn_json_place *a, const struct attn_json_place *b,
                           const char *text)
{
    const struct attn_json_token a_token = token_of(a, text), b_token = token_of(b, text);

    return attn_json_compare(&a_token, &b_token);
}

/* Whether A comes before B. Equal keys keep the order of the text, so the second is reported. */
static bool is_before(const struct attn_json_place *a, const struct attn_json_place *b,
                      const char *text)
{
    int order;

    if (a->hash != b->hash)
        return a->hash < b->hash;
    order = compare_strings(a, b, text);
    return order != 0 ? order < 0 : a->offset < b->offset;
}

/* Moves the key at I down to its place in a heap of N keys that has the last key at the top. */
static void sift_down(struct attn_json_place *keys, size_t i, size_t n, const char *text)
{
    const struct attn_json_place moved = keys[i];

    for (size_t child = 2 * i + 1; child < n; child = 2 * i + 1) {
        child += child + 1 < n && is_before(&keys[child], &keys[child + 1], text);
        if (!is_before(&moved, &keys[child], text))
            break;
        keys[i] = keys[child];
        i = child;
    }
    keys[i] = moved;
}

/* A heap sort: qsort can't pass TEXT to the comparison, and qsort_r differs between C libraries. */
static void sort_keys(struct attn_json_place *keys, size_t n, const char *text)
{
    for (size_t i = n / 2; i > 0; i--)
        sift_down(keys, i - 1, n, text);
    for (size_t i = n - 1; i > 0; i--) {
        const struct attn_json_place last = keys[i];

        keys[i] = keys[0];
        keys[0] = last;
        sift_down(keys, 0, i, text);
    }
}

/* Checks that no two keys from FIRST on are equal, and removes them from the stack. */
static enum attn_status pop_keys(struct attn_json_keys *stack, size_t first,
                                 const struct attn_json_reader *reader, struct attn_error *err)
{
    struct attn_json_place *keys = stack->keys;

    if (stack->count <= first)
        return ATTN_OK;
    sort_keys(keys + first, stack->count - first, reader->text);
    for (size_t i = first + 1; i < stack->count; i++) {
        struct attn_json_token token;

        if (keys[i].hash != keys[i - 1].hash ||
            compare_strings(&keys[i], &keys[i - 1], reader->text) != 0)
            continue;
        token = token_of(&keys[i], reader->text);
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has the key '%s' a second time at byte %zu, expected each key "
                              "once in an object",
                              attn_quote_string(reader->name).text,
                              attn_quote(token.text, token.size).text, token.offset);
    }
    stack->count = first;
    return ATTN_OK;
}

enum attn_status attn_json_next_unique(struct attn_json_reader *reader, struct attn_json_keys *keys,
                                       struct attn_json_token *token, struct attn_error *err)
{
    uint64_t hash;

    if (reader->size > UINT32_MAX)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has %zu bytes, expected at most %u",
                              attn_quote_string(reader->name).text, reader->size, UINT32_MAX);
    ATTN_TRY(attn_json_next(reader, token, err));
    if (token->type == ATTN_JSON_OBJECT_BEGIN) {
        keys->first[reader->depth - 1] = keys->count;
    } else if (token->type == ATTN_JSON_KEY) {
        hash = attn_json_hash(token);
        ATTN_TRY(ATTN_GROW(keys->keys, keys->capacity, keys->count + 1, err));
        keys->keys[keys->count++] =
            (struct attn_json_place){(uint32_t)(hash ^ hash >> 32), (uint32_t)token->offset};
    } else if (token->type == ATTN_JSON_OBJECT_END) {
        ATTN_TRY(pop_keys(keys, keys->first[reader->depth], reader, err));
    }
    return ATTN_OK;
}

enum attn_status attn_json_check_keys(struct attn_json_reader reader, size_t *n_key,
                                      struct attn_error *err)
{
    struct attn_json_keys keys = {0};
    struct attn_json_token token = {0};
    enum attn_status status;

    do {
        status = attn_json_next_unique(&reader, &keys, &token, err);
        if (n_key && status == ATTN_OK && token.type == ATTN_JSON_KEY && reader.depth == 1)
            ++*n_key;
    } while (status == ATTN_OK && token.type != ATTN_JSON_END);
    attn_free(keys.keys);
    return status;
}
