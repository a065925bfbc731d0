/* record_arrays.c - see record_arrays.h. A dummy writer lists the arrays; the place of their rows
 * in the capture follows from the site. */
#include "stream/record_arrays.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "tensors/format_internal.h"
#include "trace/capture.h"

/* A dummy writer that only lists its arrays. */
struct list {
    struct attn_writer base;
    struct attn_arrays arrays;
};

/* The captured tensor behind an array. */
struct tensor {
    struct attn_location at;
    bool is_scattered; /* stored as [T, H, n], but [H, T, n] in the capture */
};

struct attn_record_arrays {
    const struct attn_capture *capture;
    struct attn_writer *writer; /* owns; a struct list */
    struct tensor *tensors;     /* owns; [n - n_small] */
    size_t n_tensor;            /* number of tensors listed so far */
    int32_t *keys;              /* owns; [n_column] columns of the visible cells of a row */
    float *values;              /* owns; [n_column] numbers in these cells */
    size_t n_column;            /* columns of the widest tensor */
};

static enum attn_status open_list(struct attn_writer *writer, struct attn_error *err)
{
    return attn_arrays_init(&((struct list *)writer)->arrays, writer, err);
}

static void release_list(struct attn_writer *writer)
{
    attn_arrays_release(&((struct list *)writer)->arrays);
}

static const struct attn_writer_ops list_ops = {
    .size = sizeof(struct list),
    .open = open_list,
    .release = release_list,
};

static const struct attn_format list_format = {
    .name = "list",
    .title = "list",
    .tensors = &list_ops,
};

static const struct attn_arrays *arrays_of(const struct attn_record_arrays *arrays)
{
    return &((const struct list *)(const void *)arrays->writer)->arrays;
}

/* Lists the tensors in the order of the arrays. */
static void list_tensors(struct attn_record_arrays *arrays)
{
    for (struct attn_selection_walk at = {0};
         attn_selection_next(arrays->writer->labels.selection, &at);) {
        struct attn_array *array =
            &arrays_of(arrays)->items[arrays_of(arrays)->n_small + arrays->n_tensor];
        const size_t n_column = array->shape[array->rank - 1];

        array->is_of_heads = false; /* a row has numbers of all positions */
        arrays->tensors[arrays->n_tensor++] =
            (struct tensor){at.at, attn_array_is_scattered(arrays->writer, at.at.site)};
        arrays->n_column = n_column > arrays->n_column ? n_column : arrays->n_column;
    }
}

static enum attn_status build(const struct attn_item_result *result,
                              struct attn_record_arrays *made, struct attn_error *err)
{
    made->capture = result->capture;
    ATTN_TRY(attn_writer_create_sink(&list_format, NULL, result->labels, NULL, &made->writer, err));
    ATTN_TRY(ATTN_ALLOC(made->tensors, arrays_of(made)->n, err));
    list_tensors(made);
    ATTN_TRY(ATTN_ALLOC(made->keys, made->n_column, err));
    return ATTN_ALLOC(made->values, made->n_column, err);
}

enum attn_status attn_record_arrays_create(const struct attn_item_result *result,
                                           struct attn_record_arrays **arrays,
                                           struct attn_error *err)
{
    struct attn_record_arrays *made;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    ATTN_RETURN_MADE(build(result, made, err), arrays, made, attn_record_arrays_free);
}

void attn_record_arrays_free(struct attn_record_arrays *arrays)
{
    if (!arrays)
        return;
    attn_writer_free(arrays->writer);
    attn_free(arrays->tensors);
    attn_free(arrays->keys);
    attn_free(arrays->values);
    attn_free(arrays);
}

size_t attn_record_arrays_n(const struct attn_record_arrays *arrays)
{
    return arrays_of(arrays)->n;
}

const struct attn_array *attn_record_array(const struct attn_record_arrays *arrays, size_t i)
{
    return &arrays_of(arrays)->items[i];
}

const struct attn_location *attn_record_array_at(const struct attn_record_arrays *arrays, size_t i)
{
    return i < arrays_of(arrays)->n_small ? NULL
                                          : &arrays->tensors[i - arrays_of(arrays)->n_small].at;
}

bool attn_record_site_has_keys(enum attn_site site)
{
    const enum attn_site_layout layout = attn_site_layout(site);

    return layout != ATTN_LAYOUT_VECTOR && layout != ATTN_LAYOUT_QUERY &&
           layout != ATTN_LAYOUT_KEY && !attn_site_has_own_rows(site);
}

/* Returns the index of the first number of row R of array I in the captured tensor. */
static size_t find_row(const struct attn_record_arrays *arrays, size_t i, size_t r)
{
    const size_t *shape = attn_record_array(arrays, i)->shape;

    if (arrays->tensors[i - arrays_of(arrays)->n_small].is_scattered)
        r = r % shape[1] * shape[0] + r / shape[1];
    return r * shape[attn_record_array(arrays, i)->rank - 1];
}

const float *attn_record_array_rows(const struct attn_record_arrays *arrays, size_t i, size_t r,
                                    size_t *n_row)
{
    const struct tensor *tensor = &arrays->tensors[i - arrays_of(arrays)->n_small];
    const struct attn_array *array = attn_record_array(arrays, i);

    *n_row =
        tensor->is_scattered ? 1 : array->size / sizeof(float) / array->shape[array->rank - 1] - r;
    return attn_capture_tensor(arrays->capture, &tensor->at) + find_row(arrays, i, r);
}

struct attn_row attn_record_array_cells(const struct attn_record_arrays *arrays, size_t i, size_t r)
{
    const struct tensor *tensor = &arrays->tensors[i - arrays_of(arrays)->n_small];
    const struct attn_array *array = attn_record_array(arrays, i);
    const size_t first = find_row(arrays, i, r);
    size_t n_row;
    const float *values = attn_record_array_rows(arrays, i, r, &n_row);
    struct attn_row row = {.values = arrays->values, .keys = arrays->keys};

    for (size_t key = 0; key < array->shape[array->rank - 1]; key++)
        if (attn_capture_has_cell(arrays->capture, &tensor->at, first + key)) {
            arrays->keys[row.n] = (int32_t)key;
            arrays->values[row.n++] = values[key];
        }
    return row;
}
