/*
 * regex.h - regular expressions of tokenizers, run by PCRE2 with Unicode properties.
 *
 * Patterns come from files that are not trusted. The library tokenizers runs them with Oniguruma,
 * in Ruby syntax, so they are rewritten where PCRE2 differs: \s is Unicode's White_Space (PCRE2
 * also has U+180E), \w Unicode's words, \h a hexadecimal digit; ^ and $ match at every line. Syntax
 * that cannot be rewritten is refused by name: sets within sets, options other than i, {n}+, and
 * unknown syntax (see the list in regex_syntax.c).
 *
 * The time to compile a pattern is limited, and so is the cost of all matches of a walk, counted in
 * characters and branches; that limit grows with the text. A text or pattern that exceeds it is
 * ATTN_UNSUPPORTED, also if PCRE2 compiles to machine code. Properties (\p{L}, \p{Han}) are those
 * of Unicode ATTN_UNICODE_VERSION, whatever version PCRE2 has.
 */
#pragma once

#include "base/status.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

struct attn_regex; /* a compiled pattern; immutable, and shared by threads */
struct attn_match; /* scratch memory of one walk */

/* GPT-2's rule (encoder.py): words with the space before them, numbers, other characters, white
 * space. */
#define ATTN_BYTES_REGEX                                                                           \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

/* Matches a number, including new ones of Unicode 17: U+11DE0 to U+11DE9, U+16FF4 to U+16FF6. */
#define ATTN_NUMBER_REGEX                                                                          \
    "[\\p{N}\xf0\x91\xb7\xa0-\xf0\x91\xb7\xa9\xf0\x96\xbf\xb4-\xf0\x96\xbf\xb6]"

/* Compiles TEXT [size], which is UTF-8, or, if IS_LITERAL, a pattern that matches exactly TEXT.
 * Returns ATTN_UNSUPPORTED for patterns that cannot be compiled; the message names the pattern and
 * NAME, its file. */
enum attn_status attn_regex_create(const char *text, size_t size, const char *name, bool is_literal,
                                   struct attn_regex **out, struct attn_error *err);

/* Compiles the pattern of grapheme clusters (UAX 29), as defined by PCRE2. */
enum attn_status attn_regex_create_cluster(struct attn_regex **out, struct attn_error *err);

void attn_regex_free(struct attn_regex *pattern); /* NULL is allowed */

/* Allocates the scratch for matching PATTERN in texts of N bytes in total. */
enum attn_status attn_match_create(const struct attn_regex *pattern, size_t n,
                                   struct attn_match **out, struct attn_error *err);
void attn_match_free(struct attn_match *match); /* NULL is allowed */

/* Makes matches that may take long check *CANCEL first. NULL: they cannot be canceled. */
void attn_match_watch(struct attn_match *match, const volatile sig_atomic_t *cancel);

struct attn_match_range {
    size_t begin, end;
};

/* Finds the first match in TEXT [size], which must be valid UTF-8, at or after FROM. If there is
 * none, found->begin is SIZE + 1. */
enum attn_status attn_match_find(struct attn_match *match, const char *text, size_t size,
                                 size_t from, struct attn_match_range *found,
                                 struct attn_error *err);
