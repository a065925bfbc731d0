/*
 * regex.h - regular expressions of tokenizers, run by PCRE2 with Unicode's properties.
 *
 * A pattern is data from outside. The library tokenizers runs it with Oniguruma in the syntax of
 * Ruby, so it is rewritten where the two differ: \s is Unicode's White_Space (PCRE2 has U+180E
 * too), \w its words, \h a hexadecimal digit, ^ and $ stand at every line. Syntax that differs and
 * cannot be rewritten is refused by name: sets within sets, options other than i, {n}+, and unknown
 * syntax (regex_syntax.c has the list).
 *
 * The time to compile a pattern is limited, and so is the cost of all matches of a walk, in
 * characters passed over and branches tried; that limit grows with the text. A text or pattern that
 * exhausts this is ATTN_UNSUPPORTED. Where PCRE2 compiles to machine code, the same holds.
 * Properties (\p{L}, \p{Han}) are those of Unicode ATTN_UNICODE_VERSION, whichever PCRE2 has.
 */
#ifndef ATTN_TOKENIZER_REGEX_H
#define ATTN_TOKENIZER_REGEX_H

#include "base/status.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct attn_regex; /* compiled; immutable, shared by threads */
struct attn_match; /* scratch of one walk */

/* GPT-2's rule (encoder.py): words with the space before them, numbers, others, white space. */
#define ATTN_GPT2_REGEX                                                                            \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* Compiles TEXT [size], UTF-8, or if IS_LITERAL a pattern that matches TEXT itself.
 * ATTN_UNSUPPORTED for patterns that cannot be compiled: the message names the pattern and NAME,
 * its file. */
enum attn_status attn_regex_create(const char *text, size_t size, const char *name, bool is_literal,
                                   struct attn_regex **out, struct attn_error *err);

/* The pattern of grapheme clusters (UAX 29), as PCRE2 has them. */
enum attn_status attn_regex_create_cluster(struct attn_regex **out, struct attn_error *err);

void attn_regex_free(struct attn_regex *pattern); /* NULL is allowed */

/* For texts of N bytes in all. */
enum attn_status attn_match_create(const struct attn_regex *pattern, size_t n,
                                   struct attn_match **out, struct attn_error *err);
void attn_match_free(struct attn_match *match); /* NULL is allowed */

/* From now on *CANCEL is looked at before a match that may take long; NULL: nothing can cancel. */
void attn_match_watch(struct attn_match *match, const volatile sig_atomic_t *cancel);

struct attn_match_range {
    size_t begin, end;
};

/* Finds the first match in TEXT [size], which must be valid UTF-8, at or after FROM. Without a
 * match, it begins at SIZE + 1. */
enum attn_status attn_match_find(struct attn_match *match, const char *text, size_t size,
                                 size_t from, struct attn_match_range *found,
                                 struct attn_error *err);

#endif
