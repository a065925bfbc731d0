/* token_reader.h - numbers of each token of a text, read from tensors while attn_run_many runs it
 * (stream/many.h): `tokens` of the options, `numbers` of a result. */
#pragma once

#include "run/run.h"
#include "trace/trace.h"

struct attn_pool; /* base/pool.h */

/* A text whose tensors a reader of tokens gets. */
struct attn_token_text {
    const struct attn_run *run;
    struct attn_pool *pool; /* helps with long rows; or NULL */
    size_t n;               /* positions of the run */
    /* Where the tokens of the text begin and end, without those that the tokenizer added. In a
     * later window `first` is SIZE_MAX. `end` may exceed n. */
    size_t first, end;
    size_t from;       /* the first token whose numbers count: earlier windows have those before */
    double *numbers;   /* [n, n_number], NaN at first */
    double *surprisal; /* [n] likewise; a reader of logits fills it */
};

/* Computes numbers of each token of a text while it runs. */
struct attn_token_reader {
    struct attn_site_set sites; /* whose events it gets, at the layers and heads of the request */
    size_t n_number;            /* numbers of each token */
    /* Creates the STATE for TEXT, which stays valid until `end`. Called on several threads. */
    enum attn_status (*begin)(void *user, const struct attn_token_text *text, void **state,
                              struct attn_error *err);
    /* The logits of an encoder are those at a mask in place of the token after their row. */
    enum attn_status (*add)(void *state, const struct attn_trace_event *event,
                            struct attn_error *err);
    void (*end)(void *state); /* completes the numbers, and frees STATE; also after a failure */
    void *user;
};
