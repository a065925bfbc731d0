/* model.h - options that select a model: -m, its search path, and files that replace the model's
 * own. */
#pragma once

#include "cmd/args/running.h"
#include "cmd/line/options.h"

#include "extra.h"

struct model_args {
    const char *name;                     /* directory or name; NULL: the built-in model */
    const char *config, *vocab, *weights; /* files that replace the model's own; or NULL */
    const char *adapter;                  /* folder of an adapter, or NULL */
    const char *mmproj;                   /* what reads pictures for a GGUF file, or NULL */
    int load;                             /* enum attn_load */
    int compute;                          /* enum attn_compute */
    int tower; /* enum attn_tower; set by an option, or by the kind of input */
};

/* The options of struct model_args: those of all commands with a model, more for commands that read
 * weights, and for commands that compute with them. */
extern const struct attn_param_list model_options, weights_options, compute_options;

/* The option of commands for one of two towers. */
extern const struct attn_param_list tower_options;

/* All of them. */
#define MODEL_OPTIONS(at)                                                                          \
    {&model_options, (at)}, {&weights_options, (at)},                                              \
    {                                                                                              \
        &compute_options, (at)                                                                     \
    }

enum { MODEL_N_OVERRIDE = 8, MODEL_PATH_SIZE = 4096, MODEL_N_STORE = 2 };

/* The places where models are searched for, and the memory that these borrow. */
struct model_catalog {
    struct attn_catalog catalog;
    const char **folders;
    char *search_path;           /* the environment variable, split into folders */
    char *own;                   /* folder of the models that come with the program, or NULL */
    char *hub;                   /* cache of Hugging Face, or NULL */
    char *lm_studio;             /* folder of LM Studio, or NULL */
    char *ollama[MODEL_N_STORE]; /* stores of Ollama */
};

/* Fills CATALOG with the places of models, in this order: the folders of $ATTN_CLI_MODEL_PATH,
 * separated by colons; the models that come with the program, in the source tree in which it was
 * built or in its installation; the cache of Hugging Face, which is $HF_HUB_CACHE, or else
 * $HF_HOME/hub, or else $XDG_CACHE_HOME/huggingface/hub, or else the same in ~/.cache; the stores
 * of Ollama, which are $OLLAMA_MODELS, or else those in ~/.ollama and of the system service; and
 * ~/.lmstudio/models. CATALOG must be released even after a failure. */
enum attn_status model_catalog_open(struct model_catalog *catalog, struct attn_error *err);
void model_catalog_release(struct model_catalog *catalog);

/* The source of a model, and the memory that it borrows. Must not move while the source is used. */
struct model_source {
    struct attn_source source;
    struct attn_override overrides[MODEL_N_OVERRIDE];
    char held[MODEL_N_OVERRIDE][32];  /* paths of copies of pipes */
    char adapter[2][MODEL_PATH_SIZE]; /* paths of the files of the adapter */
    struct attn_catalog_found found;
    char projector[ATTN_FOUND_PATH_SIZE]; /* of a model of Ollama */
};

/* Finds the model that ARGS name (attn_catalog_find). Unless RUNNING is quiet, notes that another
 * place has a model of the same name; if it is verbose, also notes which directory is used. If
 * RUNNING is NULL, it counts as neither quiet nor verbose. */
/* Whether VOCAB, of `vocab`, is absent or lies beside one file of a model as nanoGPT's meta.pkl
 * does, so that a live page can have both. */
bool model_vocab_is_beside(const char *vocab);

enum attn_status model_source_find(const struct model_args *args,
                                   const struct running_args *running, struct model_source *found,
                                   struct attn_error *err);

/* Refuses the option for the image tower if the model has none. */
enum attn_status model_check_tower(const struct model_args *args, const struct attn_config *config,
                                   struct attn_error *err);

/* Refuses the option of what reads pictures, on the command line of CALL, unless READS_PICTURES. */
enum attn_status model_check_projector(const struct call *call, bool reads_pictures,
                                       struct attn_error *err);

/* Opens the host that performs a command: with the model at SOURCE, opened as ARGS say, or without
 * a model if SOURCE is NULL. REUSE says that the model will run many times. Close the host with
 * model_host_close. */
enum attn_status model_host_open(const struct attn_source *source, const struct model_args *args,
                                 const struct running_args *running, bool reuse,
                                 struct attn_host **host, struct attn_error *err);

void model_host_close(struct attn_host *host); /* HOST may be NULL */

/* Prints the names of models that begin with PREFIX, one per line (attn_catalog_visit). Names with
 * special characters of a shell are left out. */
enum attn_status model_names_print(const char *prefix, struct attn_sink *out,
                                   struct attn_error *err);
