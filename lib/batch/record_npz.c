/*
 * record_npz.c - one archive of all records: members 000000007/blocks.0.attn.hook_pattern.npy and
 * so on, as many a record as the archive of a run has.
 *
 * A member is written whole, header first, since its numbers are there. What the end of the archive
 * lists, a central header a member, grows in a file beside it, NAME.members.part, and is copied
 * after the last member when all are there. So memory does not grow with the records, and a run
 * that is resumed needs to read that file once, to count.
 */
#include "batch/record_arrays.h"
#include "batch/records_internal.h"
#include "encode/numpy_file.h"

#include "base/escape.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"

#include <stdio.h>
#include <string.h>

enum { ARCHIVE, MEMBERS }; /* the parts */

struct npz_writer {
    struct attn_record_writer base;
    struct attn_crc32 crc;
    uint64_t n_member; /* so far */
};

/* --- Opening --------------------------------------------------------------------------------- */

static enum attn_status open_npz(struct attn_record_writer *writer, const char *path,
                                 bool is_resumed, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct attn_buffer members = {0};
    enum attn_status status;

    attn_crc32_init(&w->crc);
    ATTN_TRY(attn_record_writer_add_part(writer, path, is_resumed, err));
    if (!attn_sink_is_seekable(writer->parts[ARCHIVE]))
        return attn_error_set(err, ATTN_IO,
                              "cannot write '%s': it is no file, and an archive of records grows "
                              "in one",
                              attn_quote_string(path).text);
    attn_buffer_append_format(&members, "%s.members", path);
    status = attn_buffer_string(&members) ? ATTN_OK : attn_error_no_memory(err);
    if (status == ATTN_OK)
        status = attn_record_writer_add_part(writer, members.data, is_resumed, err);
    writer->n_inner = 1;
    attn_buffer_release(&members);
    return status;
}

enum { CENTRAL_SIZE = 46, NAME_SIZE_AT = 28, EXTRA_SIZE_AT = 30 }; /* of a central header */

static size_t get_16(const unsigned char *at)
{
    return (size_t)at[0] | (size_t)at[1] << 8;
}

/* Counts the central headers that are there. */
static enum attn_status begin_npz(struct attn_record_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct attn_sink *members = writer->parts[MEMBERS];
    const uint64_t size = attn_sink_position(members);
    unsigned char block[1 << 16];
    uint64_t at = 0, block_at = 0;
    size_t n_block = 0;

    for (w->n_member = 0; at < size; w->n_member++) {
        const unsigned char *header = block + (at - block_at);

        if (at + CENTRAL_SIZE > block_at + n_block) { /* the block ends within the header */
            block_at = at;
            n_block = size - at < sizeof block ? (size_t)(size - at) : sizeof block;
            header = block;
            ATTN_TRY(attn_part_read_at(members, at, block, n_block, err));
        }
        if (n_block < CENTRAL_SIZE || memcmp(header, "PK\1\2", 4) != 0)
            return attn_error_set(err, ATTN_IO, "'%s' does not hold members of an archive",
                                  attn_quote_string(attn_part_path(members)).text);
        at += CENTRAL_SIZE + get_16(header + NAME_SIZE_AT) + get_16(header + EXTRA_SIZE_AT);
    }
    return ATTN_OK;
}

/* --- Members --------------------------------------------------------------------------------- */

/* One array: that of a record's tensors which has this number, or an array with data. */
struct member {
    const struct attn_array *array;
    const struct attn_record_arrays *arrays; /* NULL: it has data */
    size_t i;
};

/* Takes the numbers of MEMBER as they lie in the archive: first into the CRC of ENTRY, which
 * stands before them, then with ENTRY NULL into the archive. */
static void take_array(struct npz_writer *w, const struct member *member,
                       struct attn_zip_entry *entry)
{
    const struct attn_array *array = member->array;
    size_t n = 0;

    for (size_t r = 0, left = array->size; left > 0; r += n) {
        const void *bytes = array->data;
        size_t size = array->size;

        if (!bytes) {
            bytes = attn_record_array_rows(member->arrays, member->i, r, &n);
            size = n * array->shape[array->rank - 1] * sizeof(float);
        }
        left -= size;
        if (entry)
            entry->crc ^= attn_crc32_piece(&w->crc, bytes, size, left);
        else
            attn_sink_write(w->base.parts[ARCHIVE], bytes, size);
    }
}

static enum attn_status write_member(struct npz_writer *w, size_t number,
                                     const struct member *member, struct attn_error *err)
{
    const struct attn_array *array = member->array;
    struct attn_sink *archive = w->base.parts[ARCHIVE];
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    char header[ATTN_NPY_HEADER_SIZE];
    const size_t header_size = attn_npy_header(array->dtype, array->shape, array->rank, header);
    struct attn_zip_entry entry = {.size = header_size + array->size,
                                   .offset = attn_sink_position(archive)};

    snprintf(entry.name, sizeof entry.name, "%09zu/%s.npy", number, array->name);
    entry.crc =
        attn_crc32_begin(entry.size) ^ attn_crc32_piece(&w->crc, header, header_size, array->size);
    take_array(w, member, &entry);
    attn_sink_write(archive, record, attn_zip_local_header(&entry, record));
    attn_sink_write(archive, header, header_size);
    take_array(w, member, NULL);
    attn_sink_write(w->base.parts[MEMBERS], record, attn_zip_central_header(&entry, record));
    w->n_member++;
    return attn_sink_check(archive, err);
}

static enum attn_status write_npz(struct attn_record_writer *writer,
                                  const struct attn_record_outcome *outcome, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct attn_record_arrays *arrays;
    enum attn_status status = ATTN_OK;

    if (!outcome->failure && outcome->matrix)
        return write_member(w, outcome->number, &(struct member){outcome->matrix, NULL, 0}, err);
    if (outcome->failure || !outcome->capture)
        return ATTN_OK;
    ATTN_TRY(attn_record_arrays_create(outcome, &arrays, err));
    for (size_t i = 0; status == ATTN_OK && i < attn_record_arrays_n(arrays); i++)
        status = write_member(w, outcome->number,
                              &(struct member){attn_record_array(arrays, i), arrays, i}, err);
    if (status == ATTN_OK)
        status = attn_sink_check(w->base.parts[MEMBERS], err);
    attn_record_arrays_free(arrays);
    return status;
}

/* --- The end --------------------------------------------------------------------------------- */

static enum attn_status finish_npz(struct attn_record_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct attn_sink *archive = writer->parts[ARCHIVE], *members = writer->parts[MEMBERS];
    const uint64_t offset = attn_sink_position(archive), size = attn_sink_position(members);
    unsigned char block[1 << 16], record[ATTN_ZIP_RECORD_SIZE];

    ATTN_TRY(attn_part_flush(members, false, err));
    for (uint64_t at = 0; at < size;) {
        const size_t n = size - at < sizeof block ? (size_t)(size - at) : sizeof block;

        ATTN_TRY(attn_part_read_at(members, at, block, n, err));
        attn_sink_write(archive, block, n);
        at += n;
    }
    attn_sink_write(archive, record, attn_zip_end(w->n_member, offset, size, record));
    return attn_sink_check(archive, err);
}

const struct attn_record_format attn_record_format_npz = {
    .name = "npz",
    .size = sizeof(struct npz_writer),
    .open = open_npz,
    .begin = begin_npz,
    .write = write_npz,
    .finish = finish_npz,
};
