/* typo.h - what did they mean? The known name closest to one that was mistyped. */
#ifndef CMD_TYPO_H
#define CMD_TYPO_H

#include <stddef.h>

/* Insertions, deletions, replacements and swaps of neighbours that turn A into B. */
size_t edit_distance(const char *a, size_t n_a, const char *b, size_t n_b);

/* Whether a name at DISTANCE from what was typed, SIZE letters, is worth proposing. */
int is_near(size_t distance, size_t size);

#endif
