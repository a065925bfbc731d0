/*
 * request.h - what may be asked of a host, in plain values: an input, attention, the tensors that
 * are wanted, what is changed on the way, the next tokens that are scored, and where tensors go.
 *
 *     struct attn_request request = ATTN_REQUEST_DEFAULT;
 *     request.input.text = "Life is short", request.input.n_text = 13;
 *     request.selection.sites = "pattern", request.selection.heads = "2.*";
 *     request.predict.top = 5;
 *
 * Everything is borrowed until it is served. Sites, layers, heads and queries are texts as in
 * trace/selection.h; a query may be a word (input/position.h). NULL is the default. Letters:
 * site.h.
 */
#ifndef ATTN_RUN_REQUEST_H
#define ATTN_RUN_REQUEST_H

#include "base/note.h"
#include "edits/request_edits.h"
#include "input/input.h"
#include "predict/answer.h"
#include "run/attention_change.h"
#include "writers/output.h"

/* The attention that is computed. */
struct attn_request_attention {
    const struct attn_attention *layers; /* [n_layer], of arrays [1]; NULL: the model's, or full */
    const struct attn_attention_change *change; /* applied to each of them; NULL: nothing */
    const void *later[4];
};

/* The tensors that are wanted. */
struct attn_request_selection {
    const struct attn_selection *given; /* for the sizes of this run; NULL: made of these: */
    const char *sites, *layers, *heads, *queries;
    const struct attn_answer_args *gradients_of; /* any metric but kl; or NULL: there are none */
    bool has_gradients; /* beside each tensor of `sites`, not only by their names */
    bool at_mask;       /* if `queries` is NULL: the position of the text's only mask token */
    const void *later[2];
};

struct attn_table;         /* base/table.h */
struct attn_table_picture; /* figures/table_picture.h */

/* Where tensors and predictions are written, and how. */
struct attn_request_outputs {
    const struct attn_output *items; /* [n], writers/outputs.h */
    size_t n;
    int precision; /* digits after the point of decimal formats, 0..17; -1: the shortest */
    const struct attn_picture_options *picture; /* writers/picture.h; or NULL */
    const struct attn_option *options; /* [n_option] what shaped the run, for formats that say so */
    size_t n_option;
    const struct attn_table *table; /* what an experiment found: a page shows it, and below it the
                                       patterns of the run; or NULL */
    /* How the table is drawn (figures/table_picture.h). */
    const struct attn_table_picture *table_picture;
    const void *later[2];
};

struct attn_request {
    size_t size; /* of this struct */
    struct attn_input input;
    struct attn_input source; /* what cross-attention looks at; of models without it, nothing */
    struct attn_request_reading reading;
    struct attn_request_attention attention;
    struct attn_request_selection selection;
    struct attn_request_edits edits;
    struct attn_request_predict predict;
    struct attn_request_outputs outputs;

    attn_note_fn on_note;         /* gets what is odd and no failure; or NULL */
    attn_progress_fn on_progress; /* of experiments: how many runs of how many are done; or NULL */
    void *user;                   /* for these */
    bool is_once; /* of attn_run_prepare: the run is performed before anything else is asked of it,
                     so that an encoder reads the source there, and not twice */
    size_t max_tokens;  /* of a text and of a source, more are refused; 0: what the model takes */
    double max_seconds; /* of a run by estimate, for which a note is given above a minute; more are
                           refused, unless `max_tokens` is given; 0: no time is estimated */
};

#define ATTN_REQUEST_DEFAULT                                                                       \
    ((struct attn_request){.size = sizeof(struct attn_request), .outputs = {.precision = -1}})

#endif
