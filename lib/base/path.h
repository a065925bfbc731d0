/*
 * path.h - folders and what is in them, and what stands under the name of an output.
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

/*
 * Reads the names in the folder PATH; there are none in one that is missing or cannot be read. Only
 * memory can run out. FOLDER, which was empty, is to be released in every case.
 */
enum attn_status attn_path_list(const char *path, struct attn_path_names *folder,
                                struct attn_error *err);
void attn_path_names_release(struct attn_path_names *folder);

/* The same of what lies DEPTH levels below PATH: for 2 the names are "a/b". */
enum attn_status attn_path_list_below(const char *path, int depth, struct attn_path_names *names,
                                      struct attn_error *err);

/* Adds NAME at the end. */
enum attn_status attn_path_names_add(struct attn_path_names *names, const char *name,
                                     struct attn_error *err);

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
 * What stands under the name of an output, before anything is written.
 *
 *     struct attn_target target;
 *     attn_target_find("out.json", &target, &err);
 *     ... target.path is no link; target.exists and target.info say what is there ...
 *     attn_target_release(&target);
 *
 * Links are followed to their end. In a sticky folder that everyone may write to, as /tmp is, only
 * what belongs to the caller or to the folder's owner is followed or replaced: others may have put
 * it there to have a file written that they cannot write. Linux can do the same
 * (fs.protected_symlinks, _fifos and _regular), but not for a rename, and not everywhere. A
 * directory counts as safe.
 */
struct attn_target {
    char *path;       /* owns; no link, which need not exist */
    bool exists;      /* there is something under that name */
    struct stat info; /* what; of a path that exists */
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

/* What a file of MODE (st_mode) is, for messages: "a directory". */
const char *attn_mode_text(mode_t mode);

/* The length of the folder's part of PATH: "a/b" has 2, "b" has 0. */
size_t attn_path_folder_length(const char *path);

void attn_target_release(struct attn_target *target);

#endif
