#include "tensors/arrays.h"

#include "input/seen.h"
#include "tensors/labels_internal.h"
#include "tensors/token_text.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/utf8.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(float) == 4,
               "memory is written as it is, as '<f4'");

enum { STAGE_FLOATS = 1 << 16 }; /* 256 KiB */

/* Adds an array whose name, dtype, rank and shape are set, with elements of ELEMENT bytes. Takes
 * ownership of its data. */
static enum attn_status add(struct attn_arrays *arrays, struct attn_array array, size_t element,
                            struct attn_error *err)
{
    enum attn_status status =
        attn_grow(&arrays->items, &arrays->capacity, arrays->n + 1, sizeof array, err);

    array.size = element;
    for (int i = 0; i < array.rank && status == ATTN_OK; i++)
        if (!attn_checked_mul(array.size, array.shape[i], &array.size))
            status = attn_error_no_memory(err);
    if (status == ATTN_OK)
        arrays->items[arrays->n++] = array;
    else
        attn_free(array.data);
    return status;
}

/* --- The small arrays ---------------------------------------------------------------------- */

/* Adds an array of int64 [n], which the caller fills; NULL on failure, with ERR set. */
static int64_t *add_integers(struct attn_arrays *arrays, const char *name, size_t n,
                             struct attn_error *err)
{
    struct attn_array array = {.dtype = "<i8", .rank = 1, .shape = {n}};

    snprintf(array.name, sizeof array.name, "%s", name);
    array.data = attn_alloc(n, sizeof(int64_t), err);
    if (!array.data || add(arrays, array, sizeof(int64_t), err) != ATTN_OK)
        return NULL;
    return (int64_t *)(void *)array.data;
}

/* Adds a copy of VALUES [n]. */
static enum attn_status copy_integers(struct attn_arrays *arrays, const char *name,
                                      const int32_t *values, size_t n, struct attn_error *err)
{
    int64_t *integers = add_integers(arrays, name, n, err);

    for (size_t i = 0; integers && i < n; i++)
        integers[i] = values[i];
    return integers ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Adds a copy of VALUES [n], uint8. */
static enum attn_status add_bytes(struct attn_arrays *arrays, const char *name,
                                  const unsigned char *values, size_t n, struct attn_error *err)
{
    struct attn_array array = {.dtype = "|u1", .rank = 1, .shape = {n}};

    snprintf(array.name, sizeof array.name, "%s", name);
    ATTN_TRY(ATTN_NEW(array.data, attn_alloc(n, 1, err)));
    memcpy(array.data, values, n);
    return add(arrays, array, 1, err);
}

/* Writes TEXT as UTF-32 to OUT (NULL: only counts). Returns the number of code points. Escaped text
 * is valid UTF-8. */
static size_t put_code_points(const char *text, size_t size, uint32_t *out)
{
    size_t n = 0;

    for (size_t at = 0; at < size; n++) {
        uint32_t code_point;
        size_t length = attn_utf8_decode(text + at, size - at, &code_point);

        if (out)
            out[n] = code_point;
        at += length > 0 ? length : 1;
    }
    return n;
}

/* Adds the texts [n] as a numpy array of unicode, padded with zeros to the longest. */
static enum attn_status add_texts(struct attn_arrays *arrays, const char *name,
                                  const struct attn_token_texts *texts, struct attn_error *err)
{
    struct attn_array array = {.rank = 1, .shape = {texts->n}};
    size_t width = 1, size; /* numpy has no strings of length 0 */

    if (texts->n == 0)
        return ATTN_OK;
    for (size_t p = 0; p < texts->n; p++) {
        const char *text = attn_token_text(texts, p, &size);
        size_t n = put_code_points(text, size, NULL);

        width = n > width ? n : width;
    }
    ATTN_TRY(ATTN_NEW(array.data, attn_alloc(texts->n, width * sizeof(uint32_t), err)));
    for (size_t p = 0; p < texts->n; p++) {
        const char *text = attn_token_text(texts, p, &size);

        put_code_points(text, size, (uint32_t *)(void *)array.data + p * width);
    }
    snprintf(array.name, sizeof array.name, "%s", name);
    snprintf(array.dtype, sizeof array.dtype, "<U%zu", width);
    return add(arrays, array, width * sizeof(uint32_t), err);
}

/* Returns true if any site with heads is selected in the layer of AT. */
static bool wants_heads(const struct attn_writer *writer, struct attn_location at)
{
    for (at.site = 0; at.site < ATTN_N_SITE; at.site++)
        if (attn_site_has_heads(at.site) && attn_site_is_in_layer(at.site) &&
            attn_selection_wants(writer->labels.selection, &at))
            return true;
    return false;
}

/* Returns the number of heads per batch; all heads if there are no batches. */
static size_t n_batch_head(const struct attn_writer *writer)
{
    const size_t n_head = attn_selection_dims(writer->labels.selection)->n_head;

    return writer->labels.axes ? n_head / writer->labels.axes->n_batch : n_head;
}

/* Returns true if the same heads are selected in all batches, so that arrays can have an axis for
 * batches. */
static bool is_even(const struct attn_writer *writer)
{
    const struct attn_selection *selection = writer->labels.selection;
    const size_t n_head = attn_selection_dims(selection)->n_head, n = n_batch_head(writer);

    for (size_t head = n; head < n_head; head++) {
        const struct attn_location at = {.head = (int)head}, before = {.head = (int)(head - n)};

        if (attn_selection_has_head(selection, &at) != attn_selection_has_head(selection, &before))
            return false;
    }
    return true;
}

/* Adds blocks.L.heads, or heads: the query heads in the arrays of the layer of AT. */
static enum attn_status add_layer_heads(struct attn_arrays *arrays,
                                        const struct attn_writer *writer, struct attn_location at,
                                        struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;
    const int n_numbered =
        (int)(writer->labels.axes && is_even(writer) ? n_batch_head(writer)
                                                     : attn_writer_dims(writer, &at)->n_head);
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
    size_t n = 0;
    int64_t *heads;

    for (at.head = 0; at.head < n_numbered; at.head++)
        n += attn_selection_has_head(selection, &at);
    attn_location_archive_name(&at, name);
    snprintf(strstr(name, "attn.hook_pattern"), sizeof "heads", "heads");
    if (writer->labels.axes)
        snprintf(name, sizeof name, "heads");
    ATTN_TRY(ATTN_NEW(heads, add_integers(arrays, name, n, err)));
    for (at.head = 0; at.head < n_numbered; at.head++)
        if (attn_selection_has_head(selection, &at))
            *heads++ = at.head;
    return ATTN_OK;
}

/* Adds the arrays of add_layer_heads for the layers of both stacks, encoder layers last. */
static enum attn_status add_heads(struct attn_arrays *arrays, const struct attn_writer *writer,
                                  struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    const struct attn_dims *const stacks[] = {dims, dims->encoder};

    for (size_t i = 0; i < 2 && stacks[i] && !attn_selection_is_all_heads(selection); i++) {
        struct attn_location at = {.site = ATTN_SITE_PATTERN, .layer = ATTN_NO_LAYER};

        while (attn_dims_next_layer(stacks[i], &at))
            if (wants_heads(writer, at))
                ATTN_TRY(add_layer_heads(arrays, writer, at, err));
    }
    return ATTN_OK;
}

/* --- All of them --------------------------------------------------------------------------- */

/* Sets name, rank and shape to match the axes of the inputs. */
static void name_by_axes(struct attn_array *array, const struct attn_writer *writer,
                         const struct attn_location *at)
{
    const struct attn_array_axes *axes = writer->labels.axes;
    struct attn_extent extent = attn_writer_extent(writer, at);
    size_t *shape = array->shape;

    snprintf(array->name, sizeof array->name, "%s", attn_site_name(at->site));
    if (axes->rank == 4 && is_even(writer)) {
        *shape++ = axes->n_batch;
        *shape++ = extent.n_head / axes->n_batch;
    } else if (axes->rank > 2) {
        *shape++ = extent.n_head;
    }
    *shape++ = extent.n_row;
    *shape++ = extent.n_col;
    array->rank = (int)(shape - array->shape);
}

/* Puts an axis of N in front of the others. */
static void add_axis(struct attn_array *array, size_t n)
{
    memmove(array->shape + 1, array->shape, (size_t)array->rank * sizeof *array->shape);
    array->shape[0] = n;
    array->rank++;
}

/* Splits the rows [T, Hm * n] of a layer without attention into its heads, [T, Hm, n]. */
static void split_mixer(struct attn_array *array, const struct attn_dims *dims, enum attn_site site)
{
    const size_t n_head = attn_site_n_mixing_head(site, dims);

    if (n_head == 0 || !strstr(attn_site_shape_text(site), " Hm d"))
        return;
    array->shape[2] = array->shape[1] / n_head;
    array->shape[1] = n_head;
    array->rank = 3;
}

/* Gives ARRAY, of SITE, the axes of the pixels of IMAGE. */
static void split_pixels(struct attn_array *array, enum attn_site site,
                         const struct attn_picture_dims *image)
{
    if (site != ATTN_SITE_PIXEL_VALUES && site != ATTN_SITE_PIXEL_VALUES_GRAD)
        return;
    array->shape[0] = ATTN_PICTURE_N_CHANNEL;
    array->shape[1] = image->height;
    array->shape[2] = image->width;
    array->rank = 3;
    add_axis(array, image->n);
}

/* Adds the arrays of the tensor AT, one for each of several images that has it. */
static enum attn_status add_images(struct attn_arrays *arrays, const struct attn_writer *writer,
                                   const struct attn_location *at, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(writer->labels.selection);
    const struct attn_extent extent = attn_writer_extent(writer, at);
    const bool is_gradient = at->site == ATTN_SITE_PIXEL_VALUES_GRAD;
    struct attn_location named = *at;
    size_t size[2];

    named.site = is_gradient ? ATTN_SITE_PIXEL_VALUES : at->site;
    arrays->of_slot[attn_writer_slot(writer, at)] = arrays->n;
    for (size_t i = 0, row = 0; i < attn_dims_n_image(dims); i++) {
        struct attn_array array = {.dtype = "<f4", .rank = 3, .first_row = row};

        attn_site_image_size(at->site, attn_dims_image(dims, i), size);
        array.n_row = size[0] * size[1];
        array.shape[0] = extent.n_head;
        array.shape[1] = size[0], array.shape[2] = size[1];
        split_pixels(&array, at->site, attn_dims_image(dims, i));
        attn_location_archive_name(&named, array.name);
        snprintf(strchr(array.name, '\0'), sizeof ".4294967295_grad", ".%u%s", (unsigned)i,
                 is_gradient ? "_grad" : "");
        row += array.n_row;
        if (array.n_row > 0)
            ATTN_TRY(add(arrays, array, sizeof(float), err));
    }
    return ATTN_OK;
}

static enum attn_status add_site(struct attn_arrays *arrays, const struct attn_writer *writer,
                                 const struct attn_location *at, struct attn_error *err)
{
    const struct attn_selection *selection = writer->labels.selection;
    struct attn_array array = {.dtype = "<f4"};

    if (attn_array_is_of_image(writer, at->site))
        return add_images(arrays, writer, at, err);
    if (writer->labels.axes) {
        name_by_axes(&array, writer, at);
    } else {
        attn_location_archive_name(at, array.name);
        array.rank = attn_selection_shape(selection, at, array.shape);
        array.is_of_heads = attn_site_layout(at->site) == ATTN_LAYOUT_HEADS;
        split_mixer(&array, attn_selection_dims(selection), at->site);
        if (at->stack == ATTN_STACK_TOWER)
            add_axis(&array, attn_location_n_sequence(attn_selection_dims(selection), at));
        split_pixels(&array, at->site, &attn_selection_dims(selection)->picture);
    }
    arrays->of_slot[attn_writer_slot(writer, at)] = arrays->n;
    return add(arrays, array, sizeof(float), err);
}

/* Returns true if any token has a type other than 0. */
static bool has_types(const struct attn_labels *labels, size_t n)
{
    size_t p = 0;

    while (labels->types && p < n && labels->types[p] == 0)
        p++;
    return labels->types && p < n;
}

/* Adds all arrays. The caller releases TEXTS. */
static enum attn_status add_all(struct attn_arrays *arrays, struct attn_writer *writer,
                                struct attn_token_texts texts[2], struct attn_error *err)
{
    const struct attn_labels *labels = &writer->labels;
    int64_t *integers;

    ATTN_TRY(ATTN_ALLOC(arrays->of_slot, attn_writer_n_slot(writer), err));
    if (labels->ids)
        ATTN_TRY(copy_integers(arrays, "ids", labels->ids, writer->n_position, err));
    if (labels->region)
        ATTN_TRY(add_bytes(arrays, "region", labels->region, writer->n_position, err));
    if (attn_labels_prompt(labels) && attn_labels_prompt(labels)->n_image > 1)
        ATTN_TRY(copy_integers(arrays, "picture_of", attn_labels_prompt(labels)->image_of,
                               writer->n_position, err));
    if (has_types(labels, writer->n_position))
        ATTN_TRY(copy_integers(arrays, "types", labels->types, writer->n_position, err));
    if (labels->source_ids)
        ATTN_TRY(copy_integers(arrays, "source_ids", labels->source_ids,
                               attn_selection_dims(labels->selection)->n_source, err));
    ATTN_TRY(attn_token_texts_init(texts, &writer->labels, err));
    ATTN_TRY(add_texts(arrays, "tokens", &texts[0], err));
    ATTN_TRY(add_texts(arrays, "source_tokens", &texts[1], err));
    if (!attn_selection_is_all_queries(labels->selection,
                                       ATTN_STACK_ONLY)) { /* the queries of the rows of arrays */
        ATTN_TRY(ATTN_NEW(integers, add_integers(arrays, "queries", writer->n_query, err)));
        for (size_t i = 0; i < writer->n_query; i++)
            integers[i] = (int64_t)writer->queries[i];
    }
    ATTN_TRY(add_heads(arrays, writer, err));
    arrays->n_small = arrays->n;
    for (struct attn_selection_walk at = {0}; attn_selection_next(writer->labels.selection, &at);)
        ATTN_TRY(add_site(arrays, writer, &at.at, err));
    return ATTN_OK;
}

enum attn_status attn_arrays_init(struct attn_arrays *arrays, struct attn_writer *writer,
                                  struct attn_error *err)
{
    struct attn_token_texts texts[2] = {0};
    enum attn_status status;

    arrays->writer = writer;
    status = add_all(arrays, writer, texts, err);

    attn_token_texts_release(texts, 2);
    return status;
}

void attn_array_drop(struct attn_array *array)
{
    attn_free(array->data);
    array->data = NULL;
}

size_t attn_array_header(const struct attn_array *array, char out[ATTN_NPY_HEADER_SIZE])
{
    return attn_npy_header(array->dtype, array->shape, array->rank, 0, out);
}

void attn_arrays_release(struct attn_arrays *arrays)
{
    for (size_t i = 0; i < arrays->n; i++)
        attn_array_drop(&arrays->items[i]);
    attn_free(arrays->items);
    attn_free(arrays->of_slot);
    attn_free(arrays->stage);
}

/* --- Rows ---------------------------------------------------------------------------------- */

bool attn_array_is_scattered(const struct attn_writer *writer, enum attn_site site)
{
    const enum attn_site_layout layout = attn_site_layout(site);

    return attn_array_is_of_image(writer, site) ||
           (attn_site_has_heads(site) && layout != ATTN_LAYOUT_MATRIX &&
            layout != ATTN_LAYOUT_RANK && layout != ATTN_LAYOUT_HEADS &&
            (!writer->labels.axes || layout == ATTN_LAYOUT_VECTOR));
}

bool attn_array_is_of_image(const struct attn_writer *writer, enum attn_site site)
{
    return attn_dims_n_image(attn_selection_dims(writer->labels.selection)) > 1 &&
           attn_site_is_of_image(site);
}

struct attn_array *attn_arrays_find(const struct attn_arrays *arrays,
                                    const struct attn_trace_event *event)
{
    struct attn_array *array =
        &arrays->items[arrays->of_slot[attn_writer_slot(arrays->writer, &event->at)]];

    while (array->n_row > 0 && event->row0 >= array->first_row + array->n_row)
        array++;
    return array;
}

struct attn_array *attn_arrays_next(const struct attn_arrays *arrays,
                                    const struct attn_trace_event *event,
                                    const struct attn_array *array)
{
    const size_t first = arrays->of_slot[attn_writer_slot(arrays->writer, &event->at)];
    const size_t i = array ? (size_t)(array - arrays->items) + 1 : first;

    return i == first || (i < arrays->n && arrays->items[i].first_row > 0) ? &arrays->items[i]
                                                                           : NULL;
}

enum attn_status attn_arrays_gather(struct attn_arrays *arrays,
                                    const struct attn_trace_event *event,
                                    const struct attn_place *place, struct attn_error *err)
{
    struct attn_array *array = attn_arrays_find(arrays, event);
    struct attn_extent extent = place->extent;
    size_t first = (event->sequence * extent.n_row + place->row) * extent.n_head + place->head;

    if (!array->data)
        array->data = attn_alloc_uninitialized(array->size, 1, err);
    if (!array->data)
        return ATTN_NO_MEMORY;
    if (array->n_row > 0) { /* of an image */
        extent.n_head = 1;
        first = place->head * array->n_row + place->row - array->first_row;
    }
    for (size_t r = 0; r < event->n_row; r++)
        attn_event_copy_row(
            event, r, (float *)(void *)array->data + (first + r * extent.n_head) * extent.n_col,
            extent.n_col);
    return ATTN_OK;
}

/* Writes rows that are not scattered, in place or in pieces of at least 256 KiB. */
static enum attn_status stream(struct attn_array_writer *writer, struct attn_array *array,
                               const struct attn_trace_event *event, const struct attn_place *place,
                               struct attn_error *err)
{
    struct attn_arrays *arrays = &writer->arrays;
    size_t width = place->extent.n_col;
    size_t row_size = width * sizeof(float);
    const size_t n_head = place->extent.n_head, n_row = place->extent.n_row;
    size_t offset = ((event->sequence * n_head + place->head) * n_row + place->row) * row_size;
    size_t n_at_once = STAGE_FLOATS / width + 1, n;

    if (!event->keys && event->n_col == width && event->ld == width) {
        writer->put(&writer->base, array, offset, event->data, event->n_row * row_size);
        return ATTN_OK;
    }
    if (arrays->n_stage < n_at_once * width) {
        attn_free(arrays->stage);
        arrays->n_stage = 0;
        ATTN_TRY(ATTN_NEW(arrays->stage,
                          attn_alloc_uninitialized(n_at_once * width, sizeof(float), err)));
        arrays->n_stage = n_at_once * width;
    }
    for (size_t row = 0; row < event->n_row; row += n) {
        n = event->n_row - row < n_at_once ? event->n_row - row : n_at_once;
        for (size_t r = 0; r < n; r++)
            attn_event_copy_row(event, row + r, arrays->stage + r * width, width);
        writer->put(&writer->base, array, offset + row * row_size, arrays->stage, n * row_size);
    }
    return ATTN_OK;
}

/* Ends ARRAY, of which all numbers have arrived. */
static enum attn_status end_array(struct attn_array_writer *writer, struct attn_array *array,
                                  struct attn_error *err)
{
    if (array->data)
        writer->put(&writer->base, array, 0, array->data, array->size);
    attn_array_drop(array);
    return writer->end ? writer->end(&writer->base, array, err) : ATTN_OK;
}

enum attn_status attn_array_writer_begin(struct attn_array_writer *writer, struct attn_error *err)
{
    for (size_t i = 0; i < writer->arrays.n_small; i++) {
        if (writer->begin)
            ATTN_TRY(writer->begin(&writer->base, &writer->arrays.items[i], err));
        ATTN_TRY(end_array(writer, &writer->arrays.items[i], err));
    }
    return ATTN_OK;
}

enum attn_status attn_array_writer_event(struct attn_writer *writer,
                                         const struct attn_trace_event *event,
                                         const struct attn_place *place, struct attn_error *err)
{
    struct attn_array_writer *w = (struct attn_array_writer *)writer;
    struct attn_array *array = attn_arrays_find(&w->arrays, event);

    if (attn_array_is_of_image(writer, event->at.site)) {
        ATTN_TRY(attn_arrays_gather(&w->arrays, event, place, err));
        for (array = NULL;
             place->is_last && (array = attn_arrays_next(&w->arrays, event, array));) {
            if (w->begin)
                ATTN_TRY(w->begin(writer, array, err));
            ATTN_TRY(end_array(w, array, err));
        }
        return ATTN_OK;
    }
    if (w->begin)
        ATTN_TRY(w->begin(writer, array, err));
    ATTN_TRY(attn_array_is_scattered(writer, event->at.site)
                 ? attn_arrays_gather(&w->arrays, event, place, err)
                 : stream(w, array, event, place, err));
    return place->is_last ? end_array(w, array, err) : ATTN_OK;
}
