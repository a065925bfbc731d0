/* host_internal.h - what a host holds for the requests that it runs. */
#pragma once

#include "input/input.h"
#include "model/model_parts.h"
#include "predict/answer.h"
#include "run/host_extra.h"
#include "run/run_extra.h"
#include "tensors/outputs.h"

/* A copy of a source: of its texts, but not of its blobs. */
struct attn_kept_source {
    struct attn_source source; /* borrows from the other fields */
    struct attn_override *overrides;
    struct attn_store *store; /* owns the texts and the overrides */
};

struct attn_host {
    struct attn_host_options options;
    struct attn_model *model;            /* owns; NULL: the host is for attention on arrays */
    struct attn_tokenizer *tokenizer;    /* owns; NULL: see tokenizer_failure */
    struct attn_error tokenizer_failure; /* why there is no tokenizer */
    struct attn_host_pictures *pictures; /* owns, unless is_labelled; NULL: it reads none */
    struct attn_pool *pool;              /* owns, unless there is a `first` */
    struct attn_model_parts parts;       /* owns; the files that the model was read from */
    /* Shared; memory of captures for further runs; NULL: it is not reused. */
    struct attn_spare *spare;

    /* For a directory with two towers: */
    struct attn_kept_source kept;
    struct attn_monitor *lock; /* owns; guards `other` */
    struct attn_host *other;   /* owns; the host of the other tower; NULL: not opened yet */
    /* Borrowed; the host from which this one was made, of the other tower, whose threads it uses;
     * or NULL. */
    struct attn_host *first;
    bool is_labelled; /* it was made from another host, as a classifier of pictures whose labels a
                         request names (host_internal.h) */
};

/* Whether ADDRESS is in the mapped weights of HOST or of its other tower. Async-signal-safe. */
bool attn_host_owns_address(const struct attn_host *host, const void *address);

/* Returns the number of its threads, the caller's included. */
int attn_host_n_thread(const struct attn_host *host);

/* Checks that none of the outputs ITEMS [n] is a file that the host's model was read from;
 * ATTN_INVALID if one is. ITEMS may include outputs that are not the request's; a request checks
 * its own. */
enum attn_status attn_host_check_outputs(const struct attn_host *host,
                                         const struct attn_output *items, size_t n,
                                         struct attn_error *err);

/* As attn_host_tokenizer, for source texts. It is another tokenizer only for Marian. */
enum attn_status attn_host_source_tokenizer(const struct attn_host *host,
                                            const struct attn_tokenizer **tokenizer,
                                            struct attn_error *err);
