/*
 * unicode_tables.S - the tables that unicode_internal.h declares.
 */
#include "base/embed.inc"

    embed attn_character_classes, "lib/core/tokenizer/unicode/tables/character_classes.bin"
    embed attn_scripts, "lib/core/tokenizer/unicode/tables/scripts.bin"
    embed attn_lower_cases, "lib/core/tokenizer/unicode/tables/lowercase.bin"
    embed attn_nf_classes, "lib/core/tokenizer/unicode/tables/classes.bin"
    embed attn_nf_decompositions, "lib/core/tokenizer/unicode/tables/decompositions.bin"
    embed attn_nf_compositions, "lib/core/tokenizer/unicode/tables/compositions.bin"
    embed attn_nf_doubtful, "lib/core/tokenizer/unicode/tables/doubtful.bin"
    embed attn_nf_plain, "lib/core/tokenizer/unicode/tables/plain.bin"
    embed attn_nf_plain_parts, "lib/core/tokenizer/unicode/tables/plain_parts.bin"
    embed attn_unicode_properties, "lib/core/tokenizer/unicode/tables/properties.bin"
    embed attn_property_ranges, "lib/core/tokenizer/unicode/tables/property_ranges.bin"
