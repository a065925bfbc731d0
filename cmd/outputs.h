/* outputs.h - where a run's tensors go: text on standard output, or the files that were asked
 * for. */
#ifndef CMD_OUTPUTS_H
#define CMD_OUTPUTS_H

#include "options.h"

#include "attn.h"

/* Where each format goes, "-" for standard output, or NULL. */
struct output_args {
    const char *csv, *npy; /* directories */
    const char *tidy, *npz, *json;
    const char *id; /* the first column of tidy, or NULL */
    int64_t precision;
};

/* Options that fill a struct output_args. */
extern const struct option_group output_options;

enum { OUTPUTS_MAX = 6 };

struct outputs {
    struct attn_sink *standard; /* borrowed */
    struct attn_pool *pool;     /* borrowed; makes the text */
    struct output {
        struct attn_writer *writer; /* NULL once its pipe was closed */
        bool is_standard;
    } items[OUTPUTS_MAX];
    size_t n;
    bool has_failed;   /* a writer stopped the run */
    bool is_abandoned; /* by a closed pipe, and there is nothing else to write */
};

/* Whether ARGS name any output. */
bool outputs_are_wanted(const struct output_args *args);

/*
 * What was GIVEN (options_parse_noting) of the options that decide what the tensors hold: those of
 * the headings Attention, Precision, Selection and Interventions. free() *options. Reports and
 * returns an exit code.
 */
int outputs_list_options(const struct command *command, const char *const *given,
                         struct attn_option **options, size_t *n);

/* Whether ARGS put data on standard output. Reports what does not fit; returns an exit code. */
int outputs_check(const struct output_args *args, bool *is_standard_used);

/* Makes the writers: those of ARGS, or the text writer. */
int outputs_open(struct outputs *outputs, const struct output_args *args, bool has_text,
                 const struct attn_labels *run);

/* An attn_trace_fn: hands the event to every writer. USER is the struct outputs. */
enum attn_status outputs_event(void *user, const struct attn_trace_event *event,
                               struct attn_error *err);

/* Tells the writers what comes next, after the last event. Reports and returns an exit code. */
int outputs_predict(struct outputs *outputs, const struct attn_predictions *predictions);

/* The files appear. Reports and returns an exit code; either way no writer is left. */
int outputs_finish(struct outputs *outputs);

/* Files that are not finished do not appear. */
void outputs_close(struct outputs *outputs);

#endif
