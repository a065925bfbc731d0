/*
 * path.h - lists folders, and finds the file that an output would replace.
 *
 *     struct attn_path_names names = {0};
 *     attn_path_list("models", &names, &err);
 *     for (size_t i = 0; i < names.n; i++)
 *         puts(names.names[i]);
 *     attn_path_names_release(&names);
 */
#pragma once

#include "base/os/os.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { ATTN_PATH_SIZE = 4096 }; /* bytes of a path, including the NUL */

/* Initialize with = {0}. */
struct attn_path_names {
    char **names; /* [n] owns; sorted bytewise, without names that begin with a dot */
    size_t n, capacity;
};

/* Reads the names in the folder PATH into FOLDER, which must be empty. Release it in every case. A
 * missing or unreadable folder gives an empty list; the only failure is ATTN_NO_MEMORY. */
enum attn_status attn_path_list(const char *path, struct attn_path_names *folder,
                                struct attn_error *err);
void attn_path_names_release(struct attn_path_names *folder);

/* Reads the names DEPTH levels below PATH like attn_path_list; with 2 they are such as "a/b". */
enum attn_status attn_path_list_below(const char *path, int depth, struct attn_path_names *names,
                                      struct attn_error *err);

enum attn_status attn_path_names_add(struct attn_path_names *names, const char *name,
                                     struct attn_error *err);

/* Returns true if PATH is a folder, or a link to one. */
bool attn_path_is_folder(const char *path);

/* Returns ATTN_IO if a file PATH cannot be created because its folder does not exist. */
enum attn_status attn_path_check_folder(const char *path, struct attn_error *err);

/* Writes PARENT/NAME to PATH. Returns false if it does not fit. */
bool attn_path_join(const char *parent, const char *name, char path[ATTN_PATH_SIZE]);

/* Returns the last part of PATH, with its *SIZE: "gpt2" of "models/gpt2/". Pictures and pages show
 * only that part, because folders may contain the name of a user. */
const char *attn_path_last(const char *path, size_t *size);

/* Writes PATH from the root on, without links, to FULL; "" if there is no such file. */
enum attn_status attn_path_full(const char *path, char full[ATTN_PATH_SIZE],
                                struct attn_error *err);

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
    char *path;               /* owns; not a link; the file need not exist */
    bool exists;              /* a file exists at path */
    struct attn_os_info info; /* valid if exists */
};

/* Finds the target of PATH, which the user named. ATTN_IO if links must not be followed there. */
enum attn_status attn_target_find(const char *path, struct attn_target *target,
                                  struct attn_error *err);

/* Finds the target NAME in DIRECTORY, which no user named. ATTN_IO unless it is a regular file or
 * absent. Links are not followed. */
enum attn_status attn_target_find_in(const char *directory, const char *name,
                                     struct attn_target *target, struct attn_error *err);

/* Returns ATTN_IO if the file PATH, which no user named, exists and is not a regular file: a link,
 * say. */
enum attn_status attn_path_check_plain(const char *path, struct attn_error *err);

/* Returns true if both are the same regular file, or will be once it is created. */
bool attn_target_is_same(const struct attn_target *a, const struct attn_target *b);

/* Describes a kind of file for messages: "a directory". */
const char *attn_path_kind_text(enum attn_os_kind kind);

/* Returns the length of the folder part of PATH: 2 for "a/b", 0 for "b". */
size_t attn_path_folder_length(const char *path);

void attn_target_release(struct attn_target *target);

/* Returns true if PATH ends with ENDING, ".npy", and has a name before it. */
bool attn_path_has_ending(const char *path, const char *ending);
