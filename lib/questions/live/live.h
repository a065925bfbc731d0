/*
 * live.h - opens the files that a live page contains (page/page_live.h): the WebAssembly module,
 * the files of a model, a story.
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

#include "page/page_live.h"
#include "run/host.h"
#include "run/request.h"

struct attn_live_args {
    const struct attn_source *source; /* source from which the model was opened */
    const char *given; /* name of the model on the command line; NULL: the default model */
    /* path of this tool as a WebAssembly module; NULL or "": the module installed with this
     * library, or built beside it */
    const char *module;
    /* maximum bytes of a model that is embedded in the page; for a larger model the page asks the
     * reader for its files */
    size_t most;
    const char *story; /* path of a story; NULL: none */
    /* request of the page; needed for a story, whose steps change its text, its edits and its
     * attention */
    const struct attn_request *request;
    const char *image; /* path of the picture that is run; NULL: the input is a text */
    const struct attn_option *reading; /* [n_reading] options as in the page (page/page_live.h) */
    size_t n_reading;
    const char *words; /* path of a translation of the page's texts; NULL: English */
};

struct attn_live_files;

/* Opens the files of a live page. ATTN_IO if the module is missing; ATTN_IO or ATTN_FORMAT if a
 * file cannot be read, if a step of the story cannot run on HOST, which has the model, or if the
 * translation names an unknown text; ATTN_UNSUPPORTED for a picture larger than `most`. Blobs of
 * the source, and all arguments, are borrowed until *FILES is freed by the caller. */
ATTN_API enum attn_status attn_live_open(const struct attn_live_args *args, struct attn_host *host,
                                         struct attn_live_files **files, struct attn_error *err);

ATTN_API const struct attn_live *attn_live_of(const struct attn_live_files *files);

/* Returns the bytes of the model, whether or not they are embedded in the page. */
ATTN_API uint64_t attn_live_n_byte(const struct attn_live_files *files);

ATTN_API void attn_live_free(struct attn_live_files *files); /* NULL is allowed */

#endif
