/*
 * live.h - opens what a live page holds (page/page_live.h): a module, the files of a model, a
 * story.
 *
 *     struct attn_live_args args = {.source = &source, .most = 64 << 20};
 *     struct attn_live_files *files;
 *     attn_live_open(&args, host, &files, &err);
 *     picture.live = attn_live_of(files);
 *     ... write the page ...
 *     attn_live_free(files);
 */
#ifndef ATTN_LIVE_LIVE_H
#define ATTN_LIVE_LIVE_H

#include "host/host.h"
#include "page/page_live.h"
#include "run/request.h"

struct attn_live_args {
    const struct attn_source *source; /* that the model was opened from */
    const char *given;                /* its name in a shell; NULL: the default */
    const char *module; /* path of the tool as a WebAssembly module; NULL or "": the module that was
                           installed with this library, or built beside it */
    size_t most;        /* bytes of the model that the page takes; of a larger one it takes none,
                           and asks for its files */
    const char *story;  /* path of a story; NULL: none */
    const struct attn_request *request; /* of the page, for a story, whose steps change its text,
                                           its edits and its attention */
    const char *image;                  /* path of the picture that is run; NULL: a text is */
    const struct attn_option *reading;  /* [n_reading] as the page has them (page/page_live.h) */
    size_t n_reading;
    const char *words; /* path of the words of another language; NULL: English */
};

struct attn_live_files;

/* Fails with ATTN_IO if there is no module, with ATTN_IO or ATTN_FORMAT for a file, and for a story
 * with a step that HOST, which has the model, cannot run, and words that no control has; with
 * ATTN_UNSUPPORTED for a picture
 * larger than `most`. Blobs of the source, and all arguments, are borrowed until *files, which the
 * caller owns, is freed. */
ATTN_API enum attn_status attn_live_open(const struct attn_live_args *args, struct attn_host *host,
                                         struct attn_live_files **files, struct attn_error *err);

ATTN_API const struct attn_live *attn_live_of(const struct attn_live_files *files);

/* Bytes of the model, whether the page takes them or not. */
ATTN_API uint64_t attn_live_n_byte(const struct attn_live_files *files);

ATTN_API void attn_live_free(struct attn_live_files *files); /* NULL is allowed */

#endif
