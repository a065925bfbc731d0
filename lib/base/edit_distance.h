/*
 * edit_distance.h - how far apart two words are, for "did you mean".
 *
 *     struct attn_letters typed, known;
 *     if (attn_letters_read("lenght", 6, &typed) && attn_letters_read("length", 6, &known))
 *         attn_edit_distance(&typed, &known); // 1
 */
#ifndef ATTN_BASE_EDIT_DISTANCE_H
#define ATTN_BASE_EDIT_DISTANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_MAX_LETTER = 40 };

/* The code points of a word. */
struct attn_letters {
    uint32_t letter[ATTN_MAX_LETTER];
    size_t n;
};

/* Reads WORD [size bytes]; false when it is too long or not UTF-8. */
bool attn_letters_read(const char *word, size_t size, struct attn_letters *letters);

/* Insertions, deletions, replacements and swaps of neighbours that turn A into B, no part of it
 * edited twice (optimal string alignment, Damerau 1964). */
size_t attn_edit_distance(const struct attn_letters *a, const struct attn_letters *b);

/*
 * Finds the known name that is nearest to a mistyped one.
 *
 *     struct attn_typo typo = {.typed = "lenght", .size = 6};
 *     attn_typo_try(&typo, "length");
 *     attn_typo_try(&typo, "check");
 *     attn_typo_meant(&typo); // "length"
 */
struct attn_typo {
    const char *typed;   /* [size] */
    size_t size;         /* bytes */
    const char *nearest; /* nearest of the names tried, the first if several are; NULL before the
                            first try */
    size_t distance;     /* from `typed` to `nearest` */
};

/* Compares with the known NAME, which must live as long as TYPO. Case makes no difference. */
void attn_typo_try(struct attn_typo *typo, const char *name);

/* Compares with NAME, an alias of MEANT: attn_typo_meant returns MEANT. */
void attn_typo_try_as(struct attn_typo *typo, const char *name, const char *meant);

/* The nearest name, or NULL where that is too far to be meant. */
const char *attn_typo_meant(const struct attn_typo *typo);

#endif
