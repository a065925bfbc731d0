/*
 * npz_writer.c - one archive of NPY arrays, stored not compressed.
 *
 * All sizes follow from the selection, so all offsets are known before the first number. Where the
 * sink can seek, matrices and vectors go straight to their place, and their header, with the CRC,
 * is written when the last row has come. Arrays whose rows are scattered ([T,H,E], told head by head)
 * are put together in memory first. To a pipe the members must go out in order and with a CRC in
 * front, so there every array is put together in memory and waits its turn; events come in the same
 * order, so what waits is one layer.
 */
#include "output/crc32.h"
#include "output/npy_header.h"
#include "output/token_text.h"
#include "output/writer.h"
#include "output/zip_archive.h"

#include "base/memory.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && sizeof(float) == 4,
               "memory is written as it is, as '<f4'");

enum { STAGE_FLOATS = 1 << 16 }; /* rows are gathered into writes of at least 256 KiB */

struct npz_member {
    struct attn_zip_entry entry;
    char dtype[24];
    int rank;
    size_t shape[3];
    size_t data_size;    /* bytes of the array */
    uint32_t crc;        /* of the pieces so far */
    unsigned char *data; /* [data_size] owns; NULL when written in place, or already written */
    bool is_complete;
};

struct npz_writer {
    struct attn_writer base;
    struct attn_crc32 crc;
    struct npz_member *members; /* [n_member] owns */
    size_t n_member, capacity;
    size_t *member_of; /* [slot] owns; index of a site's member */
    size_t n_written;  /* to a pipe: members that are out */
    uint64_t begin;    /* where the archive begins in the sink */
    uint64_t end;      /* where the next member goes; finally the central headers */
    bool is_seekable;
    float *stage; /* [n_stage] owns */
    size_t n_stage;
};

/* --- Members ------------------------------------------------------------------------------- */

static size_t member_header(const struct npz_member *member, char out[ATTN_NPY_HEADER_SIZE])
{
    return attn_npy_header(member->dtype, member->shape, member->rank, out);
}

/* Plans a member; its dtype, rank, shape and name are set. ELEMENT is the size of one number. */
static enum attn_status add_member(struct npz_writer *w, struct npz_member member, size_t element,
                                   struct attn_error *err)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    char header[ATTN_NPY_HEADER_SIZE];
    void *members = w->members;
    size_t header_size = member_header(&member, header);
    enum attn_status status =
        attn_grow(&members, &w->capacity, w->n_member + 1, sizeof member, err);

    w->members = members;
    if (status != ATTN_OK)
        return status;
    member.data_size = element;
    for (int i = 0; i < member.rank; i++)
        if (!attn_checked_mul(member.data_size, member.shape[i], &member.data_size))
            return attn_error_no_memory(err);
    member.entry.size = header_size + member.data_size;
    member.entry.offset = w->end;
    member.crc = attn_crc32_begin(member.entry.size) ^
                 attn_crc32_piece(&w->crc, header, header_size, member.data_size);
    if (__builtin_add_overflow(w->end, attn_zip_local_header(&member.entry, record), &w->end) ||
        __builtin_add_overflow(w->end, member.entry.size, &w->end))
        return attn_error_no_memory(err);
    w->members[w->n_member++] = member;
    return ATTN_OK;
}

/* Writes at OFFSET of the archive; to a pipe, where writes come in order, at its end. */
static void emit(struct npz_writer *w, uint64_t offset, const void *bytes, size_t size)
{
    if (w->is_seekable)
        attn_sink_write_at(w->base.sink, w->begin + offset, bytes, size);
    else
        attn_sink_write(w->base.sink, bytes, size);
}

static uint64_t data_offset(const struct npz_member *member)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    return member->entry.offset + attn_zip_local_header(&member->entry, record) +
           (member->entry.size - member->data_size);
}

/* Part of a member's array straight to its place. */
static void write_piece(struct npz_writer *w, struct npz_member *member, size_t offset,
                        const void *bytes, size_t size)
{
    member->crc ^= attn_crc32_piece(&w->crc, bytes, size, member->data_size - offset - size);
    emit(w, data_offset(member) + offset, bytes, size);
}

/* Headers, and the array when it is still here. */
static void write_member(struct npz_writer *w, struct npz_member *member)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    char header[ATTN_NPY_HEADER_SIZE];
    size_t record_size = attn_zip_local_header(&member->entry, record);

    emit(w, member->entry.offset, record, record_size);
    emit(w, member->entry.offset + record_size, header, member_header(member, header));
    if (member->data)
        emit(w, data_offset(member), member->data, member->data_size);
    attn_free(member->data);
    member->data = NULL;
}

/* All of a member's numbers have come. */
static void complete_member(struct npz_writer *w, struct npz_member *member)
{
    if (member->data)
        member->crc ^= attn_crc32_piece(&w->crc, member->data, member->data_size, 0);
    member->entry.crc = member->crc;
    member->is_complete = true;
    if (w->is_seekable) {
        write_member(w, member);
        return;
    }
    while (w->n_written < w->n_member && w->members[w->n_written].is_complete)
        write_member(w, &w->members[w->n_written++]);
}

/* --- The small arrays ------------------------------------------------------------------------ */

/* A complete member [n] of int64. */
static enum attn_status add_integers(struct npz_writer *w, const char *name, const int64_t *values,
                                     size_t n, struct attn_error *err)
{
    struct npz_member member = {.dtype = "<i8", .rank = 1, .shape = {n}};
    enum attn_status status;

    snprintf(member.entry.name, sizeof member.entry.name, "%s.npy", name);
    member.data = attn_alloc(n, sizeof *values, err);
    if (!member.data)
        return ATTN_NO_MEMORY;
    memcpy(member.data, values, n * sizeof *values);
    status = add_member(w, member, sizeof *values, err);
    if (status != ATTN_OK)
        attn_free(member.data);
    return status;
}

static enum attn_status add_ids(struct npz_writer *w, struct attn_error *err)
{
    size_t n = w->base.n_position;
    enum attn_status status;
    int64_t *ids;

    if (!w->base.run.ids)
        return ATTN_OK;
    ids = attn_alloc(n, sizeof *ids, err);
    if (!ids)
        return ATTN_NO_MEMORY;
    for (size_t p = 0; p < n; p++)
        ids[p] = w->base.run.ids[p];
    status = add_integers(w, "ids", ids, n, err);
    attn_free(ids);
    return status;
}

/* queries: which positions the rows of the arrays are. */
static enum attn_status add_queries(struct npz_writer *w, struct attn_error *err)
{
    enum attn_status status;
    int64_t *queries;

    if (attn_selection_is_all_queries(w->base.run.selection))
        return ATTN_OK;
    queries = attn_alloc(w->base.n_query, sizeof *queries, err);
    if (!queries)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < w->base.n_query; i++)
        queries[i] = (int64_t)w->base.queries[i];
    status = add_integers(w, "queries", queries, w->base.n_query, err);
    attn_free(queries);
    return status;
}

/* Code points of TEXT as UTF-32 at OUT (NULL: only counted). Escaped text is valid UTF-8. */
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

/* tokens [n_position] as numpy's unicode: each padded with zeros to the longest. */
static enum attn_status add_tokens(struct npz_writer *w, struct attn_error *err)
{
    struct npz_member member = {.rank = 1, .shape = {w->base.n_position}};
    struct attn_token_texts texts = {0};
    enum attn_status status = attn_token_texts_init(&texts, &w->base.run, err);
    size_t width = 1, size; /* numpy knows no empty strings */

    if (status != ATTN_OK || texts.n == 0)
        goto done;
    for (size_t p = 0; p < texts.n; p++) {
        const char *text = attn_token_text(&texts, p, &size);
        size_t n = put_code_points(text, size, NULL);

        width = n > width ? n : width;
    }
    member.data = attn_alloc(texts.n, width * sizeof(uint32_t), err);
    if (!member.data) {
        status = ATTN_NO_MEMORY;
        goto done;
    }
    for (size_t p = 0; p < texts.n; p++) {
        const char *text = attn_token_text(&texts, p, &size);

        put_code_points(text, size, (uint32_t *)(void *)member.data + p * width);
    }
    snprintf(member.dtype, sizeof member.dtype, "<U%zu", width);
    snprintf(member.entry.name, sizeof member.entry.name, "tokens.npy");
    status = add_member(w, member, width * sizeof(uint32_t), err);
    if (status != ATTN_OK)
        attn_free(member.data);
done:
    attn_token_texts_release(&texts);
    return status;
}

static bool wants_heads(const struct attn_writer *writer, int layer)
{
    for (int site = 0; site < ATTN_N_SITE; site++)
        if (attn_site_has_heads(site) && attn_site_is_in_layer(site) &&
            attn_selection_wants(writer->run.selection, site, layer))
            return true;
    return false;
}

/* blocks.L.heads: which query heads the arrays of the layer hold. */
static enum attn_status add_heads(struct npz_writer *w, struct attn_error *err)
{
    const struct attn_selection *selection = w->base.run.selection;
    const struct attn_dims *dims = attn_selection_dims(selection);
    enum attn_status status = ATTN_OK;
    int64_t *heads;

    if (attn_selection_is_all_heads(selection))
        return ATTN_OK;
    heads = attn_alloc(dims->n_head, sizeof *heads, err);
    if (!heads)
        return ATTN_NO_MEMORY;
    for (int layer = 0; layer < (int)dims->n_layer && status == ATTN_OK; layer++) {
        char name[ATTN_SITE_ARCHIVE_NAME_SIZE];
        size_t n = 0;

        if (!wants_heads(&w->base, layer))
            continue;
        for (int head = 0; head < (int)dims->n_head; head++)
            if (attn_selection_has_head(selection, layer, head))
                heads[n++] = head;
        snprintf(name, sizeof name, "blocks.%d.heads", layer);
        status = add_integers(w, name, heads, n, err);
    }
    attn_free(heads);
    return status;
}

/* --- Tensors ------------------------------------------------------------------------------- */

static enum attn_status add_tensor(struct attn_writer *writer, enum attn_site site, int layer,
                                   struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct npz_member member = {.dtype = "<f4"};
    char name[ATTN_SITE_ARCHIVE_NAME_SIZE];

    attn_site_archive_name(site, layer, name);
    snprintf(member.entry.name, sizeof member.entry.name, "%s.npy", name);
    member.rank = attn_selection_shape(writer->run.selection, site, layer, member.shape);
    w->member_of[attn_writer_slot(site, layer)] = w->n_member;
    return add_member(w, member, sizeof(float), err);
}

static bool has_scattered_rows(enum attn_site site)
{
    return attn_site_layout(site) == ATTN_LAYOUT_QUERY || attn_site_layout(site) == ATTN_LAYOUT_KEY;
}

/* Copies a row; keys that the event did not have yet are masked. */
static void fill_row(float *out, size_t width, const struct attn_trace_event *event, size_t row)
{
    float masked = event->site == ATTN_SITE_PATTERN ? 0 : -INFINITY;

    memcpy(out, event->data + row * event->ld, event->n_col * sizeof *out);
    for (size_t i = event->n_col; i < width; i++)
        out[i] = masked;
}

/* Rows into the array that is put together in memory. */
static enum attn_status gather_rows(struct npz_member *member, const struct attn_trace_event *event,
                                    const struct attn_place *place, struct attn_error *err)
{
    size_t width = member->shape[member->rank - 1];
    bool is_scattered = has_scattered_rows(event->site);
    size_t first = is_scattered ? place->row * member->shape[1] + place->head
                                : place->head * member->shape[1] + place->row;
    size_t step = is_scattered ? member->shape[1] : 1;

    if (!member->data)
        member->data = attn_alloc_uninitialized(member->data_size, 1, err);
    if (!member->data)
        return ATTN_NO_MEMORY;
    for (size_t r = 0; r < event->n_row; r++)
        fill_row((float *)(void *)member->data + (first + r * step) * width, width, event, r);
    return ATTN_OK;
}

/* Rows that lie together in the archive, straight to their place: as they are when they lie
 * together in memory too, else through the stage. */
static enum attn_status stream_rows(struct npz_writer *w, struct npz_member *member,
                                    const struct attn_trace_event *event,
                                    const struct attn_place *place, struct attn_error *err)
{
    size_t width = member->shape[member->rank - 1];
    size_t row_size = width * sizeof(float);
    size_t offset = (place->head * member->shape[1] + place->row) * row_size;
    size_t n_at_once = STAGE_FLOATS / width + 1, n;

    if (event->n_col == width && event->ld == width) {
        write_piece(w, member, offset, event->data, event->n_row * row_size);
        return ATTN_OK;
    }
    if (w->n_stage < n_at_once * width) {
        attn_free(w->stage);
        w->n_stage = 0;
        w->stage = attn_alloc_uninitialized(n_at_once * width, sizeof(float), err);
        if (!w->stage)
            return ATTN_NO_MEMORY;
        w->n_stage = n_at_once * width;
    }
    for (size_t row = 0; row < event->n_row; row += n) {
        n = event->n_row - row < n_at_once ? event->n_row - row : n_at_once;
        for (size_t r = 0; r < n; r++)
            fill_row(w->stage + r * width, width, event, row + r);
        write_piece(w, member, offset + row * row_size, w->stage, n * row_size);
    }
    return ATTN_OK;
}

/* --- The format ---------------------------------------------------------------------------- */

static enum attn_status open_npz(struct attn_writer *writer, const char *path,
                                 struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    enum attn_status status;

    (void)path;
    attn_crc32_init(&w->crc);
    w->is_seekable = attn_sink_is_seekable(writer->sink);
    w->begin = attn_sink_position(writer->sink);
    w->member_of = attn_alloc(attn_writer_n_slot(writer), sizeof *w->member_of, err);
    if (!w->member_of)
        return ATTN_NO_MEMORY;
    status = add_ids(w, err);
    if (status == ATTN_OK)
        status = add_tokens(w, err);
    if (status == ATTN_OK)
        status = add_queries(w, err);
    if (status == ATTN_OK)
        status = add_heads(w, err);
    for (size_t i = 0; i < w->n_member && status == ATTN_OK; i++)
        complete_member(w, &w->members[i]);
    return status == ATTN_OK ? attn_writer_each_site(writer, add_tensor, err) : status;
}

static enum attn_status event_npz(struct attn_writer *writer, const struct attn_trace_event *event,
                                  const struct attn_place *place, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    struct npz_member *member =
        &w->members[w->member_of[attn_writer_slot(event->site, event->layer)]];
    enum attn_status status = w->is_seekable && !has_scattered_rows(event->site)
                                  ? stream_rows(w, member, event, place, err)
                                  : gather_rows(member, event, place, err);

    if (status == ATTN_OK && place->is_last)
        complete_member(w, member);
    return status;
}

static enum attn_status finish_npz(struct attn_writer *writer, struct attn_error *err)
{
    struct npz_writer *w = (struct npz_writer *)writer;
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    struct attn_buffer central = {0};
    enum attn_status status;

    for (size_t i = 0; i < w->n_member; i++)
        attn_buffer_append(&central, record, attn_zip_central_header(&w->members[i].entry, record));
    attn_buffer_append(&central, record, attn_zip_end(w->n_member, w->end, central.size, record));
    status = attn_buffer_check(&central, err);
    if (status == ATTN_OK)
        emit(w, w->end, central.data, central.size);
    attn_buffer_release(&central);
    return status;
}

static void release_npz(struct attn_writer *writer)
{
    struct npz_writer *w = (struct npz_writer *)writer;

    for (size_t i = 0; i < w->n_member; i++)
        attn_free(w->members[i].data);
    attn_free(w->members);
    attn_free(w->member_of);
    attn_free(w->stage);
}

const struct attn_writer_ops attn_npz_writer_ops = {
    .size = sizeof(struct npz_writer),
    .open = open_npz,
    .event = event_npz,
    .finish = finish_npz,
    .release = release_npz,
};
