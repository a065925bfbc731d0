/*
 * request.h - what `run` and `attend` share: from options to a request of the library, and from its
 * result to what is printed.
 *
 *     struct served served = {.args = &args.request};
 *     request_check(&served);             // before anything is opened
 *     served.request.input = ...;         // the command's own
 *     request_fill(&served);              // what the shared options say
 *     request_serve(&served);
 *     request_release(&served);
 *
 * Each of these reports a failure and returns an exit code.
 */
#ifndef CMD_REQUEST_H
#define CMD_REQUEST_H

#include "cmd/args/attention.h"
#include "cmd/args/outputs.h"
#include "cmd/args/picture.h"
#include "cmd/args/running.h"
#include "cmd/args/selection.h"
#include "cmd/line/command.h"

#include "attn.h"

/* Options of both commands. */
struct request_args {
    struct attention_args attention;
    struct selection_args selection;
    struct output_args output;
    struct picture_args picture;
    bool is_explained; /* --explain */
    bool is_compared;  /* --compare */
    struct running_args running;
};

#define REQUEST_ARGS_DEFAULT                                                                       \
    {                                                                                              \
        .attention = ATTENTION_ARGS_DEFAULT, .output.precision = -1                                \
    }

/* A request on its way. Initialize with the command and its arguments; end with request_release. */
struct served {
    const struct command *command;
    struct request_args *args;
    const char **given;    /* [options_count] owns; the text of each option's value, or NULL */
    struct attn_sink *out; /* owns; standard output */
    struct attn_host *host;
    struct attn_request request;
    struct attn_attention_change changed;
    struct attn_mask_array mask, keep;
    struct attn_option *options; /* those that shape the run */
    struct attn_output *outputs; /* [request.n_output], then n_figure that draw an explanation */
    size_t n_figure;
    struct attn_picture_options picture;
    struct attn_run *run;
    struct attn_result result;
    bool has_first_screen; /* shown when nothing was asked for */
    bool is_standard_used; /* by data, so nothing else may be printed there */
    struct stopwatch watch;
};

/* Reads the command line into ARGS, the command's struct, which holds SERVED->args, and opens
 * SERVED->out: without it the command is over. End with request_close. */
int request_parse(struct served *served, int argc, char **argv, void *args);

/* Prints what the value 'help' of an option asks for, by SITES those of --sites. Whether one
 * did. */
bool request_print_help(struct served *served, void (*sites)(struct attn_sink *out));

/* Whether the shared options go together. */
int request_check(struct served *served);

/* Opens the host; SOURCE NULL: for arrays. COMPUTE is an enum attn_compute. */
int request_open_host(struct served *served, const struct attn_source *source, enum attn_load load,
                      int compute);

/* Puts what the shared options say into the request. KEEP_PATH is a file of --keep, or NULL. */
int request_fill(struct served *served, const char *keep_path);

/* Prepares and performs the request, or compares; prints what is no output of it. */
int request_serve(struct served *served);

void request_release(struct served *served);

/* Frees what request_parse made; returns CODE, or what standard output says to it. */
int request_close(struct served *served, int code);

#endif
