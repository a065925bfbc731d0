/*
 * comparison.h - --compare: the chosen attention beside the exact one, as text, CSV or JSON,
 * instead of tensors.
 */
#ifndef CMD_COMPARISON_H
#define CMD_COMPARISON_H

#include "cmd/args/outputs.h"
#include "cmd/line/options.h"

#include "attn.h"

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
    const struct attn_comparison *found;
};

/* Refuses options of CALL that show something else; HAS_PAGE is --explain. */
enum attn_status comparison_check(const struct call *call, bool has_page, struct attn_error *err);

/* Writes what was found where ARGS say, or as text to OUT. */
enum attn_status comparison_write(const struct comparison *comparison,
                                  const struct output_args *args, struct attn_sink *out,
                                  struct attn_error *err);

#endif
