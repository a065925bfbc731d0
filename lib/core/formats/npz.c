/* npz.c - see npz.h. */
#include "formats/npz.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "formats/npy.h"
#include "formats/zip.h"

#include <stdio.h>
#include <string.h>

/* Finds the member NAME, or NAME.npy; NULL: there is none. */
static const struct attn_zip_member *find_member(const struct attn_zip *zip, const char *name)
{
    const size_t n = name ? strlen(name) : SIZE_MAX;

    for (size_t i = 0; i < zip->n; i++) {
        const struct attn_zip_member *member = &zip->members[i];
        const size_t n_more = member->n_name < n ? SIZE_MAX : member->n_name - n;

        if ((n_more == 0 || (n_more == 4 && memcmp(member->name + n, ".npy", 4) == 0)) &&
            memcmp(member->name, name, n) == 0)
            return member;
    }
    return NULL;
}

/* Copies the shape and the numbers of MEMBER of ZIP to ARRAY. */
static enum attn_status read_member(const struct attn_zip *zip,
                                    const struct attn_zip_member *member,
                                    struct attn_ndarray *array, struct attn_error *err)
{
    struct attn_file file = {.data = zip->file->data + member->begin,
                             .size = member->size,
                             .storage = ATTN_FILE_BORROWED,
                             .descriptor = -1};
    const size_t n_path = strlen(zip->file->path) + member->n_name + 2;
    struct attn_npy_file *npy;
    struct attn_tensor tensor;

    ATTN_TRY(ATTN_NEW(file.path, attn_alloc(n_path, 1, err))); /* for messages */
    snprintf(file.path, n_path, "%s/%.*s", zip->file->path, (int)member->n_name, member->name);
    ATTN_TRY(attn_npy_take(&file, ATTN_NPY_NUMBERS, &npy, err));
    tensor = attn_npy_tensor(npy);
    array->converted = attn_alloc_uninitialized(attn_npy_n_element(npy), sizeof(float), err);
    if (array->converted)
        attn_npy_read_floats(npy, array->converted);
    attn_npy_free(npy);
    array->data = array->converted;
    array->rank = tensor.rank;
    memcpy(array->shape, tensor.shape, sizeof array->shape);
    return array->data ? ATTN_OK : ATTN_NO_MEMORY;
}

enum attn_status attn_npz_read(const char *path, const char *name, const char *other,
                               struct attn_ndarray *array, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_zip zip = {0};
    const struct attn_zip_member *member;
    enum attn_status status;

    ATTN_TRY(attn_file_open(path, ATTN_READ, &file, err));
    status = attn_zip_read(&file, ".npz file", &zip, err);
    if (status == ATTN_UNSUPPORTED)
        attn_error_hint(err, "numpy.savez stores them, numpy.savez_compressed does not");
    member = find_member(&zip, name);
    member = member ? member : find_member(&zip, other);
    if (status == ATTN_OK && !member)
        status = attn_error_set(err, ATTN_INVALID, "'%s' has no array '%s'",
                                attn_quote_string(path).text, name);
    ATTN_THEN(status, read_member(&zip, member, array, err));
    attn_zip_release(&zip);
    attn_file_release(&file);
    return status;
}
