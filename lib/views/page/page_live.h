/* page_live.h - what a live page contains beside its picture: this tool as a WebAssembly module, a
 * model, and the options with which it runs. The page runs the module in the reader's browser,
 * without any network access. */
#ifndef ATTN_PAGE_PAGE_LIVE_H
#define ATTN_PAGE_PAGE_LIVE_H

#include "base/source.h"
#include "tensors/output.h"

/* A file that a step of the story reads: its bytes, or a picture as RGB. */
struct attn_live_extra {
    const char *name; /* as written in the steps */
    const void *data; /* [size] */
    size_t size;
    size_t height, width; /* size of a picture; 0 for other files */
};

/* All pointers are borrowed. */
struct attn_live {
    const void *module; /* [n_module] the tool as a command of WASI, preview 1 */
    size_t n_module;
    const char *model; /* name of the model on the page: "fable", "tiny.gguf" */
    /* name of the model on a command line, as for --model; NULL: the default model */
    const char *given;
    /* [n_file] files of the model by their paths, "fable/config.json"; none: the page asks the
     * reader for them */
    const struct attn_blob *files;
    size_t n_file;
    uint64_t n_byte; /* of the files, embedded or not */
    /* [n_reading] options that define how the input is read: special-tokens; image and label */
    const struct attn_option *reading;
    size_t n_reading;
    /* [height, width, 3] the picture of the run; NULL: the run has a text */
    const unsigned char *rgb;
    size_t height, width;
    const char *story; /* [n_story] JSON (cmd/manual/pages.md); NULL: none */
    size_t n_story;
    const struct attn_live_extra *extras; /* [n_extra] files that the story reads */
    size_t n_extra;
    /* [n_words] JSON: translations of the controls, keyed by the English texts; NULL: none */
    const char *words;
    size_t n_words;
};

#endif
