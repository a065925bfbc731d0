/* model.h - which model is meant: -m, its search path, and files that replace its own. */
#ifndef CMD_MODEL_ARGS_H
#define CMD_MODEL_ARGS_H

#include "cmd/args/running.h"
#include "cmd/line/options.h"

#include "extra.h"

struct model_args {
    const char *name;                     /* directory or name; NULL: the built-in default */
    const char *config, *vocab, *weights; /* files instead of the model's own, or NULL */
    int load;                             /* enum attn_load */
    int compute;                          /* enum attn_compute */
    int tower;                            /* enum attn_tower; set by the input or an option */
};

/* Options that fill a struct model_args. */
extern const struct option_group model_options;

/* The same, of commands that read weights. */
extern const struct option_group weights_options;

/* The same, of commands that multiply by weights. */
extern const struct option_group compute_options;

/* All three. */
extern const struct option_group model_all_options;

enum { MODEL_N_OVERRIDE = 4, MODEL_PATH_SIZE = 4096, MODEL_N_STORE = 2 };

/* The places of models, and memory that they borrow. */
struct model_catalog {
    struct attn_catalog catalog;
    const char **folders;
    char *search_path;           /* the variable, cut into folders */
    char *own;                   /* the folder of the models that came with the program, or NULL */
    char *hub;                   /* the cache of Hugging Face, or NULL */
    char *lm_studio;             /* the folder of LM Studio, or NULL */
    char *ollama[MODEL_N_STORE]; /* the stores of Ollama */
};

/* The folders of $ATTN_CLI_MODEL_PATH, separated by colons; the models that came with the program,
 * which are those of the source tree that it was built in, or of the installation; the cache of
 * Hugging Face: $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else that
 * of ~/.cache; the stores of Ollama: $OLLAMA_MODELS, else that of ~/.ollama and that of its
 * service; and ~/.lmstudio/models. Release it in every case. */
enum attn_status model_catalog_open(struct model_catalog *catalog, struct attn_error *err);
void model_catalog_release(struct model_catalog *catalog);

/* A source and its memory; must not move while the source is used. */
struct model_source {
    struct attn_source source;
    struct attn_override overrides[MODEL_N_OVERRIDE];
    char held[MODEL_N_OVERRIDE][32]; /* paths of copied pipes */
    struct attn_catalog_found found;
};

/* Finds what ARGS mean (attn_catalog_find). Notes that another place has the name too, unless
 * RUNNING is quiet, and which directory is taken where it is verbose; NULL is neither. */
enum attn_status model_source_find(const struct model_args *args,
                                   const struct running_args *running, struct model_source *found,
                                   struct attn_error *err);

/* Refuses the tower of pictures of a model that has none. */
enum attn_status model_check_tower(const struct model_args *args, const struct attn_config *config,
                                   struct attn_error *err);

/* Opens the host that serves a command: on SOURCE as ARGS load it, or with NULL for arrays. REUSE:
 * the model will run many times. Close with model_host_close. */
enum attn_status model_host_open(const struct attn_source *source, const struct model_args *args,
                                 const struct running_args *running, bool reuse,
                                 struct attn_host **host, struct attn_error *err);

/* Both: the host of the model that ARGS mean. */
enum attn_status model_open(const struct model_args *args, const struct running_args *running,
                            bool reuse, struct attn_host **host, struct attn_error *err);

void model_host_close(struct attn_host *host); /* NULL is allowed */

/* Prints the names that begin with PREFIX, one per line (attn_catalog_visit). Names with characters
 * that are special to a shell are left out. */
enum attn_status model_names_print(const char *prefix, struct attn_sink *out,
                                   struct attn_error *err);

#endif
