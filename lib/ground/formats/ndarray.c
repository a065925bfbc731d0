#include "formats/tensor_files_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/given.h"
#include "formats/npy.h"

#include <math.h>
#include <string.h>

size_t attn_ndarray_n_element(const struct attn_ndarray *array)
{
    size_t n = array->rank > 0;

    for (int i = 0; i < array->rank; i++)
        n *= array->shape[i];
    return n;
}

struct attn_not_finite attn_ndarray_not_finite(const struct attn_ndarray *array)
{
    const size_t n_element = attn_ndarray_n_element(array);
    struct attn_not_finite found = {0};

    for (size_t i = 0; i < n_element; i++) {
        found.n_nan += isnan(array->data[i]) != 0;
        found.n_above += array->data[i] == INFINITY;
        found.n_below += array->data[i] == -INFINITY;
    }
    return found;
}

static enum attn_status check(const struct attn_npy_file *npy, int rank_min, int rank_max,
                              const char *axes, struct attn_error *err)
{
    const struct attn_quote path = attn_quote_string(attn_npy_path(npy));
    const struct attn_tensor tensor = attn_npy_tensor(npy);
    const enum attn_dtype dtype = tensor.dtype;
    char shape[ATTN_SHAPE_TEXT_SIZE];

    attn_shape_text(tensor.rank, tensor.shape, shape);
    if (dtype != ATTN_DTYPE_F16 && dtype != ATTN_DTYPE_F32 && dtype != ATTN_DTYPE_F64) {
        attn_error_set(err, ATTN_INVALID, "'%s' holds %s, expected float32, float64 or float16",
                       path.text, attn_npy_dtype_name(npy));
        return attn_error_hint(err, "np.save('FILE.npy', array.astype('float32')) writes floats");
    }
    if (tensor.rank < rank_min || tensor.rank > rank_max)
        return attn_error_set(err, ATTN_INVALID, "'%s' has the shape %s, expected %s", path.text,
                              shape, axes);
    if (attn_npy_n_element(npy) == 0)
        return attn_error_set(err, ATTN_INVALID, "'%s' has the shape %s and so no numbers",
                              path.text, shape);
    return ATTN_OK;
}

/* Sets the shape and the data of ARRAY from its file: the data stay in the file if they are float32
 * already, else they are converted. */
static enum attn_status read_array(struct attn_ndarray *array, int rank_min, int rank_max,
                                   const char *axes, struct attn_error *err)
{
    ATTN_TRY(check(array->file, rank_min, rank_max, axes, err));
    array->rank = attn_npy_tensor(array->file).rank;
    memcpy(array->shape, attn_npy_tensor(array->file).shape, sizeof array->shape);
    array->data = attn_npy_floats_in_place(array->file);
    if (array->data)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(array->converted, attn_alloc_uninitialized(attn_npy_n_element(array->file),
                                                                 sizeof(float), err)));
    attn_npy_read_floats(array->file, array->converted);
    array->data = array->converted;
    attn_npy_free(array->file);
    array->file = NULL;
    return ATTN_OK;
}

enum attn_status attn_ndarray_read(const char *path, int rank_min, int rank_max, const char *axes,
                                   struct attn_ndarray *array, struct attn_error *err)
{
    struct attn_ndarray found = {.name = path};

    ATTN_NEED(err, path, axes, array);
    ATTN_TRY(attn_npy_open(path, ATTN_READ, ATTN_NPY_FLOATS, &found.file, err));
    ATTN_RETURN_FILLED(read_array(&found, rank_min, rank_max, axes, err), array, found,
                       attn_ndarray_release);
}

enum attn_status attn_ndarray_take(const char *path, struct attn_npy_file **npy, int rank,
                                   const char *axes, struct attn_ndarray *array,
                                   struct attn_error *err)
{
    struct attn_ndarray found = {.name = path, .file = *npy};
    const enum attn_status status = read_array(&found, rank, rank, axes, err);

    *npy = NULL;
    ATTN_RETURN_FILLED(status, array, found, attn_ndarray_release);
}

void attn_ndarray_release(struct attn_ndarray *array)
{
    if (!array)
        return;
    attn_npy_free(array->file);
    attn_free(array->converted);
    *array = (struct attn_ndarray){0};
}

enum attn_status attn_mask_array_open(const char *path, struct attn_mask_array *mask,
                                      struct attn_error *err)
{
    struct attn_mask_array found = {.name = path};

    ATTN_NEED(err, path, mask);
    ATTN_TRY(attn_npy_open(path, ATTN_READ, ATTN_NPY_NUMBERS, &found.file, err));
    found.rank = attn_npy_tensor(found.file).rank;
    memcpy(found.shape, attn_npy_tensor(found.file).shape, sizeof found.shape);
    *mask = found;
    return ATTN_OK;
}

enum attn_status attn_mask_array_cells(const struct attn_mask_array *mask, unsigned char *cells,
                                       struct attn_error *err)
{
    size_t n = 1;

    if (mask->file)
        return attn_npy_read_cells(mask->file, cells, err);
    for (int i = 0; i < mask->rank; i++)
        n *= mask->shape[i];
    memcpy(cells, mask->cells, n);
    return ATTN_OK;
}

void attn_mask_array_release(struct attn_mask_array *mask)
{
    if (!mask)
        return;
    attn_npy_free(mask->file);
    *mask = (struct attn_mask_array){0};
}
