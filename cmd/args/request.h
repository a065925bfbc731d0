/*
 * request.h - what `run`, `attend` and `generate` share: from options to a request of the library,
 * and from its result to what is printed.
 *
 *     static enum attn_status work(struct served *served, struct attn_error *err)
 *     {
 *         ATTN_TRY(request_check(served, err));        // before anything is opened
 *         ... opens served->host, and fills served->request.input ...
 *         ATTN_TRY(request_fill(served, err));         // what the shared options say
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

/* Options of both commands. */
struct request_args {
    struct attn_attention_args attention;
    struct attn_edit_texts edits;
    struct attn_places places;
    struct output_args output;
    struct picture_args picture;
    bool is_explained;         /* --explain */
    bool is_compared;          /* --compare */
    struct tables_args tables; /* the order of rows, of a comparison and of measures */
    struct running_args running;
};

/* --compare and --explain, which each fill a bool. */
extern const struct option_group comparison_options, explain_options;
extern const struct option_group comparison_order_options; /* fills a struct tables_args */

#define REQUEST_ARGS_DEFAULT                                                                       \
    {                                                                                              \
        .output.precision = -1                                                                     \
    }

/* A request on its way. Initialize with the call, its arguments, and the next four. */
struct served {
    struct call *call;
    const struct request_args *args;
    const struct attn_request *asked;           /* by options: the selection and the predictions */
    void (*print_sites)(struct attn_sink *out); /* what --sites help prints */
    bool has_first_screen;                      /* shown without other options */
    unsigned shown; /* enum attn_medium: printed instead of tensors; 0: tensors */
    void *own;      /* data of the command for its work */
    struct attn_host *host;
    struct attn_request request;
    struct text text;                     /* owns; the input's */
    struct attn_edit_texts edits;         /* those of `args`; owns the texts that it reads */
    struct attn_attention_args attention; /* the same */
    struct attn_option *options;          /* those that shape the run */
    struct attn_output *outputs; /* [request.n_output], then n_figure that draw an explanation */
    size_t n_figure;
    struct attn_picture_options picture;
    struct attn_run *run;
    struct attn_result result;
    bool is_standard_used; /* by data: nothing else may be printed there */
    struct stopwatch watch;
};

/* Calls WORK to serve the request, or prints the values of an option whose value is `help`. Frees
 * everything. */
enum attn_status request_answer(struct served *served,
                                enum attn_status (*work)(struct served *, struct attn_error *),
                                struct attn_error *err);

/* Checks the shared options. */
enum attn_status request_check(struct served *served, struct attn_error *err);

/* Opens the host of the model of ARGS; checks that no output is one of its files. */
enum attn_status request_open_model(struct served *served, const struct model_args *args,
                                    bool reuse, struct attn_error *err);

/* Sets the shared options in the request. */
enum attn_status request_fill(struct served *served, struct attn_error *err);

/* Prepares and performs the request or the comparison, and prints the rest. */
enum attn_status request_serve(struct served *served, struct attn_error *err);

#endif
