/* path.c - see path.h. */
#include "base/path.h"

#include "base/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum attn_status add(struct attn_path_names *folder, const char *name,
                            struct attn_error *err)
{
    void *names = folder->names;
    const enum attn_status status =
        attn_grow(&names, &folder->capacity, folder->n + 1, sizeof *folder->names, err);
    char *copy;

    folder->names = names;
    if (status != ATTN_OK)
        return status;
    copy = attn_strndup(name, strlen(name), err);
    if (!copy)
        return ATTN_NO_MEMORY;
    folder->names[folder->n++] = copy;
    return ATTN_OK;
}

enum attn_status attn_path_list(const char *path, struct attn_path_names *folder,
                                struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    struct dirent *entry;
    DIR *stream = opendir(path);

    if (!stream)
        return ATTN_OK;
    while (status == ATTN_OK && (entry = readdir(stream)))
        if (entry->d_name[0] != '.')
            status = add(folder, entry->d_name, err);
    closedir(stream);
    if (folder->n > 1)
        qsort(folder->names, folder->n, sizeof *folder->names, compare_names);
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
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

bool attn_path_join(const char *parent, const char *name, char path[ATTN_PATH_SIZE])
{
    const int size = snprintf(path, ATTN_PATH_SIZE, "%s/%s", parent, name);

    return size > 0 && size < ATTN_PATH_SIZE;
}

const char *attn_path_last(const char *path, size_t *size)
{
    size_t end = strlen(path), begin;

    while (end > 1 && path[end - 1] == '/')
        end--;
    for (begin = end; begin > 0 && path[begin - 1] != '/';)
        begin--;
    *size = end - begin;
    return path + begin;
}
