/* records.c - see records.h: the code that all formats share: it opens, truncates, flushes and
 * renames parts. */
#include "stream/records_internal.h"

#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/path.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
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
};

/* --- Lists of fields ------------------------------------------------------------------------- */

static const char *const field_names[] = {
#define NAME(id, number, name) [ATTN_RECORD_FIELD_##id] = (name),
    ATTN_RECORD_FIELD_MAP(NAME)
#undef NAME
};

const char *attn_record_field_name(enum attn_record_field field)
{
    return (unsigned)field < ATTN_N_RECORD_FIELD ? field_names[field] : NULL;
}

enum attn_status attn_record_fields_parse(const char *list, attn_record_field_set *fields,
                                          struct attn_error *err)
{
    attn_record_field_set found = 0;

    if (!attn_is_given(list, "list", err) || !attn_is_given(fields, "fields", err))
        return ATTN_INVALID;
    for (const char *item = list;; item++) {
        const size_t size = strcspn(item, ",");
        char names[200] = "";
        size_t used = 0;
        int i = 0;

        while (i < ATTN_N_RECORD_FIELD &&
               (strlen(field_names[i]) != size || memcmp(field_names[i], item, size) != 0))
            i++;
        if (i < ATTN_N_RECORD_FIELD) {
            found |= UINT64_C(1) << i;
            item += size;
            if (*item == '\0')
                break;
            continue;
        }
        for (i = 0; i < ATTN_N_RECORD_FIELD; i++)
            attn_fixed_text_append(names, sizeof names, &used, i > 0 ? ", %s" : "%s",
                                   field_names[i]);
        return attn_error_set(err, ATTN_INVALID,
                              "'%s' is no field of a record, expected some of %s",
                              attn_quote(item, size).text, names);
    }
    *fields = found;
    return ATTN_OK;
}

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

/* Writes the text of the record to the sink, and clears it. */
static enum attn_status write_text(struct attn_record_writer *writer, struct attn_error *err)
{
    struct attn_sink *sink = sink_of(writer);

    ATTN_TRY(attn_buffer_check(&writer->text, err));
    attn_sink_write(sink, writer->text.data, writer->text.size);
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

static enum attn_status begin(struct attn_records *records, size_t n_record, struct attn_error *err)
{
    for (size_t i = 0; i < records->n; i++) {
        struct attn_record_writer *writer = records->writers[i];

        writer->n_record = n_record;
        if (writer->kind->begin)
            ATTN_TRY(writer->kind->begin(writer, err));
        if (writer->kind->is_text)
            ATTN_TRY(write_text(writer, err));
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
    return is_resumed ? ATTN_OK : begin(records, 0, err);
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
    status = attn_record_columns_set(&opened->columns, known.labels, known.n_label,
                                     known.has_all_labels, err);
    if (status == ATTN_OK)
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
    const struct attn_item_sink *kind = place.writer->kind;
    part->target = place.is_inner ? NULL : attn_part_target(found);
    part->path = attn_part_path(found);
    part->size = attn_sink_position(found);
    part->n_changing = kind->n_changing ? kind->n_changing(place.writer, place.i) : 0;
    return true;
}

enum attn_status attn_records_begin(struct attn_records *records, size_t n_record,
                                    const uint64_t *sizes, size_t n_size, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;
    struct attn_sink *part;
    struct part_place place;
    size_t i = 0;

    if (!attn_is_given(records, "records", err))
        return ATTN_INVALID;
    for (; status == ATTN_OK && (part = find_part(records, i, &place)); i++) {
        if (sizes && i >= n_size)
            break;
        status = attn_part_cut(part, sizes ? sizes[i] : 0, err);
    }
    if (status == ATTN_OK && sizes && (i != n_size || find_part(records, i, &place)))
        status = attn_error_set(err, ATTN_INVALID, "%zu sizes were given of other parts", n_size);
    if (status == ATTN_OK)
        status = begin(records, sizes ? n_record : 0, err);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

bool attn_records_save(const struct attn_records *records, struct attn_buffer *out)
{
    attn_record_rows_save(&records->rows, out);
    return records->rows.waiting.size == 0;
}

enum attn_status attn_records_restore(struct attn_records *records, const char *text, bool *is_good,
                                      struct attn_error *err)
{
    for (size_t i = 0; i < records->n; i++)
        records->writers[i]->n_record = 0; /* attn_records_load counts again */
    return attn_record_rows_load(&records->rows, text, is_good, err);
}

/* An action that is applied to each writer. */
typedef enum attn_status (*step_fn)(struct attn_record_writer *writer, const void *argument,
                                    struct attn_error *err);

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
            status = step(records->writers[i], argument, &found);
        if (status == ATTN_OK ||
            (is_closed(records->writers[i]) && !attn_records_is_abandoned(records)))
            continue;
        attn_error_copy(err, &found);
        return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
    }
    return ATTN_OK;
}

/* Writes a result (step_fn). ARGUMENT is the result. */
static enum attn_status add_result(struct attn_record_writer *writer, const void *argument,
                                   struct attn_error *err)
{
    ATTN_TRY(writer->kind->add(writer, argument, err));
    return writer->kind->is_text ? write_text(writer, err) : ATTN_OK;
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

/* Adds the text of the writer to the digest of what was replayed, and clears it. */
static enum attn_status replay_text(struct attn_record_writer *writer, struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(&writer->text, err));
    if (writer->n_replayed == 0)
        attn_sha256_init(&writer->replayed);
    attn_sha256_update(&writer->replayed, writer->text.data, writer->text.size);
    writer->n_replayed += writer->text.size;
    attn_buffer_reset(&writer->text);
    return ATTN_OK;
}

enum attn_status attn_records_load(struct attn_records *records, const struct attn_item *item,
                                   attn_record_take_fn take, void *user,
                                   enum attn_record_failure *failure, struct attn_error *err)
{
    struct attn_item_result result = {.item = item};
    bool are_kept = false;

    for (size_t i = 0; i < records->n; i++) {
        struct attn_record_writer *writer = records->writers[i];

        if (writer->kind->load)
            ATTN_TRY(writer->kind->load(writer, &result, take, user, err));
        are_kept = are_kept || writer->kind->load;
    }
    if (!are_kept)
        return take(user, &result, err);
    for (size_t i = 0; i < records->n; i++) {
        struct attn_record_writer *writer = records->writers[i];

        ATTN_TRY(writer->kind->add(writer, &result, err));
        ATTN_TRY(replay_text(writer, err));
        writer->n_record++;
    }
    *failure = result.failure;
    return ATTN_OK;
}

enum attn_status attn_records_replayed(struct attn_records *records, size_t i, bool is_finished,
                                       uint64_t *size, char hex[ATTN_DIGEST_HEX_SIZE],
                                       struct attn_error *err)
{
    struct part_place place;
    struct attn_record_writer *writer;

    hex[0] = '\0';
    if (!find_part(records, i, &place))
        return ATTN_OK;
    writer = place.writer;
    if (is_finished && writer->kind->finish)
        ATTN_TRY(writer->kind->finish(writer, err));
    ATTN_TRY(replay_text(writer, err));
    attn_digest_hex(&writer->replayed, hex);
    *size = writer->n_replayed;
    return ATTN_OK;
}

/* Flushes a writer (step_fn). ARGUMENT points to a bool: sync to the device. */
static enum attn_status flush_writer(struct attn_record_writer *writer, const void *argument,
                                     struct attn_error *err)
{
    const bool *is_synced = argument;

    for (size_t p = 0; p < writer->n_part; p++)
        ATTN_TRY(attn_part_flush(writer->parts[p], *is_synced, err));
    if (writer->n_part > 0)
        return ATTN_OK;
    attn_sink_flush(writer->sink);
    return attn_sink_check(writer->sink, err);
}

enum attn_status attn_records_flush(struct attn_records *records, bool is_synced,
                                    struct attn_error *err)
{
    return take_step(records, flush_writer, &is_synced, err);
}

static enum attn_status finish_writer(struct attn_record_writer *writer, const void *argument,
                                      struct attn_error *err)
{
    const bool *is_synced = argument;

    if (writer->kind->finish)
        ATTN_TRY(writer->kind->finish(writer, err));
    if (writer->kind->is_text)
        ATTN_TRY(write_text(writer, err));
    for (size_t p = 0; p < writer->n_part; p++)
        ATTN_TRY(attn_part_finish(writer->parts[p], *is_synced, err));
    return writer->n_part == 0 ? flush_writer(writer, argument, err) : ATTN_OK;
}

enum attn_status attn_records_finish(struct attn_records *records, bool is_synced,
                                     struct attn_error *err)
{
    return take_step(records, finish_writer, &is_synced, err);
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

struct attn_records_form attn_records_form_of(const struct attn_many_options *options,
                                              const struct attn_config *config)
{
    static const struct attn_request_predict nothing;
    const struct attn_request_predict *predict =
        options && options->request ? &options->request->predict : &nothing;
    struct attn_records_form form = ATTN_RECORDS_FORM_DEFAULT;

    if (!options || !config)
        return form;
    form.fields = ATTN_RECORD_FIELD_BIT(IDS) | ATTN_RECORD_FIELD_BIT(MEASURES);
    if (attn_predict_is_asked(predict))
        form.fields |= ATTN_RECORD_FIELD_BIT(PREDICTIONS);
    form.measures = options->measures;
    form.n_stack = attn_config_n_part(config);
    form.n_layer = attn_config_n_whole_layer(config);
    form.n_head = config->n_head;
    form.n_top = predict->top < config->n_vocab ? predict->top : config->n_vocab;
    form.n_next = predict->n_next;
    form.has_positions =
        options->request && attn_number_list_is_given(&options->request->selection.queries);
    return form;
}
