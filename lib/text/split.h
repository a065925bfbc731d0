/*
 * split.h - GPT-2's rule that cuts a text into pieces, which are then encoded one by one: words
 * with the space before them, numbers, runs of other characters, white space.
 *
 * PCRE2 runs the pattern, compiled to machine code where that is possible. Letters and numbers are
 * those of its Unicode tables; white space is written out.
 */
#ifndef ATTN_TEXT_SPLIT_H
#define ATTN_TEXT_SPLIT_H

#include "base/status.h"

#include <stddef.h>

struct attn_split;      /* the compiled pattern; immutable, shared by threads */
struct attn_split_walk; /* scratch of one thread */

enum attn_status attn_split_create(struct attn_split **out, struct attn_error *err);
void attn_split_free(struct attn_split *split); /* NULL is allowed */

enum attn_status attn_split_walk_create(const struct attn_split *split,
                                        struct attn_split_walk **out, struct attn_error *err);
void attn_split_walk_free(struct attn_split_walk *walk); /* NULL is allowed */

/* Finds the end of the piece that begins at BEGIN < SIZE. TEXT must be valid UTF-8. */
enum attn_status attn_split_next(struct attn_split_walk *walk, const char *text, size_t size,
                                 size_t begin, size_t *end, struct attn_error *err);

#endif
