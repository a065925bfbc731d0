/* case.c - see case.h. */
#include "tests/adversary/case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SplitMix64 (Steele, Lea, Flood 2014). */
uint64_t attn_case_bits(struct attn_case *c)
{
    uint64_t z = c->chance += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

size_t attn_case_below(struct attn_case *c, size_t n)
{
    return (size_t)((attn_case_bits(c) >> 11) % n);
}

bool attn_case_chance(struct attn_case *c, unsigned percent)
{
    return attn_case_below(c, 100) < percent;
}

bool attn_case_is_large(struct attn_case *c)
{
    return attn_case_below(c, 200) == 0;
}

void attn_case_shuffle(struct attn_case *c, size_t *order, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const size_t j = attn_case_below(c, i + 1);

        order[i] = order[j];
        order[j] = i;
    }
}

int attn_case_defect(struct attn_case *c, const char *const *defects, size_t n)
{
    size_t defect;

    if (attn_case_chance(c, 55))
        return -1;
    defect = attn_case_below(c, n);
    c->meant = ATTN_MEANT_REFUSED;
    snprintf(c->defect, sizeof c->defect, "%s", defects[defect]);
    return (int)defect;
}

void attn_case_is_valid(struct attn_case *c)
{
    c->meant = ATTN_MEANT_VALID;
    c->defect[0] = '\0';
}

struct attn_buffer *attn_case_file(struct attn_case *c, const char *name)
{
    struct attn_case_file *file = &c->files[c->n_file++];

    FUZZ_CHECK(c->n_file <= ATTN_CASE_MAX_FILE);
    snprintf(file->name, sizeof file->name, "%s", name);
    attn_buffer_append(&file->bytes, "", 0);
    return &file->bytes;
}

struct attn_buffer *attn_case_find(struct attn_case *c, const char *name)
{
    for (int i = 0; i < c->n_file; i++)
        if (strcmp(c->files[i].name, name) == 0)
            return &c->files[i].bytes;
    return NULL;
}

void attn_case_run(struct attn_case *c, int exit, ...)
{
    va_list list;
    const char *argument;

    c->exit = exit;
    va_start(list, exit);
    while ((argument = va_arg(list, const char *)) != NULL) {
        FUZZ_CHECK(c->n_argument < ATTN_CASE_MAX_ARGUMENT - 1);
        c->arguments[c->n_argument++] = strdup(argument);
    }
    va_end(list);
}

/* --- JSON ------------------------------------------------------------------------------------- */

void attn_json_blank(struct attn_case *c, struct attn_buffer *out)
{
    static const char *const blanks[] = {" ", "\n", "\t", "\r\n", "  "};

    while (attn_case_chance(c, 12))
        attn_buffer_append_string(out, blanks[attn_case_below(c, 5)]);
}

void attn_json_put(struct attn_case *c, struct attn_buffer *out, const char *token)
{
    attn_buffer_append_string(out, token);
    attn_json_blank(c, out);
}

/* TEXT is UTF-8. Characters below U+0080 are sometimes written by their number. */
void attn_json_put_string(struct attn_case *c, struct attn_buffer *out, const char *text,
                          size_t size)
{
    attn_buffer_append_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)text[i];

        if (byte < 0x20 || (byte < 0x80 && attn_case_chance(c, 3)))
            attn_buffer_append_format(out, attn_case_chance(c, 50) ? "\\u%04x" : "\\u%04X", byte);
        else if (byte == '"' || byte == '\\')
            attn_buffer_append_format(out, "\\%c", byte);
        else if (byte == '/' && attn_case_chance(c, 30))
            attn_buffer_append_string(out, "\\/");
        else
            attn_buffer_append_char(out, (char)byte);
    }
    attn_buffer_append_char(out, '"');
    attn_json_blank(c, out);
}

void attn_json_put_key(struct attn_case *c, struct attn_buffer *out, const char *key)
{
    attn_json_put_string(c, out, key, strlen(key));
    attn_json_put(c, out, ":");
}

/* Puts TEXT [size] in place of N bytes at AT. */
static void replace(struct attn_buffer *out, size_t at, size_t n, const char *text, size_t size)
{
    struct attn_buffer old = *out;

    *out = (struct attn_buffer){0};
    attn_buffer_append(out, old.data, at);
    attn_buffer_append(out, text, size);
    attn_buffer_append(out, old.data + at + n, old.size - at - n);
    attn_buffer_release(&old);
}

/* Adds the member TEXT to the object. */
static void add_member(struct attn_buffer *json, const char *text, size_t size)
{
    const char *brace = memchr(json->data, '{', json->size);
    size_t at, after;

    FUZZ_CHECK(brace != NULL);
    at = (size_t)(brace + 1 - json->data);
    for (after = at; after < json->size && strchr(" \t\r\n", json->data[after]) != NULL;)
        after++;
    if (json->data[after] != '}')
        replace(json, at, 0, ",", 1);
    replace(json, at, 0, text, size);
}

static void add_depth(struct attn_buffer *json)
{
    enum { DEPTH = 5000 };
    struct attn_buffer member = {0};

    attn_buffer_append_string(&member, "\"_deep\":");
    for (int i = 0; i < DEPTH; i++)
        attn_buffer_append_char(&member, '[');
    for (int i = 0; i < DEPTH; i++)
        attn_buffer_append_char(&member, ']');
    add_member(json, member.data, member.size);
    attn_buffer_release(&member);
}

#define MEMBER(text) add_member(json, text, sizeof text - 1)

void attn_json_spoil(struct attn_case *c, struct attn_buffer *json, int defect)
{
    const char *end = memrchr(json->data, '}', json->size);
    const size_t last = (size_t)(end - json->data);

    FUZZ_CHECK(end != NULL);
    switch (defect) {
    case 0:
        replace(json, last, 0, ",", 1);
        break;
    case 1:
        replace(json, last, 0, "/* */", 5);
        break;
    case 2:
        json->size = last - attn_case_below(c, last < 8 ? last : 8);
        break;
    case 3:
        attn_buffer_append_string(json, attn_case_chance(c, 50) ? "{}" : "x");
        break;
    case 4:
        replace(json, 0, 0, "\xef\xbb\xbf", 3);
        break;
    case 5:
        MEMBER("'_x':1");
        break;
    case 6:
        MEMBER("\"_x\":NaN");
        break;
    case 7:
        MEMBER("\"_x\":1,\"\\u005fx\":2");
        break;
    case 8:
        MEMBER("\"_\xc3\x28\":1");
        break;
    case ATTN_JSON_NUL:
        MEMBER("\"_\\u0000\":1");
        break;
    case 10:
        MEMBER("\"_\\ud83d\":1");
        break;
    default:
        add_depth(json);
        break;
    }
}
