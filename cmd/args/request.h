/*
 * request.h - the common part of `run`, `attend` and `generate`: fills a request of the library
 * from options, performs it, and prints its result.
 *
 *     static enum attn_status work(struct served *served, struct attn_error *err)
 *     {
 *         ATTN_TRY(request_check(served, err));        // before anything is opened
 *         ... opens served->host, and fills served->request.input ...
 *         ATTN_TRY(request_fill(served, err));         // with the shared options
 *         return request_serve(served, err);
 *     }
 *
 *     struct served served = {.call = call, .args = &args->request, .print_sites = sites_print};
 *     return request_answer(&served, work, err);
 */
#ifndef CMD_REQUEST_H
#define CMD_REQUEST_H

#include "cmd/args/attention.h"
#include "cmd/args/model.h"
#include "cmd/args/outputs.h"
#include "cmd/args/picture.h"
#include "cmd/args/prompt.h"
#include "cmd/args/running.h"
#include "cmd/args/selection.h"
#include "cmd/line/command.h"

#include "attn.h"

/* The options that these commands have in common. */
struct request_args {
    struct attn_attention_args attention;
    struct attn_edit_texts edits;
    struct attn_places places;
    struct output_args output;
    struct picture_args picture;
    bool is_explained;         /* --explain */
    bool is_compared;          /* --compare */
    struct tables_args tables; /* the order of rows in the tables of a comparison and of measures */
    struct running_args running;
};

/* --compare and --explain. */
extern const struct attn_param_list comparison_options, explain_options;

#define REQUEST_ARGS_DEFAULT                                                                       \
    {                                                                                              \
        .output.precision = SIZE_MAX                                                               \
    }

/* The state of a command with a request. Initialize with the call, its arguments, and the next four
 * members. */
struct served {
    struct call *call;
    const struct request_args *args;
    const struct attn_request *asked; /* as given by options: the selection and the predictions */
    void (*print_sites)(struct attn_sink *out); /* prints the list of --sites help */
    bool has_first_screen;                      /* prints the first screen if no output is given */
    unsigned shown; /* enum attn_medium that is printed instead of tensors; 0: tensors */
    void *own;      /* data of the command */
    struct attn_host *host;
    struct attn_request request;
    struct text text;                     /* owned; the text of the input */
    struct attn_edit_texts edits;         /* the edits of `args`; owns the texts that it reads */
    struct attn_attention_args attention; /* the attention of `args` */
    struct attn_option *options;          /* the given options that change the run */
    /* [request.n_output] followed by `n_figure` outputs that draw an explanation */
    struct attn_output *outputs;
    size_t n_figure;
    struct attn_picture_options picture;
    struct attn_run *run;
    struct attn_result result;
    /* data are written to standard output, so nothing else may be printed there */
    bool is_standard_used;
    struct stopwatch watch;
};

/* Calls WORK, which serves the request. If an option has the value `help`, prints its values
 * instead. Frees everything at the end. */
enum attn_status request_answer(struct served *served,
                                enum attn_status (*work)(struct served *, struct attn_error *),
                                struct attn_error *err);

/* Checks the common options. */
enum attn_status request_check(struct served *served, struct attn_error *err);

/* Opens the host with the model of ARGS, and checks that no output would overwrite one of its
 * files. */
enum attn_status request_open_model(struct served *served, const struct model_args *args,
                                    bool reuse, struct attn_error *err);

/* Sets the common options in the request. */
enum attn_status request_fill(struct served *served, struct attn_error *err);

/* Prepares and performs the request or the comparison, and prints what is not written by
 * outputs. */
enum attn_status request_serve(struct served *served, struct attn_error *err);

#endif
