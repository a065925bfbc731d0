/*
 * case.h - one hostile input: the files and arguments that a grammar makes of a number, what they
 * are meant to be, and what the library must read in them.
 *
 * A grammar knows a format: it makes what is valid in every way of writing it, or puts in one
 * defect that it knows of. So it can say what must be taken, and what must be read, without asking
 * the library. Some cases are changed as bytes afterwards; of these nothing is known but that they
 * must not do harm.
 *
 * To add a format, write grammar_NAME.c and its row in ATTN_GRAMMAR_MAP.
 */
#pragma once

#include "base/buffer.h"
#include "base/source.h"
#include "tests/fuzz/fuzz.h"

#include <stdarg.h>
#include <sys/resource.h>

/* X(name): grammar_NAME.c has attn_grammar_NAME. */
#define ATTN_GRAMMAR_MAP(X)                                                                        \
    X(npy)                                                                                         \
    X(mask)                                                                                        \
    X(safetensors)                                                                                 \
    X(index)                                                                                       \
    X(config)                                                                                      \
    X(family)                                                                                      \
    X(vocab)                                                                                       \
    X(tokenizer)                                                                                   \
    X(text)                                                                                        \
    X(ids)                                                                                         \
    X(selection)                                                                                   \
    X(sites)                                                                                       \
    X(attention)

enum { ATTN_CASE_MAX_FILE = 8, ATTN_CASE_MAX_ARGUMENT = 32, ATTN_CASE_KNOWN_SIZE = 1 << 18 };

/* Address space that a case may have: what asks for more is out of memory, and fails. Sanitizers
 * need more for themselves. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ATTN_CASE_SPACE RLIM_INFINITY
#else
#define ATTN_CASE_SPACE ((rlim_t)1 << 30)
#endif

enum attn_meant { ATTN_MEANT_VALID, ATTN_MEANT_REFUSED, ATTN_MEANT_UNKNOWN };

struct attn_case_file {
    char name[48]; /* "config.json" */
    struct attn_buffer bytes;
};

struct attn_case {
    uint64_t chance; /* state of the generator of random numbers */
    enum attn_meant meant;
    char defect[64]; /* which one, in words; empty when there is none */
    struct attn_case_file files[ATTN_CASE_MAX_FILE];
    int n_file;
    /* Arguments of the tool, which runs in the folder of the files; "--ids=@list" gives the text of
     * the file "list". None: the tool is not run with this case. Texts are owned by the case. */
    char *arguments[ATTN_CASE_MAX_ARGUMENT];
    int n_argument;
    int exit; /* of the tool when the case is refused */
    /* What the grammar remembers for its judge: zeroed for each case. */
    union {
        unsigned char bytes[ATTN_CASE_KNOWN_SIZE];
        max_align_t align;
    } known;
};

struct attn_grammar {
    const char *name;
    void (*make)(struct attn_case *c);
    /* Lets the library read the case in this process and stops (FUZZ_CHECK) when it reads anything
     * else than what was written. Returns what the library said. */
    enum attn_status (*take)(struct attn_case *c, struct attn_error *err);
    unsigned refused; /* FUZZ_BITs of what a refusal may say */
};

#define ATTN_GRAMMAR_DECLARE(name) extern const struct attn_grammar attn_grammar_##name;
ATTN_GRAMMAR_MAP(ATTN_GRAMMAR_DECLARE)
#undef ATTN_GRAMMAR_DECLARE

/* --- chance: the same for the same number of a case on every machine -------------------------- */

uint64_t attn_case_bits(struct attn_case *c);
size_t attn_case_below(struct attn_case *c, size_t n); /* 0 .. n-1; n >= 1 */
bool attn_case_chance(struct attn_case *c, unsigned percent);
bool attn_case_is_large(struct attn_case *c); /* whether this is one of the few of some 100 KB */
void attn_case_shuffle(struct attn_case *c, size_t *order, size_t n); /* 0 .. n-1 in any order */

/* --- making ----------------------------------------------------------------------------------- */

/* Decides whether there will be a defect, one of N; -1 for none. The grammar puts it in. */
int attn_case_defect(struct attn_case *c, const char *const *defects, size_t n);

/* A defect that this case has no place for: the case is valid after all. */
void attn_case_is_valid(struct attn_case *c);

struct attn_buffer *attn_case_file(struct attn_case *c, const char *name);
struct attn_buffer *attn_case_find(struct attn_case *c, const char *name); /* NULL: not there */

/* Arguments of the tool, to the first NULL. */
void attn_case_run(struct attn_case *c, int exit, ...) __attribute__((sentinel));

/* --- JSON in every way of writing it ---------------------------------------------------------- */

/* What a writer of JSON may do: blanks between tokens, escapes in strings. */
void attn_json_blank(struct attn_case *c, struct attn_buffer *out);
void attn_json_put_string(struct attn_case *c, struct attn_buffer *out, const char *text,
                          size_t size);
/* A token, with blanks behind it. */
void attn_json_put(struct attn_case *c, struct attn_buffer *out, const char *token);
/* "KEY": and blanks. */
void attn_json_put_key(struct attn_case *c, struct attn_buffer *out, const char *key);

/* Defects that any JSON text can have, in a text that is an object. */
#define ATTN_JSON_DEFECTS                                                                          \
    "a comma at the end", "a comment", "no end", "text behind the end", "a byte order mark",       \
        "single quotes", "NaN", "a key twice", "bytes that are not UTF-8", "a NUL in a key",       \
        "a lone surrogate", "nesting too deep"
enum { ATTN_JSON_NUL = 9, ATTN_N_JSON_DEFECT = 12 }; /* NUL: a key may hold it in a vocabulary */
void attn_json_spoil(struct attn_case *c, struct attn_buffer *json, int defect);
