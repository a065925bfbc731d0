/* records.c - see records.h: the code that all formats share: it opens, truncates, flushes and
 * renames parts. */
#include "stream/records_internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/fixed_text.h"
#include "base/text/given.h"
#include "base/text/path.h"
#include "predict/prediction.h"
#include "trace/trace_internal.h"

#include <stdio.h>
#include <string.h>

static const struct attn_item_sink *const kinds[] = {
#define LIST(name) &attn_item_sink_##name,
    ATTN_ITEM_SINK_MAP(LIST)
#undef LIST
};

struct attn_records {
    struct attn_records_form form;
    struct attn_record_writer **writers; /* [n] owns; in the order of the items */
    size_t n;
    struct attn_record_columns columns;
    struct attn_record_rows rows;
    bool has_noted_formula, has_noted_label; /* the note was sent */
    bool is_committed;                       /* committed; nothing can be written any more */
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

/* Returns true if the sink is a pipe whose reader closed it. */
static bool is_closed(const struct attn_record_writer *writer)
{
    return attn_sink_is_closed_pipe(sink_of(writer));
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
static enum attn_status write_text(struct attn_records *records, struct attn_record_writer *writer,
                                   struct attn_error *err)
{
    const size_t left = records->expected.size - records->expected_at;
    const size_t n = writer->text.size < left ? writer->text.size : left;
    struct attn_sink *sink = sink_of(writer);

    ATTN_TRY(attn_buffer_check(&writer->text, err));
    if (n > 0 && memcmp(writer->text.data, records->expected.data + records->expected_at, n) != 0)
        return report_other(records, "has other values", err);
    if (n < writer->text.size && records->is_whole)
        return report_other(records, "is complete and has fewer rows", err);
    records->expected_at += n;
    if (n < writer->text.size)
        attn_sink_write(sink, writer->text.data + n, writer->text.size - n);
    attn_buffer_reset(&writer->text);
    return attn_sink_check(sink, err);
}

static enum attn_status open_writer(struct attn_records *records,
                                    const struct attn_records_item *item, bool is_resumed,
                                    struct attn_record_writer **writer, struct attn_error *err)
{
    const struct attn_item_sink *kind = NULL;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i]->name, item->format) == 0)
            kind = kinds[i];
    if (!kind)
        return attn_error_set(err, ATTN_INVALID, "'%s' is no format of records",
                              attn_quote_string(item->format).text);
    if (!item->path && !kind->is_text)
        return attn_error_set(err, ATTN_INVALID, "%s needs a path, not a stream", kind->name);
    *writer = attn_alloc(1, kind->size, err);
    if (!*writer)
        return ATTN_NO_MEMORY;
    (*writer)->kind = kind;
    (*writer)->form = &records->form;
    (*writer)->has_noted_formula = &records->has_noted_formula;
    (*writer)->has_noted_label = &records->has_noted_label;
    (*writer)->columns = &records->columns;
    (*writer)->rows = &records->rows;
    (*writer)->sink = item->sink;
    if (!item->path)
        return ATTN_OK;
    return kind->open ? kind->open(*writer, item->path, is_resumed, err)
                      : attn_record_writer_add_part(*writer, item->path, is_resumed, err);
}

/* --- All of them ----------------------------------------------------------------------------- */

static void free_records(struct attn_records *records, void (*free_part)(struct attn_sink *))
{
    if (!records)
        return;
    for (size_t i = 0; records->writers && i < records->n; i++) {
        struct attn_record_writer *writer = records->writers[i];

        if (!writer)
            continue;
        if (writer->kind->release)
            writer->kind->release(writer);
        for (size_t p = 0; p < writer->n_part; p++)
            free_part(writer->parts[p]);
        attn_free(writer->parts);
        attn_buffer_release(&writer->text);
        attn_free(writer);
    }
    attn_free(records->writers);
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

enum attn_status attn_records_begin(struct attn_records *records, size_t n_record,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < records->n; i++) {
        struct attn_record_writer *writer = records->writers[i];

        writer->n_record = n_record;
        if (writer->kind->begin)
            ATTN_TRY(writer->kind->begin(writer, err));
        if (writer->kind->is_text)
            ATTN_TRY(write_text(records, writer, err));
    }
    return ATTN_OK;
}

/* Returns an error if two outputs have the same path. */
static enum attn_status check_two(const char *a, const char *b, struct attn_error *err)
{
    struct attn_target of_a = {0}, of_b = {0};
    enum attn_status status = attn_target_find(a, &of_a, err);

    if (status == ATTN_OK)
        status = attn_target_find(b, &of_b, err);
    if (status == ATTN_OK && attn_target_is_same(&of_a, &of_b)) {
        status = attn_error_set(err, ATTN_INVALID, "'%s' and '%s', two outputs, are the same file",
                                attn_quote_string(a).text, attn_quote_string(b).text);
        attn_error_at(status, ATTN_STAGE_OPTIONS, err);
    }
    attn_target_release(&of_a);
    attn_target_release(&of_b);
    return status;
}

static enum attn_status open_all(struct attn_records *records,
                                 const struct attn_records_item *items, bool is_resumed,
                                 struct attn_error *err)
{
    ATTN_TRY(ATTN_ALLOC(records->writers, records->n, err));
    for (size_t i = 0; i < records->n; i++)
        for (size_t j = 0; j < i; j++)
            if (items[i].path && items[j].path)
                ATTN_TRY(check_two(items[j].path, items[i].path, err));
    for (size_t i = 0; i < records->n; i++)
        ATTN_TRY(open_writer(records, &items[i], is_resumed, &records->writers[i], err));
    return is_resumed ? ATTN_OK : attn_records_begin(records, 0, err);
}

enum attn_status attn_records_open(const struct attn_records_item *items, size_t n,
                                   const struct attn_records_form *form, bool is_resumed,
                                   struct attn_records **records, struct attn_error *err)
{
    struct attn_records_form known = ATTN_RECORDS_FORM_DEFAULT;
    struct attn_records *opened;
    enum attn_status status;

    if ((n > 0 && !attn_is_given(items, "items", err)) || !attn_is_given(records, "records", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_options_read(form, &known, err));
    ATTN_TRY(ATTN_ALLOC(opened, 1, err));
    opened->form = known;
    opened->n = n;
    opened->rows.form = &opened->form;
    status = open_all(opened, items, is_resumed, err);
    if (status == ATTN_OK)
        *records = opened;
    else
        attn_records_discard(opened);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

/* The location of a part. */
struct part_place {
    struct attn_record_writer *writer;
    size_t i;      /* index among the writer's parts */
    bool is_inner; /* it becomes part of another file */
};

/* Returns part I of all writers, those of the first item last; NULL if I is too large. */
static struct attn_sink *find_part(const struct attn_records *records, size_t i,
                                   struct part_place *place)
{
    for (size_t k = 1; k <= records->n; k++) {
        struct attn_record_writer *writer = records->writers[k % records->n];

        for (size_t p = 0; p < writer->n_part; p++) {
            if (!attn_sink_is_seekable(writer->parts[p]) || i-- > 0)
                continue;
            *place = (struct part_place){writer, p, p + writer->n_inner >= writer->n_part};
            return writer->parts[p];
        }
    }
    return NULL;
}

bool attn_records_part(const struct attn_records *records, size_t i, struct attn_records_part *part)
{
    struct part_place place;
    const struct attn_sink *found = records ? find_part(records, i, &place) : NULL;

    if (!found)
        return false;
    part->target = place.is_inner ? NULL : attn_part_target(found);
    part->path = attn_part_path(found);
    part->size = attn_sink_position(found);
    return true;
}

enum attn_status attn_records_cut(struct attn_records *records, uint64_t size,
                                  struct attn_error *err)
{
    struct part_place place;
    struct attn_sink *part = find_part(records, 0, &place);

    return part ? attn_part_cut(part, size, err) : ATTN_OK;
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
    struct attn_record_writer *writer = records->writers[0];

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

/* An action that is applied to each writer. */
typedef enum attn_status (*step_fn)(struct attn_records *records, struct attn_record_writer *writer,
                                    const void *argument, struct attn_error *err);

/* Applies STEP to all writers, except those whose pipe was closed by the reader. If no other writer
 * is left, that is a failure. */
static enum attn_status take_step(struct attn_records *records, step_fn step, const void *argument,
                                  struct attn_error *err)
{
    if (!attn_is_given(records, "records", err))
        return ATTN_INVALID;
    if (records->is_committed) {
        attn_error_set(err, ATTN_INVALID, "the records were committed, nothing can follow");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    for (size_t i = 0; i < records->n; i++) {
        struct attn_error found = {0};
        enum attn_status status = ATTN_OK;

        if (!is_closed(records->writers[i]) || attn_records_is_abandoned(records))
            status = step(records, records->writers[i], argument, &found);
        if (status == ATTN_OK ||
            (is_closed(records->writers[i]) && !attn_records_is_abandoned(records)))
            continue;
        attn_error_copy(err, &found);
        return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
    }
    return ATTN_OK;
}

/* Writes a result (step_fn). ARGUMENT is the result. */
static enum attn_status add_result(struct attn_records *records, struct attn_record_writer *writer,
                                   const void *argument, struct attn_error *err)
{
    ATTN_TRY(writer->kind->add(writer, argument, err));
    return writer->kind->is_text ? write_text(records, writer, err) : ATTN_OK;
}

enum attn_status attn_records_write(struct attn_records *records,
                                    const struct attn_item_result *result, struct attn_error *err)
{
    enum attn_status status;

    if (!attn_is_given(records, "records", err) || !attn_is_given(result, "result", err))
        return ATTN_INVALID;
    status = take_step(records, add_result, result, err);
    for (size_t i = 0; i < records->n; i++)
        records->writers[i]->n_record++;
    return status;
}

/* Flushes a writer (step_fn). */
static enum attn_status flush_writer(struct attn_records *records,
                                     struct attn_record_writer *writer, const void *argument,
                                     struct attn_error *err)
{
    (void)records;
    (void)argument;
    for (size_t p = 0; p < writer->n_part; p++)
        ATTN_TRY(attn_part_flush(writer->parts[p], err));
    if (writer->n_part > 0)
        return ATTN_OK;
    attn_sink_flush(writer->sink);
    return attn_sink_check(writer->sink, err);
}

enum attn_status attn_records_flush(struct attn_records *records, struct attn_error *err)
{
    return take_step(records, flush_writer, NULL, err);
}

static enum attn_status finish_writer(struct attn_records *records,
                                      struct attn_record_writer *writer, const void *argument,
                                      struct attn_error *err)
{
    if (writer->kind->finish)
        ATTN_TRY(writer->kind->finish(writer, err));
    if (writer->kind->is_text)
        ATTN_TRY(write_text(records, writer, err));
    for (size_t p = 0; p < writer->n_part; p++)
        ATTN_TRY(attn_part_finish(writer->parts[p], err));
    return writer->n_part == 0 ? flush_writer(records, writer, argument, err) : ATTN_OK;
}

enum attn_status attn_records_finish(struct attn_records *records, struct attn_error *err)
{
    ATTN_TRY(take_step(records, finish_writer, NULL, err));
    return records->expected_at == records->expected.size
               ? ATTN_OK
               : report_other(records, "has more rows than the items give", err);
}

enum attn_status attn_records_commit(struct attn_records *records, struct attn_error *err)
{
    if (!attn_is_given(records, "records", err))
        return ATTN_INVALID;
    records->is_committed = true;
    for (size_t k = 1; k <= records->n; k++) {
        const struct attn_record_writer *writer = records->writers[k % records->n];

        for (size_t i = 0; i < writer->n_part; i++)
            ATTN_TRY(attn_error_at(i + writer->n_inner < writer->n_part
                                       ? attn_part_commit(writer->parts[i], err)
                                       : attn_part_remove(writer->parts[i], err),
                                   ATTN_STAGE_OUTPUT, err));
    }
    return ATTN_OK;
}

bool attn_records_is_abandoned(const struct attn_records *records)
{
    for (size_t i = 0; records && i < records->n; i++)
        if (!is_closed(records->writers[i]))
            return false;
    return true;
}
