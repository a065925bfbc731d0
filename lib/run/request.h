/*
 * request.h - what may be asked of a host, in plain values: an input, which attention is computed,
 * which tensors are wanted, what is changed on the way, which next tokens are scored, and where
 * tensors go.
 *
 *     struct attn_request request = ATTN_REQUEST_DEFAULT;
 *     request.input.text = "Life is short", request.input.n_text = 13;
 *     request.sites = "pattern", request.heads = "2.*";
 *     request.predict.top = 5;
 *
 * Everything is borrowed until the request is served. Texts that choose something (sites, layers,
 * heads, queries, ablate) have the form of trace/selection.h; NULL is the default. Queries of a
 * text may also be words of it: "it", " it" with its space, "it#2" the second time
 * (run/position.h).
 *
 * Letters as in trace/site.h.
 */
#ifndef ATTN_RUN_REQUEST_H
#define ATTN_RUN_REQUEST_H

#include "attention/attention.h"
#include "formats/ndarray.h"
#include "model/model.h"
#include "output/outputs.h"
#include "output/picture.h"
#include "text/tokenizer.h"
#include "trace/edit.h"

#include <stdint.h>

/* One of: a text, token ids, embeddings; or of attention on arrays, q, k and v, or scores and v. */
struct attn_input {
    const char *text; /* [n_text] bytes, UTF-8 */
    size_t n_text;
    const int32_t *ids; /* [n_id] */
    size_t n_id;
    const struct attn_ndarray *embeddings; /* [T, d_model]; of a source [S, d_source] */
    const struct attn_ndarray *q, *k, *v;  /* [T, E], [H, T, E] or [B, H, T, E] each; the number of
                                              heads of k and v may divide that of q */
    const struct attn_ndarray *scores;     /* [T, S], [H, T, S] or [B, H, T, S] instead of q, k */
};

/* Parts of an attention. */
enum attn_attention_part {
    ATTN_PART_KIND = 1 << 0, /* with its parameters */
    ATTN_PART_MASK = 1 << 1,
    ATTN_PART_MASKING = 1 << 2,
    ATTN_PART_SCALE = 1 << 3, /* is_scaled */
    ATTN_PART_EPS = 1 << 4,
    ATTN_PART_SIMILARITY = 1 << 5,
    ATTN_PART_ALGORITHM = 1 << 6,
    ATTN_PART_DROPOUT = 1 << 7,
    ATTN_PART_DROPOUT_SEED = 1 << 8,
};

/* What becomes other than the model has it, in every layer. */
struct attn_attention_change {
    unsigned parts;                     /* which of `to` count: bits ATTN_PART_... */
    struct attn_attention to;           /* its matrix and keep are not used: see below */
    const struct attn_mask_array *mask; /* [T, S], [H, T, S], or of arrays also [B, H, T, S]; for
                                           ATTN_MASK_MATRIX. Of a model it is for the layers that
                                           attend to the text, or where there are none, for all */
    const struct attn_mask_array *keep; /* of arrays: which weights dropout leaves, or NULL */
};

/* Next tokens that are scored. */
struct attn_question {
    size_t top;              /* the so many most probable next tokens, after the last position or,
                                where the request has queries, after each of these; 0: none */
    const char *const *next; /* [n_next] continuations, each encoded by itself, after the same
                                positions */
    size_t n_next;
};

/* What the rows or the columns of arrays are called. */
struct attn_label_list {
    const char *const *items; /* [n] bytes of each, not terminated; NULL: none are given */
    const size_t *sizes;      /* [n] */
    size_t n;
    const char *name; /* the file that they are from, for messages */
};

struct attn_request {
    size_t size; /* of this struct */
    struct attn_input input;
    struct attn_input source;  /* what cross-attention looks at; of models without it, nothing */
    enum attn_special special; /* how special tokens in texts are taken */
    const char *example;       /* the hint of the failure when a text has no tokens; or NULL */

    const struct attn_attention *attention;      /* [n_layer], of arrays [1]; NULL: the model's own,
                                                    of arrays full attention without a mask */
    const struct attn_attention_change *changed; /* applied to each of them; NULL: nothing */

    const struct attn_selection *selection; /* for the sizes of this run; NULL: made of these: */
    const char *sites, *layers, *heads, *queries;

    const char *ablate;            /* heads whose z becomes 0 */
    const char *ablate_pattern;    /* heads whose pattern becomes 0 */
    const struct attn_edit *edits; /* [n_edit], applied after these */
    size_t n_edit;

    struct attn_question predict;

    const struct attn_output *outputs; /* [n_output] where tensors and predictions are written */
    size_t n_output;
    int precision; /* digits after the point of decimal formats, 0..17; -1: the shortest */
    const struct attn_option *options; /* [n_option] what shaped the run, for outputs that tell */
    size_t n_option;

    attn_note_fn on_note; /* told of what is odd and no failure; or NULL */
    void *user;           /* for on_note */

    const struct attn_picture_options *picture;      /* what shapes pictures, or NULL */
    struct attn_label_list query_labels, key_labels; /* of arrays; empty: rows and columns have
                                                        numbers */
    enum attn_special_tokens special_tokens; /* whether the tokenizer adds its own to texts */

    const char *ablate_mean;      /* heads whose z becomes its mean over the text's positions, which
                                     a run without edits finds first */
    const char *const *knockouts; /* [n_knockout] "QUERIES>KEYS@HEADS": these queries do not look at
                                     these keys, of the source in layers that attend to it;
                                     positions are numbers or words, @HEADS may lack */
    size_t n_knockout;
    const char *const *patches; /* [n_patch] "SITE:LAYER.HEAD@POSITIONS=FILE.npz": what another run
                                   wrote stands in place of that; .HEAD and @POSITIONS may lack */
    size_t n_patch;

    attn_progress_fn on_progress; /* told by experiments of many runs, of so many how many are done,
                                     with `user`; or NULL */
};

#define ATTN_REQUEST_DEFAULT                                                                       \
    ((struct attn_request){.size = sizeof(struct attn_request), .precision = -1})

#endif
