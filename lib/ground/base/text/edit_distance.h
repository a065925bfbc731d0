/*
 * edit_distance.h - how far apart two words are, for "did you mean".
 *
 *     struct attn_letters typed, known;
 *     if (attn_letters_read("lenght", 6, &typed) && attn_letters_read("length", 6, &known))
 *         attn_edit_distance(&typed, &known); // 1
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ATTN_MAX_LETTER = 40 };

/* The code points of a word. */
struct attn_letters {
    uint32_t letter[ATTN_MAX_LETTER];
    size_t n;
};

/* Reads WORD [size]. Returns false if it is too long or not UTF-8. */
bool attn_letters_read(const char *word, size_t size, struct attn_letters *letters);

/* Returns the minimum number of insertions, deletions, replacements and swaps of neighbours that
 * turn A into B, where no part is edited twice (optimal string alignment, Damerau 1964). */
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
    const char *typed; /* [size] */
    size_t size;       /* bytes */
    /* the nearest of the names tried, the first of equally near ones; NULL before the first try */
    const char *nearest;
    size_t distance; /* from `typed` to `nearest` */
};

/* Tries the known NAME, which must live as long as TYPO. Ignores case. */
void attn_typo_try(struct attn_typo *typo, const char *name);

/* Tries NAME, an alias of MEANT. If it is the nearest, attn_typo_meant returns MEANT. */
void attn_typo_try_as(struct attn_typo *typo, const char *name, const char *meant);

/* Returns the nearest name; NULL if it is too different. */
const char *attn_typo_meant(const struct attn_typo *typo);
