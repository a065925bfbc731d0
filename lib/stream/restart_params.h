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

/* The parameter max_failed. MEMBER is an int64_t, negative by default. */
#define ATTN_FAILED_PARAM(structure, member)                                                       \
    ATTN_PARAM(SEED, "max_failed", "N", structure, member,                                         \
               "number of records or items that may fail; one more ends the run. Default: any "    \
               "number, and the exit code is 6",                                                   \
               .option = "max-errors", .most = INT64_MAX)

#define ATTN_RESUME_PARAM(structure, member)                                                       \
    ATTN_PARAM(FLAG, "resume", NULL, structure, member,                                            \
               "continue the output file of a run of the same command that ended early. Start "    \
               "from the beginning if the file does not exist; if it is complete, only check "     \
               "that input and outputs are unchanged. The table covers all items, also those of "  \
               "the earlier run")

#endif
