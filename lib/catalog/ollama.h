/*
 * ollama.h - the stores in which Ollama keeps models, read and never written:
 *
 *     STORE/manifests-v2/HOST/NAMESPACE/MODEL/TAG    JSON; or a link to such a blob
 *     STORE/manifests/HOST/NAMESPACE/MODEL/TAG       of versions before 2026
 *     STORE/blobs/sha256-DIGEST                      what it names; the weights are a GGUF file
 *
 * A blob is opened only because a manifest names it.
 */
#ifndef ATTN_CATALOG_OLLAMA_H
#define ATTN_CATALOG_OLLAMA_H

#include "base/path.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* What names of such models begin with. */
#define ATTN_OLLAMA_PREFIX "ollama:"

enum { ATTN_OLLAMA_PART_SIZE = 129 };

/* [HOST/][NAMESPACE/]MODEL[:TAG] */
struct attn_ollama_name {
    char host[ATTN_OLLAMA_PART_SIZE];  /* empty: any */
    char space[ATTN_OLLAMA_PART_SIZE]; /* "library" unless given */
    char model[ATTN_OLLAMA_PART_SIZE];
    char tag[ATTN_OLLAMA_PART_SIZE]; /* "latest" unless given */
};

/* Where stores are: the first that has a model is taken. */
struct attn_ollama_stores {
    const char *const *paths; /* [n] borrowed */
    size_t n;
};

/* Whether TEXT has the form of a name, without its prefix; none leads out of a store. */
bool attn_ollama_read_name(const char *text, struct attn_ollama_name *name);

/* The command that downloads NAME, into COMMAND [size]. */
void attn_ollama_fetch(const struct attn_ollama_name *name, char *command, size_t size);

/* Writes the path of the GGUF file of NAME. ATTN_INVALID when there is no such model or several
 * hosts have it, ATTN_FORMAT when its manifest is damaged, ATTN_UNSUPPORTED when its weights are in
 * another form. */
enum attn_status attn_ollama_find(const struct attn_ollama_stores *stores,
                                  const struct attn_ollama_name *name, char blob[ATTN_PATH_SIZE],
                                  struct attn_error *err);

/* Told of a NAME with its prefix; a failure ends the visit. */
typedef enum attn_status (*attn_ollama_fn)(void *user, const char *name, struct attn_error *err);

/* Visits each name once, as Ollama lists it: without its own host and namespace. */
enum attn_status attn_ollama_visit(const struct attn_ollama_stores *stores, attn_ollama_fn visit,
                                   void *user, struct attn_error *err);

#endif
