/* outputs.h - where a run's tensors go: text on standard output, or the files that were asked
 * for. */
#ifndef CMD_OUTPUTS_H
#define CMD_OUTPUTS_H

#include "cmd/args/prompt.h"
#include "cmd/line/options.h"

#include "extra.h"

/* What was asked for. Initialize with precision -1; end with output_args_release. */
struct output_args {
    struct named_list formats; /* paths by the names of formats, and the formats' own options */
    bool is_addition;          /* files of earlier runs stay */
    bool is_synced;            /* what is written survives a power failure */
    int64_t precision;         /* -1: as many digits as bring back the same number */
};

/* Options that fill a struct output_args, made from the list of formats. */
extern const struct option_group output_options;

void output_args_release(struct output_args *args);

/* Where FORMAT goes, "-" for standard output, or NULL. */
const char *output_path(const struct output_args *args, const char *format);

/* What ARGS ask for of FORMAT, where they name it; "-" is STANDARD. */
struct attn_output output_of(const struct output_args *args, const struct attn_format *format,
                             struct attn_sink *standard);

/* Whether ARGS name any output. */
bool outputs_are_wanted(const struct output_args *args);

/* Whether ARGS name an output that holds tensors. */
bool outputs_have_tensors(const struct output_args *args);

/* Refuses outputs that hold nothing but tables. Reports and returns an exit code. */
int outputs_check_tables(const struct output_args *args);

/* Writes TABLES [n_table], those that are not NULL, to the outputs of ARGS that hold nothing but
 * tables. STANDARD as below. Reports and returns an exit code. */
int outputs_write_tables(const struct output_args *args, struct attn_table *const *tables,
                         size_t n_table, struct attn_sink *standard);

/* What ARGS ask for of tensors, and the format TEXT on STANDARD, where "-" goes too: when it is
 * NULL and nothing is asked for, text. free() *items. Reports and returns an exit code. */
int outputs_list(const struct output_args *args, const char *text, struct attn_sink *standard,
                 struct attn_output **items, size_t *n);

/* What ARGS ask for that draws differences, and TEXT on STANDARD unless it is NULL. Likewise. */
int outputs_list_differences(const struct output_args *args, const char *text,
                             struct attn_sink *standard, struct attn_output **items, size_t *n);

/* Refuses predictions, which are printed on standard output, where ARGS put data there and have no
 * other place for them. Reports and returns an exit code. */
int outputs_check_predictions(const struct output_args *args);

/*
 * What was GIVEN (options_parse_noting) of the options that decide what the tensors hold: those of
 * the headings Attention, Precision, Selection, Interventions and View. free() *options. Reports
 * and returns an exit code.
 */
int outputs_list_options(const struct command *command, const char *const *given,
                         struct attn_option **options, size_t *n);

/* Refuses outputs that are files of HOST's model. Reports and returns an exit code. */
int outputs_check_model(const struct output_args *args, const struct attn_host *host);

/* Where PROMPT has no text, refuses a last output whose FILE looks like one. Reports and returns an
 * exit code. */
int outputs_check_text(const struct output_args *args, const struct prompt_args *prompt);

/* Whether ARGS put data on standard output. Reports what does not fit; returns an exit code. */
int outputs_check(const struct output_args *args, bool *is_standard_used);

#endif
