/* restart.h - what commands share whose runs are resumed, and cut into shards. */
#ifndef CMD_RESTART_ARGS_H
#define CMD_RESTART_ARGS_H

#include "cmd/line/command.h"
#include "cmd/line/options.h"

#include "tool.h"

/* Reads the value of --shard, "3/8"; NULL leaves both alone. */
enum attn_status restart_read_shard(const char *text, size_t *shard, size_t *n_shard,
                                    struct attn_error *err);

/* Which options say where and how, and not what. */
struct restart_form {
    const char *headings; /* those below these, "Output|Other"; NULL: none */
    const char *names;    /* and these, "threads|quiet" */
    const char *outputs;  /* of these it matters only that they are given; NULL: there are none */
    bool has_command;     /* the name of the command is one more key */
};

/* Appends the options of CALL that shape the results, as an object of JSON on one line. Lists have
 * all their values. */
void restart_describe(const struct call *call, const struct restart_form *form,
                      struct attn_buffer *out);

/* The command line of CALL as it was typed, [*n], to be freed: for a manifest. */
enum attn_status restart_keep_command(const struct call *call, const char ***command, size_t *n,
                                      struct attn_error *err);

#endif
