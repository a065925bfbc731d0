/*
 * npz_writer.c - one uncompressed archive of NPY arrays.
 *
 * All sizes follow from the selection, so all offsets are known before the first number. If the
 * sink can seek, rows are written directly to their place, and the header of an array, which
 * contains the CRC, is written after the last row. To a pipe everything is written in order, with
 * the CRC after the numbers. In both cases, arrays whose rows are scattered ([T,H,E], emitted head
 * by head) are collected in memory first.
 */
#include "tensors/arrays.h"
#include "tensors/npz_archive.h"
#include "tensors/writer.h"

#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/sink_internal.h"

/* computing the CRC of so few bytes takes less time than waking a thread */
enum { FEW_BYTES = 128 * 1024 };

struct npz_writer {
    struct attn_array_writer array;
    struct attn_npz_archive npz;
    struct attn_npz_member *members; /* [array.arrays.n] owns */
};

/* A part of an array that is being written. */
struct npz_part {
    struct npz_writer *writer;
    struct attn_npz_member *member;
    size_t offset, size; /* place in the array's data */
    const void *bytes;
};

/* Writes the part (task 0), or in parallel adds it to the CRC (task 1) (attn_task_fn). */
static void write_part(void *context, size_t task, int worker)
{
    static const attn_npz_part_fn parts[] = {attn_npz_write, attn_npz_sum};
    const struct npz_part *part = context;

    (void)worker;
    parts[task](&part->writer->npz, part->member, part->offset, part->bytes, part->size);
}

/* Writes a part of an array to its place (attn_array_put_fn). */
static void put_part(struct attn_writer *writer, struct attn_array *array, size_t offset,
                     const void *bytes, size_t size)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct npz_part part = {w, &w->members[array - w->array.arrays.items], offset, size, bytes};

    attn_pool_run(size < FEW_BYTES ? NULL : writer->options.pool, 2, write_part, &part);
}

static enum attn_status end_member(struct attn_writer *writer, struct attn_array *array,
                                   struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    (void)err;
    attn_npz_complete(&w->npz, &w->members[array - w->array.arrays.items]);
    return ATTN_OK;
}

static enum attn_status open_npz(struct attn_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    writer->is_in_order = !attn_sink_is_seekable(writer->sink);
    attn_npz_begin(&w->npz, writer->is_in_order ? ATTN_NPZ_STREAMED : ATTN_NPZ_PLACED, writer->sink,
                   attn_sink_position(writer->sink));
    ATTN_TRY(attn_arrays_init(&w->array.arrays, writer, err));
    ATTN_TRY(ATTN_ALLOC(w->members, w->array.arrays.n, err));
    for (size_t i = 0; i < w->array.arrays.n; i++)
        ATTN_TRY(attn_npz_plan(&w->npz, w->array.arrays.items[i].name, &w->array.arrays.items[i],
                               &w->members[i], err));
    w->array.put = put_part, w->array.end = end_member;
    return attn_array_writer_begin(&w->array, err);
}

static enum attn_status finish_npz(struct attn_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    for (size_t i = 0; i < w->array.arrays.n; i++)
        attn_npz_list(&w->npz, &w->members[i]);
    return attn_npz_finish(&w->npz, 0, err);
}

static void release_npz(struct attn_writer *writer)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    attn_npz_release(&w->npz);
    attn_arrays_release(&w->array.arrays);
    attn_free(w->members);
}

const struct attn_format attn_npz_format = {
    .name = "npz",
    .holds_stacks = true,
    .argument = "FILE",
    .help = "write all tensors into one archive for numpy.load",
    .medium = ATTN_MEDIUM_BINARY,
    .title = "NPZ",
    .is_suggested = true,
    .holds_arrays = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct npz_writer),
            .open = open_npz,
            .event = attn_array_writer_event,
            .finish = finish_npz,
            .release = release_npz,
        },
};
