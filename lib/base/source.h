/*
 * source.h - where the parts of a model come from: a directory, or named blobs in memory (the
 * built-in model).
 *
 *     struct attn_source source = {.directory = "gpt2"};
 *
 * Single parts may be taken from elsewhere (--config, --vocab, --weights) by an override.
 */
#ifndef ATTN_BASE_SOURCE_H
#define ATTN_BASE_SOURCE_H

#include "base/api.h"

#include <stddef.h>

/* How files of weights are loaded. */
enum attn_load {
    ATTN_MAP = 0,  /* map the file privately; falls back to reading where mapping is refused */
    ATTN_READ = 1, /* copy it into memory: immune to a file that is truncated while in use */
};

/* One part held in memory. Borrows both until the model is closed. */
struct attn_blob {
    const char *name; /* "config.json" */
    const void *data;
    size_t size; /* bytes */
};

/* A part that is read from another path than DIRECTORY/NAME. Borrows. */
struct attn_override {
    const char *name; /* "model.safetensors" */
    const char *path;
};

struct attn_source {
    const char *directory; /* path, or NULL when blobs are given. Borrows. */
    const char *name;      /* the name of the model in messages and outputs; NULL: the directory */
    const struct attn_blob *blobs;
    size_t n_blob;
    const struct attn_override *overrides;
    size_t n_override;
    const char *fetch; /* for hints: the command that downloads missing files; or NULL. Borrows */
};

#endif
