/* records.c - see records.h: the code that all formats share: it opens, truncates, flushes and
 * renames parts. */
#include "stream/records_internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"

#include <string.h>

static const struct attn_item_sink *const kinds[] = {
#define LIST(name) &attn_item_sink_##name,
    ATTN_ITEM_SINK_MAP(LIST)
#undef LIST
};

struct attn_records {
    struct attn_records_form form;
    struct attn_record_writer *writer; /* owns */
    struct attn_record_columns columns;
    struct attn_record_rows rows;
    bool is_committed;           /* nothing can be written any more */
    struct attn_buffer expected; /* owns; bytes of an earlier run that must be written again */
    size_t expected_at;          /* how many of them were */
    bool is_whole;               /* nothing may follow them */
    const char *earlier;         /* path of the file that has them; borrowed */
};

/* --- A writer -------------------------------------------------------------------------------- */

/* Returns the sink of a text format. */
static struct attn_sink *sink_of(const struct attn_record_writer *writer)
{
    return writer->n_part > 0 ? writer->parts[0] : writer->sink;
}

/* Sets the error that the file of the earlier run is of another one. */
static enum attn_status report_other(const struct attn_records *records, const char *what,
                                     struct attn_error *err)
{
    attn_error_set(err, ATTN_INVALID, "'%s' %s, expected the rows of this run",
                   attn_quote_string(records->earlier).text, what);
    attn_error_hint(err, "it is of other options, items or another model: remove it to begin anew");
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

/* Writes the text of the record to the sink, but for what an earlier run wrote, and clears it. */
static enum attn_status write_text(struct attn_records *records, struct attn_error *err)
{
    struct attn_buffer *text = &records->writer->text;
    const size_t left = records->expected.size - records->expected_at;
    const size_t n = text->size < left ? text->size : left;
    struct attn_sink *sink = sink_of(records->writer);

    ATTN_TRY(attn_buffer_check(text, err));
    if (n > 0 && memcmp(text->data, records->expected.data + records->expected_at, n) != 0)
        return report_other(records, "has other values", err);
    if (n < text->size && records->is_whole)
        return report_other(records, "is complete and has fewer rows", err);
    records->expected_at += n;
    if (n < text->size)
        attn_sink_write(sink, text->data + n, text->size - n);
    attn_buffer_reset(text);
    return attn_sink_check(sink, err);
}

static enum attn_status open_writer(struct attn_records *records,
                                    const struct attn_records_item *item, bool is_resumed,
                                    struct attn_error *err)
{
    const struct attn_item_sink *kind = NULL;
    struct attn_record_writer *writer;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, item->format) == 0)
            kind = kinds[i];
    if (!kind)
        return attn_error_set(err, ATTN_INVALID, "'%s' is no format of records",
                              attn_quote_string(item->format).text);
    if (!item->path && !kind->is_text)
        return attn_error_set(err, ATTN_INVALID, "%s needs a path, not a stream", kind->name);
    writer = records->writer = attn_alloc(1, kind->size, err);
    if (!writer)
        return ATTN_NO_MEMORY;
    writer->kind = kind;
    writer->form = &records->form;
    writer->columns = &records->columns;
    writer->rows = &records->rows;
    writer->sink = item->sink;
    if (item->path)
        ATTN_TRY(kind->open ? kind->open(writer, item->path, err)
                            : attn_record_writer_add_part(writer, item->path, is_resumed, err));
    return is_resumed ? ATTN_OK : attn_records_begin(records, err);
}

static void free_records(struct attn_records *records, void (*free_part)(struct attn_sink *))
{
    struct attn_record_writer *writer = records ? records->writer : NULL;

    if (!records)
        return;
    if (writer && writer->kind->release)
        writer->kind->release(writer);
    for (size_t p = 0; writer && p < writer->n_part; p++)
        free_part(writer->parts[p]);
    if (writer)
        attn_buffer_release(&writer->text);
    attn_free(writer);
    attn_record_columns_release(&records->columns);
    attn_record_rows_release(&records->rows);
    attn_buffer_release(&records->expected);
    attn_free(records);
}

void attn_records_free(struct attn_records *records)
{
    free_records(records, attn_sink_free);
}

void attn_records_discard(struct attn_records *records)
{
    free_records(records, attn_part_discard);
}

enum attn_status attn_records_begin(struct attn_records *records, struct attn_error *err)
{
    struct attn_record_writer *writer = records->writer;

    if (writer->kind->begin)
        ATTN_TRY(writer->kind->begin(writer, err));
    return writer->kind->is_text ? write_text(records, err) : ATTN_OK;
}

enum attn_status attn_records_open(const struct attn_records_item *item,
                                   const struct attn_records_form *form, bool is_resumed,
                                   struct attn_records **records, struct attn_error *err)
{
    struct attn_records_form known = ATTN_RECORDS_FORM_DEFAULT;
    struct attn_records *opened;
    enum attn_status status;

    ATTN_NEED(err, item, records);
    ATTN_TRY(attn_options_read(form, &known, err));
    ATTN_TRY(ATTN_ALLOC(opened, 1, err));
    opened->form = known;
    opened->rows.form = &opened->form;
    status = open_writer(opened, item, is_resumed, err);
    ATTN_RETURN_MADE(attn_error_at(status, ATTN_STAGE_OUTPUT, err), records, opened,
                     attn_records_discard);
}

bool attn_records_part(const struct attn_records *records, size_t i, struct attn_records_part *part)
{
    const struct attn_record_writer *writer = records ? records->writer : NULL;

    if (!writer || i >= writer->n_part || !attn_sink_is_seekable(writer->parts[i]))
        return false;
    part->path = attn_part_path(writer->parts[i]);
    part->size = attn_sink_position(writer->parts[i]);
    return true;
}

enum attn_status attn_records_cut(struct attn_records *records, uint64_t size,
                                  struct attn_error *err)
{
    return attn_part_cut(records->writer->parts[0], size, err);
}

enum attn_status attn_records_show(struct attn_records *records,
                                   const struct attn_record_rows **rows, struct attn_error *err)
{
    *rows = &records->rows;
    return attn_record_rows_show(&records->rows, err);
}

enum attn_status attn_records_continue(struct attn_records *records, struct attn_buffer *header,
                                       struct attn_error *err)
{
    struct attn_record_writer *writer = records->writer;

    if (writer->kind != &attn_item_sink_rows)
        return ATTN_OK;
    ATTN_TRY(attn_record_rows_continue(writer, err));
    ATTN_TRY(attn_buffer_check(&writer->text, err));
    attn_buffer_append(header, writer->text.data, writer->text.size);
    attn_buffer_reset(&writer->text);
    return attn_buffer_check(header, err);
}

enum attn_status attn_records_expect(struct attn_records *records, const char *path, uint64_t begin,
                                     bool is_whole, struct attn_error *err)
{
    struct attn_file file = {.descriptor = -1};

    ATTN_TRY(attn_file_open_regular(path, ATTN_MAP, &file, err));
    if (begin < file.size)
        attn_buffer_append(&records->expected, file.data + begin, file.size - (size_t)begin);
    attn_file_release(&file);
    records->is_whole = is_whole;
    records->earlier = path;
    return attn_buffer_check(&records->expected, err);
}

/* Returns an error if the records were committed. */
static enum attn_status check_open(const struct attn_records *records, struct attn_error *err)
{
    ATTN_NEED(err, records);
    return records->is_committed ? attn_refuse(err, ATTN_STAGE_OPTIONS,
                                               "the records were committed, nothing can follow")
                                 : ATTN_OK;
}

static enum attn_status add_result(struct attn_records *records,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    struct attn_record_writer *writer = records->writer;

    ATTN_TRY(writer->kind->add(writer, result, err));
    return writer->kind->is_text ? write_text(records, err) : ATTN_OK;
}

enum attn_status attn_records_write(struct attn_records *records,
                                    const struct attn_item_result *result, struct attn_error *err)
{
    ATTN_TRY(check_open(records, err));
    ATTN_NEED(err, result);
    return attn_error_at(add_result(records, result, err), ATTN_STAGE_OUTPUT, err);
}

static enum attn_status flush(struct attn_record_writer *writer, struct attn_error *err)
{
    for (size_t p = 0; p < writer->n_part; p++)
        ATTN_TRY(attn_part_flush(writer->parts[p], err));
    if (writer->n_part > 0)
        return ATTN_OK;
    attn_sink_flush(writer->sink);
    return attn_sink_check(writer->sink, err);
}

enum attn_status attn_records_flush(struct attn_records *records, struct attn_error *err)
{
    ATTN_TRY(check_open(records, err));
    return attn_error_at(flush(records->writer, err), ATTN_STAGE_OUTPUT, err);
}

static enum attn_status finish(struct attn_records *records, struct attn_error *err)
{
    struct attn_record_writer *writer = records->writer;

    if (writer->kind->finish)
        ATTN_TRY(writer->kind->finish(writer, err));
    if (writer->kind->is_text)
        ATTN_TRY(write_text(records, err));
    for (size_t p = 0; p < writer->n_part; p++)
        ATTN_TRY(attn_part_finish(writer->parts[p], err));
    if (writer->n_part == 0)
        ATTN_TRY(flush(writer, err));
    return records->expected_at == records->expected.size
               ? ATTN_OK
               : report_other(records, "has more rows than the items give", err);
}

enum attn_status attn_records_finish(struct attn_records *records, struct attn_error *err)
{
    ATTN_TRY(check_open(records, err));
    return attn_error_at(finish(records, err), ATTN_STAGE_OUTPUT, err);
}

enum attn_status attn_records_commit(struct attn_records *records, struct attn_error *err)
{
    ATTN_NEED(err, records);
    records->is_committed = true;
    for (size_t p = 0; p < records->writer->n_part; p++) {
        struct attn_sink *part = records->writer->parts[p];

        ATTN_TRY(attn_error_at(p == 0 ? attn_part_commit(part, err) : attn_part_remove(part, err),
                               ATTN_STAGE_OUTPUT, err));
    }
    return ATTN_OK;
}

bool attn_records_is_abandoned(const struct attn_records *records)
{
    return records && attn_sink_is_closed_pipe(sink_of(records->writer));
}
