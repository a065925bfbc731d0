/*
 * catalog.h - the models that have names: finds one, and lists all.
 *
 *     const char *folders[] = {"models"};
 *     struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;
 *     struct attn_catalog_found found;
 *     catalog.folders = folders, catalog.n_folder = 1;
 *     catalog.hub = "/home/me/.cache/huggingface/hub";
 *     attn_catalog_find(&catalog, "openai-community/gpt2", &found, &err);
 *     attn_model_open(&found.source, NULL, &model, &err);
 *
 * Nothing is downloaded. The library reads no environment: a caller lists the places of models.
 */
#ifndef ATTN_CATALOG_CATALOG_H
#define ATTN_CATALOG_CATALOG_H

#include "base/source.h"
#include "base/status.h"
#include "tables/table.h"

#include <stddef.h>

/* The places where models are. All borrowed. */
struct attn_catalog {
    size_t size;                /* size of this struct */
    const char *const *folders; /* [n_folder]; missing ones are ignored */
    size_t n_folder;
    const char *hub;           /* the cache of huggingface_hub; NULL: none */
    const char *const *ollama; /* [n_ollama] stores of Ollama */
    size_t n_ollama;
    const char *lm_studio; /* the folder of LM Studio's models; NULL: none */
};

/* Sets CATALOG [size bytes] to the defaults, and returns it. */
ATTN_API struct attn_catalog *attn_catalog_init(struct attn_catalog *catalog, size_t size);
#define ATTN_CATALOG_DEFAULT ATTN_DEFAULT_OF(attn_catalog)

/* X(ID, number, name): how a model was found. */
#define ATTN_ORIGIN_MAP(X)                                                                         \
    X(DIRECTORY, 0, "directory") /* the user gave the path of a directory */                       \
    X(BUILTIN, 1, "built-in")    /* it is part of the library */                                   \
    X(SHIPPED, 2, "shipped")     /* in one of the folders */                                       \
    X(CACHED, 3, "cached")       /* in the cache of huggingface_hub */                             \
    X(FILE, 4, "file")           /* the user gave the path of one file */                          \
    X(OLLAMA, 5, "ollama")       /* in a store of Ollama */                                        \
    X(LM_STUDIO, 6, "lmstudio")  /* in the folder of LM Studio */

enum attn_origin {
#define ATTN_ORIGIN_ENUM(id, number, name) ATTN_ORIGIN_##id = (number),
    ATTN_ORIGIN_MAP(ATTN_ORIGIN_ENUM)
#undef ATTN_ORIGIN_ENUM
};

enum { ATTN_FOUND_PATH_SIZE = 4096, ATTN_FOUND_FETCH_SIZE = 512 };

/* Where a model is. It must not move while its source is used. */
struct attn_catalog_found {
    struct attn_source source; /* borrows from this struct and from the given name */
    enum attn_origin origin;
    char directory[ATTN_FOUND_PATH_SIZE]; /* of a shipped or cached model; for a cached one its last
                                             part is the hash of the commit */
    char fetch[ATTN_FOUND_FETCH_SIZE];    /* the command that downloads what a cached model lacks */
    char file[ATTN_FOUND_PATH_SIZE];      /* path of the file of GGUF, or of its first shard, or of
                                             a training program; else empty */
    struct attn_override part;            /* this file as a part of the source */
};

/* Finds the model NAME, which may be, in this order: the path of a directory (with a model as
 * Hugging Face lays it out, one GGUF model, nanoGPT's ckpt.pt, or llama2.c's model.bin and
 * tokenizer.bin); the path of a GGUF file of any name; "ollama:" with
 * [HOST/][NAMESPACE/]MODEL[:TAG]; "lmstudio:" with OWNER/NAME[:TAG]; a directory in one of the
 * folders; a built-in model; a model in the cache, OWNER/NAME or NAME, optionally with @REVISION (a
 * branch, a tag, or the first digits of a commit's hash) and :TAG, a part of the name of a GGUF
 * file. CATALOG may be NULL: no folders and no cache. ATTN_INVALID, with the places that were
 * searched, if there is no such model. *found is set only on success. */
ATTN_API enum attn_status attn_catalog_find(const struct attn_catalog *catalog, const char *name,
                                            struct attn_catalog_found *found,
                                            struct attn_error *err);

/* Writes to PATH the projector of NAME, a model of Ollama: the file that reads pictures for it,
 * which its source has as ATTN_FOUND_MMPROJ_PART. Empty without one, and for other models. */
ATTN_API enum attn_status attn_catalog_find_projector(const struct attn_catalog *catalog,
                                                      const char *name,
                                                      char path[ATTN_FOUND_PATH_SIZE],
                                                      struct attn_error *err);

/* Called with a NAME that is not a path. A failure ends the visit. */
typedef enum attn_status (*attn_catalog_fn)(void *user, const char *name, struct attn_error *err);

/* Calls VISIT once for each name: built-in models, then those in the folders, in the cache, of LM
 * Studio and of Ollama. Opens no file of a model. */
ATTN_API enum attn_status attn_catalog_visit(const struct attn_catalog *catalog,
                                             attn_catalog_fn visit, void *user,
                                             struct attn_error *err);

/* Lists all models in a table; `help` of each column says what it is. Reads configs and the headers
 * of weight files. Fails only for lack of memory. The caller frees *table. */
ATTN_API enum attn_status attn_catalog_list(const struct attn_catalog *catalog,
                                            struct attn_table **table, struct attn_error *err);

#endif
