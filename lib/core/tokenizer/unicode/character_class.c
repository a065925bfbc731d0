/* character_class.c - classes of characters, properties by name, and lower case. */
#include "tokenizer/unicode/unicode_internal.h"

#include "base/text/utf8.h"

#include <stdlib.h>
#include <string.h>

bool attn_character_is(uint32_t code_point, enum attn_character_class character_class)
{
    const struct attn_character_range *found =
        attn_character_range_find(attn_character_classes, attn_character_classes_end, code_point);

    return found && (found->value >> character_class & 1) != 0;
}

uint32_t attn_character_script(uint32_t code_point)
{
    const struct attn_character_range *found =
        attn_character_range_find(attn_scripts, attn_scripts_end, code_point);

    return found ? found->value : 0;
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

size_t attn_lowercase(uint32_t code_point, uint32_t lower[2])
{
    const struct attn_character_range *range;

    lower[0] = code_point;
    /* I with a dot, the only character whose lower case is two characters. */
    if (code_point == 0x130) {
        lower[0] = 'i';
        lower[1] = 0x307;
        return 2;
    }
    range = attn_character_range_find(attn_lower_cases, attn_lower_cases_end, code_point);
    if (range && !((code_point - range->first) & range->value & 1))
        lower[0] = (uint32_t)((int32_t)code_point + (int32_t)(range->value & ~1U) / 2);
    return 1;
}
