/*
 * path.h - lists folders, and finds the file that an output would replace.
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
#include <sys/stat.h>

enum { ATTN_PATH_SIZE = 4096 }; /* bytes of a path and its end */

/* Initialize with = {0}. */
struct attn_path_names {
    char **names; /* [n] owns; in the order of their bytes, without those that begin with a dot */
    size_t n, capacity;
};

/* Reads the names in the folder PATH into FOLDER, which is empty before; release it in every case.
 * A missing or unreadable folder gives an empty list; the only failure is ATTN_NO_MEMORY. */
enum attn_status attn_path_list(const char *path, struct attn_path_names *folder,
                                struct attn_error *err);
void attn_path_names_release(struct attn_path_names *folder);

/* The same for the entries DEPTH levels below PATH: with 2 the names are "a/b". */
enum attn_status attn_path_list_below(const char *path, int depth, struct attn_path_names *names,
                                      struct attn_error *err);

/* Adds NAME at the end. */
enum attn_status attn_path_names_add(struct attn_path_names *names, const char *name,
                                     struct attn_error *err);

bool attn_path_names_has(const struct attn_path_names *names, const char *name);

/* Whether PATH leads to a folder. */
bool attn_path_is_folder(const char *path);

/* ATTN_IO where a file PATH cannot be made, as its folder cannot be found. */
enum attn_status attn_path_check_folder(const char *path, struct attn_error *err);

/* Writes PARENT/NAME into PATH; false, when it does not fit. */
bool attn_path_join(const char *parent, const char *name, char path[ATTN_PATH_SIZE]);

/* The last part of PATH, [*size] within it: "gpt2" of "models/gpt2/". Pictures and pages name only
 * that, because folders can hold the name of a user. */
const char *attn_path_last(const char *path, size_t *size);

/*
 * Finds the file under the name of an output, before anything is written.
 *
 *     struct attn_target target;
 *     attn_target_find("out.json", &target, &err);
 *     ... target.path is no link; target.exists, target.info describe it ...
 *     attn_target_release(&target);
 *
 * Links are followed to their end. In a sticky world-writable folder such as /tmp, only links and
 * files of the caller or of the folder's owner are followed or replaced: other users may have
 * planted them to redirect the write. Linux can do the same (fs.protected_symlinks, _fifos and
 * _regular), but not for a rename, and not everywhere. A directory counts as safe.
 */
struct attn_target {
    char *path;       /* owns; no link, which need not exist */
    bool exists;      /* there is something under that name */
    struct stat info; /* valid if exists */
};

/* The target of PATH, a name that a user gave. ATTN_IO when it may not be followed. */
enum attn_status attn_target_find(const char *path, struct attn_target *target,
                                  struct attn_error *err);

/* The target NAME in DIRECTORY, a name that no user gave: ATTN_IO unless it is a regular file or
 * absent. Links are not followed there. */
enum attn_status attn_target_find_in(const char *directory, const char *name,
                                     struct attn_target *target, struct attn_error *err);

/* Whether both are the same regular file, or will be when it is made. */
bool attn_target_is_same(const struct attn_target *a, const struct attn_target *b);

/* The type of a file of MODE (st_mode), for messages: "a directory". */
const char *attn_mode_text(mode_t mode);

/* The length of the folder's part of PATH: "a/b" has 2, "b" has 0. */
size_t attn_path_folder_length(const char *path);

void attn_target_release(struct attn_target *target);

/* Whether PATH has something before its ENDING, ".npy". */
bool attn_path_has_ending(const char *path, const char *ending);

#endif
