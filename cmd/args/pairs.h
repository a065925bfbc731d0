/*
 * pairs.h - what a model is trained on: from the tokens so far to the next one. Either the prefixes
 * of the whole text, or windows that slide over it, each with its target, one token later, and the
 * predictions that are in it.
 */
#ifndef CMD_PAIRS_H
#define CMD_PAIRS_H

#include "cmd/line/options.h"

#include "extra.h"

struct pairs_args {
    bool is_wanted; /* --pairs */
    int64_t window; /* tokens; 0: no windows */
    int64_t stride; /* tokens from one window to the next; 0: not given */
};

/* Options that fill a struct pairs_args. */
extern const struct option_group pairs_options;

bool pairs_are_wanted(const struct pairs_args *args);

/* Reports options that do not go together; returns an exit code. */
int pairs_check(const struct pairs_args *args);

/* Prints the pairs or windows of ENCODING, as lines or as JSON. Reports and returns an exit
 * code. */
int pairs_print(const struct pairs_args *args, struct attn_sink *out,
                const struct attn_tokenizer *tokenizer, const struct attn_encoding *encoding,
                bool is_json);

#endif
