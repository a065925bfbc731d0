/*
 * normal_form_tables.S - the tables that normal_form_tables.h declares.
 */
#include "base/embed.inc"

    embed attn_nf_classes, "lib/tokenizer/unicode/normal_forms/classes.bin"
    embed attn_nf_decompositions, "lib/tokenizer/unicode/normal_forms/decompositions.bin"
    embed attn_nf_compositions, "lib/tokenizer/unicode/normal_forms/compositions.bin"
    embed attn_nf_doubtful, "lib/tokenizer/unicode/normal_forms/doubtful.bin"
    embed attn_nf_plain, "lib/tokenizer/unicode/normal_forms/plain.bin"
    embed attn_nf_plain_parts, "lib/tokenizer/unicode/normal_forms/plain_parts.bin"
