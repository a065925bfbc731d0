/* model_args.h - which model is meant: -m, its search path, and files that stand in for its own. */
#ifndef CMD_MODEL_ARGS_H
#define CMD_MODEL_ARGS_H

#include "options.h"

#include "attn.h"

struct model_args {
    const char *name; /* directory or name; NULL: the built-in default */
    const char *config, *vocab, *weights;
    int load;    /* enum attn_load */
    int compute; /* enum attn_compute */
};

/* Rows for the option table of a command whose struct T has a `struct model_args model`. */
#define MODEL_ROWS(T)                                                                              \
    {.name = "model",                                                                              \
     .letter = 'm',                                                                                \
     .argument = "DIR",                                                                            \
     .group = "Model",                                                                             \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(struct T, model.name),                                                     \
     .environment = "ATTN_CLI_MODEL",                                                              \
     .help = "model directory in Hugging Face's layout, or the name of a shipped model; default: " \
             "the built-in '" ATTN_BUILTIN_DEFAULT "'"},                                           \
        {.name = "config",                                                                         \
         .argument = "FILE",                                                                       \
         .group = "Model",                                                                         \
         .kind = OPTION_TEXT,                                                                      \
         .offset = offsetof(struct T, model.config),                                               \
         .help = "use FILE as the model's config.json"},                                           \
    {                                                                                              \
        .name = "vocab", .argument = "FILE", .group = "Model", .kind = OPTION_TEXT,                \
        .offset = offsetof(struct T, model.vocab), .help = "use FILE as the model's vocab.json"    \
    }

/* Further rows for commands that read weights. */
#define WEIGHTS_ROWS(T)                                                                            \
    {.name = "weights",                                                                            \
     .argument = "FILE",                                                                           \
     .group = "Model",                                                                             \
     .kind = OPTION_TEXT,                                                                          \
     .offset = offsetof(struct T, model.weights),                                                  \
     .help = "use FILE as the model's model.safetensors"},                                         \
    {                                                                                              \
        .name = "load", .argument = "map|read", .group = "Model", .kind = OPTION_CHOICE,           \
        .offset = offsetof(struct T, model.load),                                                  \
        .help = "map the weights (default), or read them into memory: safe from files that change" \
    }

/* For those that multiply by them. */
#define COMPUTE_ROW(T)                                                                             \
    {                                                                                              \
        .name = "compute", .argument = "f32|bf16", .group = "Precision", .kind = OPTION_CHOICE,    \
        .offset = offsetof(struct T, model.compute),                                               \
        .help = "multiply by the weights in float32 (default), or in bfloat16 with float32 sums: " \
                "faster and less exact"                                                            \
    }

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

/* The names of the models in those folders, if no shell takes them for more, and of the built-in
 * ones that none of them holds; one a line. */
void model_names_print(struct attn_sink *out);

#endif
