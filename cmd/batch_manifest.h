/*
 * batch_manifest.h - FILE.run.json, which says how the results beside it were made: tool, model,
 * options, input, counts, outputs, with the SHA-256 of each file.
 *
 *     struct batch_manifest manifest = {.identity = identity, .path = "results.jsonl.run.json", ...};
 *     batch_manifest_write(&manifest, &err);
 *
 * Two runs with the same identity have the same manifest, but for times, threads and paths. Its last
 * member is the SHA-256 of all before it, so a manifest that was changed is known.
 */
#ifndef CMD_BATCH_MANIFEST_H
#define CMD_BATCH_MANIFEST_H

#include "cmd/batch_digest.h"
#include "cmd/batch_journal.h"
#include "cmd/batch_lines.h"
#include "cmd/batch_parts.h"

#include "attn.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct batch_manifest {
    const char *path; /* of the manifest */
    struct batch_identity identity;
    int argc; /* the command line, behind the name of the command */
    char **argv;
    const char *model;               /* its name */
    const struct batch_lines *lines; /* the input, read to its end */
    const struct batch_checkpoint
        *done;                          /* all of it; its extents are those of the finished files */
    const struct attn_records *records; /* the outputs, finished */
    int n_thread;                       /* that worked */
    time_t started;
    int exit_code;  /* the exit code of the run */
    bool is_synced; /* wait until the device has it */
};

/* Writes the file. */
enum attn_status batch_manifest_write(const struct batch_manifest *manifest,
                                      struct attn_error *err);

/* What a manifest says of results that are whole. Initialize with = {0}; end with
 * batch_made_release. */
struct batch_made {
    bool is_there; /* there is a manifest; all else is 0 without */
    int exit_code;
    uint64_t n_record;
    uint64_t begin, end;               /* the range of the input, in bytes */
    uint64_t n_line_before;            /* before that, where records have their numbers from it */
    char input[BATCH_DIGEST_HEX_SIZE]; /* SHA-256 of the range */
    struct batch_extent *outputs;      /* [n_output] owns; in the order of attn_records_part */
    size_t n_output;
};

void batch_made_release(struct batch_made *made);

/* Reads the manifest PATH, if it is there. ATTN_INVALID at the stage of the options when it is of
 * another batch than IDENTITY, or is not as it was written. */
enum attn_status batch_manifest_read(const char *path, const struct batch_identity *identity,
                                     struct batch_made *made, struct attn_error *err);

/* Whether the files that RECORDS writes are, under their final names, those of MADE, which the
 * manifest PATH says; all are read. ATTN_INVALID at the stage of the options when one is not, and
 * ATTN_CANCELED when CANCEL ended it. */
enum attn_status batch_manifest_compare(const char *path, const struct batch_made *made,
                                        const struct attn_records *records,
                                        const volatile sig_atomic_t *cancel,
                                        struct attn_error *err);

#endif
