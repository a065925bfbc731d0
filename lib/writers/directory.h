/*
 * directory.h - a directory that formats write many files into: made when absent, and removed again
 * if it stays empty.
 *
 *     attn_directory_open("matrices", "CSV", &directory, &err);
 *     attn_directory_lock(directory, true, NULL, &err);
 *     attn_directory_begin(directory, &attn_csv_format, &labels, &run, &err);
 *     attn_file_names_append(&run->files, "pattern.csv");      // every file that will be written
 *     attn_directory_create_file(directory, "pattern.csv", &sink, &err);
 *     attn_directory_commit_file(directory, sink, &err);
 *     attn_directory_finish(directory, run, false, &err);
 *     attn_directory_free(directory);
 *
 * Its manifest, run.json, lists the runs that wrote into it, and their files. The model is null for
 * runs without one:
 *
 *     {
 *     "runs": [
 *     {"format": "csv", "version": "0.3.0", "model": "fable", "options": {"heads": "0.1"},
 *     "files": ["L00H01.pattern.csv", "L00H01.z.csv"]}
 *     ]
 *     }
 *
 * It comes from outside: a manifest of another form is refused by name, and no file is removed. A
 * run.json of another kind stays as it is. It names the files before the first of them appears, so
 * that however the process ends, the next run knows the files of this one. A run that finishes
 * removes the files that earlier runs wrote in the same format and that it did not write itself.
 *
 * A locked directory has one run at a time; others wait, or fail. The lock is the system's and ends
 * with the process, however that ends. File systems without locks are not locked.
 */
#ifndef ATTN_WRITERS_DIRECTORY_H
#define ATTN_WRITERS_DIRECTORY_H

#include "base/buffer.h"
#include "encode/json_writer.h"
#include "writers/format.h"
#include "writers/output.h"

#include <signal.h>

/* Names of files, each terminated, one after the other. Initialize with = {0}. */
struct attn_file_names {
    struct attn_buffer text;
    size_t n;
};

void attn_file_names_append(struct attn_file_names *names, const char *name);

/* The files of one run in one format. */
struct attn_manifest_run {
    char *format;                 /* owns; the name of the format */
    struct attn_buffer facts;     /* its object of JSON up to the files */
    struct attn_json_writer json; /* of `facts`; the object is open */
    struct attn_file_names files;
    bool is_current; /* it was added, and not read */
};

struct attn_directory;

/* Makes or opens the directory PATH. TITLE names its files in messages: "CSV". */
enum attn_status attn_directory_open(const char *path, const char *title,
                                     struct attn_directory **directory, struct attn_error *err);

/* Has all that is written from here on wait until the device has it (attn_sink_sync). */
void attn_directory_sync(struct attn_directory *directory);

/* Compares two directories; 0: the same one. Locking several in this order avoids deadlocks. */
int attn_directory_compare(const struct attn_directory *a, const struct attn_directory *b);

/* Locks the directory, and reads its manifest. If it is locked, waits until *CANCEL (or NULL) is
 * set, or fails unless WAITS. */
enum attn_status attn_directory_lock(struct attn_directory *directory, bool waits,
                                     const volatile sig_atomic_t *cancel, struct attn_error *err);

/* Adds a run to the manifest, without files. *RUN is borrowed. */
enum attn_status attn_directory_begin(struct attn_directory *directory,
                                      const struct attn_format *format,
                                      const struct attn_labels *labels,
                                      struct attn_manifest_run **run, struct attn_error *err);

/* Reserves the name of PATH, a file of another output, if it lies in the directory. ATTN_INVALID,
 * here or before the first file, if a file of a run has this name. */
enum attn_status attn_directory_keep_off(struct attn_directory *directory, const char *path,
                                         struct attn_error *err);

/* A file NAME, which is among the files of a run. The manifest is written before the first. */
enum attn_status attn_directory_create_file(struct attn_directory *directory, const char *name,
                                            struct attn_sink **sink, struct attn_error *err);

/* Commits and frees SINK. */
enum attn_status attn_directory_commit_file(struct attn_directory *directory,
                                            struct attn_sink *sink, struct attn_error *err);

/* Completes RUN. Files of earlier runs in its format are removed, unless IS_ADDITION. */
enum attn_status attn_directory_finish(struct attn_directory *directory,
                                       const struct attn_manifest_run *run, bool is_addition,
                                       struct attn_error *err);

void attn_directory_free(struct attn_directory *directory); /* NULL is allowed */

#endif
