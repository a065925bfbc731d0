/*
 * pairs.h - what a model is trained on: from the tokens so far to the next one. Either the prefixes
 * of the whole text, or windows that slide over it, each with its target, one token later, and the
 * predictions that are in it.
 */
#ifndef CMD_PAIRS_H
#define CMD_PAIRS_H

#include "options.h"

#include "attn.h"

struct pairs_args {
    bool is_wanted; /* --pairs */
    int64_t window; /* tokens; 0: no windows */
    int64_t stride; /* tokens from one window to the next; 0: not given */
};

/* Rows for the option table of a command whose struct T has a `struct pairs_args pairs`. */
#define PAIRS_ROWS(T)                                                                              \
    {.name = "pairs",                                                                              \
     .group = "Training pairs",                                                                    \
     .kind = OPTION_FLAG,                                                                          \
     .offset = offsetof(struct T, pairs.is_wanted),                                                \
     .help = "print each beginning of the text and the token that comes next, instead of tokens"}, \
        {.name = "window",                                                                         \
         .argument = "W",                                                                          \
         .group = "Training pairs",                                                                \
         .kind = OPTION_NUMBER,                                                                    \
         .offset = offsetof(struct T, pairs.window),                                               \
         .min = 1,                                                                                 \
         .max = INT32_MAX,                                                                         \
         .help = "print each window of W tokens, its target (the window one token later) and the " \
                 "W predictions in it"},                                                           \
    {                                                                                              \
        .name = "stride", .argument = "S", .group = "Training pairs", .kind = OPTION_NUMBER,       \
        .offset = offsetof(struct T, pairs.stride), .min = 1, .max = INT32_MAX,                    \
        .help = "tokens from one window to the next; default: 1"                                   \
    }

bool pairs_are_wanted(const struct pairs_args *args);

/* Reports options that do not go together; returns an exit code. */
int pairs_check(const struct pairs_args *args);

/* Prints the pairs or windows of ENCODING, as lines or as JSON. Reports and returns an exit
 * code. */
int pairs_print(const struct pairs_args *args, struct attn_sink *out,
                const struct attn_tokenizer *tokenizer, const struct attn_encoding *encoding,
                bool is_json);

#endif
