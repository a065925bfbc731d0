/*
 * array.c - reads arrays of floats.
 *
 * Files are read, not mapped: what others do to them meanwhile changes nothing. Arrays that are
 * float32 already are used where they were read to.
 */
#include "array.h"

#include "command.h"
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check(const struct attn_npy_file *npy, int rank_min, int rank_max, const char *axes)
{
    const char *path = attn_npy_path(npy);
    enum attn_dtype dtype = attn_npy_dtype(npy);
    char shape[ATTN_NPY_SHAPE_TEXT_SIZE];
    int rank = attn_npy_rank(npy);
    attn_npy_shape_text(npy, shape);
    if (dtype != ATTN_DTYPE_F16 && dtype != ATTN_DTYPE_F32 && dtype != ATTN_DTYPE_F64)
        return report_problem(
            EXIT_INPUT, "np.save('FILE.npy', array.astype('float32')) writes floats",
            "'%s' holds %s, expected float32, float64 or float16", path, attn_npy_dtype_name(npy));
    if (rank < rank_min || rank > rank_max)
        return report_problem(EXIT_INPUT, NULL, "'%s' has the shape %s, expected %s", path, shape,
                              axes);
    if (attn_npy_n_element(npy) == 0)
        return report_problem(EXIT_INPUT, NULL, "'%s' has the shape %s and so no numbers", path,
                              shape);
    return EXIT_DONE;
}

static int find_data(struct array *array)
{
    array->data = attn_npy_floats_in_place(array->npy);
    if (array->data)
        return EXIT_DONE;
    array->converted = calloc(array->n, sizeof(*array->converted));
    if (!array->converted)
        return report_no_memory();
    attn_npy_read_floats(array->npy, array->converted);
    array->data = array->converted;
    attn_npy_close(array->npy);
    array->npy = NULL;
    return EXIT_DONE;
}

int array_read(const char *path, int rank_min, int rank_max, const char *axes, struct array *array)
{
    struct attn_error err = {0};
    array->path = path;
    if (attn_npy_open(path, ATTN_READ, &array->npy, &err) != ATTN_OK)
        return report(&err, EXIT_INPUT);
    int code = check(array->npy, rank_min, rank_max, axes);
    if (code != EXIT_DONE)
        return code;
    array->rank = attn_npy_rank(array->npy);
    array->n = attn_npy_n_element(array->npy);
    memcpy(array->shape, attn_npy_shape(array->npy), sizeof(array->shape));
    return find_data(array);
}

void array_release(struct array *array)
{
    attn_npy_close(array->npy);
    free(array->converted);
    *array = (struct array){0};
}

size_t array_n_nan(const struct array *array)
{
    size_t n = 0;
    for (size_t i = 0; i < array->n; i++)
        n += isnan(array->data[i]) != 0;
    return n;
}

bool array_is_finite(const struct array *array)
{
    size_t n = 0;
    while (n < array->n && isfinite(array->data[n]))
        n++;
    return n == array->n;
}

struct array_shape array_shape(const struct array *array)
{
    struct array_shape shape;
    size_t n = 0;
    for (int i = 0; i < array->rank; i++)
        n += (size_t)snprintf(shape.text + n, sizeof(shape.text) - n, i > 0 ? ", %zu" : "[%zu",
                              array->shape[i]);
    snprintf(shape.text + n, sizeof(shape.text) - n, "]");
    return shape;
}
