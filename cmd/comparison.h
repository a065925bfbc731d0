/*
 * comparison.h - --compare: the chosen attention beside the exact one, as text, CSV or JSON, in
 * place of tensors.
 */
#ifndef CMD_COMPARISON_H
#define CMD_COMPARISON_H

#include "options.h"
#include "outputs.h"

#include "attn.h"

/* K of the recall that is reported. */
enum { COMPARISON_N_RECALLED = 5 };

/* --compare, which fills a bool. */
extern const struct option_group comparison_options;

/* What is compared, and how to call it. */
struct comparison {
    const struct attn_labels
        *labels; /* model, options, tokens and ids; of arrays, options and axes */
    const struct attn_tokenizer *tokenizer; /* for first choices; NULL: they have no text */
    size_t n;                               /* tokens, or queries of arrays */
    const struct attn_attention *attention; /* what was chosen, of the first layer */
    struct attn_comparison *found;          /* owned */
};

/* Refuses options of COMMAND that show something else, where they were GIVEN (options_parse_noting);
 * HAS_PAGE is --explain. Reports and returns an exit code. */
int comparison_check(const struct command *command, const char *const *given, bool has_page);

/* Compares what RUN asks for. Reports and returns an exit code. */
int comparison_find(struct comparison *comparison, const struct attn_run *run);

/* Writes what was found where ARGS say, or as text to OUT. Reports and returns an exit code. */
int comparison_write(const struct comparison *comparison, const struct output_args *args,
                     struct attn_sink *out);

void comparison_release(struct comparison *comparison);

/* comparison_text.c, comparison_csv.c, comparison_json.c. PRECISION as in output_args. */
int comparison_print_text(const struct comparison *comparison, struct attn_sink *out);
int comparison_print_csv(const struct comparison *comparison, int precision, struct attn_sink *out);
int comparison_write_csv(const struct comparison *comparison, int precision, const char *directory);
int comparison_print_json(const struct comparison *comparison, int precision,
                          struct attn_sink *out);

/* Where a head stands: in a layer, or in a batch of arrays, whose heads are numbered anew. */
struct comparison_place {
    int first, head;
};
struct comparison_place comparison_place(const struct comparison *comparison,
                                         const struct attn_compared_head *head);
const char *comparison_first_name(const struct comparison *comparison); /* "layer", "batch" */

/* A measure in CSV and JSON: as short as brings back the same float32, or with fixed digits. */
void comparison_print_number(struct attn_sink *out, double value, int precision);

#endif
