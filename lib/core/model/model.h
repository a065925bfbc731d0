/*
 * model.h - an open model: config and weights. It is immutable, and any number of sessions on any
 * threads share it.
 *
 *     struct attn_source source = {.directory = "gpt2"};
 *     struct attn_model *model;
 *     attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err);
 *     ...
 *     attn_model_free(model);
 *
 * Opening reads config.json and the directories of the weight files, and checks every name and
 * shape. Weights are mapped, and read only when a session needs them.
 */
#ifndef ATTN_MODEL_MODEL_H
#define ATTN_MODEL_MODEL_H

#include "base/note.h"
#include "base/source.h"
#include "kernels/gemm.h"
#include "model/config.h"

#include <stdint.h>

struct attn_model;
struct attn_pool; /* base/pool.h */

/* Two models in one directory that map texts and pictures to comparable vectors: CLIP, Radford et
 * al. 2103.00020. */
enum attn_tower {
    ATTN_TOWER_TEXT = 0,
    ATTN_TOWER_IMAGE = 1, /* or the encoder of pictures of a decoder, without the decoder */
    ATTN_TOWER_OF_INPUT =
        2, /* to open one for a picture: of two ATTN_TOWER_IMAGE, or the decoder */
};

struct attn_model_options {
    size_t size;         /* of this struct */
    enum attn_load load; /* how weights are loaded */
    bool reuse; /* speed only: many runs will follow, so weights are packed now in the layout of
                   products. Takes 4 bytes per weight, 2 for BF16. Quantized blocks are not packed
                   in float32, nor if their panels would take more than a quarter of the machine's
                   memory */
    enum attn_compute compute; /* number format in which sessions multiply the weights */
    struct attn_pool *pool; /* packs weights; borrowed while opening; NULL: the caller's thread */
    attn_note_fn on_note;   /* or NULL */
    void *user;             /* for on_note */
    enum attn_tower tower;  /* the tower to open, if a directory has two */
    enum attn_isa isa; /* speed only: the instruction set whose layout `reuse` packs: that of the
                          sessions */
};

/* Sets OPTIONS [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_model_options *attn_model_options_init(struct attn_model_options *options,
                                                            size_t size);
#define ATTN_MODEL_OPTIONS_DEFAULT ATTN_DEFAULT_OF(attn_model_options)

/* Opens the model in SOURCE. OPTIONS may be NULL for the defaults. Returns ATTN_FORMAT if a file is
 * malformed or a tensor is missing or has the wrong shape; ATTN_UNSUPPORTED for an architecture or
 * a config value that this version lacks (the message names it); ATTN_IO if a file cannot be read.
 * *model is unchanged on failure. */
ATTN_API enum attn_status attn_model_open(const struct attn_source *source,
                                          const struct attn_model_options *options,
                                          struct attn_model **model, struct attn_error *err);

/* Frees MODEL; NULL is allowed. Free its sessions first. */
ATTN_API void attn_model_free(struct attn_model *model);

/* Returns the name of the model in its source, or its directory. */
ATTN_API const char *attn_model_name(const struct attn_model *model);

/* Returns the architecture of MODEL, which owns it. */
ATTN_API const struct attn_config *attn_model_config(const struct attn_model *model);

#endif
