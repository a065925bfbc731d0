/* restart_params.h - parameters about shards and resuming, shared by all runs over many records.
 * Lists of parameters include them as rows. */
#ifndef ATTN_STREAM_RESTART_PARAMS_H
#define ATTN_STREAM_RESTART_PARAMS_H

#include "base/status_internal.h"
#include "params/param.h"

/* Reads "3/8" into two size_t (`read` of struct attn_param). */
enum attn_status attn_shard_read(const struct attn_param *param, void *home, const char *label,
                                 const char *text, struct attn_error *err);

#define ATTN_SHARD_PARAM(structure, shard_member, n_shard_member)                                  \
    ATTN_PARAM(OWN, "shard", "I/N", structure, shard_member,                                       \
               "take only part I of N of a file, 0 <= I < N; names of outputs say which: "         \
               "rows-00003-of-00008.jsonl",                                                        \
               .second = offsetof(structure, n_shard_member), .read = attn_shard_read)

/* The parameter max_errors. MEMBER is an int64_t, negative by default. */
#define ATTN_ERRORS_PARAM(structure, member)                                                       \
    ATTN_PARAM(SEED, "max_errors", "N", structure, member,                                         \
               "number of items that may fail; one more ends the run. Default: any "               \
               "number, and the exit code is 6",                                                   \
               .option = "max-errors", .most = INT64_MAX)

#define ATTN_RESUME_PARAM(structure, member)                                                       \
    ATTN_PARAM(                                                                                    \
        FLAG, "resume", NULL, structure, member,                                                   \
        "go on after the rows that a run of the same command left in the output file, and "        \
        "begin if there are none. Other options or items are an error (FILE.part.key), and so "    \
        "are other rows of the last item, which is computed again. The table covers all items")

#endif
