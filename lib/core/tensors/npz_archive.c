#include "tensors/npz_archive.h"

#include "base/sink_internal.h"
#include "base/status_internal.h"

#include <stdio.h>

void attn_npz_begin(struct attn_npz_archive *npz, enum attn_npz_order order, struct attn_sink *sink,
                    uint64_t begin)
{
    *npz = (struct attn_npz_archive){
        .order = order, .sink = sink, .begin = begin, .end = attn_sink_position(sink) - begin};
    attn_crc32_init(&npz->crc);
}

void attn_npz_release(struct attn_npz_archive *npz)
{
    attn_buffer_release(&npz->central);
}

/* Writes at OFFSET of the archive; unless the order is PLACED, appends to the sink. */
static void emit(struct attn_npz_archive *npz, uint64_t offset, const void *bytes, size_t size)
{
    if (npz->order == ATTN_NPZ_PLACED)
        attn_sink_write_at(npz->sink, npz->begin + offset, bytes, size);
    else
        attn_sink_write(npz->sink, bytes, size);
}

enum attn_status attn_npz_plan(struct attn_npz_archive *npz, const char *name,
                               const struct attn_array *array, struct attn_npz_member *member,
                               struct attn_error *err)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    char header[ATTN_NPY_HEADER_SIZE];
    const size_t n_header = attn_array_header(array, header);
    struct attn_zip_entry *entry = &member->entry;
    size_t around;

    *member = (struct attn_npz_member){.array = array};
    snprintf(entry->name, sizeof entry->name, "%s.npy", name);
    entry->size = n_header + array->size;
    entry->offset = npz->end;
    entry->is_described = npz->order == ATTN_NPZ_STREAMED;
    member->crc =
        attn_crc32_begin(entry->size) ^ attn_crc32_piece(&npz->crc, header, n_header, array->size);
    around = attn_zip_local_header(entry, record);
    member->data_at = entry->offset + around + n_header;
    if (entry->is_described)
        around += attn_zip_description(entry, record);
    if (array->size > SIZE_MAX - n_header || __builtin_add_overflow(npz->end, around, &npz->end) ||
        __builtin_add_overflow(npz->end, entry->size, &npz->end))
        return attn_error_no_memory(err);
    return ATTN_OK;
}

/* Writes the two headers that precede the data. */
static void emit_headers(struct attn_npz_archive *npz, struct attn_npz_member *member)
{
    const struct attn_array *array = member->array;
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    char header[ATTN_NPY_HEADER_SIZE];
    size_t n_record;

    if (npz->order != ATTN_NPZ_STREAMED)
        member->entry.crc = member->crc;
    n_record = attn_zip_local_header(&member->entry, record);
    emit(npz, member->entry.offset, record, n_record);
    emit(npz, member->entry.offset + n_record, header, attn_array_header(array, header));
    member->has_headers = true;
}

void attn_npz_sum(struct attn_npz_archive *npz, struct attn_npz_member *member, size_t offset,
                  const void *bytes, size_t size)
{
    member->crc ^= attn_crc32_piece(&npz->crc, bytes, size, member->array->size - offset - size);
}

void attn_npz_write(struct attn_npz_archive *npz, struct attn_npz_member *member, size_t offset,
                    const void *bytes, size_t size)
{
    if (npz->order != ATTN_NPZ_PLACED && !member->has_headers)
        emit_headers(npz, member);
    emit(npz, member->data_at + offset, bytes, size);
}

void attn_npz_complete(struct attn_npz_archive *npz, struct attn_npz_member *member)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    if (!member->has_headers) /* order PLACED, or an array without elements */
        emit_headers(npz, member);
    member->entry.crc = member->crc;
    if (member->entry.is_described)
        emit(npz, 0, record, attn_zip_description(&member->entry, record));
}

void attn_npz_list(struct attn_npz_archive *npz, const struct attn_npz_member *member)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    attn_buffer_append(&npz->central, record, attn_zip_central_header(&member->entry, record));
    npz->n_listed++;
}

enum attn_status attn_npz_finish(struct attn_npz_archive *npz, uint64_t n_written,
                                 struct attn_error *err)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    const size_t n_record =
        attn_zip_end(npz->n_listed, npz->end, n_written + npz->central.size, record);

    attn_buffer_append(&npz->central, record, n_record);
    ATTN_TRY(attn_buffer_check(&npz->central, err));
    emit(npz, npz->end, npz->central.data, npz->central.size);
    return ATTN_OK;
}
