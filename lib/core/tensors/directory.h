/*
 * directory.h - an output directory into which formats write many files. It is created if it is
 * missing, and removed again if it stays empty.
 *
 *     attn_directory_open("matrices", "CSV", &directory, &err);
 *     attn_directory_read(directory, &err);
 *     attn_directory_begin(directory, &attn_csv_format, &labels, &run, &err);
 *     attn_file_names_append(&run->files, "pattern.csv");      // every file that will be written
 *     attn_directory_create_file(directory, "pattern.csv", &sink, &err);
 *     attn_directory_commit_file(directory, sink, &err);
 *     attn_directory_finish(directory, run, false, &err);
 *     attn_directory_free(directory);
 *
 * Its manifest, run.json, lists the runs that wrote files into it, and these files. The model is
 * null for runs without a model:
 *
 *     {
 *     "runs": [
 *     {"format": "csv", "version": "1.0.0", "model": "fable", "options": {"heads": "0.1"},
 *     "files": ["L00H01.pattern.csv", "L00H01.z.csv"]}
 *     ]
 *     }
 *
 * A manifest may have been changed by others: if it is malformed, this is an error and no file is
 * removed; a run.json that is not a manifest is not changed. The manifest is written before the
 * first file, so that the next run knows the files even if this process crashes. A run that
 * finishes removes the files that earlier runs wrote in the same format, except those that it wrote
 * itself.
 *
 * Runs that write into one directory at the same time do not see each other: give each its own.
 */
#pragma once

#include "base/buffer.h"
#include "formats/json_writer.h"
#include "tensors/format_internal.h"
#include "tensors/output.h"

#include <signal.h>

/* File names, each null-terminated, concatenated. Initialize with = {0}. */
struct attn_file_names {
    struct attn_buffer text;
    size_t n;
};

void attn_file_names_append(struct attn_file_names *names, const char *name);

/* The files of one run in one format. */
struct attn_manifest_run {
    char *format;                 /* owns; name of the format */
    struct attn_buffer facts;     /* its JSON object up to the files */
    struct attn_json_writer json; /* writes to `facts`; the object is open */
    struct attn_file_names files;
    bool is_current; /* this process added it; others were read from the manifest */
};

struct attn_directory;

/* Creates or opens the directory PATH. TITLE is what its files are called in messages: "CSV". */
enum attn_status attn_directory_open(const char *path, const char *title,
                                     struct attn_directory **directory, struct attn_error *err);

/* Compares two directories; 0: they are the same. Locking several in this order avoids
 * deadlocks. */
int attn_directory_compare(const struct attn_directory *a, const struct attn_directory *b);

/* Reads the manifest of the directory. */
enum attn_status attn_directory_read(struct attn_directory *directory, struct attn_error *err);

/* Adds a run without files to the manifest. *RUN is borrowed. */
enum attn_status attn_directory_begin(struct attn_directory *directory,
                                      const struct attn_format *format,
                                      const struct attn_labels *labels,
                                      struct attn_manifest_run **run, struct attn_error *err);

/* Reserves the name of PATH, a file of another output, if it lies in the directory. ATTN_INVALID,
 * now or before the first file is created, if a file of a run has this name. */
enum attn_status attn_directory_keep_off(struct attn_directory *directory, const char *path,
                                         struct attn_error *err);

/* Creates the file NAME, which must be listed in a run. The manifest is written before the first
 * file. */
enum attn_status attn_directory_create_file(struct attn_directory *directory, const char *name,
                                            struct attn_sink **sink, struct attn_error *err);

/* Commits and frees SINK. */
enum attn_status attn_directory_commit_file(struct attn_directory *directory,
                                            struct attn_sink *sink, struct attn_error *err);

/* Completes RUN. Removes files of earlier runs in its format. */
enum attn_status attn_directory_finish(struct attn_directory *directory,
                                       const struct attn_manifest_run *run, struct attn_error *err);

void attn_directory_free(struct attn_directory *directory); /* NULL is allowed */
