/*
 * nfc_table.h - what Unicode says of characters for normal form C.
 */
#ifndef ATTN_TEXT_STAGES_NFC_TABLE_H
#define ATTN_TEXT_STAGES_NFC_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct attn_nfc_range {
    uint32_t first, last;
    uint32_t value;
};

/* LEFT and RIGHT, neighbours, are composed to WHOLE. */
struct attn_nfc_pair {
    uint32_t left, right, whole;
};

/* WHOLE is decomposed and never composed again; RIGHT is 0 where it is only another character. */
struct attn_nfc_split {
    uint32_t whole, left, right;
};

/* Canonical combining classes that are not 0, ascending. */
extern const struct attn_nfc_range attn_nfc_classes[];
extern const size_t attn_nfc_n_class;

/* By left, then right; and their indices by whole. */
extern const struct attn_nfc_pair attn_nfc_pairs[];
extern const size_t attn_nfc_n_pair;
extern const uint16_t attn_nfc_by_whole[];

/* By whole. */
extern const struct attn_nfc_split attn_nfc_splits[];
extern const size_t attn_nfc_n_split;

/* Characters of a class, or that may be composed with what is before them, or are decomposed: a
 * text without any is in normal form. */
extern const struct attn_nfc_range attn_nfc_doubtful[];
extern const size_t attn_nfc_n_doubtful;

#endif
