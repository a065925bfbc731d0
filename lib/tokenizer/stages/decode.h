/*
 * decode.h - from tokens to text: a list of steps, each of which changes a list of strings. At the
 * end the strings are joined.
 *
 *     attn_decode_add(&decoder, (struct attn_decode_step){attn_decode_join}, NULL, NULL, &err);
 *     attn_strings_append(&strings, token, size);    // of each id
 *     attn_decode_run(&decoder, &strings, &err);
 */
#ifndef ATTN_TOKENIZER_STAGES_DECODE_H
#define ATTN_TOKENIZER_STAGES_DECODE_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Strings one after another. Initialize with = {0}; end with attn_strings_release. */
struct attn_strings {
    struct attn_buffer bytes;
    size_t *ends; /* owns; [n] where in `bytes` each one ends */
    size_t n, capacity;
    size_t n_left;    /* bytes that a step may still put here where it replaces something */
    bool has_failed;  /* an allocation failed */
    bool is_too_long; /* there were no bytes left */
};

void attn_strings_append(struct attn_strings *strings, const char *text, size_t size);
void attn_strings_release(struct attn_strings *strings);

/* ATTN_OK, or the first failure of an append or a step. */
enum attn_status attn_strings_check(const struct attn_strings *strings, struct attn_error *err);

struct attn_decode_step;

/* Appends the result of the step for IN to OUT, which is empty. */
typedef void (*attn_decode_fn)(const struct attn_decode_step *step, const struct attn_strings *in,
                               struct attn_strings *out);

struct attn_decode_step {
    attn_decode_fn run;
    char *a; /* owns; [n_a], or NULL: the text to search */
    size_t n_a;
    char *b; /* owns; [n_b], or NULL: the replacement */
    size_t n_b;
    size_t start, stop; /* at most so many at the ends */
};

enum { ATTN_DECODE_MAX = 32 }; /* steps; published tokenizers have at most four */

/* Initialize with = {0}: strings are joined as they are. End with attn_decode_release. */
struct attn_decode_steps {
    struct attn_decode_step steps[ATTN_DECODE_MAX];
    size_t n;
};

/* Appends STEP with copies of A [step.n_a] and B [step.n_b], which may be NULL. */
enum attn_status attn_decode_add(struct attn_decode_steps *decoder, struct attn_decode_step step,
                                 const char *a, const char *b, struct attn_error *err);
void attn_decode_release(struct attn_decode_steps *decoder);

/* Makes of STRINGS what STEP makes of them; where it replaces something, at most `n_left` bytes,
 * which it takes of that. */
void attn_decode_run_step(const struct attn_decode_step *step, struct attn_strings *strings);

/* Runs all steps over STRINGS; each may replace as much as a stage may put into a text
 * (pipeline.h). */
enum attn_status attn_decode_run(const struct attn_decode_steps *decoder,
                                 struct attn_strings *strings, struct attn_error *err);

/* --- The steps -------------------------------------------------------------------------------- */

/* Each A becomes B; in the first string it is left out, unless START is 0. */
void attn_decode_replace(const struct attn_decode_step *step, const struct attn_strings *in,
                         struct attn_strings *out);
/* Neighbours <0xHH> become the characters of these bytes; if they are not UTF-8, U+FFFD each. */
void attn_decode_byte_fallback(const struct attn_decode_step *step, const struct attn_strings *in,
                               struct attn_strings *out);
/* At most START times A goes from the begin of each string, at most STOP times from its end. */
void attn_decode_strip(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out);
/* GPT-2's alphabet becomes bytes, all in one string; malformed UTF-8 in it becomes U+FFFD. */
void attn_decode_byte_level(const struct attn_decode_step *step, const struct attn_strings *in,
                            struct attn_strings *out);
/* A space is put before each string but the first, unless it begins with A, which is left out.
 * Where START is not 0, each string then loses the space before . ? ! , n't 'm 's 've 're, and both
 * beside '. */
void attn_decode_wordpiece(const struct attn_decode_step *step, const struct attn_strings *in,
                           struct attn_strings *out);
/* Joins all strings; malformed UTF-8 in the result becomes U+FFFD. */
void attn_decode_valid(const struct attn_decode_step *step, const struct attn_strings *in,
                       struct attn_strings *out);
/* One string of all, with A, if there is one, between. */
void attn_decode_join(const struct attn_decode_step *step, const struct attn_strings *in,
                      struct attn_strings *out);

/* The byte that TEXT, "<0x0A>", names, or -1. */
int attn_decode_named_byte(const char *text, size_t size);

#endif
