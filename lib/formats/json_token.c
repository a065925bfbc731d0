/*
 * json_token.c - what a token stands for: strings without their escapes, exact integers.
 *
 * Tokens come from the reader, so their escapes are known to be whole and right.
 */
#include "base/number.h"
#include "base/utf8.h"
#include "formats/json_reader.h"

#include <string.h>

static uint32_t hex_value(int c)
{
    if (c <= '9')
        return (uint32_t)(c - '0');
    return (uint32_t)((c | 0x20) - 'a' + 10); /* either case */
}

/* The bytes that an escaped slice stands for, one after the other. */
struct unescaped {
    const char *at, *end;
    char character[4]; /* of the last escape */
    size_t size, used; /* bytes there; those already handed out */
};

static struct unescaped unescaped_bytes(const struct attn_json_token *token)
{
    return (struct unescaped){.at = token->text, .end = token->text + token->size};
}

static uint32_t take_hex(struct unescaped *bytes)
{
    uint32_t unit = 0;

    for (int i = 0; i < 4; i++)
        unit = unit << 4 | hex_value(*bytes->at++);
    return unit;
}

/* The next byte, or -1 at the end. */
static int next_byte(struct unescaped *bytes)
{
    static const char letters[] = "bfnrt", controls[] = "\b\f\n\r\t";
    const char *letter;
    uint32_t code_point;

    if (bytes->used < bytes->size)
        return (unsigned char)bytes->character[bytes->used++];
    if (bytes->at == bytes->end)
        return -1;
    if (*bytes->at != '\\')
        return (unsigned char)*bytes->at++;
    bytes->at += 2;
    if (bytes->at[-1] != 'u') {
        letter = strchr(letters, bytes->at[-1]);
        return letter != NULL ? controls[letter - letters] : bytes->at[-1];
    }
    code_point = take_hex(bytes);
    if (code_point >= 0xd800 && code_point <= 0xdbff) { /* the low surrogate follows */
        bytes->at += 2;
        code_point = 0x10000 + ((code_point - 0xd800) << 10) + (take_hex(bytes) - 0xdc00);
    }
    bytes->size = attn_utf8_encode(code_point, bytes->character);
    bytes->used = 1;
    return (unsigned char)bytes->character[0];
}

/* An escape is longer than what it stands for, so the text may be overwritten from its start. */
size_t attn_json_unescape_to(const struct attn_json_token *token, char *to)
{
    struct unescaped bytes = unescaped_bytes(token);
    size_t size = 0;
    int c;

    if (!token->has_escape) {
        memmove(to, token->text, token->size);
        return token->size;
    }
    while ((c = next_byte(&bytes)) >= 0)
        to[size++] = (char)c;
    return size;
}

void attn_json_unescape(const struct attn_json_token *token, struct attn_buffer *out)
{
    char *to = attn_buffer_reserve(out, token->size);

    if (to != NULL)
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

    if (!a->has_escape && !b->has_escape) {
        int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);

        return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
    }
    do {
        a_byte = next_byte(&a_bytes);
        b_byte = next_byte(&b_bytes);
    } while (a_byte == b_byte && a_byte >= 0);
    return a_byte - b_byte;
}

uint64_t attn_json_hash(const struct attn_json_token *token)
{
    struct unescaped bytes = unescaped_bytes(token);
    uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
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
