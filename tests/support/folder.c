/* folder.c - see folder.h. */
#include "tests/support/folder.h"

#include "tests/support/assert.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int home = -1; /* the working directory before */
static char folder[4096];

void attn_folder_enter(void)
{
    const char *base = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%s/attn-test-XXXXXX", base ? base : P_tmpdir);
    home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ck_assert_int_ge(home, 0);
    ck_assert_msg(mkdtemp(folder) && chdir(folder) == 0, "%s: %s", folder, strerror(errno));
}

/* Calls VISIT, if any, for every entry of the working directory; returns how many there are. */
static size_t visit_entries(int (*visit)(const char *path))
{
    DIR *entries = opendir(".");
    struct dirent *entry;
    size_t n = 0;

    ck_assert_ptr_nonnull(entries);
    while ((entry = readdir(entries))) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        n++;
        if (visit)
            ck_assert_msg(visit(entry->d_name) == 0, "%s: %s", entry->d_name, strerror(errno));
    }
    closedir(entries);
    return n;
}

void attn_folder_leave(void)
{
    visit_entries(remove);
    ck_assert_int_eq(fchdir(home), 0);
    close(home);
    ck_assert_int_eq(rmdir(folder), 0);
}

size_t attn_folder_count(void)
{
    return visit_entries(NULL);
}

void attn_folder_write(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

void attn_folder_assert(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    char *found = malloc(size + 1);

    ck_assert_msg(file && found, "%s: %s", path, strerror(errno));
    ck_assert_msg(fread(found, 1, size + 1, file) == size, "%s does not have %zu bytes", path,
                  size);
    ck_assert_msg(memcmp(found, bytes, size) == 0, "%s has other bytes", path);
    fclose(file);
    free(found);
}
