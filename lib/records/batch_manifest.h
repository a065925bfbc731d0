/*
 * batch_manifest.h - FILE.run.json, which says how the results beside it were made: tool, model,
 * options, input, counts, outputs, with the SHA-256 of each file.
 *
 *     struct attn_batch_manifest manifest = {.path = "results.jsonl.run.json", ...};
 *     attn_batch_manifest_write(&manifest, &err);
 *
 * Two runs with the same identity have the same manifest, but for times, threads and paths. Its
 * last member is the SHA-256 of all before it, so a manifest that was changed is known.
 */
#ifndef ATTN_RECORDS_BATCH_MANIFEST_H
#define ATTN_RECORDS_BATCH_MANIFEST_H

#include "records/batch_journal.h"
#include "records/batch_lines.h"
#include "records/batch_parts.h"

#include <time.h>

struct attn_batch_manifest {
    const char *path; /* of the manifest */
    struct attn_batch_identity identity;
    const char *const *command; /* [n_command] the command line */
    size_t n_command;
    const char *model;                        /* its name */
    const struct attn_batch_lines *lines;     /* the input, read to its end */
    const struct attn_batch_checkpoint *done; /* all of it; its extents are those of the finished
                                                 files */
    const struct attn_records *records;       /* the outputs, finished */
    const char *isa;                          /* the instructions that were used */
    int n_thread;                             /* that worked */
    time_t started;
    bool has_failed; /* records failed that may not: `exit` is that of attn-cli batch */
    bool is_synced;  /* wait until the device has it */
};

/* Writes the file. */
enum attn_status attn_batch_manifest_write(const struct attn_batch_manifest *manifest,
                                           struct attn_error *err);

/* What a manifest says of results that are whole. Initialize with = {0}; end with
 * attn_batch_made_release. */
struct attn_batch_made {
    bool is_there; /* there is a manifest; all else is 0 without */
    bool has_failed;
    uint64_t n_record, n_failed;
    uint64_t begin, end;               /* the range of the input, in bytes */
    uint64_t n_line_before;            /* before that, where records have their numbers from it */
    char input[ATTN_DIGEST_HEX_SIZE];  /* SHA-256 of the range */
    struct attn_batch_extent *outputs; /* [n_output] owns; in the order of attn_records_part */
    size_t n_output;
};

void attn_batch_made_release(struct attn_batch_made *made);

/* Reads the manifest PATH, if it is there. ATTN_INVALID at the stage of the options when it is of
 * another batch than IDENTITY, or is not as it was written. */
enum attn_status attn_batch_manifest_read(const char *path,
                                          const struct attn_batch_identity *identity,
                                          struct attn_batch_made *made, struct attn_error *err);

/* Whether the files that RECORDS writes are, under their final names, those of MADE, which the
 * manifest PATH says; all are read. ATTN_INVALID at the stage of the options when one is not, and
 * ATTN_CANCELED when CANCEL ended it. */
enum attn_status attn_batch_manifest_compare(const char *path, const struct attn_batch_made *made,
                                             const struct attn_records *records,
                                             const volatile sig_atomic_t *cancel,
                                             struct attn_error *err);

#endif
