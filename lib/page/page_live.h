/* page_live.h - what a live page holds beside its picture: this tool as a WebAssembly module, a
 * model, and how it is asked. The page runs the module in the reader's browser, and fetches
 * nothing. */
#ifndef ATTN_PAGE_PAGE_LIVE_H
#define ATTN_PAGE_PAGE_LIVE_H

#include "base/source.h"
#include "writers/output.h"

/* A file that a step of the story reads: its bytes, or a picture as RGB. */
struct attn_live_extra {
    const char *name; /* as the steps have it */
    const void *data; /* [size] */
    size_t size;
    size_t height, width; /* of a picture; else 0 */
};

/* All of it is borrowed. */
struct attn_live {
    const void *module; /* [n_module] the tool as a command of WASI, preview 1 */
    size_t n_module;
    const char *model;             /* what the page calls the model: "fable", "tiny.gguf" */
    const char *given;             /* how a shell finds it, as for --model; NULL: the default */
    const struct attn_blob *files; /* [n_file] of the model by their paths, "fable/config.json";
                                      none: the page asks the reader for them */
    size_t n_file;
    const struct attn_option *reading; /* [n_reading] how a text or a picture is read, as options:
                                          special-tokens; image and label */
    size_t n_reading;
    const unsigned char *rgb; /* [height, width, 3] the picture that was run; NULL: a text was */
    size_t height, width;
    const char *story; /* [n_story] JSON (cmd/manual/pages.md); NULL: none */
    size_t n_story;
    const struct attn_live_extra *extras; /* [n_extra] of the story */
    size_t n_extra;
    const char *words; /* [n_words] JSON: texts of the controls, by those in English; NULL: none */
    size_t n_words;
};

#endif
