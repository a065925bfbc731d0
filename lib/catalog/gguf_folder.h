/*
 * gguf_folder.h - the GGUF models in a folder, and which of them a tag means: "Q4_K_M" is
 * "Llama-3.2-1B-Q4_K_M.gguf".
 *
 *     struct attn_gguf_folder folder = {.path = snapshot, .name = "bartowski/Llama-3.2-1B-GGUF"};
 *     attn_gguf_folder_list(&folder, ATTN_GGUF_FOLDER_DEEP, &err);
 *     attn_gguf_folder_choose(&folder, "Q4_K_M", path, &err);
 *     attn_path_names_release(&folder.files);
 */
#ifndef ATTN_CATALOG_GGUF_FOLDER_H
#define ATTN_CATALOG_GGUF_FOLDER_H

#include "base/path.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    ATTN_GGUF_TAG_SIZE = 256,
    ATTN_GGUF_FOLDER_FLAT = 1, /* levels: the files of the folder */
    ATTN_GGUF_FOLDER_DEEP = 3  /* and those of folders in it */
};

struct attn_gguf_folder {
    const char *path;             /* borrowed */
    const char *name;             /* what messages call it; borrowed */
    struct attn_path_names files; /* relative; of shards the first. Owns: the caller releases it */
};

/* Whether TEXT can be a tag. It is compared with names of files, and never becomes one. */
bool attn_gguf_is_tag(const char *text);

/* Whether TAG stands in FILE in any case: after the start, '-', '.', '_' or '/', and before '.' or
 * '-', so that F16 is not found in BF16. */
bool attn_gguf_has_tag(const char *file, const char *tag);

/* Writes the name of FILE without folders, the number of a shard and the extension. */
void attn_gguf_write_stem(const char *file, char stem[ATTN_GGUF_TAG_SIZE]);

/* Adds the models in so many LEVELS of FOLDER. What goes with another model (a projector, what a
 * quantization was made with) is left out by its name. Only memory can run out. */
enum attn_status attn_gguf_folder_list(struct attn_gguf_folder *folder, int levels,
                                       struct attn_error *err);

/* Writes the shortest tag that means file I alone; the whole name where there is no other. */
void attn_gguf_folder_write_tag(const struct attn_gguf_folder *folder, size_t i,
                                char tag[ATTN_GGUF_TAG_SIZE]);

/*
 * Writes the path of the file that TAG means, of FOLDER that has at least one. TAG NULL: Q4_K_M,
 * else Q8_0, else the only model. ATTN_INVALID, with the tags that there are, when that is none or
 * not one.
 */
enum attn_status attn_gguf_folder_choose(const struct attn_gguf_folder *folder, const char *tag,
                                         char path[ATTN_PATH_SIZE], struct attn_error *err);

/* The same of a folder whose files have no tags: the only model. */
enum attn_status attn_gguf_folder_only(const struct attn_gguf_folder *folder,
                                       char path[ATTN_PATH_SIZE], struct attn_error *err);

#endif
