/* character_class.c - classes of characters, and properties by name. */
#include "tokenizer/unicode/unicode_internal.h"

#include "base/text/utf8.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    uint32_t first, last;
    enum attn_character_class character_class;
} listed[] = {
    {0x1c, 0x1f, ATTN_CLASS_SEPARATOR},     {0x01, 0x08, ATTN_CLASS_NMT_CONTROL},
    {0x0b, 0x0b, ATTN_CLASS_NMT_CONTROL},   {0x0e, 0x1f, ATTN_CLASS_NMT_CONTROL},
    {0x7f, 0x7f, ATTN_CLASS_NMT_CONTROL},   {0x8f, 0x8f, ATTN_CLASS_NMT_CONTROL},
    {0x9f, 0x9f, ATTN_CLASS_NMT_CONTROL},   {0x09, 0x0a, ATTN_CLASS_NMT_BLANK},
    {0x0c, 0x0d, ATTN_CLASS_NMT_BLANK},     {0x1680, 0x1680, ATTN_CLASS_NMT_BLANK},
    {0x200b, 0x200f, ATTN_CLASS_NMT_BLANK}, {0x2028, 0x2029, ATTN_CLASS_NMT_BLANK},
    {0x2581, 0x2581, ATTN_CLASS_NMT_BLANK}, {0xfeff, 0xfeff, ATTN_CLASS_NMT_BLANK},
    {0xfffd, 0xfffd, ATTN_CLASS_NMT_BLANK},
};

static bool is_listed(uint32_t code_point, enum attn_character_class character_class)
{
    for (size_t i = 0; i < sizeof listed / sizeof *listed; i++)
        if (listed[i].character_class == character_class && code_point >= listed[i].first &&
            code_point <= listed[i].last)
            return true;
    return false;
}

bool attn_character_is(uint32_t code_point, enum attn_character_class character_class)
{
    const struct attn_character_range *found;

    if (character_class >= ATTN_CLASS_WHITE_SPACE)
        return (character_class <= ATTN_CLASS_SEPARATOR && attn_utf8_is_white_space(code_point)) ||
               is_listed(code_point, character_class);
    found =
        attn_character_range_find(attn_character_classes, attn_character_classes_end, code_point);
    return found && (found->value >> character_class & 1) != 0;
}

static int compare_name(const void *name, const void *property)
{
    return strcmp(name, ((const struct attn_unicode_property *)property)->name);
}

const struct attn_unicode_property *attn_unicode_property_find(const char *name)
{
    return bsearch(name, attn_unicode_properties,
                   (size_t)(attn_unicode_properties_end - attn_unicode_properties),
                   sizeof *attn_unicode_properties, compare_name);
}
