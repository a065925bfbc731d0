/*
 * arrays.h - a run as numpy arrays: their names and shapes, and where the rows of an event belong
 * in them. NPZ, NPY and JSON contain the same arrays under the same names.
 *
 * First come small arrays with their data: ids, tokens, source_tokens; and if queries or heads were
 * selected, queries and blocks.L.heads (`heads` for attention on arrays). Then comes one array for
 * each selected site, whose rows arrive with events.
 */
#pragma once

#include "formats/numpy_file.h"
#include "tensors/writer.h"

struct attn_array {
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE]; /* "blocks.0.attn.hook_pattern" */
    char dtype[24];                         /* "<f4", "<i8", "<U7" */
    int rank;
    /* each row has one number per head, and rows of the array are these numbers */
    bool is_of_heads;
    size_t shape[ATTN_NPY_RANK_MAX];
    /* of one of several images: the rows of its tensor that it has; else 0 */
    size_t first_row, n_row;
    size_t size;         /* bytes of data */
    unsigned char *data; /* [size] owns; for sites NULL until rows are gathered */
};

/* Initialize with = {0}; end with attn_arrays_release, after a failed _init too. */
struct attn_arrays {
    struct attn_array *items; /* [n] owns */
    size_t n, capacity;
    size_t n_small;                   /* number of small arrays, which come first and have data */
    size_t *of_slot;                  /* [slot] owns; index of a site's array */
    const struct attn_writer *writer; /* borrowed */
    float *stage;                     /* [n_stage] owns; buffer for rows */
    size_t n_stage;
};

enum attn_status attn_arrays_init(struct attn_arrays *arrays, struct attn_writer *writer,
                                  struct attn_error *err);
void attn_arrays_release(struct attn_arrays *arrays);

/* Returns the array of EVENT. */
struct attn_array *attn_arrays_find(const struct attn_arrays *arrays,
                                    const struct attn_trace_event *event);

/* Returns the array after ARRAY, or the first if that is NULL, of the tensor of EVENT, which has
 * one for each of several images; NULL after the last. */
struct attn_array *attn_arrays_next(const struct attn_arrays *arrays,
                                    const struct attn_trace_event *event,
                                    const struct attn_array *array);

/* Returns true if each of several images has an array of SITE. */
bool attn_array_is_of_image(const struct attn_writer *writer, enum attn_site site);

/* Returns true if the rows of a head are scattered in the array, as in [T, H, E]. Such arrays are
 * small. */
bool attn_array_is_scattered(const struct attn_writer *writer, enum attn_site site);

/* Copies scattered rows of an event to the array's data, which is allocated if needed. */
enum attn_status attn_arrays_gather(struct attn_arrays *arrays,
                                    const struct attn_trace_event *event,
                                    const struct attn_place *place, struct attn_error *err);

void attn_array_drop(struct attn_array *array); /* frees the data */

/* Writes the NPY header of ARRAY to OUT (attn_npy_header). */
size_t attn_array_header(const struct attn_array *array, char out[ATTN_NPY_HEADER_SIZE]);

/* Writes SIZE bytes that belong at OFFSET of the array's data. */
typedef void (*attn_array_put_fn)(struct attn_writer *writer, struct attn_array *array,
                                  size_t offset, const void *bytes, size_t size);

typedef enum attn_status (*attn_array_fn)(struct attn_writer *writer, struct attn_array *array,
                                          struct attn_error *err);

/* The struct of a binary format begins with this one. `open` sets the functions. */
struct attn_array_writer {
    struct attn_writer base;
    struct attn_arrays arrays;
    attn_array_fn begin; /* called before each part of an array; or NULL */
    attn_array_put_fn put;
    attn_array_fn end; /* called after the last part; or NULL */
};

/* Writes the small arrays. */
enum attn_status attn_array_writer_begin(struct attn_array_writer *writer, struct attn_error *err);

/* Writes the rows of an event; those of scattered arrays after the last one (attn_writer_ops). */
enum attn_status attn_array_writer_event(struct attn_writer *writer,
                                         const struct attn_trace_event *event,
                                         const struct attn_place *place, struct attn_error *err);
