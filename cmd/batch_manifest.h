/*
 * batch_manifest.h - FILE.run.json, which says how the results beside it were made: tool, model,
 * options, input, counts, outputs, with the SHA-256 of each file.
 *
 *     struct batch_manifest manifest = {.identity = identity, .path = "results.jsonl.run.json", ...};
 *     batch_manifest_write(&manifest, &err);
 *
 * Two runs with the same identity have the same manifest, but for times, threads and paths.
 */
#ifndef CMD_BATCH_MANIFEST_H
#define CMD_BATCH_MANIFEST_H

#include "cmd/batch_digest.h"
#include "cmd/batch_journal.h"
#include "cmd/batch_lines.h"

#include "attn.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct batch_manifest {
    const char *path; /* of the manifest */
    struct batch_identity identity;
    int argc; /* the command line, behind the name of the command */
    char **argv;
    const char *model;                   /* its name */
    const struct batch_lines *lines;     /* the input, read to its end */
    const char *input_digest;            /* SHA-256 of what was read of a pipe; of a file NULL */
    const struct batch_checkpoint *done; /* all of it */
    const struct attn_records *records;  /* the outputs, finished */
    int n_thread;                        /* that worked */
    time_t started;
    int exit_code; /* the exit code of the run */
    const volatile sig_atomic_t *cancel;
    bool is_synced; /* wait until the device has it */
};

/* Hashes input and outputs, and writes the file. */
enum attn_status batch_manifest_write(const struct batch_manifest *manifest,
                                      struct attn_error *err);

/* Whether the manifest PATH is there, and then the exit code that it holds. ATTN_INVALID at the
 * stage of the options when it is of another batch than IDENTITY. */
enum attn_status batch_manifest_read(const char *path, const struct batch_identity *identity,
                                     bool *is_there, int *exit_code, struct attn_error *err);

#endif
