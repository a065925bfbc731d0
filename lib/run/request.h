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
#include "edits/intervention.h"
#include "predict/answer.h"
#include "run/attention_change.h"
#include "tokenizer/tokenizer.h"
#include "trace/edit.h"
#include "writers/output.h"

struct attn_pixels; /* image/pixels.h */

/* One of: a text, token ids, embeddings, a picture; or of attention on arrays, q, k and v, or
 * scores and v. */
struct attn_input {
    const char *text; /* [n_text] bytes, UTF-8 */
    size_t n_text;
    const int32_t *ids; /* [n_id] */
    size_t n_id;
    const struct attn_ndarray *embeddings; /* [T, d_model]; of a source [S, d_source] */
    const struct attn_ndarray *q, *k, *v;  /* [T, E], [H, T, E] or [B, H, T, E] each; the number of
                                              heads of k and v may divide that of q */
    const struct attn_ndarray *scores;     /* [T, S], [H, T, S] or [B, H, T, S] instead of q, k */
    const int32_t *types; /* [n_type] of the tokens, one for each of `ids`; NULL: 0 */
    size_t n_type;
    const char *pair; /* [n_pair] a second text after `text`, as the tokenizer puts them together,
                         with its types; NULL: there is none */
    size_t n_pair;
    const int32_t *key_mask; /* [n_key_mask] of each token or row: 1, or 0: it is masked; of
                                encoders and sources; NULL: all are 1 */
    size_t n_key_mask;
    const char *image; /* the path of a picture (image/pixels.h), for models that read them */
    const struct attn_pixels *pixels; /* or what was made of one; its `shown` may be NULL */
    const void *later[2];             /* here and below NULL: room for later fields */
};

/* Next tokens that are scored. */
struct attn_request_predict {
    size_t top; /* the so many most probable next tokens, after the last position or, where the
                   request has queries, after each of these; of encoders at masks; 0: none */
    const char *const *next; /* [n_next] continuations, each by itself, after the same positions */
    size_t n_next;
    const struct attn_answer_args *answer; /* a metric there, or at its own; not kl, ce; or NULL */
    const char *const *labels; /* [n_label] texts that a picture is compared with, by a model with
                                  two towers, as CLIP is: `top` of them are listed; 0: all */
    size_t n_label;
    const void *later[1]; /* here and below NULL: room for later fields */
};

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

/* What is changed on the way, in this order. */
struct attn_request_edits {
    const char *ablate;            /* heads whose z becomes 0 */
    const char *ablate_pattern;    /* heads whose pattern becomes 0 */
    const struct attn_edit *items; /* [n] */
    const char *ablate_mean;       /* heads whose z becomes its mean over the text, found first */
    const struct attn_knockout *knockouts; /* [n_knockout] */
    const struct attn_patch *patches;      /* [n_patch] */
    size_t n, n_knockout, n_patch;
    const struct attn_steering *steerings; /* [n_steering] */
    size_t n_steering;
    const void *later[2];
};

/* What the rows or the columns of arrays are called. */
struct attn_label_list {
    const char *const *items; /* [n] bytes of each, not terminated; NULL: none are given */
    const size_t *sizes;      /* [n] */
    size_t n;
    const char *name; /* the file that they are from, for messages */
};

/* How the inputs are read. */
struct attn_request_reading {
    enum attn_special special;               /* how special tokens in texts are taken */
    enum attn_special_tokens special_tokens; /* whether the tokenizer adds its own to texts */
    const char *example; /* the hint of the failure when a text has no tokens; or NULL */
    struct attn_label_list queries, keys; /* of arrays; empty: rows and columns have numbers */
    const void *later[4];
};

struct attn_table;      /* base/table.h */
struct attn_table_grid; /* figures/table_picture.h */

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
    /* How it is drawn (figures/table_picture.h); of the table. */
    const struct attn_table_grid *grid;
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
};

#define ATTN_REQUEST_DEFAULT                                                                       \
    ((struct attn_request){.size = sizeof(struct attn_request), .outputs = {.precision = -1}})

#endif
