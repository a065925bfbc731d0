/*
 * manifest.h - run.json, which says of a directory which runs wrote into it, and which files:
 *
 *     {
 *     "runs": [
 *     {"format": "csv", "version": "0.1.0", "model": "fable", "options": {"heads": "0.1"},
 *     "files": ["L00H01.pattern.csv", "L00H01.z.csv"]}
 *     ]
 *     }
 *
 * The model is null where there is none.
 *
 * A manifest comes from outside. One that is not of this form is refused by name, and nothing is
 * removed: a run.json of another kind stays as it is.
 */
#ifndef ATTN_OUTPUT_MANIFEST_H
#define ATTN_OUTPUT_MANIFEST_H

#include "base/buffer.h"
#include "encode/json_writer.h"
#include "output/output.h"

#define ATTN_MANIFEST_NAME "run.json"

enum { ATTN_MANIFEST_MAX = 16 * 1024 * 1024 }; /* bytes; a larger one is refused */

/* Names of files, each terminated, one after the other. Initialize with = {0}. */
struct attn_file_names {
    struct attn_buffer text;
    size_t n;
};

void attn_file_names_append(struct attn_file_names *names, const char *name);

/* The name after NAME, or the first for NULL; NULL after the last. */
const char *attn_file_names_next(const struct attn_file_names *names, const char *name);

void attn_file_names_release(struct attn_file_names *names);

/* What one run wrote in one format. */
struct attn_manifest_run {
    char *format;                 /* owns; the name of the format */
    struct attn_buffer facts;     /* its object of JSON up to the files */
    struct attn_json_writer json; /* of `facts`; the object is open */
    struct attn_file_names files;
    bool is_current; /* it was added, and not read */
};

/* Initialize with = {0}; end with attn_manifest_release. */
struct attn_manifest {
    struct attn_manifest_run **runs; /* [n] owns; the oldest first */
    size_t n, capacity;
};

/* Reads that of DIRECTORY; one that is absent leaves the manifest empty. ATTN_FORMAT when it is not
 * a manifest. */
enum attn_status attn_manifest_read(struct attn_manifest *manifest, const char *directory,
                                    struct attn_error *err);

/* Writes that of DIRECTORY; IS_SYNCED waits until the device has it. */
enum attn_status attn_manifest_write(const struct attn_manifest *manifest, const char *directory,
                                     bool is_synced, struct attn_error *err);

/* Adds a run that writes FORMAT, without files, as the last one. *RUN is borrowed. */
enum attn_status attn_manifest_add(struct attn_manifest *manifest, const struct attn_format *format,
                                   const struct attn_labels *labels, struct attn_manifest_run **run,
                                   struct attn_error *err);

/* Removes those runs that were read and have no files any more. */
void attn_manifest_drop_empty(struct attn_manifest *manifest);

void attn_manifest_release(struct attn_manifest *manifest);

#endif
