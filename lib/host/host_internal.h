/* host_internal.h - what a host holds, for the requests it serves. */
#ifndef ATTN_HOST_HOST_INTERNAL_H
#define ATTN_HOST_HOST_INTERNAL_H

#include "host/host_extra.h"
#include "image/pixels_internal.h"
#include "writers/outputs.h"

#include <sys/types.h>

/* Which file it is, whatever its names. */
struct attn_file_identity {
    dev_t device;
    ino_t inode;
};

/* A copy of a source: of its texts, not of its blobs. */
struct attn_kept_source {
    struct attn_source source;       /* borrows from here */
    struct attn_override *overrides; /* owns */
    char **texts;                    /* owns; [n_text], each owned */
    size_t n_text;
};

struct attn_host {
    struct attn_host_options options;
    struct attn_model *model;            /* owns; NULL: arrays only */
    struct attn_tokenizer *tokenizer;    /* owns; NULL: see no_tokenizer */
    struct attn_error tokenizer_failure; /* why there is no tokenizer */
    struct attn_pixel_maker pictures;    /* owns its parts, unless is_labelled; {0} unless the
                                            model reads pictures */
    struct attn_pool *pool;              /* owns, unless is_later */
    struct attn_file_identity *files;    /* [n_file] owns; what the model was read from */
    size_t n_file;
    struct attn_spare *spare; /* holds; of captures of runs; NULL: it is not reused */

    /* Of a directory with two towers. */
    struct attn_kept_source kept;
    struct attn_monitor *lock; /* owns; of `other` */
    struct attn_host *other;   /* owns, unless is_later; NULL: it was not asked for */
    bool is_later;             /* it was made from another host, whose threads it has */
    bool is_labelled;          /* likewise, a classifier of pictures with labels of a request
                                  (zero_shot.h) */
};

/* Whether ADDRESS lies in the mapped weights of HOST, or of its other tower. Async-signal-safe. */
bool attn_host_owns_address(const struct attn_host *host, const void *address);

/* Threads for about so many MULTIPLY_ADDS: the pool, or NULL where starting one costs more than it
 * saves. */
struct attn_pool *attn_host_pool(const struct attn_host *host, double multiply_adds);

/* Whether HOST has a model. ATTN_INVALID at the stage of models when not. */
enum attn_status attn_host_check_model(const struct attn_host *host, struct attn_error *err);

/* Whether the caller has asked to stop: ATTN_CANCELED. */
enum attn_status attn_host_check_canceled(const struct attn_host *host, struct attn_error *err);

int attn_host_n_thread(const struct attn_host *host); /* its threads, the caller's with them */

/* Whether none of the N outputs, which may be more than a request has, is a file that the host's
 * model was read from. ATTN_INVALID when one is; a request looks at its own. */
enum attn_status attn_host_check_outputs(const struct attn_host *host,
                                         const struct attn_output *items, size_t n,
                                         struct attn_error *err);

#endif
