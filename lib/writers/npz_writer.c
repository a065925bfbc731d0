/*
 * npz_writer.c - one archive of NPY arrays, stored not compressed.
 *
 * All sizes follow from the selection, so all offsets are known before the first number. Where the
 * sink can seek, matrices and vectors go straight to their place, and their header, with the CRC,
 * is written when the last row has come. To a pipe everything goes out in order, the CRC after the
 * numbers. Arrays whose rows are scattered ([T,H,E], emitted head by head) are put together in
 * memory first, in both cases.
 */
#include "encode/numpy_file.h"
#include "writers/arrays.h"
#include "writers/writer.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/pool_internal.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"

#include <stdio.h>

enum { FEW_BYTES = 128 * 1024 }; /* the CRC of these takes less than to wake a thread */

/* The bytes of the archive around an array. */
struct npz_member {
    struct attn_zip_entry entry;
    uint32_t crc;    /* checksum of the pieces so far */
    bool has_header; /* on a pipe: it is written */
};

struct npz_writer {
    struct attn_writer base;
    struct attn_crc32 crc;
    struct attn_arrays arrays;
    struct npz_member *members; /* [arrays.n] owns */
    uint64_t begin;             /* where the archive begins in the sink */
    uint64_t end;               /* where the next member goes; finally the central headers */
};

static bool is_stream(const struct npz_writer *w)
{
    return w->base.is_in_order;
}

static struct npz_member *member_of(const struct npz_writer *w, const struct attn_array *array)
{
    return &w->members[array - w->arrays.items];
}

/* Decides where the member of an array lies. */
static enum attn_status plan_member(struct npz_writer *w, const struct attn_array *array,
                                    struct attn_error *err)
{
    struct npz_member *member = member_of(w, array);
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    char header[ATTN_NPY_HEADER_SIZE];
    size_t header_size = attn_npy_header(array->dtype, array->shape, array->rank, header);
    size_t around;

    snprintf(member->entry.name, sizeof member->entry.name, "%s.npy", array->name);
    member->entry.size = header_size + array->size;
    member->entry.offset = w->end;
    member->entry.is_described = is_stream(w);
    member->crc = attn_crc32_begin(member->entry.size) ^
                  attn_crc32_piece(&w->crc, header, header_size, array->size);
    around = attn_zip_local_header(&member->entry, record);
    if (is_stream(w))
        around += attn_zip_description(&member->entry, record);
    if (array->size > SIZE_MAX - header_size || __builtin_add_overflow(w->end, around, &w->end) ||
        __builtin_add_overflow(w->end, member->entry.size, &w->end))
        return attn_error_no_memory(err);
    return ATTN_OK;
}

/* Writes at OFFSET of the archive; to a pipe, where writes come in order, at its end. */
static void emit(struct npz_writer *w, uint64_t offset, const void *bytes, size_t size)
{
    if (is_stream(w))
        attn_sink_write(w->base.sink, bytes, size);
    else
        attn_sink_write_at(w->base.sink, w->begin + offset, bytes, size);
}

static void emit_headers(struct npz_writer *w, const struct attn_array *array)
{
    struct npz_member *member = member_of(w, array);
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    char header[ATTN_NPY_HEADER_SIZE];
    size_t record_size = attn_zip_local_header(&member->entry, record);

    emit(w, member->entry.offset, record, record_size);
    emit(w, member->entry.offset + record_size, header,
         attn_npy_header(array->dtype, array->shape, array->rank, header));
    member->has_header = true;
}

/* Part of an array on its way. */
struct npz_piece {
    struct npz_writer *writer;
    const struct attn_array *array;
    size_t offset, size; /* in the array's data */
    const void *bytes;
};

/* An attn_task_fn: writes the piece, or takes it into the CRC meanwhile. */
static void write_piece(void *context, size_t task, int worker)
{
    const struct npz_piece *piece = context;
    struct npz_writer *w = piece->writer;
    struct npz_member *member = member_of(w, piece->array);
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    const size_t array_size = piece->array->size;

    (void)worker;
    if (task == 0)
        emit(w,
             member->entry.offset + attn_zip_local_header(&member->entry, record) +
                 (member->entry.size - array_size) + piece->offset,
             piece->bytes, piece->size);
    else
        member->crc ^= attn_crc32_piece(&w->crc, piece->bytes, piece->size,
                                        array_size - piece->offset - piece->size);
}

/* Part of an array to its place; an attn_array_put_fn. */
static void put_piece(struct attn_writer *writer, struct attn_array *array, size_t offset,
                      const void *bytes, size_t size)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct npz_piece piece = {w, array, offset, size, bytes};

    if (is_stream(w) && !member_of(w, array)->has_header)
        emit_headers(w, array);
    attn_pool_run(size < FEW_BYTES ? NULL : writer->options.pool, 2, write_piece, &piece);
}

/* All of an array's numbers have come. */
static void complete_member(struct npz_writer *w, struct attn_array *array)
{
    struct npz_member *member = member_of(w, array);
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    if (array->data)
        put_piece(&w->base, array, 0, array->data, array->size);
    attn_array_drop(array);
    member->entry.crc = member->crc;
    if (is_stream(w))
        emit(w, 0, record, attn_zip_description(&member->entry, record));
    else
        emit_headers(w, array);
}

/* --- The format ---------------------------------------------------------------------------- */

static enum attn_status open_npz(struct attn_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    attn_crc32_init(&w->crc);
    writer->is_in_order = !attn_sink_is_seekable(writer->sink);
    w->begin = attn_sink_position(writer->sink);
    ATTN_TRY(attn_arrays_init(&w->arrays, writer, err));
    ATTN_TRY(ATTN_ALLOC(w->members, w->arrays.n, err));
    for (size_t i = 0; i < w->arrays.n; i++)
        ATTN_TRY(plan_member(w, &w->arrays.items[i], err));
    for (size_t i = 0; i < w->arrays.n_small; i++)
        complete_member(w, &w->arrays.items[i]);
    return ATTN_OK;
}

static enum attn_status event_npz(struct attn_writer *writer, const struct attn_trace_event *event,
                                  const struct attn_place *place, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    ATTN_TRY(attn_arrays_take(&w->arrays, writer, event, place, put_piece, err));
    if (place->is_last)
        complete_member(w, attn_arrays_find(&w->arrays, event));
    return ATTN_OK;
}

static enum attn_status finish_npz(struct attn_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    struct attn_buffer central = {0};
    enum attn_status status;

    for (size_t i = 0; i < w->arrays.n; i++)
        attn_buffer_append(&central, record, attn_zip_central_header(&w->members[i].entry, record));
    attn_buffer_append(&central, record, attn_zip_end(w->arrays.n, w->end, central.size, record));
    status = attn_buffer_check(&central, err);
    if (status == ATTN_OK)
        emit(w, w->end, central.data, central.size);
    attn_buffer_release(&central);
    return status;
}

static void release_npz(struct attn_writer *writer)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    attn_arrays_release(&w->arrays);
    attn_free(w->members);
}

const struct attn_format attn_npz_format = {
    .name = "npz",
    .holds_stacks = true,
    .argument = "FILE",
    .help = "write all tensors into one archive for numpy.load",
    .title = "NPZ",
    .is_suggested = true,
    .holds_arrays = true,
    .tensors =
        &(const struct attn_writer_ops){
            .size = sizeof(struct npz_writer),
            .open = open_npz,
            .event = event_npz,
            .finish = finish_npz,
            .release = release_npz,
        },
};
