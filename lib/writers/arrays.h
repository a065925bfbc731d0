/*
 * arrays.h - a run as numpy arrays: their names and shapes, and the places of an event's rows in
 * them. NPZ, NPY and JSON hold the same arrays under the same names.
 *
 * First the small ones, with their data: ids, tokens, source_tokens, queries and blocks.L.heads
 * when these were narrowed (`heads` of attention on arrays). Then one array for each wanted site,
 * whose rows come with events.
 */
#ifndef ATTN_WRITERS_ARRAYS_H
#define ATTN_WRITERS_ARRAYS_H

#include "encode/numpy_file.h"
#include "writers/writer.h"

struct attn_array {
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE]; /* "blocks.0.attn.hook_pattern" */
    char dtype[24];                         /* "<f4", "<i8", "<U7" */
    int rank;
    bool is_of_heads; /* a number a head and row: rows of it are numbers */
    size_t shape[ATTN_NPY_RANK_MAX];
    size_t size;         /* bytes of the data */
    unsigned char *data; /* [size] owns; of sites NULL until rows are gathered */
};

/* Initialize with = {0}; end with attn_arrays_release, after a failed _init too. */
struct attn_arrays {
    struct attn_array *items; /* [n] owns */
    size_t n, capacity;
    size_t n_small;                   /* the first of them, which have data */
    size_t *of_slot;                  /* [slot] owns; the array of a site */
    const struct attn_writer *writer; /* borrowed */
    float *stage;                     /* [n_stage] owns; rows on their way */
    size_t n_stage;
};

enum attn_status attn_arrays_init(struct attn_arrays *arrays, struct attn_writer *writer,
                                  struct attn_error *err);
void attn_arrays_release(struct attn_arrays *arrays);

static inline struct attn_array *attn_arrays_find(const struct attn_arrays *arrays,
                                                  const struct attn_trace_event *event)
{
    return &arrays->items[arrays->of_slot[attn_writer_slot(arrays->writer, &event->at)]];
}

/* Whether the rows of a head are scattered in the array, as in [T, H, E]. Such arrays are small. */
bool attn_array_is_scattered(const struct attn_writer *writer, enum attn_site site);

/* Copies scattered rows of an event into the array's data, which it allocates. */
enum attn_status attn_arrays_gather(struct attn_arrays *arrays,
                                    const struct attn_trace_event *event,
                                    const struct attn_place *place, struct attn_error *err);

void attn_array_drop(struct attn_array *array); /* frees the data */

/* Writes the NPY header of ARRAY to OUT (attn_npy_header). */
size_t attn_array_header(const struct attn_array *array, size_t least,
                         char out[ATTN_NPY_HEADER_SIZE]);

/* SIZE bytes that belong at OFFSET of the array's data. */
typedef void (*attn_array_put_fn)(struct attn_writer *writer, struct attn_array *array,
                                  size_t offset, const void *bytes, size_t size);

/* Takes the rows of an event: gathers scattered rows, hands others to PUT. */
enum attn_status attn_arrays_take(struct attn_arrays *arrays, struct attn_writer *writer,
                                  const struct attn_trace_event *event,
                                  const struct attn_place *place, attn_array_put_fn put,
                                  struct attn_error *err);

#endif
