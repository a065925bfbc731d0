/* character_class.c - classes of characters, and properties by name. */
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
