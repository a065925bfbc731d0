/*
 * record_npz.c - one archive with a matrix for each item, 000000007/weight.npy.
 *
 * A member is written at once, header first. The end of an archive lists all members by their
 * central headers. These are collected in a file, NAME.members.part, and copied after the last
 * member at the end. So memory does not grow with the number of records.
 */
#include "stream/records_internal.h"
#include "tensors/npz_archive.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"

#include <stdio.h>
#include <string.h>

enum { ARCHIVE, MEMBERS }; /* indices of the parts */

struct npz_writer {
    struct attn_record_writer base;
    struct attn_npz_archive npz;
};

static enum attn_status open_npz(struct attn_record_writer *writer, const char *path,
                                 struct attn_error *err)
{
    struct attn_buffer members = {0};
    enum attn_status status;

    ATTN_TRY(attn_record_writer_add_part(writer, path, false, err));
    if (!attn_sink_is_seekable(writer->parts[ARCHIVE]))
        return attn_error_set(err, ATTN_IO,
                              "cannot write '%s': it is no file, and an archive of records grows "
                              "in one",
                              attn_quote_string(path).text);
    attn_buffer_append_format(&members, "%s.members", path);
    status = attn_buffer_string(&members) ? ATTN_OK : attn_error_no_memory(err);
    ATTN_THEN(status, attn_record_writer_add_part(writer, members.data, false, err));
    attn_buffer_release(&members);
    return status;
}

static enum attn_status begin_npz(struct attn_record_writer *writer, struct attn_error *err)
{
    (void)err;
    attn_npz_begin(&((struct npz_writer *)writer)->npz, ATTN_NPZ_SUMMED, writer->parts[ARCHIVE], 0);
    return ATTN_OK;
}

/* Writes ARRAY of item NUMBER. */
static enum attn_status write_member(struct npz_writer *w, size_t number,
                                     const struct attn_array *array, struct attn_error *err)
{
    struct attn_buffer *central = &w->npz.central;
    struct attn_npz_member member;
    char name[ATTN_ZIP_NAME_SIZE];

    snprintf(name, sizeof name, "%09zu/%s", number, array->name);
    ATTN_TRY(attn_npz_plan(&w->npz, name, array, &member, err));
    attn_npz_sum(&w->npz, &member, 0, array->data, array->size);
    attn_npz_write(&w->npz, &member, 0, array->data, array->size);
    attn_npz_complete(&w->npz, &member);
    attn_npz_list(&w->npz, &member);
    ATTN_TRY(attn_sink_write_buffer(w->base.parts[MEMBERS], central, err));
    ATTN_TRY(attn_sink_check(w->base.parts[ARCHIVE], err));
    return attn_sink_check(w->base.parts[MEMBERS], err);
}

/* Writes the rows of an item as a matrix: its cells in C order, with the index of their row in the
 * first column, and their numbers in the only column of reals. */
static enum attn_status write_npz(struct attn_record_writer *writer,
                                  const struct attn_item_result *result, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    const struct attn_table *rows = result->answer.rows;
    const size_t n = result->failure ? 0 : attn_table_n_row(rows);
    struct attn_array matrix = {.dtype = "<f8", .rank = 2, .size = n * sizeof(double)};
    enum attn_status status;
    size_t value = 0;
    double *data;

    if (result->failure)
        return ATTN_OK;
    while (attn_table_column(rows, value)->type != ATTN_VALUE_REAL)
        value++;
    snprintf(matrix.name, sizeof matrix.name, "%s", attn_table_column(rows, value)->name);
    matrix.shape[0] = n > 0 ? (size_t)attn_table_cell(rows, n - 1, 0).integer + 1 : 0;
    matrix.shape[1] = n > 0 ? n / matrix.shape[0] : 0;
    ATTN_TRY(ATTN_ALLOC(data, n, err));
    for (size_t i = 0; i < n; i++)
        data[i] = attn_table_cell(rows, i, value).real;
    matrix.data = (unsigned char *)data;
    status = write_member(w, result->item->number, &matrix, err);
    attn_free(data);
    return status;
}

static enum attn_status finish_npz(struct attn_record_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct attn_sink *archive = writer->parts[ARCHIVE], *members = writer->parts[MEMBERS];
    const uint64_t size = attn_sink_position(members);
    unsigned char block[1 << 16];

    ATTN_TRY(attn_part_flush(members, err));
    for (uint64_t at = 0; at < size;) {
        const size_t n = size - at < sizeof block ? (size_t)(size - at) : sizeof block;

        ATTN_TRY(attn_part_read_at(members, at, block, n, err));
        attn_sink_write(archive, block, n);
        at += n;
    }
    ATTN_TRY(attn_npz_finish(&w->npz, size, err));
    return attn_sink_check(archive, err);
}

static void release_npz(struct attn_record_writer *writer)
{
    attn_npz_release(&((struct npz_writer *)writer)->npz);
}

const struct attn_item_sink attn_item_sink_npz = {
    .name = "npz",
    .size = sizeof(struct npz_writer),
    .open = open_npz,
    .begin = begin_npz,
    .add = write_npz,
    .finish = finish_npz,
    .release = release_npz,
};
