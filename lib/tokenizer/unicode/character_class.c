/* character_class.c - see character_class.h. */
#include "tokenizer/unicode/character_class.h"

#include "base/utf8.h"
#include "tokenizer/unicode/unicode_tables.h"

#include <stddef.h>

bool attn_character_is(uint32_t code_point, enum attn_character_class character_class)
{
    const struct attn_character_range *found;

    if (character_class == ATTN_CLASS_WHITE_SPACE)
        return attn_utf8_is_white_space(code_point);
    found =
        attn_character_range_find(attn_character_classes, attn_character_classes_end, code_point);
    return found && (found->value >> character_class & 1) != 0;
}
