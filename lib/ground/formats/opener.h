/*
 * opener.h - files of other programs that are read as models: what a reader of such files gives to
 * the rooms that open models and vocabularies. lib/parts.c lists the readers that are linked.
 */
#pragma once

#include "base/buffer.h"
#include "base/file.h"
#include "base/sink.h"
#include "base/source.h"
#include "base/status.h"
#include "formats/tensor_files.h"

enum { ATTN_OPENER_NAME_SIZE = 256 };

/* The parts of a model directory that a file becomes. Initialize with = {0}; end with
 * attn_opened_release, also after a failure. */
struct attn_opened {
    struct attn_source parts; /* borrows from the other fields */
    struct attn_blob blobs[3];
    struct attn_buffer config, vocab; /* own the bytes of blobs */
    struct attn_sink *weights;        /* owns those of a third; or NULL */
    struct attn_file file;            /* owns; the file whose path names the parts; or {0} */
    struct attn_tensor_files *files;  /* owns; the tensors, if no part has them */
    bool is_named_as_bundle; /* they are named, and q and k lie, as in a bundle (bundle.h) */
    const char *note;        /* an assumption about the file, after its name; or NULL */
};

/* Adds the part NAME with DATA [size], borrowed. At most 3 parts. */
void attn_opened_add(struct attn_opened *opened, const char *name, const void *data, size_t size);
void attn_opened_release(struct attn_opened *opened);

/* A reader. Functions that it lacks are NULL. */
struct attn_opener {
    const char *part, *kind; /* the part of a source that is the file; its name in messages */
    bool takes_config;       /* an override of config.json goes with the file */
    /* Whether SOURCE has such a model, or such a vocabulary of another model. */
    bool (*is_model)(const struct attn_source *source);
    bool (*is_vocabulary)(const struct attn_source *source);
    enum attn_status (*read)(const struct attn_source *source, enum attn_load load,
                             struct attn_opened *opened, struct attn_error *err);
    const char *vocabulary_hint; /* if there is no vocabulary beside the model */

    /* Whether FILE has tensors in another form than safetensors. */
    bool (*is_tensors)(const struct attn_file *file);
    /* Opens the tensors of FILE, which it takes over, and closes it also on failure. */
    enum attn_status (*take)(struct attn_file *file, struct attn_tensor_files **out,
                             struct attn_error *err);
    /* Finds the only file of such tensors, under any name, in the directory of SOURCE. */
    bool (*find)(const struct attn_source *source, char name[ATTN_OPENER_NAME_SIZE]);
    /* Returns ATTN_UNSUPPORTED if SOURCE has files of another program instead of a model. */
    enum attn_status (*refuse)(const struct attn_source *source, struct attn_error *err);
};

/* Ends with NULL. */
extern const struct attn_opener *const attn_openers[];

/* Returns the reader of the model in SOURCE, or NULL. */
const struct attn_opener *attn_opener_of(const struct attn_source *source);

/* Returns the reader of tensors in other forms than safetensors, or NULL. */
const struct attn_opener *attn_opener_of_tensors(void);
