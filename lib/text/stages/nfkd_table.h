/*
 * nfkd_table.h - what Unicode says of characters for the normal forms of compatibility.
 */
#ifndef ATTN_TEXT_STAGES_NFKD_TABLE_H
#define ATTN_TEXT_STAGES_NFKD_TABLE_H

#include <stddef.h>
#include <stdint.h>

enum { ATTN_NFKD_MAX = 18 }; /* characters that one may become: U+FDFA does */

/* WHOLE becomes the N at BEGIN of attn_nfkd_parts, none of which becomes others. */
struct attn_nfkd_row {
    uint32_t whole;
    uint16_t begin, n;
};

/* By whole: the characters whose form NFKD is not NFD. */
extern const struct attn_nfkd_row attn_nfkd_rows[];
extern const size_t attn_nfkd_n_row;
extern const uint32_t attn_nfkd_parts[];

#endif
