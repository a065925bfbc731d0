/*
 * pattern_syntax.c - see pattern_syntax.h.
 *
 * One pass from left to right, in and out of sets ([...]). Only what differs is looked at:
 *
 *     \s \S     PCRE2's have U+180E; White_Space is written out, in a set too
 *     \w \W     PCRE2's lack marks and connectors; \W in a set cannot be written
 *     \b \B     where such a word begins or ends
 *     \h \H     hexadecimal digits here, horizontal space there
 *     (?m) (?x) options but for i mean something else
 *     [a[b]]    sets in sets, and [a&&b], are characters there
 *     x{1,3}+   repeats the repetition here, is possessive there
 */
#include "text/pattern_syntax.h"

#include "base/escape.h"
#include "base/utf8.h"

#include <string.h>

#define RANGE(first, last) "\\x{" #first "}-\\x{" #last "}"
#define WHITE_SPACE ATTN_WHITE_SPACE_MAP(RANGE)
#define WORD                                                                                       \
    "\\p{L}\\p{M}\\p{Nl}\\p{Nd}\\p{Pc}\\x{24b6}-\\x{24e9}\\x{1f130}-\\x{1f149}\\x{1f150}-"         \
    "\\x{1f169}\\x{1f170}-\\x{1f189}"
/* Outside of sets Oniguruma takes small numbers and fractions of Latin-1 for parts of words. */
#define WORD_ALONE WORD "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"
#define HEXADECIMAL "0-9A-Fa-f"

struct rewriting {
    const char *text; /* [size] */
    size_t size, at;
    bool is_in_set;
    bool is_at_start_of_set; /* where ] is a character */
    struct attn_buffer *out;
    const char *problem; /* what cannot be rewritten, or NULL */
};

/* What an escaped letter means, in a set and outside. */
struct escape {
    char letter;
    const char *in_set; /* NULL: cannot be written */
    const char *alone;
};

static const struct escape escapes[] = {
    {'s', WHITE_SPACE, "[" WHITE_SPACE "]"},
    {'S', "\\S\\x{180e}", "[^" WHITE_SPACE "]"},
    {'w', WORD, "[" WORD_ALONE "]"},
    {'W', NULL, "[^" WORD_ALONE "]"},
    {'b', "\\b",
     "(?:(?<=[" WORD_ALONE "])(?![" WORD_ALONE "])|(?<![" WORD_ALONE "])(?=[" WORD_ALONE "]))"},
    {'B', NULL,
     "(?:(?<=[" WORD_ALONE "])(?=[" WORD_ALONE "])|(?<![" WORD_ALONE "])(?![" WORD_ALONE "]))"},
    {'h', HEXADECIMAL, "[" HEXADECIMAL "]"},
    {'H', NULL, "[^" HEXADECIMAL "]"},
};

static void rewrite_escape(struct rewriting *r)
{
    const char letter = r->at + 1 < r->size ? r->text[r->at + 1] : '\0';
    size_t n = r->at + 1 < r->size ? 2 : 1;

    for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++) {
        const char *text = r->is_in_set ? escapes[i].in_set : escapes[i].alone;

        if (letter != escapes[i].letter)
            continue;
        if (!text)
            r->problem = "a complement in a set";
        else
            attn_buffer_append_string(r->out, text);
        r->at += n;
        return;
    }
    if (letter == 'Q' || letter == 'E' || letter == 'K' || letter == 'N' || letter == 'C')
        r->problem = "an escape that means something else to PCRE2";
    if (n == 2 && r->at + 2 < r->size && r->text[r->at + 2] == '{') { /* \p{L}, \x{20} */
        const char *end = memchr(r->text + r->at, '}', r->size - r->at);

        n = end ? (size_t)(end - r->text) + 1 - r->at : n;
    }
    attn_buffer_append(r->out, r->text + r->at, n);
    r->at += n;
}

/* Copies SIZE bytes. */
static void copy(struct rewriting *r, size_t size)
{
    attn_buffer_append(r->out, r->text + r->at, size);
    r->at += size;
}

static bool begins(const struct rewriting *r, const char *text)
{
    const size_t size = strlen(text);

    return size <= r->size - r->at && memcmp(r->text + r->at, text, size) == 0;
}

static void rewrite_in_set(struct rewriting *r)
{
    const char c = r->text[r->at];

    if (c == ']' && !r->is_at_start_of_set)
        r->is_in_set = false;
    else if (c == '[')
        r->problem = "a set within a set";
    else if (begins(r, "&&"))
        r->problem = "an intersection of sets";
    r->is_at_start_of_set = false;
    if (c == '\\')
        rewrite_escape(r);
    else
        copy(r, 1);
}

/* Copies "(?i-" of "(?i-m:...)" and checks that there is no other option. */
static void rewrite_group(struct rewriting *r)
{
    size_t at = r->at + 2;

    for (; at < r->size && strchr("imxsnUaDSWP-", r->text[at]) && r->text[at] != '\0'; at++)
        if (r->text[at] != 'i' && r->text[at] != '-')
            r->problem = "an option other than i";
    copy(r, at - r->at);
}

static void rewrite_outside(struct rewriting *r)
{
    const char c = r->text[r->at];

    if (c == '\\') {
        rewrite_escape(r);
    } else if (c == '[') {
        copy(r, begins(r, "[^") ? 2 : 1);
        r->is_in_set = r->is_at_start_of_set = true;
    } else if (begins(r, "(?")) {
        rewrite_group(r);
    } else if (begins(r, "(*")) {
        r->problem = "a verb";
    } else if (begins(r, "}+")) {
        r->problem = "a repetition that is repeated";
    } else {
        copy(r, 1);
    }
}

enum attn_status attn_pattern_rewrite(const char *text, size_t size, const char *name,
                                      struct attn_buffer *out, struct attn_error *err)
{
    struct rewriting r = {.text = text, .size = size, .out = out};

    while (r.at < size && !r.problem) {
        if (r.is_in_set)
            rewrite_in_set(&r);
        else
            rewrite_outside(&r);
    }
    if (r.problem)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the pattern '%s' in '%s' has %s, which is "
                              "not supported",
                              attn_quote(text, size).text, attn_quote_string(name).text, r.problem);
    return attn_buffer_check(out, err);
}
