/* catalog_internal.h - declarations of the catalog that only the library uses. */
#pragma once

#include "base/status.h"
#include "base/text/path.h"
#include "catalog/catalog.h"

#include <stdbool.h>
#include <stddef.h>

/* Called with OTHER, another model that has the same name. */
typedef void (*attn_catalog_other_fn)(void *user, const struct attn_catalog_found *other);

/* Calls VISIT for each other directory and built-in model with the name of FOUND, which
 * attn_catalog_find would return if FOUND did not exist. CATALOG is that of FOUND. */
void attn_catalog_visit_others(const struct attn_catalog *catalog,
                               const struct attn_catalog_found *found, attn_catalog_other_fn visit,
                               void *user);

/* --- GGUF models in a folder ------------------------------------------------------------------ */

/*
 * A tag selects a model: "Q4_K_M" means "Llama-3.2-1B-Q4_K_M.gguf".
 *
 *     struct attn_gguf_folder folder = {.path = snapshot, .name = "bartowski/Llama-3.2-1B-GGUF"};
 *     attn_gguf_folder_list(&folder, ATTN_GGUF_FOLDER_DEEP, &err);
 *     attn_gguf_folder_choose(&folder, "Q4_K_M", path, &err);
 *     attn_path_names_release(&folder.files);
 */

enum {
    ATTN_GGUF_TAG_SIZE = 256,
    ATTN_GGUF_FOLDER_FLAT = 1, /* levels: only the files of the folder */
    ATTN_GGUF_FOLDER_DEEP = 3  /* levels: also the files of folders in it */
};

struct attn_gguf_folder {
    const char *path; /* borrowed */
    const char *name; /* for messages; borrowed */
    /* Relative paths, of shards only the first; owns: the caller releases it. */
    struct attn_path_names files;
};

/* Whether TEXT can be a tag. A tag is compared with names of files but never becomes one. */
bool attn_gguf_is_tag(const char *text);

/* Writes the name of FILE to STEM, without folders, the number of a shard and the extension. */
void attn_gguf_write_stem(const char *file, char stem[ATTN_GGUF_TAG_SIZE]);

/* Lists the models in LEVELS levels of FOLDER, sorted by name. Leaves out files that belong to
 * another model (a projector, the data of a quantization). Fails only for lack of memory. */
enum attn_status attn_gguf_folder_list(struct attn_gguf_folder *folder, int levels,
                                       struct attn_error *err);

/* Writes the shortest tag that means file I and no other; if there is none, the whole name. */
void attn_gguf_folder_write_tag(const struct attn_gguf_folder *folder, size_t i,
                                char tag[ATTN_GGUF_TAG_SIZE]);

/* Writes to PATH the path of the file that TAG selects in FOLDER, which has at least one file. TAG
 * NULL: Q4_K_M, else Q8_0, else the only model. ATTN_INVALID, with the existing tags, if TAG
 * selects no file or several. */
enum attn_status attn_gguf_folder_choose(const struct attn_gguf_folder *folder, const char *tag,
                                         char path[ATTN_PATH_SIZE], struct attn_error *err);

/* As attn_gguf_folder_choose, for a folder whose files have no tags: chooses its only model. */
enum attn_status attn_gguf_folder_only(const struct attn_gguf_folder *folder,
                                       char path[ATTN_PATH_SIZE], struct attn_error *err);

/* --- The cache of Hugging Face ---------------------------------------------------------------- */

/*
 * The cache in which huggingface_hub keeps models, read and never written:
 *
 *     HUB/models--OWNER--NAME/refs/REVISION      the hash of a commit, in hexadecimal digits
 *     HUB/models--OWNER--NAME/snapshots/HASH/    the files of that commit, as links into blobs/
 *
 * A snapshot is read like any other directory of a model.
 */

enum {
    ATTN_HUB_PART_MAX = 96, /* most characters of an owner and of a name; a rule of the hub */
    ATTN_HUB_REVISION_MAX = 160,
    ATTN_HUB_NAME_SIZE = 2 * ATTN_HUB_PART_MAX + ATTN_HUB_REVISION_MAX + 3
};

/* The name of a model of the hub: OWNER/NAME or NAME, perhaps with @REVISION and :TAG. */
struct attn_hub_name {
    char repository[ATTN_HUB_NAME_SIZE];      /* "OWNER/NAME" or "NAME" */
    char revision[ATTN_HUB_REVISION_MAX + 1]; /* empty: it is main */
    const char *tag; /* selects a GGUF file; borrowed from the parsed text; NULL: none */
};

/* Parses TEXT into NAME. Returns whether it is a valid name; a valid name cannot lead out of the
 * cache. */
bool attn_hub_read_name(const char *text, struct attn_hub_name *name);

/* Whether TEXT is an address, as https://huggingface.co/OWNER/NAME/tree/main. Reads the repository
 * into NAME; it is empty if the address has none. */
bool attn_hub_read_address(const char *text, struct attn_hub_name *name);

/* Whether PATH is the folder of a repository in a cache. Reads its name into NAME. */
bool attn_hub_read_root(const char *path, struct attn_hub_name *name);

/* Whether the cache HUB has a folder of NAME's repository. */
bool attn_hub_has(const char *hub, const struct attn_hub_name *name);

/* Adds the owner that the cache HUB has to NAME, which has none. Many models got an owner long
 * after their name: bert-base-uncased is now google-bert's. NAME stays as it is if there is none;
 * ATTN_INVALID if there are several. */
enum attn_status attn_hub_find_owner(const char *hub, struct attn_hub_name *name,
                                     struct attn_error *err);

/* Writes the directory of the snapshot of NAME to SNAPSHOT. A revision is a file in refs/, the hash
 * of a commit, or a unique beginning of one. Without a revision it is main or, if refs/ is empty,
 * the snapshot that was changed last. ATTN_INVALID if there is no such snapshot. */
enum attn_status attn_hub_find(const char *hub, const struct attn_hub_name *name,
                               char snapshot[ATTN_PATH_SIZE], struct attn_error *err);

/* Writes the command that downloads NAME to COMMAND [size]. */
void attn_hub_fetch(const struct attn_hub_name *name, char *command, size_t size);

/* Called with the NAME of a snapshot. A failure ends the visit. */
typedef enum attn_status (*attn_hub_fn)(void *user, const char *name, struct attn_error *err);

/* Calls VISIT for each snapshot in HUB, sorted by name: main without a revision, others with their
 * ref, or with their hash if no ref names them. */
enum attn_status attn_hub_visit(const char *hub, attn_hub_fn visit, void *user,
                                struct attn_error *err);

/* --- The stores of Ollama --------------------------------------------------------------------- */

/*
 * The stores in which Ollama keeps models, read and never written:
 *
 *     STORE/manifests-v2/HOST/NAMESPACE/MODEL/TAG    JSON; or a link to such a blob
 *     STORE/manifests/HOST/NAMESPACE/MODEL/TAG       of versions before 2026
 *     STORE/blobs/sha256-DIGEST                      a named file; the weights are a GGUF file
 *
 * A blob is opened only because a manifest names it.
 */

/* The prefix of the names of Ollama's models. */
#define ATTN_OLLAMA_PREFIX "ollama:"

enum { ATTN_OLLAMA_PART_SIZE = 129 };

/* The parts of the name [HOST/][NAMESPACE/]MODEL[:TAG]. */
struct attn_ollama_name {
    char host[ATTN_OLLAMA_PART_SIZE];  /* empty: any host */
    char space[ATTN_OLLAMA_PART_SIZE]; /* "library" if not given */
    char model[ATTN_OLLAMA_PART_SIZE];
    char tag[ATTN_OLLAMA_PART_SIZE]; /* "latest" if not given */
};

/* The folders of Ollama's stores. A model is taken from the first that has it. */
struct attn_ollama_stores {
    const char *const *paths; /* [n] borrowed */
    size_t n;
};

/* Parses TEXT, without its prefix, into NAME. Returns whether it is a valid name; a valid name
 * cannot lead out of a store. */
bool attn_ollama_read_name(const char *text, struct attn_ollama_name *name);

/* Writes the command that downloads NAME to COMMAND [size]. */
void attn_ollama_fetch(const struct attn_ollama_name *name, char *command, size_t size);

/* The files of a model. */
struct attn_ollama_blobs {
    char model[ATTN_PATH_SIZE];
    char projector[ATTN_PATH_SIZE]; /* what reads pictures for it; empty: the model does, or none */
};

/* Writes the paths of the GGUF files of NAME to BLOBS. ATTN_INVALID if there is no such model or
 * several hosts have it, ATTN_FORMAT for a damaged manifest, ATTN_UNSUPPORTED for weights in
 * another form. */
enum attn_status attn_ollama_find(const struct attn_ollama_stores *stores,
                                  const struct attn_ollama_name *name,
                                  struct attn_ollama_blobs *blobs, struct attn_error *err);

/* Called with a NAME and its prefix. A failure ends the visit. */
typedef enum attn_status (*attn_ollama_fn)(void *user, const char *name, struct attn_error *err);

/* Calls VISIT once for each name, written as Ollama lists it: without Ollama's own host and
 * namespace. */
enum attn_status attn_ollama_visit(const struct attn_ollama_stores *stores, attn_ollama_fn visit,
                                   void *user, struct attn_error *err);
