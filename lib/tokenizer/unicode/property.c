/* property.c - properties of characters by name. */
#include "tokenizer/unicode/unicode_internal.h"

#include <stdlib.h>
#include <string.h>

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
