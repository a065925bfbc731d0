/*
 * path.h - folders and what is in them.
 *
 *     struct attn_path_names names = {0};
 *     attn_path_list("models", &names, &err);
 *     for (size_t i = 0; i < names.n; i++)
 *         puts(names.names[i]);
 *     attn_path_names_release(&names);
 */
#ifndef ATTN_BASE_PATH_H
#define ATTN_BASE_PATH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { ATTN_PATH_SIZE = 4096 }; /* bytes of a path and its end */

/* Initialize with = {0}. */
struct attn_path_names {
    char **names; /* [n] owns; in the order of their bytes, without those that begin with a dot */
    size_t n, capacity;
};

/*
 * Reads the names in the folder PATH; there are none in one that is missing or cannot be read. Only
 * memory can run out. FOLDER, which was empty, is to be released in every case.
 */
enum attn_status attn_path_list(const char *path, struct attn_path_names *folder,
                                struct attn_error *err);
void attn_path_names_release(struct attn_path_names *folder);

/* Whether PATH leads to a folder. */
bool attn_path_is_folder(const char *path);

/* Writes PARENT/NAME into PATH; false, when it does not fit. */
bool attn_path_join(const char *parent, const char *name, char path[ATTN_PATH_SIZE]);

/* The last part of PATH, [*size] within it: "gpt2" of "models/gpt2/". Pictures and pages name only
 * that, because folders can hold the name of a user. */
const char *attn_path_last(const char *path, size_t *size);

#endif
