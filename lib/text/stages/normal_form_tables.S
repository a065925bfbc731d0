/*
 * normal_form_tables.S - the tables that normal_form_tables.h declares.
 */
#include "base/embed.inc"

    embed attn_nf_classes, "lib/text/stages/normal_forms/classes.bin"
    embed attn_nf_decompositions, "lib/text/stages/normal_forms/decompositions.bin"
    embed attn_nf_compositions, "lib/text/stages/normal_forms/compositions.bin"
    embed attn_nf_doubtful, "lib/text/stages/normal_forms/doubtful.bin"
    embed attn_nf_plain, "lib/text/stages/normal_forms/plain.bin"
    embed attn_nf_plain_parts, "lib/text/stages/normal_forms/plain_parts.bin"
