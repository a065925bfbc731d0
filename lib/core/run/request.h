/*
 * request.h - a request to a host, in plain values: an input, attention, the tensors to select,
 * edits, predictions, and outputs.
 *
 *     struct attn_request request = ATTN_REQUEST_DEFAULT;
 *     request.input.text = "Life is short", request.input.n_text = 13;
 *     request.selection.sites = "pattern", request.selection.heads = "2.*";
 *     request.predict.top = 5;
 *
 * All data is borrowed until the request has been served. Sites, layers and heads are texts in the
 * form of trace/selection.h; a program may make a selection instead. NULL means the default. For
 * the letters in shapes see site.h.
 */
#ifndef ATTN_RUN_REQUEST_H
#define ATTN_RUN_REQUEST_H

#include "base/note.h"
#include "input/input.h"
#include "predict/answer.h"
#include "run/attention_change.h"
#include "tensors/output.h"
#include "trace/edit.h"

/* The attention to compute. */
struct attn_request_attention {
    /* [n_layer], for arrays [1]; NULL: that of the model, or full attention. */
    const struct attn_attention *layers;
    /* A change of each layer's attention; NULL: no change. */
    const struct attn_attention_change *change;
    const void *later[4];
};

/* The tensors to select. GIVEN wins: the texts of sites, layers and heads, has_gradients and
 * at_mask select nothing then, and `queries` only says after which positions predictions are made.
 */
struct attn_request_selection {
    const struct attn_selection *given; /* a selection made for the sizes of this run; NULL: it is
                                           made from the fields below */
    const char *sites, *layers, *heads;
    struct attn_number_list queries;
    /* The metric to differentiate, any but kl; or NULL. */
    const struct attn_answer_args *gradients_of;
    bool has_gradients; /* adds the gradient of each tensor of `sites` */
    bool
        at_mask; /* if `queries` is not given: selects the position of the text's only mask token */
    struct attn_number_list tiles; /* pictures of a prompt, for sites of the tower; not given: 0 */
    const void *later[4];
};

/* Where tensors and predictions are written, and in which form. */
struct attn_request_outputs {
    const struct attn_output *items; /* [n], tensors/outputs.h */
    size_t n;
    int precision; /* digits after the decimal point in decimal formats, 0 to 17; -1: the shortest
                      that is exact */
    const struct attn_picture_options *picture; /* pictures/picture.h; or NULL */
    /* [n_option] the options of the run, for formats that record them. */
    const struct attn_option *options;
    size_t n_option;
    const void *later[4];
};

/* How maps of a picture beside a text are made. */
enum attn_neutral_by { ATTN_NEUTRAL_DIFFERENCE = 0, ATTN_NEUTRAL_RATIO = 1 };
struct attn_request_maps {
    const char *neutral; /* a question, whose map at its last position is taken away; or NULL */
    enum attn_neutral_by neutral_by;
    /* Cells whose stream has a peak of this size are left out, layer by layer; 0: none is. */
    double drop_sinks;
    const void *later[4];
};

struct attn_request {
    size_t size; /* of this struct */
    struct attn_input input;
    struct attn_input source; /* the source for cross-attention; ignored by models without it */
    struct attn_request_reading reading;
    struct attn_request_attention attention;
    struct attn_request_selection selection;
    struct attn_request_edits edits;
    struct attn_request_predict predict;
    struct attn_request_outputs outputs;

    attn_note_fn on_note; /* receives notes about unusual results that are not errors; or NULL */
    /* For questions: receives the number of finished runs and of all; or NULL. */
    attn_progress_fn on_progress;
    void *user;         /* user data of these functions */
    size_t max_input;   /* maximum tokens of a text and of a source; 0: the limit of the model */
    double max_seconds; /* maximum estimated seconds of a run; longer runs are refused unless
                           `max_input` is set, and runs above a minute are noted; 0: no estimate */
    struct attn_request_maps maps;
    struct attn_chat_request chat;
    /* Receives notes that are counted over runs, with USER, instead of on_note; or NULL. */
    attn_counted_note_fn on_counted;
    /* Receives how much of a run is done, with USER, in units that differ from run to run; or NULL.
     * Runs that are counted by on_progress do not call it. */
    attn_progress_fn on_part;
};

/* Sets REQUEST [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_request *attn_request_init(struct attn_request *request, size_t size);
#define ATTN_REQUEST_DEFAULT ATTN_DEFAULT_OF(attn_request)

#endif
