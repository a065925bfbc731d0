/*
 * typo.h - what a mistyped name was meant to be: the known name that is nearest to it.
 *
 *     struct typo typo = {.typed = "lenght", .size = 6};
 *     typo_try(&typo, "length");
 *     typo_try(&typo, "check");
 *     typo_meant(&typo); // "length"
 */
#ifndef CMD_TYPO_H
#define CMD_TYPO_H

#include <stddef.h>

struct typo {
    const char *typed;   /* [size] */
    size_t size;         /* bytes */
    const char *nearest; /* of the names tried, the first of those; NULL: none was tried */
    size_t distance;     /* from `typed` to `nearest` */
};

/* Compares with the known NAME, which must live as long as TYPO. */
void typo_try(struct typo *typo, const char *name);

/* The nearest name, or NULL where that is too far to be meant. */
const char *typo_meant(const struct typo *typo);

#endif
