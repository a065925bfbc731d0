#include "base/text/path.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/os/os.h"
#include "base/status_internal.h"
#include "base/text/escape.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum attn_status attn_path_names_add(struct attn_path_names *names, const char *name,
                                     struct attn_error *err)
{
    char *copy;

    ATTN_TRY(ATTN_GROW(names->names, names->capacity, names->n + 1, err));
    ATTN_TRY(ATTN_NEW(copy, attn_strndup(name, strlen(name), err)));
    names->names[names->n++] = copy;
    return ATTN_OK;
}

struct listing {
    struct attn_path_names *names;
    enum attn_status status;
    struct attn_error *err;
};

static bool list_name(void *user, const char *name)
{
    struct listing *listing = user;

    if (name[0] != '.')
        listing->status = attn_path_names_add(listing->names, name, listing->err);
    return listing->status == ATTN_OK;
}

enum attn_status attn_path_list(const char *path, struct attn_path_names *folder,
                                struct attn_error *err)
{
    struct listing listing = {folder, ATTN_OK, err};

    (void)attn_os_list(path, list_name, &listing);
    ATTN_SORT(folder->names, folder->n, compare_names);
    return listing.status;
}

static enum attn_status list_inner(const char *path, const char *inner,
                                   struct attn_path_names *names, struct attn_error *err)
{
    char folder[ATTN_PATH_SIZE], name[ATTN_PATH_SIZE];
    struct attn_path_names found = {0};
    enum attn_status status = ATTN_OK;

    if (attn_path_join(path, inner, folder))
        status = attn_path_list(folder, &found, err);
    for (size_t i = 0; i < found.n && status == ATTN_OK; i++)
        if (attn_path_join(inner, found.names[i], name))
            status = attn_path_names_add(names, name, err);
    attn_path_names_release(&found);
    return status;
}

enum attn_status attn_path_list_below(const char *path, int depth, struct attn_path_names *names,
                                      struct attn_error *err)
{
    enum attn_status status = attn_path_list(path, names, err);

    for (int level = 1; level < depth && status == ATTN_OK; level++) {
        struct attn_path_names above = *names;

        *names = (struct attn_path_names){0};
        for (size_t i = 0; i < above.n && status == ATTN_OK; i++)
            status = list_inner(path, above.names[i], names, err);
        attn_path_names_release(&above);
    }
    return status;
}

void attn_path_names_release(struct attn_path_names *folder)
{
    for (size_t i = 0; i < folder->n; i++)
        attn_free(folder->names[i]);
    attn_free(folder->names);
    *folder = (struct attn_path_names){0};
}

bool attn_path_is_folder(const char *path)
{
    return attn_os_kind(path) == ATTN_OS_FOLDER;
}

bool attn_path_join(const char *parent, const char *name, char path[ATTN_PATH_SIZE])
{
    const int size = snprintf(path, ATTN_PATH_SIZE, "%s/%s", parent, name);

    return size > 0 && size < ATTN_PATH_SIZE;
}

const char *attn_path_last(const char *path, size_t *size)
{
    size_t end = strlen(path), begin;

    while (end > 1 && attn_os_is_slash(path[end - 1]))
        end--;
    for (begin = end; begin > 0 && !attn_os_is_slash(path[begin - 1]);)
        begin--;
    *size = end - begin;
    return path + begin;
}

enum attn_status attn_path_full(const char *path, char full[ATTN_PATH_SIZE], struct attn_error *err)
{
    char *real = realpath(path, NULL);

    if (!real && errno == ENOMEM)
        return attn_error_no_memory(err);
    snprintf(full, ATTN_PATH_SIZE, "%s", real ? real : "");
    free(real);
    return ATTN_OK;
}

/* --- Targets --------------------------------------------------------------------------------- */

enum { MAX_LINKS = 40 }; /* the limit of Linux */

size_t attn_path_folder_length(const char *path)
{
    const char *slash = attn_os_last_slash(path);

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* Reads the type and mode of the folder of PATH. */
static bool stat_folder(const char *path, struct attn_os_info *info)
{
    char folder[PATH_MAX] = ".";
    const size_t length = attn_path_folder_length(path);

    if (length >= sizeof folder) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (length > 0) {
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    return attn_os_stat(folder, info) == 0;
}

enum attn_status attn_path_check_folder(const char *path, struct attn_error *err)
{
    struct attn_os_info folder;

    return stat_folder(path, &folder) ? ATTN_OK : attn_error_errno(err, "write", path, errno);
}

/* Examines target->path itself, without following a link. WANTED is the name that the user gave.
 * ATTN_IO if another user may have planted it. */
static enum attn_status look(struct attn_target *target, const char *wanted, struct attn_error *err)
{
    const struct attn_os_info *entry = &target->info;
    struct attn_os_info folder;

    target->exists = attn_os_stat_link(target->path, &target->info) == 0;
    if (!target->exists)
        return errno == ENOENT ? ATTN_OK : attn_error_errno(err, "write", wanted, errno);
    if (entry->kind == ATTN_OS_FOLDER || entry->user == attn_os_user() ||
        (stat_folder(target->path, &folder) && (!folder.is_shared || entry->user == folder.user)))
        return ATTN_OK;
    return attn_error_set(
        err, ATTN_IO,
        "cannot write '%s': it is another user's, in a folder that everyone may write to",
        attn_quote_string(target->path).text);
}

/* Replaces the link target->path by its target. */
static enum attn_status follow(struct attn_target *target, const char *wanted,
                               struct attn_error *err)
{
    char link[PATH_MAX];
    struct attn_buffer path = {0};
    const ptrdiff_t n = attn_os_read_link(target->path, link, sizeof link);

    if (n < 0 || (size_t)n == sizeof link)
        return attn_error_errno(err, "write", wanted, n < 0 ? errno : ENAMETOOLONG);
    if (n > 0 && !attn_os_is_absolute(link))
        attn_buffer_append(&path, target->path, attn_path_folder_length(target->path));
    attn_buffer_append(&path, link, (size_t)n);
    attn_free(target->path);
    return ATTN_NEW(target->path, attn_buffer_take(&path, err));
}

static enum attn_status follow_all(struct attn_target *target, const char *path,
                                   struct attn_error *err)
{
    ATTN_TRY(ATTN_NEW(target->path, attn_strndup(path, strlen(path), err)));
    ATTN_TRY(look(target, path, err));
    for (int n = 0; target->exists && target->info.kind == ATTN_OS_LINK; n++) {
        if (n == MAX_LINKS)
            return attn_error_errno(err, "write", path, ELOOP);
        ATTN_TRY(follow(target, path, err));
        ATTN_TRY(look(target, path, err));
    }
    /* Links in /proc/PID/fd to a pipe contain a description instead of a path. */
    if (!target->exists) {
        target->exists = attn_os_stat(path, &target->info) == 0;
        if (!target->exists && errno != ENOENT)
            return attn_error_errno(err, "write", path, errno);
    }
    return ATTN_OK;
}

enum attn_status attn_target_find(const char *path, struct attn_target *target,
                                  struct attn_error *err)
{
    struct attn_target found = {0};

    ATTN_RETURN_FILLED(follow_all(&found, path, err), target, found, attn_target_release);
}

const char *attn_path_kind_text(enum attn_os_kind kind)
{
    static const char *const texts[] = {
        [ATTN_OS_ABSENT] = "absent",   [ATTN_OS_FILE] = "a file", [ATTN_OS_FOLDER] = "a directory",
        [ATTN_OS_LINK] = "a link",     [ATTN_OS_PIPE] = "a FIFO", [ATTN_OS_SOCKET] = "a socket",
        [ATTN_OS_DEVICE] = "a device",
    };

    return texts[kind];
}

enum attn_status attn_path_check_plain(const char *path, struct attn_error *err)
{
    struct attn_os_info info;

    if (attn_os_stat_link(path, &info) != 0 || info.kind == ATTN_OS_FILE)
        return ATTN_OK;
    attn_error_set(err, ATTN_IO, "cannot write '%s': it is %s, expected a file",
                   attn_quote_string(path).text, attn_path_kind_text(info.kind));
    attn_error_hint(err, "choose another directory, or move it away");
    return ATTN_IO;
}

static enum attn_status look_in(struct attn_target *target, const char *directory, const char *name,
                                struct attn_error *err)
{
    struct attn_target folder;
    struct attn_buffer path = {0};

    ATTN_TRY(attn_target_find(directory, &folder, err));
    attn_target_release(&folder);
    attn_buffer_append_format(&path, "%s/%s", directory, name);
    ATTN_TRY(ATTN_NEW(target->path, attn_buffer_take(&path, err)));
    ATTN_TRY(look(target, target->path, err));
    return attn_path_check_plain(target->path, err);
}

enum attn_status attn_target_find_in(const char *directory, const char *name,
                                     struct attn_target *target, struct attn_error *err)
{
    struct attn_target found = {0};

    ATTN_RETURN_FILLED(look_in(&found, directory, name, err), target, found, attn_target_release);
}

bool attn_target_is_same(const struct attn_target *a, const struct attn_target *b)
{
    struct attn_os_info of_a = a->info, of_b = b->info;

    if (a->exists != b->exists)
        return false;
    if (a->exists && !(of_a.kind == ATTN_OS_FILE && of_b.kind == ATTN_OS_FILE))
        return false;
    if (!a->exists && (strcmp(a->path + attn_path_folder_length(a->path),
                              b->path + attn_path_folder_length(b->path)) != 0 ||
                       !stat_folder(a->path, &of_a) || !stat_folder(b->path, &of_b)))
        return false;
    return of_a.device == of_b.device && of_a.number == of_b.number;
}

void attn_target_release(struct attn_target *target)
{
    attn_free(target->path);
    *target = (struct attn_target){0};
}

bool attn_path_has_ending(const char *path, const char *ending)
{
    const size_t n = strlen(path), n_ending = strlen(ending);

    return n > n_ending && !attn_os_is_slash(path[n - n_ending - 1]) &&
           strcmp(path + n - n_ending, ending) == 0;
}
