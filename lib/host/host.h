/*
 * host.h - what serves requests: a model with its tokenizer, threads, and a flag that ends it all.
 *
 *     struct attn_host *host;
 *     attn_host_open("fable", NULL, &host, &err);
 *     ... attn_run_request(host, &request, &result, &err), any number of times (run/run.h) ...
 *     attn_host_free(host);
 *
 * A host is not changed by the requests it serves: several threads may use it at once. The pool's
 * threads work for one of them at a time, the others compute on their own threads.
 */
#ifndef ATTN_HOST_HOST_H
#define ATTN_HOST_HOST_H

#include "base/note.h"
#include "base/pool.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"

#include <signal.h>

struct attn_host;
struct attn_catalog; /* catalog/catalog.h */

struct attn_host_options {
    size_t size;               /* of this struct */
    enum attn_load load;       /* map the weights, or read them */
    enum attn_compute compute; /* in which numbers weights are multiplied */
    bool reuse;                /* many requests will follow: weights are packed when the host is
                                  created (attn_model_options) */
    int n_thread;              /* 1..1024; 0: the cores this process may run on, and one for a
                                  request of little work */
    enum attn_gemm gemm;       /* how matrix products are evaluated; in float32 speed only */
    enum attn_isa isa;         /* the best instructions that may be used; likewise */
    const volatile sig_atomic_t *cancel; /* borrowed; not 0: requests end with ATTN_CANCELED */
    attn_note_fn on_note;                /* told of tensors and tokens that are not used; or NULL */
    void *user;                          /* for on_note */
    const struct attn_catalog *catalog;  /* borrowed until the host is open: where attn_host_open
                                            looks for names; NULL: built-in models only */
    enum attn_tower tower; /* the one that is opened, of a directory that has two; the other when a
                              request needs it */
};

#define ATTN_HOST_OPTIONS_DEFAULT                                                                  \
    ((struct attn_host_options){.size = sizeof(struct attn_host_options), .isa = ATTN_ISA_BEST})

/* Opens the model of SOURCE and its tokenizer; SOURCE NULL: neither, for attention on arrays.
 * OPTIONS may be NULL: the defaults. A missing vocabulary is a failure only of requests that need
 * it. Fails as attn_model_open does, with the stage ATTN_STAGE_MODEL; *host is untouched then. */
ATTN_API enum attn_status attn_host_create(const struct attn_source *source,
                                           const struct attn_host_options *options,
                                           struct attn_host **host, struct attn_error *err);

/* The same by name: the path of a directory, or what the option's catalog finds
 * (attn_catalog_find). ATTN_INVALID when there is no such model. */
ATTN_API enum attn_status attn_host_open(const char *name, const struct attn_host_options *options,
                                         struct attn_host **host, struct attn_error *err);

/* No request may be in progress. NULL is allowed. */
ATTN_API void attn_host_free(struct attn_host *host);

ATTN_API const struct attn_model *attn_host_model(const struct attn_host *host); /* or NULL */

/* The tokenizer, borrowed from the host; of a translator that of target texts. Where there is none
 * *tokenizer is NULL, and the failure to open it is returned: ATTN_FORMAT or ATTN_IO of the
 * vocabulary, ATTN_INVALID without a model. */
ATTN_API enum attn_status attn_host_tokenizer(const struct attn_host *host,
                                              const struct attn_tokenizer **tokenizer,
                                              struct attn_error *err);

/* The same of source texts, which differs for Marian only. */
ATTN_API enum attn_status attn_host_source_tokenizer(const struct attn_host *host,
                                                     const struct attn_tokenizer **tokenizer,
                                                     struct attn_error *err);

#endif
