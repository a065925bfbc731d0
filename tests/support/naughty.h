/*
 * naughty.h - our own list of strings that break programs: what terminals, spreadsheets, browsers,
 * shells, printf, file systems and decoders of UTF-8 act upon.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct attn_naughty {
    const char *text; /* [size]; may hold NUL and what is not UTF-8 */
    size_t size;
};

extern const struct attn_naughty attn_naughty[];
extern const size_t attn_n_naughty;

/* Tests that start a process for every string take attn_one_in(ATTN_NAUGHTY_STEP) (suite.h), fewer
 * where sanitizers make that slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { ATTN_NAUGHTY_STEP = 8 };
#else
enum { ATTN_NAUGHTY_STEP = 5 };
#endif

/* Whether it can be an argument of a program: without NUL. */
bool attn_naughty_is_argument(const struct attn_naughty *string);
bool attn_naughty_is_utf8(const struct attn_naughty *string);

/* Whether a file can have it as its name. */
bool attn_naughty_is_file_name(const struct attn_naughty *string);
