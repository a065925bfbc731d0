/* model_args.h - which model is meant: -m, its search path, and files that stand in for its own. */
#ifndef CMD_MODEL_ARGS_H
#define CMD_MODEL_ARGS_H

#include "options.h"

#include "attn.h"

struct model_args {
    const char *name;                     /* directory or name; NULL: the built-in default */
    const char *config, *vocab, *weights; /* files in place of the model's own, or NULL */
    int load;                             /* enum attn_load */
    int compute;                          /* enum attn_compute */
};

/* Options that fill a struct model_args. */
extern const struct option_group model_options;

/* The same, of commands that read weights. */
extern const struct option_group weights_options;

/* The same, of commands that multiply by weights. */
extern const struct option_group compute_options;

enum { MODEL_N_OVERRIDE = 3, MODEL_PATH_SIZE = 4096 };

/* A source and what it borrows from; it must stay in its place while the source is used. */
struct model_source {
    struct attn_source source;
    struct attn_override overrides[MODEL_N_OVERRIDE];
    char path[MODEL_PATH_SIZE];
};

/*
 * Finds what ARGS mean: an existing directory, else a bare name in $ATTN_CLI_MODEL_PATH (folders
 * separated by colons), in the share folder of an installation, in the source tree that the
 * program was built in, or among the built-in models. Reports a name that is not found; returns an
 * exit code.
 */
int model_source_find(const struct model_args *args, struct model_source *found);

/* Prints the names of the models in those folders, then of the built-in ones that none of the
 * folders holds; one a line. Names with characters that are special to a shell are left out. */
void model_names_print(struct attn_sink *out);

#endif
