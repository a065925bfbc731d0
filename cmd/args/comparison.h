/*
 * comparison.h - --compare: the chosen attention beside the exact one, as text, CSV or JSON, in
 * place of tensors.
 */
#ifndef CMD_COMPARISON_H
#define CMD_COMPARISON_H

#include "cmd/args/outputs.h"
#include "cmd/line/options.h"

#include "tool.h"

/* K of the recall that is reported. */
enum { COMPARISON_N_RECALLED = 5 };

/* --compare, which fills a bool. */
extern const struct option_group comparison_options;

/* What is compared, and how to call it. */
struct comparison {
    const struct attn_labels *labels; /* model, options, tokens, ids; of arrays options and axes */
    const struct attn_tokenizer *tokenizer; /* for first choices; NULL: they have no text */
    size_t n;                               /* tokens, or queries of arrays */
    const struct attn_attention *attention; /* what was chosen, of the first layer */
    struct attn_comparison *found;          /* owned */
};

/* Refuses options of COMMAND that show something else, where they were GIVEN
 * (options_parse_noting); HAS_PAGE is --explain. Reports and returns an exit code. */
int comparison_check(const struct command *command, const char *const *given, bool has_page);

/* Compares what RUN asks for. Reports and returns an exit code. */
int comparison_find(struct comparison *comparison, const struct attn_run *run);

/* Writes what was found where ARGS say, or as text to OUT. Reports and returns an exit code. */
int comparison_write(const struct comparison *comparison, const struct output_args *args,
                     struct attn_sink *out);

void comparison_release(struct comparison *comparison);

#endif
