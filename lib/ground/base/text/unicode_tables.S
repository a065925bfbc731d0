/*
 * unicode_tables.S - the tables of utf8.c.
 */
#include "base/embed.inc"

    embed attn_unicode_widths, "lib/ground/base/text/unicode/widths.bin"
    embed attn_unicode_punctuation, "lib/ground/base/text/unicode/punctuation.bin"
