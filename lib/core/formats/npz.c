/* npz.c - see npz.h. */
#include "formats/npz.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/npy.h"
#include "formats/zip.h"

#include <string.h>

struct attn_npz {
    struct attn_file file;
    struct attn_zip zip;
    char **names; /* [zip.n] owns; without ".npy" */
};

static enum attn_status read_directory(struct attn_npz *npz, const char *path,
                                       struct attn_error *err)
{
    enum attn_status status;

    ATTN_TRY(attn_file_open(path, ATTN_READ, &npz->file, err));
    status = attn_zip_read(&npz->file, ".npz file", &npz->zip, err);
    if (status == ATTN_UNSUPPORTED)
        attn_error_hint(err, "numpy.savez stores them, numpy.savez_compressed does not");
    ATTN_TRY(status);
    ATTN_TRY(ATTN_ALLOC(npz->names, npz->zip.n, err));
    for (size_t i = 0; i < npz->zip.n; i++) {
        const struct attn_zip_member *member = &npz->zip.members[i];
        size_t n = member->n_name;

        if (n >= 4 && memcmp(member->name + n - 4, ".npy", 4) == 0)
            n -= 4;
        ATTN_TRY(ATTN_NEW(npz->names[i], attn_strndup(member->name, n, err)));
    }
    return ATTN_OK;
}

enum attn_status attn_npz_open(const char *path, struct attn_npz **npz, struct attn_error *err)
{
    struct attn_npz *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    ATTN_RETURN_MADE(read_directory(made, path, err), npz, made, attn_npz_free);
}

void attn_npz_free(struct attn_npz *npz)
{
    if (!npz)
        return;
    for (size_t i = 0; npz->names && i < npz->zip.n; i++)
        attn_free(npz->names[i]);
    attn_free(npz->names);
    attn_zip_release(&npz->zip);
    attn_file_release(&npz->file);
    attn_free(npz);
}

size_t attn_npz_n_member(const struct attn_npz *npz)
{
    return npz->zip.n;
}

const char *attn_npz_name(const struct attn_npz *npz, size_t i)
{
    return npz->names[i];
}

enum attn_status attn_npz_read(const struct attn_npz *npz, size_t i, struct attn_npy_file **npy,
                               struct attn_error *err)
{
    const struct attn_zip_member *member = &npz->zip.members[i];
    const size_t n_path = strlen(npz->file.path), n_name = strlen(npz->names[i]);
    struct attn_file file = {.data = npz->file.data + member->begin,
                             .size = member->size,
                             .storage = ATTN_FILE_BORROWED,
                             .descriptor = -1};

    file.path = attn_alloc(n_path + n_name + 6, 1, err); /* "all.npz/name.npy", for messages */
    if (!file.path)
        return ATTN_NO_MEMORY;
    memcpy(file.path, npz->file.path, n_path);
    file.path[n_path] = '/';
    memcpy(file.path + n_path + 1, npz->names[i], n_name);
    memcpy(file.path + n_path + 1 + n_name, ".npy", 4);
    return attn_npy_take(&file, ATTN_NPY_NUMBERS, npy, err);
}
