/* character_class.c - classes of characters. */
#include "tokenizer/unicode/unicode_internal.h"

#include "base/utf8.h"

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
