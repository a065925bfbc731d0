/* stack.c - see stack.h. */
#include "experiment/stack.h"

#include "base/buffer.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/utf8.h"
#include "batch/ledger_internal.h"
#include "encode/numpy_file.h"
#include "records/items_internal.h"
#include "trace/trace_extra.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TARGET, ROWS, N_PART };
enum { BLOCK = 1 << 16, MOST_GROUPS = 1000, LONGEST_NAME = 64 };

/* The rows of one site in the rows of items: [n_layer, n_head, n]. */
struct stacked {
    enum attn_site site;
    size_t first; /* number of a row */
    size_t n_layer, n_head, n;
    int rank;
};

/* The id, or a label. */
struct label_column {
    const char *name;                 /* borrowed */
    struct attn_buffer values;        /* owns; of each item: its text, terminated */
    bool has[ATTN_VALUE_BOOLEAN + 1]; /* the types of its values */
    size_t width;                     /* characters of the longest text */
};

/* The items of one value of the label `mean_by`. */
struct group {
    struct attn_buffer value; /* owns; terminated */
    enum attn_value_type type;
    int64_t n;
    double *sums; /* [n_number] owns */
};

struct attn_stack {
    const struct attn_collect_args *args;
    const struct attn_items *items;
    struct attn_notes notes;
    bool is_array;                   /* one array instead of an archive */
    struct attn_sink *parts[N_PART]; /* owns */
    struct stacked sites[ATTN_N_SITE];
    size_t n_site, n_number; /* numbers of a row */
    int64_t *layers;         /* [n_layer] owns */
    size_t n_layer;
    float *row;                   /* [n_number] owns */
    struct label_column *columns; /* [n_column] owns; the id is first */
    size_t n_column;
    bool has_noted_label;
    struct group *groups; /* [n_group] owns */
    size_t n_group, capacity;
    size_t n_row;
    struct attn_crc32 crc;
    struct attn_zip_entry entry; /* of the member that is written */
    uint64_t left;               /* its bytes that follow */
    struct attn_buffer members;  /* owns; central headers */
    size_t n_member;
};

/* --- Opening --------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);

    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static enum attn_status open_parts(struct attn_stack *stack, struct attn_error *err)
{
    static const char *const ends[N_PART] = {"", ".rows"};
    const char *path = stack->args->array;
    size_t shard, n_shard;
    enum attn_status status = ATTN_OK;

    attn_items_shard(stack->items, &shard, &n_shard);
    for (size_t i = 0; status == ATTN_OK && i < N_PART; i++) {
        struct attn_buffer name = {0};

        attn_ledger_append_path(&name, path, shard, n_shard);
        attn_buffer_append_string(&name, ends[i]);
        status = attn_buffer_string(&name) ? attn_part_open(name.data, false, &stack->parts[i], err)
                                           : attn_error_no_memory(err);
        attn_buffer_release(&name);
        if (status == ATTN_OK && !attn_sink_is_seekable(stack->parts[i]))
            status = attn_error_set(err, ATTN_IO, "'%s' is a pipe or a device, expected a file",
                                    attn_quote_string(path).text);
    }
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}

enum attn_status attn_stack_open(const struct attn_collect_args *args,
                                 const struct attn_items *items, struct attn_notes notes,
                                 struct attn_stack **stack, struct attn_error *err)
{
    struct attn_stack *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->args = args;
    made->items = items;
    made->notes = notes;
    made->is_array = ends_with(args->array, ".npy");
    attn_crc32_init(&made->crc);
    status = open_parts(made, err);
    if (status == ATTN_OK)
        *stack = made;
    else
        attn_stack_free(made);
    return status;
}

void attn_stack_free(struct attn_stack *stack)
{
    if (!stack)
        return;
    for (size_t i = 0; i < N_PART; i++)
        attn_part_discard(stack->parts[i]);
    for (size_t i = 0; i < stack->n_group; i++) {
        attn_buffer_release(&stack->groups[i].value);
        attn_free(stack->groups[i].sums);
    }
    for (size_t i = 0; i < stack->n_column; i++)
        attn_buffer_release(&stack->columns[i].values);
    attn_free(stack->groups);
    attn_free(stack->columns);
    attn_free(stack->layers);
    attn_free(stack->row);
    attn_buffer_release(&stack->members);
    attn_free(stack);
}

/* --- An item --------------------------------------------------------------------------------- */

/* Takes the sites of SELECTION, the first, as those of all items. */
static enum attn_status find_sites(struct attn_stack *stack, const struct attn_selection *selection,
                                   struct attn_error *err)
{
    const size_t n_layer = attn_selection_dims(selection)->n_layer;

    ATTN_TRY(ATTN_ALLOC(stack->layers, n_layer, err));
    for (size_t layer = 0; layer < n_layer; layer++)
        if (attn_selection_has_layer(selection, (int)layer))
            stack->layers[stack->n_layer++] = (int64_t)layer;
    for (size_t i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        const bool is_in_layer = attn_site_is_in_layer(site);
        struct stacked *stacked = &stack->sites[stack->n_site];
        size_t shape[3];

        if (!attn_selection_has_site(selection, site))
            continue;
        stacked->rank = attn_selection_shape(
            selection, site, is_in_layer ? (int)stack->layers[0] : ATTN_NO_LAYER, shape);
        stacked->site = site;
        stacked->first = stack->n_number;
        stacked->n_layer = is_in_layer ? stack->n_layer : 1;
        stacked->n_head = stacked->rank == 3 ? shape[1] : 1;
        stacked->n = shape[stacked->rank - 1];
        stack->n_number += stacked->n_layer * stacked->n_head * stacked->n;
        stack->n_site++;
    }
    return ATTN_ALLOC(stack->row, stack->n_number, err);
}

/* Copies the tensors of RESULT at POSITION into the row. */
static enum attn_status fill_row(struct attn_stack *stack, const struct attn_many_result *result,
                                 size_t position, struct attn_error *err)
{
    float *to = stack->row;

    for (size_t i = 0; i < stack->n_site; i++)
        for (size_t k = 0; k < stack->sites[i].n_layer; k++) {
            const struct stacked *stacked = &stack->sites[i];
            const int layer =
                attn_site_is_in_layer(stacked->site) ? (int)stack->layers[k] : ATTN_NO_LAYER;
            const float *from = attn_capture_tensor(result->capture, stacked->site, layer);
            size_t shape[3] = {0}, at;
            const int rank =
                attn_selection_shape(result->labels->selection, stacked->site, layer, shape);

            if (!from || rank != stacked->rank || shape[0] == 0 || shape[rank - 1] != stacked->n ||
                (rank == 3 && shape[1] != stacked->n_head))
                return attn_refuse(err, ATTN_STAGE_OPTIONS,
                                   "'%s' is not of one shape in all selected layers",
                                   attn_site_name(stacked->site));
            at = shape[0] == result->n_token ? position : shape[0] - 1; /* all rows, or this one */
            for (size_t head = 0; head < stacked->n_head; head++, to += stacked->n)
                memcpy(to, from + (head * shape[0] + at) * stacked->n, stacked->n * sizeof *to);
        }
    return ATTN_OK;
}

/* Takes the labels of the header, or of the first item, as those of all items. */
static enum attn_status find_columns(struct attn_stack *stack, struct attn_error *err)
{
    size_t n;
    const char *const *names = attn_items_labels(stack->items, &n);

    ATTN_TRY(ATTN_ALLOC(stack->columns, 1 + n, err));
    stack->columns[stack->n_column++].name = "id";
    for (size_t i = 0; i < n; i++) {
        struct label_column column = {.name = names[i]};
        bool is_good = strlen(names[i]) <= LONGEST_NAME && !strchr(names[i], '/');

        for (const char *c = names[i]; *c; c++)
            is_good = is_good && *c >= ' ' && *c <= '~';
        if (is_good)
            stack->columns[stack->n_column++] = column;
        else
            attn_note(stack->notes.on_note, stack->notes.user, ATTN_NOTE_OMITTED_LABEL,
                      "the label '%s' is left out of the archive, in which names are short and "
                      "ASCII without '/'",
                      attn_quote_string(names[i]).text);
    }
    return ATTN_OK;
}

static void append_value(struct label_column *column, enum attn_value_type type, const char *text,
                         size_t size)
{
    size_t width = 0;
    uint32_t code;

    for (size_t at = 0; at < size; width++)
        at += attn_utf8_decode(text + at, size - at, &code);
    column->width = width > column->width ? width : column->width;
    column->has[type] = true;
    attn_buffer_append(&column->values, text, size);
    attn_buffer_append_char(&column->values, '\0');
}

static const struct attn_item_label *find_label(const struct attn_item *item, const char *name)
{
    for (size_t i = 0; i < item->n_label; i++)
        if (strcmp(item->labels[i].name, name) == 0 &&
            item->labels[i].value.type != ATTN_VALUE_MISSING)
            return &item->labels[i];
    return NULL;
}

/* The id may be too large for a number of the array; then it is a text. */
static void append_id(struct label_column *column, const struct attn_record *record)
{
    char number[24];
    const int n_number = snprintf(number, sizeof number, "%zu", record->number);
    const char *text = record->id ? record->id : number;
    const size_t size = record->id ? record->n_id : (size_t)n_number;
    int64_t value;
    const bool is_number = record->has != ATTN_RECORD_ID_TEXT &&
                           attn_parse_int(text, size, INT64_MIN, INT64_MAX, &value);

    append_value(column, is_number ? ATTN_VALUE_INTEGER : ATTN_VALUE_TEXT, text, size);
}

static enum attn_status append_labels(struct attn_stack *stack, const struct attn_item *item,
                                      struct attn_error *err)
{
    size_t n_known;

    if (stack->n_column == 0)
        ATTN_TRY(find_columns(stack, err));
    append_id(&stack->columns[0], &item->record);
    for (size_t i = 1; i < stack->n_column; i++) {
        const struct attn_item_label *label = find_label(item, stack->columns[i].name);

        append_value(&stack->columns[i], label ? label->value.type : ATTN_VALUE_MISSING,
                     label ? label->text : "", label ? strlen(label->text) : 0);
    }
    attn_items_labels(stack->items, &n_known);
    if (item->n_label > n_known && !stack->has_noted_label)
        attn_note(stack->notes.on_note, stack->notes.user, ATTN_NOTE_OMITTED_LABEL,
                  "labels that the first item does not have are left out of the archive");
    stack->has_noted_label = stack->has_noted_label || item->n_label > n_known;
    return ATTN_OK;
}

/* Finds the group of LABEL, or makes it. */
static enum attn_status find_group(struct attn_stack *stack, const struct attn_item_label *label,
                                   struct group **found, struct attn_error *err)
{
    struct group *group;

    for (size_t i = 0; i < stack->n_group; i++)
        if (strcmp(stack->groups[i].value.data, label->text) == 0) {
            *found = &stack->groups[i];
            return ATTN_OK;
        }
    if (stack->n_group == MOST_GROUPS) {
        attn_error_set(err, ATTN_INVALID, "`mean_by` '%s' has more than 1,000 values",
                       attn_quote_string(label->name).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_CHECK, err);
    }
    ATTN_TRY(attn_grow(&stack->groups, &stack->capacity, stack->n_group + 1, sizeof *stack->groups,
                       err));
    *found = group = &stack->groups[stack->n_group++];
    *group = (struct group){.type = label->value.type};
    attn_buffer_append_string(&group->value, label->text);
    attn_buffer_string(&group->value);
    ATTN_TRY(attn_buffer_check(&group->value, err));
    return ATTN_ALLOC(group->sums, stack->n_number, err);
}

enum attn_status attn_stack_add(struct attn_stack *stack, const struct attn_item *item,
                                const struct attn_many_result *result, size_t position,
                                struct attn_error *err)
{
    const char *mean_by = stack->args->mean_by;
    const struct attn_item_label *label = mean_by ? find_label(item, mean_by) : NULL;
    struct group *group = NULL;

    if (mean_by && !label)
        return attn_error_set(err, ATTN_INVALID, "it has no label '%s'",
                              attn_quote_string(mean_by).text);
    if (!stack->row)
        ATTN_TRY(find_sites(stack, result->labels->selection, err));
    ATTN_TRY(fill_row(stack, result, position, err));
    if (!label) {
        stack->n_row++;
        attn_sink_write(stack->parts[ROWS], stack->row, stack->n_number * sizeof *stack->row);
        ATTN_TRY(append_labels(stack, item, err));
        return attn_error_at(attn_sink_check(stack->parts[ROWS], err), ATTN_STAGE_OUTPUT, err);
    }
    ATTN_TRY(find_group(stack, label, &group, err));
    group->n++;
    for (size_t i = 0; i < stack->n_number; i++)
        group->sums[i] += (double)stack->row[i];
    return ATTN_OK;
}

/* --- The file -------------------------------------------------------------------------------- */

/* Appends bytes of the array that is written. */
static void put(struct attn_stack *stack, const void *bytes, size_t size)
{
    stack->left -= size;
    stack->entry.crc ^= attn_crc32_piece(&stack->crc, bytes, size, stack->left);
    attn_sink_write(stack->parts[TARGET], bytes, size);
}

/* Begins the array NAME of DTYPE and SHAPE [rank], with N_BYTE bytes. */
static void begin_array(struct attn_stack *stack, const char *name, const char *dtype,
                        const size_t *shape, int rank, uint64_t n_byte)
{
    char header[ATTN_NPY_HEADER_SIZE];
    unsigned char record[ATTN_ZIP_RECORD_SIZE];
    const size_t size = attn_npy_header(dtype, shape, rank, header);

    stack->left = size + n_byte;
    stack->entry = (struct attn_zip_entry){.size = stack->left,
                                           .offset = attn_sink_position(stack->parts[TARGET]),
                                           .crc = attn_crc32_begin(stack->left),
                                           .is_described = true};
    snprintf(stack->entry.name, sizeof stack->entry.name, "%s.npy", name);
    if (!stack->is_array)
        attn_sink_write(stack->parts[TARGET], record, attn_zip_local_header(&stack->entry, record));
    put(stack, header, size);
}

static void end_array(struct attn_stack *stack)
{
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    if (stack->is_array)
        return;
    attn_sink_write(stack->parts[TARGET], record, attn_zip_description(&stack->entry, record));
    attn_buffer_append(&stack->members, record, attn_zip_central_header(&stack->entry, record));
    stack->n_member++;
}

/* Writes the array of STACKED: its numbers of each row. */
static enum attn_status write_site(struct attn_stack *stack, const struct stacked *stacked,
                                   struct attn_error *err)
{
    const size_t row_size = stack->n_number * sizeof(float);
    const size_t n = stacked->n_layer * stacked->n_head * stacked->n;
    const size_t n_most = row_size < BLOCK ? BLOCK / row_size : 1; /* rows of a block */
    enum attn_status status = ATTN_OK;
    size_t shape[4], rank = 0;
    float *block;

    if (!stack->args->minus)
        shape[rank++] = stack->n_row;
    if (stacked->n_layer > 1)
        shape[rank++] = stacked->n_layer;
    if (stacked->rank == 3)
        shape[rank++] = stacked->n_head;
    shape[rank++] = stacked->n;
    begin_array(stack, attn_site_name(stacked->site), "<f4", shape, (int)rank,
                (uint64_t)stack->n_row * n * sizeof(float));
    ATTN_TRY(ATTN_ALLOC(block, n_most * stack->n_number, err));
    for (size_t at = 0, n_row; status == ATTN_OK && at < stack->n_row; at += n_row) {
        n_row = stack->n_row - at < n_most ? stack->n_row - at : n_most;
        status = attn_part_read_at(stack->parts[ROWS], (uint64_t)at * row_size, block,
                                   n_row * row_size, err);
        for (size_t r = 0; status == ATTN_OK && r < n_row; r++)
            put(stack, block + r * stack->n_number + stacked->first, n * sizeof *block);
    }
    attn_free(block);
    end_array(stack);
    return status;
}

/* Writes a value of a column whose type is KIND; a text has WIDTH characters in UTF-32. */
static void put_value(struct attn_stack *stack, enum attn_value_type kind, size_t width,
                      const char *text)
{
    const size_t size = strlen(text);
    double real = (double)NAN;
    int64_t integer = 0;
    const bool is_true = size == 4;

    if (kind == ATTN_VALUE_INTEGER) {
        attn_parse_int(text, size, INT64_MIN, INT64_MAX, &integer);
        put(stack, &integer, sizeof integer);
    } else if (kind == ATTN_VALUE_REAL) {
        attn_parse_double(text, size, &real);
        put(stack, &real, sizeof real);
    } else if (kind == ATTN_VALUE_BOOLEAN) {
        put(stack, &is_true, sizeof is_true);
    } else {
        for (size_t at = 0, i = 0; i < width; i++) {
            uint32_t code = 0;

            if (at < size)
                at += attn_utf8_decode(text + at, size - at, &code);
            put(stack, &code, sizeof code);
        }
    }
}

/* The type of the array of COLUMN. */
static enum attn_value_type kind_of(const struct label_column *column)
{
    const bool has_number = column->has[ATTN_VALUE_INTEGER] || column->has[ATTN_VALUE_REAL];

    if (column->has[ATTN_VALUE_TEXT] ||
        (column->has[ATTN_VALUE_BOOLEAN] && (has_number || column->has[ATTN_VALUE_MISSING])))
        return ATTN_VALUE_TEXT;
    if (column->has[ATTN_VALUE_BOOLEAN])
        return ATTN_VALUE_BOOLEAN;
    return column->has[ATTN_VALUE_INTEGER] && !column->has[ATTN_VALUE_REAL] &&
                   !column->has[ATTN_VALUE_MISSING]
               ? ATTN_VALUE_INTEGER
               : ATTN_VALUE_REAL;
}

/* Whether an array that is no label has this NAME. */
static bool is_taken(const struct attn_stack *stack, const char *name)
{
    bool is_taken = strcmp(name, "id") == 0 || strcmp(name, "layer") == 0 || strcmp(name, "n") == 0;

    for (size_t i = 0; i < stack->n_site; i++)
        is_taken = is_taken || strcmp(name, attn_site_name(stack->sites[i].site)) == 0;
    return is_taken;
}

/* Writes the array of column I of the labels. */
static enum attn_status write_column(struct attn_stack *stack, size_t i, struct attn_error *err)
{
    const struct label_column *column = &stack->columns[i];
    const enum attn_value_type kind = kind_of(column);
    const size_t width = column->width > 0 ? column->width : 1;
    const size_t size = kind == ATTN_VALUE_TEXT ? 4 * width : kind == ATTN_VALUE_BOOLEAN ? 1 : 8;
    const char *text = column->values.data;
    char name[ATTN_ZIP_NAME_SIZE], dtype[24];

    ATTN_TRY(attn_buffer_check(&column->values, err));
    snprintf(name, sizeof name, "%s%s",
             i > 0 && is_taken(stack, column->name) ? ATTN_LABEL_PREFIX : "", column->name);
    snprintf(dtype, sizeof dtype, "<U%zu", width);
    begin_array(stack, name,
                kind == ATTN_VALUE_TEXT      ? dtype
                : kind == ATTN_VALUE_BOOLEAN ? "|b1"
                : kind == ATTN_VALUE_INTEGER ? "<i8"
                                             : "<f8",
                &stack->n_row, 1, (uint64_t)stack->n_row * size);
    for (size_t k = 0; k < stack->n_row; k++, text += strlen(text) + 1)
        put_value(stack, kind, width, text);
    end_array(stack);
    return ATTN_OK;
}

/* Writes NUMBERS [n] as the array NAME. */
static void write_numbers(struct attn_stack *stack, const char *name, const int64_t *numbers,
                          size_t n)
{
    begin_array(stack, name, "<i8", &n, 1, n * sizeof *numbers);
    put(stack, numbers, n * sizeof *numbers);
    end_array(stack);
}

/* Makes the means of the groups the rows. */
static enum attn_status make_means(struct attn_stack *stack, struct attn_error *err)
{
    static const struct label_column none;
    const char *minus = stack->args->minus;
    struct group *groups = stack->groups, *other = NULL, *taken = NULL;

    for (size_t i = 0; minus && i < stack->n_group; i++)
        if (strcmp(groups[i].value.data, minus) == 0)
            taken = &groups[i];
        else
            other = &groups[i];
    if (minus && (stack->n_group != 2 || !taken)) {
        attn_error_set(err, ATTN_INVALID,
                       "'%s' has %zu value%s among the items%s, and `minus` '%s' needs two, of "
                       "which it is one",
                       attn_quote_string(stack->args->mean_by).text, stack->n_group,
                       stack->n_group == 1 ? "" : "s", taken ? "" : ", none of them this one",
                       attn_quote_string(minus).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
    }
    ATTN_TRY(ATTN_ALLOC(stack->columns, 1, err));
    stack->columns[0] = none;
    stack->columns[0].name = stack->args->mean_by;
    stack->n_row = minus ? 1 : stack->n_group;
    for (size_t g = 0; g < stack->n_row; g++) {
        const struct group *group = minus ? other : &groups[g];

        for (size_t i = 0; i < stack->n_number; i++)
            stack->row[i] = (float)(group->sums[i] / (double)group->n -
                                    (minus ? taken->sums[i] / (double)taken->n : 0));
        attn_sink_write(stack->parts[ROWS], stack->row, stack->n_number * sizeof *stack->row);
        append_value(stack->columns, group->type, group->value.data, group->value.size);
    }
    stack->n_column = !minus;
    return ATTN_OK;
}

static enum attn_status write_arrays(struct attn_stack *stack, struct attn_error *err)
{
    struct attn_sink *target = stack->parts[TARGET];
    unsigned char record[ATTN_ZIP_RECORD_SIZE];

    ATTN_TRY(attn_part_flush(stack->parts[ROWS], false, err));
    for (size_t i = 0; i < stack->n_site; i++)
        ATTN_TRY(write_site(stack, &stack->sites[i], err));
    if (stack->is_array)
        return attn_sink_check(target, err);
    if (stack->n_layer > 1)
        write_numbers(stack, "layer", stack->layers, stack->n_layer);
    for (size_t i = 0; i < stack->n_column; i++)
        ATTN_TRY(write_column(stack, i, err));
    if (stack->args->mean_by && !stack->args->minus) {
        int64_t n[MOST_GROUPS];

        for (size_t i = 0; i < stack->n_group; i++)
            n[i] = stack->groups[i].n;
        write_numbers(stack, "n", n, stack->n_group);
    }
    ATTN_TRY(attn_buffer_check(&stack->members, err));
    stack->entry.offset = attn_sink_position(target);
    attn_sink_write(target, stack->members.data, stack->members.size);
    attn_sink_write(
        target, record,
        attn_zip_end(stack->n_member, stack->entry.offset, stack->members.size, record));
    return attn_sink_check(target, err);
}

enum attn_status attn_stack_finish(struct attn_stack *stack, struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    if (!stack->row) {
        attn_error_set(err, ATTN_INVALID, "no item has a result, and there is nothing to write");
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
    }
    if (stack->args->mean_by)
        ATTN_TRY(make_means(stack, err));
    status = write_arrays(stack, err);
    if (status == ATTN_OK)
        status = attn_part_finish(stack->parts[TARGET], false, err);
    if (status == ATTN_OK)
        status = attn_part_commit(stack->parts[TARGET], err);
    return attn_error_at(status, ATTN_STAGE_OUTPUT, err);
}
