/* places_internal.h - the cache of Hugging Face, the stores of Ollama, and folders of models. */
#ifndef ATTN_CATALOG_PLACES_INTERNAL_H
#define ATTN_CATALOG_PLACES_INTERNAL_H

#include "base/path.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

/* --- GGUF models in a folder ------------------------------------------------------------------ */

/*
 * A tag selects a model: "Q4_K_M" is "Llama-3.2-1B-Q4_K_M.gguf".
 *
 *     struct attn_gguf_folder folder = {.path = snapshot, .name = "bartowski/Llama-3.2-1B-GGUF"};
 *     attn_gguf_folder_list(&folder, ATTN_GGUF_FOLDER_DEEP, &err);
 *     attn_gguf_folder_choose(&folder, "Q4_K_M", path, &err);
 *     attn_path_names_release(&folder.files);
 */

enum {
    ATTN_GGUF_TAG_SIZE = 256,
    ATTN_GGUF_FOLDER_FLAT = 1, /* levels: the files of the folder */
    ATTN_GGUF_FOLDER_DEEP = 3  /* and the files of folders in it */
};

struct attn_gguf_folder {
    const char *path;             /* borrowed */
    const char *name;             /* for messages; borrowed */
    struct attn_path_names files; /* relative; of shards the first. Owns: the caller releases it */
};

/* Whether TEXT can be a tag. It is compared with names of files, and never becomes one. */
bool attn_gguf_is_tag(const char *text);

/* Whether TAG stands in FILE in any case: after the start, '-', '.', '_' or '/', and before '.' or
 * '-', so that F16 is not found in BF16. */
bool attn_gguf_has_tag(const char *file, const char *tag);

/* Writes the name of FILE without folders, the number of a shard and the extension. */
void attn_gguf_write_stem(const char *file, char stem[ATTN_GGUF_TAG_SIZE]);

/* Adds the models in LEVELS levels of FOLDER, except files that belong to another model (a
 * projector, the data of a quantization), by their names. Only memory can run out. */
enum attn_status attn_gguf_folder_list(struct attn_gguf_folder *folder, int levels,
                                       struct attn_error *err);

/* Writes the shortest tag that means file I alone; the whole name where there is no other. */
void attn_gguf_folder_write_tag(const struct attn_gguf_folder *folder, size_t i,
                                char tag[ATTN_GGUF_TAG_SIZE]);

/* Writes the path of the file that TAG selects in FOLDER, which has at least one. NULL: Q4_K_M,
 * else Q8_0, else the only model. ATTN_INVALID, with the tags, if it selects none or several. */
enum attn_status attn_gguf_folder_choose(const struct attn_gguf_folder *folder, const char *tag,
                                         char path[ATTN_PATH_SIZE], struct attn_error *err);

/* The same of a folder whose files have no tags: the only model. */
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
    ATTN_HUB_PART_MAX = 96, /* characters of an owner, and of a name; as the hub has it */
    ATTN_HUB_REVISION_MAX = 160,
    ATTN_HUB_NAME_SIZE = 2 * ATTN_HUB_PART_MAX + ATTN_HUB_REVISION_MAX + 3
};

/* The name of a model of the hub: OWNER/NAME, NAME, and either with @REVISION, and with :TAG. */
struct attn_hub_name {
    char repository[ATTN_HUB_NAME_SIZE];      /* "OWNER/NAME" or "NAME" */
    char revision[ATTN_HUB_REVISION_MAX + 1]; /* empty: main */
    const char *tag; /* selects a GGUF file; borrowed from the text that was read; NULL: none */
};

/* Whether TEXT has the form of a name; none leads out of the cache. */
bool attn_hub_read_name(const char *text, struct attn_hub_name *name);

/* Whether the cache HUB has anything of NAME's repository. */
bool attn_hub_has(const char *hub, const struct attn_hub_name *name);

/* Gives NAME, which has no owner, the owner in the cache HUB, if there is one: models got owners
 * long after their names (bert-base-uncased is google-bert's). ATTN_INVALID if there are
 * several. */
enum attn_status attn_hub_find_owner(const char *hub, struct attn_hub_name *name,
                                     struct attn_error *err);

/* Writes the directory of the snapshot of NAME into SNAPSHOT. A revision is a file in refs/, the
 * hash of a commit, or a unique prefix of one; by default main or, if refs/ is empty, the snapshot
 * that was changed last. ATTN_INVALID if there is no such snapshot. */
enum attn_status attn_hub_find(const char *hub, const struct attn_hub_name *name,
                               char snapshot[ATTN_PATH_SIZE], struct attn_error *err);

/* The command that downloads NAME, into COMMAND [size]. */
void attn_hub_fetch(const struct attn_hub_name *name, char *command, size_t size);

/* Told of a NAME; a failure ends the visit. */
typedef enum attn_status (*attn_hub_fn)(void *user, const char *name, struct attn_error *err);

/* Visits the name of each snapshot in HUB, in the order of their bytes: of main without a revision,
 * else with its ref, or with its hash where none leads to it. */
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

/* The prefix of names of such models. */
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

/* Writes the path of the GGUF file of NAME. ATTN_INVALID if there is no such model or several hosts
 * have it, ATTN_FORMAT for a damaged manifest, ATTN_UNSUPPORTED for weights in another form. */
enum attn_status attn_ollama_find(const struct attn_ollama_stores *stores,
                                  const struct attn_ollama_name *name, char blob[ATTN_PATH_SIZE],
                                  struct attn_error *err);

/* Told of a NAME with its prefix; a failure ends the visit. */
typedef enum attn_status (*attn_ollama_fn)(void *user, const char *name, struct attn_error *err);

/* Visits each name once, as Ollama lists it: without its own host and namespace. */
enum attn_status attn_ollama_visit(const struct attn_ollama_stores *stores, attn_ollama_fn visit,
                                   void *user, struct attn_error *err);

#endif
