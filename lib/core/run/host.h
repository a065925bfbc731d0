/*
 * host.h - what runs requests: a model with its tokenizer, threads, and a flag that cancels all
 * requests.
 *
 *     struct attn_host *host;
 *     attn_host_open("fable", NULL, &host, &err); // catalog/host_open.h
 *     ... attn_run_request(host, &request, &result, &err), any number of times (run/run.h) ...
 *     attn_host_free(host);
 *
 * A request does not change its host: several threads may use one host at the same time. The
 * threads of the pool work for one request at a time; other requests compute on the thread that
 * called.
 */
#ifndef ATTN_RUN_HOST_H
#define ATTN_RUN_HOST_H

#include "base/note.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

#include <signal.h>

struct attn_host;
struct attn_catalog; /* Declared in catalog/catalog.h. */

struct attn_host_options {
    size_t size;               /* size of this struct */
    enum attn_load load;       /* whether the weights are mapped or read */
    enum attn_compute compute; /* the type of numbers in which weights are multiplied */
    bool reuse;   /* many requests will follow: the weights are packed when the host is created
                     (attn_model_options) */
    int n_thread; /* 1..1024; 0: as many as the cores that this process may use, but one for a
                     request with little work */
    /* How matrix products are computed; in float32 it changes only the speed. */
    enum attn_gemm gemm;
    /* The best instructions that may be used; in float32 it changes only the speed. */
    enum attn_isa isa;
    /* Borrowed; once it is not 0, requests end with ATTN_CANCELED. */
    const volatile sig_atomic_t *cancel;
    /* Called with notes about tensors and tokens that are not used; or NULL. */
    attn_note_fn on_note;
    void *user;                         /* for on_note */
    const struct attn_catalog *catalog; /* borrowed until the host is open: the places where
                                           attn_host_open searches; NULL: only built-in models */
    enum attn_tower tower; /* which tower is opened if the directory has two; the other one is
                              opened when a request needs it */
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_host_options *attn_host_options_init(struct attn_host_options *options,
                                                          size_t size);
#define ATTN_HOST_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_host_options)

/* Creates a host with the model of SOURCE and its tokenizer. SOURCE NULL: it has neither, for
 * attention on arrays. OPTIONS NULL: the defaults. A missing vocabulary makes only those requests
 * fail that need it. Fails as attn_model_open does, at ATTN_STAGE_MODEL; *host is then unchanged.
 */
ATTN_API enum attn_status attn_host_create(const struct attn_source *source,
                                           const struct attn_host_options *options,
                                           struct attn_host **host, struct attn_error *err);

/* No request may be running. NULL is allowed. */
ATTN_API void attn_host_free(struct attn_host *host);

/* NULL: it has none. */
ATTN_API const struct attn_model *attn_host_model(const struct attn_host *host);

/* Sets *tokenizer to the host's tokenizer, borrowed; for a translator it is that of the target
 * texts. If there is none, *tokenizer is NULL and the error is why it could not be opened:
 * ATTN_FORMAT or ATTN_IO of the vocabulary, ATTN_INVALID without a model. */
ATTN_API enum attn_status attn_host_tokenizer(const struct attn_host *host,
                                              const struct attn_tokenizer **tokenizer,
                                              struct attn_error *err);

#endif
