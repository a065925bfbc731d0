#include "base/text/utf8.h"

/* Unicode's table 3-7 for first bytes: the length of the character, and the bounds of its second
 * byte (which exclude overlong forms, surrogates and code points above U+10FFFF). The third and
 * fourth byte are always 80..BF. */
struct lead {
    size_t length; /* 0: no character begins with this byte */
    unsigned char low, high;
};

static struct lead lead_of(unsigned char byte)
{
    if (byte < 0x80)
        return (struct lead){1, 0, 0};
    if (byte < 0xc2)
        return (struct lead){0, 0, 0};
    if (byte < 0xe0)
        return (struct lead){2, 0x80, 0xbf};
    if (byte < 0xf0)
        return (struct lead){3, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
    if (byte < 0xf5)
        return (struct lead){4, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
    return (struct lead){0, 0, 0};
}

size_t attn_utf8_decode(const char *text, size_t size, uint32_t *code_point)
{
    /* Mask of the code point bits in a first byte, by length of the character. */
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *bytes = (const unsigned char *)text;
    struct lead lead = lead_of(bytes[0]);
    uint32_t value = bytes[0] & lead_bits[lead.length];

    if (lead.length == 0) {
        *code_point = 1;
        return 0;
    }
    for (size_t i = 1; i < lead.length; i++) {
        unsigned char low = i == 1 ? lead.low : 0x80;
        unsigned char high = i == 1 ? lead.high : 0xbf;

        if (i >= size || bytes[i] < low || bytes[i] > high) {
            *code_point = (uint32_t)i;
            return 0;
        }
        value = value << 6 | (bytes[i] & 0x3f);
    }
    *code_point = value;
    return lead.length;
}

size_t attn_utf8_encode(uint32_t code_point, char out[4])
{
    static const unsigned char lead_marks[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t length = code_point < 0x80 ? 1 : code_point < 0x800 ? 2 : code_point < 0x10000 ? 3 : 4;

    for (size_t i = length - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (code_point & 0x3f));
        code_point >>= 6;
    }
    out[0] = (char)(lead_marks[length] | code_point);
    return length;
}

size_t attn_utf8_valid_length(const char *text, size_t size)
{
    size_t at = 0;
    uint32_t code_point;

    while (at < size) {
        size_t length = attn_utf8_decode(text + at, size - at, &code_point);

        if (length == 0)
            break;
        at += length;
    }
    return at;
}

/* Ranges that are not printable: controls (Cc), line and paragraph separators (Zl, Zp), interlinear
 * annotation, and Unicode's Default_Ignorable_Code_Point (bidi controls, zero-width characters,
 * fillers, tags) without the variation selectors U+FE00..FE0F, which are frequent in plain emoji
 * and hide nothing. Private use and unassigned characters count as printable, as terminals show
 * something for them. */
int attn_utf8_is_printable(uint32_t code_point)
{
    static const struct {
        uint32_t first, last;
    } hidden[] = {
        {0x0000, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
        {0x061c, 0x061c}, {0x115f, 0x1160},   {0x17b4, 0x17b5},   {0x180b, 0x180f},
        {0x200b, 0x200f}, {0x2028, 0x202e},   {0x2060, 0x206f},   {0x3164, 0x3164},
        {0xd800, 0xdfff}, {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xffa0, 0xffa0},
        {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
    };

    if (code_point > 0x10ffff || (code_point & 0xfffe) == 0xfffe)
        return 0;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden && code_point >= hidden[i].first; i++) {
        if (code_point <= hidden[i].last)
            return 0;
    }
    return 1;
}

/* --- Tables of tests/tools/make_unicode_tables.py
 * ----------------------------------------------- */

extern const struct attn_character_range attn_unicode_widths[], attn_unicode_widths_end[];
extern const struct attn_character_range attn_unicode_punctuation[], attn_unicode_punctuation_end[];

const struct attn_character_range *
attn_character_range_find(const struct attn_character_range *low,
                          const struct attn_character_range *high, uint32_t code_point)
{
    while (low < high) {
        const struct attn_character_range *middle = low + (high - low) / 2;

        if (code_point < middle->first)
            high = middle;
        else if (code_point > middle->last)
            low = middle + 1;
        else
            return middle;
    }
    return NULL;
}

int attn_utf8_width(uint32_t code_point)
{
    const struct attn_character_range *found = NULL;

    if (code_point >= attn_unicode_widths->first)
        found = attn_character_range_find(attn_unicode_widths, attn_unicode_widths_end, code_point);
    return found ? (int)found->value - 1 : 1;
}

static bool is_of_flag(uint32_t code_point)
{
    return code_point >= 0x1f1e6 && code_point <= 0x1f1ff;
}

static bool continues_cluster(uint32_t before, uint32_t next)
{
    const bool is_skin = next >= 0x1f3fb && next <= 0x1f3ff;
    const bool is_picture = (next >= 0x2190 && next <= 0x2bff) || next >= 0x1f000;

    return attn_utf8_is_joiner(next) || is_skin || (before == 0x200d && is_picture) ||
           (attn_utf8_width(next) == 0 && attn_utf8_is_printable(next));
}

size_t attn_utf8_cluster(const char *text, size_t size)
{
    uint32_t before, next;
    size_t at = attn_utf8_decode(text, size, &before), n;
    bool begins_flag;

    if (at == 0 || at == size || (unsigned char)text[at] < 0x80)
        return at > 0 ? at : 1;
    for (begins_flag = is_of_flag(before); at < size; at += n) {
        n = attn_utf8_decode(text + at, size - at, &next);
        if (n == 0 || !(continues_cluster(before, next) || (begins_flag && is_of_flag(next))))
            break;
        begins_flag = false;
        before = next;
    }
    return at;
}

bool attn_utf8_is_punctuation(uint32_t code_point)
{
    return attn_character_range_find(attn_unicode_punctuation, attn_unicode_punctuation_end,
                                     code_point) != NULL;
}
