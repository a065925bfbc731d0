/*
 * batch_outputs.h - what `batch` writes: lines of JSON, and beside them tables and arrays.
 *
 *     struct batch_outputs outputs = {0};
 *     code = batch_outputs_plan(&args, &many);                   // what must be computed for them
 *     if (code == EXIT_DONE)
 *         code = batch_outputs_open(&outputs, &args, &many, &place);
 *     ... attn_records_begin(outputs.records, n, sizes, n_size, &err), when resumed ...
 *     ... attn_records_write(outputs.records, &outcome, &err), attn_records_flush ...
 *     ... attn_records_finish, the manifest, attn_records_commit ...
 *     batch_outputs_close(&outputs);
 */
#ifndef CMD_BATCH_OUTPUTS_H
#define CMD_BATCH_OUTPUTS_H

#include "cmd/line/options.h"

#include "attn.h"

struct batch_output_args {
    const char *lines;        /* -o: where the lines of JSON go; NULL or "-": standard output */
    const char *fields;       /* what a line holds; NULL: the default */
    const char *measures;     /* of a head; NULL: all */
    struct named_list others; /* paths by the names of formats */
    int64_t n_edge;           /* --edges-per-query; 0: it is not given */
    int64_t precision;        /* -1: as many digits as bring back the same number */
};

#define BATCH_OUTPUT_ARGS_DEFAULT                                                                  \
    {                                                                                              \
        .precision = -1                                                                            \
    }

/* Options that fill a struct batch_output_args. */
extern const struct option_group batch_output_options;

void batch_output_args_release(struct batch_output_args *args);

/* Says in MANY, whose request is set, what must be computed for the outputs of ARGS. Reports what
 * does not go together; returns an exit code. */
int batch_outputs_plan(const struct batch_output_args *args, struct attn_many_options *many);

/* Where outputs are opened. */
struct batch_place {
    struct attn_host *host;
    struct attn_sink *standard; /* standard output */
    size_t shard, n_shard;      /* --shard; n_shard 0: there is none */
    bool is_resumed;
};

/* Initialize with = {0}. */
struct batch_outputs {
    struct attn_records *records; /* owns */
    char *name;   /* owns; of the lines' file, with the shard in it: "results-00003-of-00008.jsonl";
                   NULL: they are written to standard output, to a pipe or a device, and there is
                   nothing that could be resumed */
    char **paths; /* [n_path] owns; of all outputs */
    size_t n_path;
};

/* Opens them, as attn_records_open does. Reports; returns an exit code. */
int batch_outputs_open(struct batch_outputs *outputs, const struct batch_output_args *args,
                       const struct attn_many_options *many, const struct batch_place *place);

/* PATH with the shard in its last part, "results-00003-of-00008.jsonl"; as it is without a shard, and
 * of pipes and devices. free() it; NULL: out of memory. */
char *batch_path(const char *path, const struct batch_place *place);

/* Frees; parts that have no name yet stay. */
void batch_outputs_close(struct batch_outputs *outputs);

#endif
