/*
 * source.h - the source of a model's parts: a directory, or named blobs in memory (the built-in
 * model).
 *
 *     struct attn_source source = {.directory = "gpt2"};
 *
 * An override replaces a single part (--config, --vocab, --weights).
 */
#ifndef ATTN_BASE_SOURCE_H
#define ATTN_BASE_SOURCE_H

#include "base/api.h"

#include <stddef.h>

/* How files of weights are loaded. */
enum attn_load {
    ATTN_MAP = 0,  /* maps the file privately; falls back to reading if that fails */
    ATTN_READ = 1, /* copies it into memory, which is safe if the file is truncated while in use */
};

/* One part in memory. Borrows name and data until the model is closed. */
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
    const char *directory; /* path, or NULL if blobs are given. Borrowed */
    const char *name;      /* name of the model in messages and outputs; NULL: the directory */
    const struct attn_blob *blobs;
    size_t n_blob;
    const struct attn_override *overrides;
    size_t n_override;
    const char *fetch; /* for hints: the command that downloads missing files; or NULL. Borrowed */
    const void *later[4]; /* NULL: room for fields of later versions */
};

#endif
