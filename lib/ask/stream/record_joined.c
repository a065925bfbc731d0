/* record_joined.c - one array over all items for each selected site, with ids and labels beside it.
 *
 * `resid_pre` is [N, n], with several layers [N, L, n]; sites with heads are [N, L, H, n], and maps
 * of a picture [N, L, H, down, across]. Rows are appended to FILE.rows.part, and copied into the
 * file when their number is known, so that only ids, labels and the list of members need memory
 * that grows with the items. For means only the sums of groups are stored, in double precision,
 * added in the order of the items. Sites with a column for each key have a member for each item,
 * which is written at once. */
#include "stream/record_arrays.h"
#include "stream/records_internal.h"

#include "base/memory.h"
#include "base/sink_internal.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "stream/items_internal.h"
#include "tensors/npz_archive.h"
#include "trace/capture.h"
#include "trace/trace_extra.h"
#include "trace/trace_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGET, ROWS }; /* indices of the parts */
enum { BLOCK = 1 << 16, MOST_GROUPS = 1000, MEMBER_SIZE = ATTN_SITE_ARCHIVE_NAME_SIZE };

/* A site: the numbers of an item are [n_layer, shape]. */
struct site_rows {
    enum attn_site site;
    size_t n_layer;
    bool is_whole;   /* all numbers: rows of a picture, or one vector of the text; otherwise the row
                        at the item's position */
    size_t shape[3]; /* [rank] in one layer: [n_head, n] or [n] of a row */
    int rank;
    size_t n; /* numbers of one layer */
};

/* Columns of values beside the rows: stacks; layers; ids (or the values of `mean_by`); then labels
 * (or the number of items per value). */
enum { STACK, LAYER, ID, FIRST_LABEL };
static const struct attn_column others[] = {
    {.name = "stack"}, {.name = "layer"}, {.name = "id"}, {.name = "n"}};

enum { N_SITE_OF_1_0 = 101 }; /* a later site leaves its name to a label, as a later column does */

struct column {
    const char *name;                 /* borrowed */
    struct attn_buffer values;        /* owns; texts, each null-terminated */
    size_t n, width;                  /* number of values, and characters of the longest text */
    bool has[ATTN_VALUE_BOOLEAN + 1]; /* has[TYPE]: some value has TYPE */
};

/* The sum over the items that have one value of the label `mean_by`. */
struct group {
    size_t n;
    double *sums; /* [n_number] owns */
};

struct joined_writer {
    struct attn_record_writer base;
    bool is_archive;  /* the file is .npz, otherwise .npy */
    bool has_begun;   /* the sites are known */
    bool has_members; /* some sites have a member for each item */
    struct site_rows sites[ATTN_N_SITE];
    size_t n_site, n_number, n_row; /* numbers per row, and number of rows */
    float *row;                     /* [n_number] owns */
    struct attn_location *layers;   /* [n_layer] owns; stacks and layers, equal for all sites */
    size_t n_layer;
    struct column *columns; /* [n_column] owns; indexed by STACK, LAYER, ID; labels follow */
    size_t n_column;
    struct group *groups; /* [n_group] owns */
    size_t n_group, capacity;
    struct attn_npz_archive npz;   /* archive in TARGET, unless that is a .npy file */
    struct attn_npz_member member; /* member that is being written */
    struct attn_array array;       /* its name, type and shape */
    size_t at;                     /* bytes of its data written so far */
};

/* --- Opening --------------------------------------------------------------------------------- */

static enum attn_status open_joined(struct attn_record_writer *writer, const char *path,
                                    struct attn_error *err)
{
    struct attn_buffer rows = {0};
    enum attn_status status;

    ((struct joined_writer *)writer)->is_archive = strcmp(path + strlen(path) - 4, ".npz") == 0;
    ATTN_TRY(attn_record_writer_add_part(writer, path, false, err));
    attn_buffer_append_format(&rows, "%s.rows", path);
    status = attn_buffer_string(&rows) ? attn_record_writer_add_part(writer, rows.data, false, err)
                                       : attn_error_no_memory(err);
    attn_buffer_release(&rows);
    return status;
}

/* Writes the name of LABEL as a member to NAME: `/` and characters that are not ASCII are `_`. */
static void name_member(const char *prefix, const char *label, char name[MEMBER_SIZE])
{
    snprintf(name, MEMBER_SIZE, "%s%s", prefix, label);
    for (char *c = name; *c; c++)
        *c = *c < ' ' || *c > '~' || *c == '/' ? '_' : *c;
}

/* A name that label number LABEL may have. */
struct member {
    char name[MEMBER_SIZE];
    size_t label;
};

static int by_name(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    const int order = strcmp(x->name, y->name);

    return order != 0 ? order : (x->label > y->label) - (x->label < y->label);
}

/* Returns the prefix of the label whose member is NAME, beside the other arrays; before the sites
 * are known, beside those that may be there. */
static const char *label_prefix(const struct joined_writer *arrays, const char *name)
{
    const size_t n_site = arrays->has_begun ? arrays->n_site : ATTN_N_SITE;
    const char *prefix = "";

    for (size_t i = 0; i < n_site && !*prefix; i++) {
        const enum attn_site site = arrays->has_begun ? arrays->sites[i].site : (enum attn_site)i;

        prefix = attn_record_prefix(name, attn_site_name(site), (int)site >= N_SITE_OF_1_0, true);
    }
    for (size_t i = 0; i <= FIRST_LABEL && !*prefix; i++) /* ids, or the sizes of groups */
        if (i != (arrays->base.form->mean_by ? ID : FIRST_LABEL))
            prefix = attn_record_prefix(name, others[i].name, others[i].since, true);
    return prefix;
}

/* Names the array of something else than a label, OWN, which was added SINCE. */
static void name_array(struct joined_writer *arrays, const char *own, unsigned since)
{
    const size_t first = arrays->base.form->mean_by ? ID : FIRST_LABEL;
    const size_t end = arrays->base.form->mean_by ? FIRST_LABEL : arrays->n_column;
    const char *prefix = "";

    for (size_t i = first; i < end && !*prefix; i++) {
        name_member("", arrays->columns[i].name, arrays->array.name);
        prefix = attn_record_prefix(arrays->array.name, own, since, false);
    }
    name_member(prefix, own, arrays->array.name);
}

/* Refuses two labels that would be one member. */
static enum attn_status begin_joined(struct attn_record_writer *writer, struct attn_error *err)
{
    const struct joined_writer *arrays = (struct joined_writer *)writer;
    size_t n, n_member = 0, i = 1;
    const char *const *labels = attn_items_labels(writer->form->items, &n);
    enum attn_status status = ATTN_OK;
    struct member *members;

    if (writer->form->mean_by || !arrays->is_archive)
        return ATTN_OK; /* of one label, or of none */
    ATTN_TRY(ATTN_ALLOC(members, attn_size_mul(2, n), err));
    for (size_t label = 0; label < n; label++) {
        struct member *made = &members[n_member];

        made[0].label = made[1].label = label;
        name_member("", labels[label], made[0].name);
        name_member(ATTN_LABEL_PREFIX, labels[label], made[1].name);
        n_member += *label_prefix(arrays, made[0].name) ? 2 : 1;
    }
    ATTN_SORT(members, n_member, by_name);
    while (i < n_member && strcmp(members[i - 1].name, members[i].name) != 0)
        i++;
    if (i < n_member)
        status = attn_error_at(
            attn_error_set(err, ATTN_FORMAT,
                           "the labels '%s' and '%s' would both be the array '%s', expected "
                           "another name for one of them",
                           attn_quote_string(labels[members[i - 1].label]).text,
                           attn_quote_string(labels[members[i].label]).text, members[i].name),
            ATTN_STAGE_INPUT, err);
    attn_free(members);
    return status;
}

static void release_joined(struct attn_record_writer *writer)
{
    struct joined_writer *arrays = (struct joined_writer *)writer;

    for (size_t i = 0; i < arrays->n_group; i++)
        attn_free(arrays->groups[i].sums);
    for (size_t i = 0; i < arrays->n_column; i++)
        attn_buffer_release(&arrays->columns[i].values);
    attn_free(arrays->groups);
    attn_free(arrays->columns);
    attn_free(arrays->layers);
    attn_free(arrays->row);
    attn_npz_release(&arrays->npz);
}

/* --- Values beside the rows ------------------------------------------------------------------ */

static void append_value(struct column *column, enum attn_value_type type, const char *text,
                         size_t size)
{
    size_t width = 0;
    uint32_t code;

    for (size_t at = 0; at < size; width++)
        at += attn_utf8_decode(text + at, size - at, &code);
    column->width = width > column->width ? width : column->width;
    column->has[type] = true;
    column->n++;
    attn_buffer_append(&column->values, text, size);
    attn_buffer_append_char(&column->values, '\0');
}

static void append_number(struct column *column, size_t number)
{
    char text[24];
    const int size = snprintf(text, sizeof text, "%zu", number);

    append_value(column, ATTN_VALUE_INTEGER, text, (size_t)size);
}

/* Creates the columns: of ids and all labels; or with `mean_by` of the groups and their sizes. */
static enum attn_status make_columns(struct joined_writer *arrays, struct attn_error *err)
{
    const char *mean_by = arrays->base.form->mean_by;
    size_t n = 0;
    const char *const *names = mean_by ? NULL : attn_items_labels(arrays->base.form->items, &n);

    ATTN_TRY(ATTN_ALLOC(arrays->columns, FIRST_LABEL + 1 + n, err));
    for (size_t i = 0; arrays->n_layer > 1 && i < arrays->n_layer; i++) {
        const struct attn_location *at = &arrays->layers[i];
        const char *name = attn_model_stack_name(at->stack);

        if (at->stack != ATTN_STACK_ONLY)
            append_value(&arrays->columns[STACK], ATTN_VALUE_TEXT, name, strlen(name));
        append_number(&arrays->columns[LAYER], (size_t)at->layer);
    }
    for (size_t i = 0; i < FIRST_LABEL + (mean_by != NULL); i++)
        arrays->columns[arrays->n_column++].name = i == ID && mean_by ? mean_by : others[i].name;
    for (size_t i = 0; i < n; i++)
        arrays->columns[arrays->n_column++].name = names[i];
    return ATTN_OK;
}

/* Appends the id and the labels of ITEM. An id that does not fit into 64 bits is stored as text. */
static void append_item(struct joined_writer *arrays, const struct attn_item *item)
{
    int64_t number;
    const bool is_number = item->id_kind == ATTN_RECORD_ID_INTEGER &&
                           attn_parse_int(item->id, item->n_id, INT64_MIN, INT64_MAX, &number);

    if (item->id_kind == ATTN_RECORD_ID_NUMBER)
        append_number(&arrays->columns[ID], item->number);
    else
        append_value(&arrays->columns[ID], is_number ? ATTN_VALUE_INTEGER : ATTN_VALUE_TEXT,
                     item->id, item->n_id);
    for (size_t i = FIRST_LABEL; i < arrays->n_column; i++) {
        const struct attn_item_label *label = attn_item_label(item, arrays->columns[i].name);

        append_value(&arrays->columns[i], label ? label->value.type : ATTN_VALUE_MISSING,
                     label ? label->text : "", label ? strlen(label->text) : 0);
    }
}

/* --- The rows -------------------------------------------------------------------------------- */

/* Returns the location of SITE in layer number K of the rows. */
static struct attn_location at_of(const struct joined_writer *arrays, enum attn_site site, size_t k)
{
    struct attn_location at = {.layer = ATTN_NO_LAYER};

    if (attn_site_is_in_layer(site))
        at = arrays->layers[k];
    at.site = site;
    return at;
}

/* Sets the sites of all items from SELECTION, that of the first item. */
static enum attn_status find_sites(struct joined_writer *arrays,
                                   const struct attn_selection *selection, struct attn_error *err)
{
    const struct attn_dims *dims = attn_selection_dims(selection);
    bool has_layers = false;

    ATTN_TRY(ATTN_ALLOC(arrays->layers, dims->n_layer, err));
    for (size_t i = 0; i < ATTN_N_SITE; i++) {
        const enum attn_site site = attn_site_order[i];
        struct site_rows *kept = &arrays->sites[arrays->n_site];
        const bool is_in_layer = attn_site_is_in_layer(site);
        struct attn_location at = {.site = site, .layer = ATTN_NO_LAYER};
        size_t shape[3];
        int rank;

        if (!attn_selection_has_site(selection, site))
            continue;
        arrays->has_members |= attn_record_site_has_keys(site);
        if (attn_record_site_has_keys(site))
            continue;
        while (is_in_layer && !has_layers && attn_dims_next_layer(dims, &at))
            if (attn_selection_wants(selection, &at))
                arrays->layers[arrays->n_layer++] = at;
        has_layers = has_layers || is_in_layer;
        kept->site = site;
        at = at_of(arrays, site, 0);
        rank = attn_selection_shape(selection, &at, shape);
        kept->n_layer = is_in_layer ? arrays->n_layer : 1;
        kept->is_whole = rank == 1 || attn_site_has_own_rows(site);
        kept->rank = rank - !kept->is_whole;
        kept->n = 1;
        for (int d = 0; d < kept->rank; d++)
            kept->n *= kept->shape[d] = shape[d + !kept->is_whole];
        arrays->n_number += kept->n_layer * kept->n;
        arrays->n_site++;
    }
    ATTN_TRY(make_columns(arrays, err));
    arrays->has_begun = true;
    attn_npz_begin(&arrays->npz, ATTN_NPZ_STREAMED, arrays->base.parts[TARGET], 0);
    return ATTN_ALLOC(arrays->row, arrays->n_number, err);
}

/* Copies the numbers of KEPT in one layer from the tensor FROM, which has N_ROW rows. */
static float *copy_rows(const struct site_rows *kept, const struct attn_item_result *result,
                        const float *from, size_t n_row, float *to)
{
    const size_t n_head = kept->rank == 2 ? kept->shape[0] : 1, n = kept->n / n_head;
    /* the result has all rows, or only this one */
    const size_t at = n_row == result->n_token ? result->answer.position : n_row - 1;

    if (kept->is_whole)
        memcpy(to, from, kept->n * sizeof *to);
    for (size_t head = 0; head < n_head && !kept->is_whole; head++)
        memcpy(to + head * n, from + (head * n_row + at) * n, n * sizeof *to);
    return to + kept->n;
}

/* Copies the tensors of RESULT at its position into the row. */
static enum attn_status fill_row(struct joined_writer *arrays,
                                 const struct attn_item_result *result, struct attn_error *err)
{
    const struct attn_selection *selection = result->labels->selection;
    const bool *is_cross = attn_selection_dims(selection)->is_cross;
    float *to = arrays->row;

    for (size_t i = 0; i < arrays->n_site; i++)
        for (size_t k = 0; k < arrays->sites[i].n_layer; k++) {
            const struct site_rows *kept = &arrays->sites[i];
            const struct attn_location place = at_of(arrays, kept->site, k);
            const float *from = attn_capture_tensor(result->capture, &place);
            size_t shape[3] = {0};
            const int rank = attn_selection_shape(selection, &place, shape);

            if (is_cross && attn_site_layout(kept->site) == ATTN_LAYOUT_KEY &&
                place.layer != ATTN_NO_LAYER && is_cross[attn_location_index(&place)])
                return attn_refuse(err, ATTN_STAGE_OPTIONS,
                                   "'%s' has a row for each position of the source, and records "
                                   "are of positions of the text",
                                   attn_site_name(kept->site));
            if (!from || rank - !kept->is_whole != kept->rank || shape[0] == 0 ||
                memcmp(shape + !kept->is_whole, kept->shape, (size_t)kept->rank * sizeof *shape) !=
                    0)
                return attn_refuse(err, ATTN_STAGE_OPTIONS, "'%s' %s", attn_site_name(kept->site),
                                   kept->is_whole
                                       ? "has another shape than in the first item, and an array "
                                         "needs pictures with the same number of cells"
                                       : "does not have the same layers and heads as other sites "
                                         "and layers: give `layers`");
            to = copy_rows(kept, result, from, shape[0], to);
        }
    return ATTN_OK;
}

/* Adds the row to the group of LABEL. */
static enum attn_status add_to_group(struct joined_writer *arrays,
                                     const struct attn_item_label *label, struct attn_error *err)
{
    struct column *values = &arrays->columns[ID];
    const char *value = values->values.data;
    struct group *group;
    size_t g = 0;

    for (; g < arrays->n_group && strcmp(value, label->text) != 0; g++)
        value += strlen(value) + 1;
    if (g == MOST_GROUPS)
        return attn_refuse(err, ATTN_STAGE_CHECK, "`mean_by` '%s' has more than 1,000 values",
                           attn_quote_string(label->name).text);
    if (g == arrays->n_group) {
        ATTN_TRY(attn_grow(&arrays->groups, &arrays->capacity, g + 1, sizeof *group, err));
        arrays->groups[g] = (struct group){.n = 0};
        ATTN_TRY(ATTN_ALLOC(arrays->groups[g].sums, arrays->n_number, err));
        append_value(values, label->value.type, label->text, strlen(label->text));
        arrays->n_group++;
    }
    group = &arrays->groups[g];
    group->n++;
    for (size_t i = 0; i < arrays->n_number; i++)
        group->sums[i] += (double)arrays->row[i];
    return attn_buffer_check(&values->values, err);
}

/* Appends bytes to the current array. */
static void put(struct joined_writer *arrays, const void *bytes, size_t size)
{
    if (arrays->is_archive) {
        attn_npz_sum(&arrays->npz, &arrays->member, arrays->at, bytes, size);
        attn_npz_write(&arrays->npz, &arrays->member, arrays->at, bytes, size);
    } else {
        attn_sink_write(arrays->base.parts[TARGET], bytes, size);
    }
    arrays->at += size;
}

/* Begins the array, whose name and shape are set; DTYPE is its type, with elements of SIZE
 * bytes. */
static enum attn_status begin_array(struct joined_writer *arrays, const char *dtype, size_t size,
                                    struct attn_error *err)
{
    struct attn_array *array = &arrays->array;
    char header[ATTN_NPY_HEADER_SIZE];

    arrays->at = 0;
    snprintf(array->dtype, sizeof array->dtype, "%s", dtype);
    array->size = size;
    for (int i = 0; i < array->rank; i++)
        array->size *= array->shape[i];
    if (arrays->is_archive)
        return attn_npz_plan(&arrays->npz, array->name, array, &arrays->member, err);
    attn_sink_write(arrays->base.parts[TARGET], header, attn_array_header(array, header));
    return ATTN_OK;
}

static void end_array(struct joined_writer *arrays)
{
    if (!arrays->is_archive)
        return;
    attn_npz_complete(&arrays->npz, &arrays->member);
    attn_npz_list(&arrays->npz, &arrays->member);
}

/* Writes the arrays of RESULT with a column for each key, and those that name its rows, as members
 * of its number. */
static enum attn_status write_members(struct joined_writer *arrays,
                                      const struct attn_item_result *result, struct attn_error *err)
{
    struct attn_record_arrays *given;
    enum attn_status status = ATTN_OK;
    char name[ATTN_ZIP_NAME_SIZE];

    ATTN_TRY(attn_record_arrays_create(result, &given, err));
    for (size_t i = 0; status == ATTN_OK && i < attn_record_arrays_n(given); i++) {
        const struct attn_location *at = attn_record_array_at(given, i);
        struct attn_array *array = &arrays->array;
        size_t n_row, width;

        if (at && !attn_record_site_has_keys(at->site))
            continue;
        *array = *attn_record_array(given, i);
        snprintf(name, sizeof name, "%09zu/%s", result->item->number, array->name);
        arrays->at = 0;
        status = attn_npz_plan(&arrays->npz, name, array, &arrays->member, err);
        if (status != ATTN_OK)
            break;
        if (!at)
            put(arrays, array->data, array->size);
        width = at ? array->shape[array->rank - 1] * sizeof(float) : 0;
        for (size_t r = 0; at && arrays->at < array->size; r += n_row) {
            const float *rows = attn_record_array_rows(given, i, r, &n_row);

            put(arrays, rows, n_row * width);
        }
        end_array(arrays);
    }
    attn_record_arrays_free(given);
    return status == ATTN_OK ? attn_buffer_check(&arrays->npz.central, err) : status;
}

static enum attn_status add_joined(struct attn_record_writer *writer,
                                   const struct attn_item_result *result, struct attn_error *err)
{
    struct joined_writer *arrays = (struct joined_writer *)writer;
    const struct attn_item *item = result->item;
    const char *mean_by = arrays->base.form->mean_by;
    const struct attn_item_label *label = mean_by ? attn_item_label(item, mean_by) : NULL;

    if (mean_by && !label)
        return attn_refuse(err, ATTN_STAGE_INPUT, "it has no label '%s'",
                           attn_quote_string(mean_by).text);
    if (!arrays->has_begun)
        ATTN_TRY(find_sites(arrays, result->labels->selection, err));
    ATTN_TRY(fill_row(arrays, result, err));
    if (label)
        return add_to_group(arrays, label, err);
    arrays->n_row++;
    append_item(arrays, item);
    if (arrays->has_members)
        ATTN_TRY(write_members(arrays, result, err));
    attn_sink_write(arrays->base.parts[ROWS], arrays->row, arrays->n_number * sizeof *arrays->row);
    return attn_error_at(attn_sink_check(arrays->base.parts[ROWS], err), ATTN_STAGE_OUTPUT, err);
}

/* Replaces the rows by the means of the groups, or by the difference of two groups. */
static enum attn_status make_means(struct joined_writer *arrays, struct attn_error *err)
{
    const char *const *sides = arrays->base.form->sides, *value = arrays->columns[ID].values.data;
    const struct group *taken[2] = {NULL, NULL};

    for (size_t g = 0; g < arrays->n_group; g++, value += strlen(value) + 1) {
        append_number(&arrays->columns[FIRST_LABEL], arrays->groups[g].n);
        for (size_t i = 0; i < 2 && *sides; i++)
            if (strcmp(value, sides[i]) == 0)
                taken[i] = &arrays->groups[g];
    }
    for (size_t i = 0; i < 2 && *sides; i++)
        if (!taken[i])
            return attn_refuse(err, ATTN_STAGE_INPUT,
                               "`mean_by`: '%s' is no value of '%s' among the items",
                               attn_quote_string(sides[i]).text,
                               attn_quote_string(arrays->base.form->mean_by).text);
    arrays->n_row = *sides ? 1 : arrays->n_group;
    for (size_t g = 0; g < arrays->n_row; g++) {
        const struct group *group = *sides ? taken[1] : &arrays->groups[g];

        for (size_t i = 0; i < arrays->n_number; i++)
            arrays->row[i] = (float)(group->sums[i] / (double)group->n -
                                     (*sides ? taken[0]->sums[i] / (double)taken[0]->n : 0));
        attn_sink_write(arrays->base.parts[ROWS], arrays->row,
                        arrays->n_number * sizeof *arrays->row);
    }
    if (*sides)
        arrays->columns[ID].n = arrays->columns[FIRST_LABEL].n = 0;
    return ATTN_OK;
}

/* --- The file -------------------------------------------------------------------------------- */

/* Writes the array of one site, KEPT, whose numbers begin at index FIRST of each row. */
static enum attn_status write_site(struct joined_writer *arrays, const struct site_rows *kept,
                                   size_t first, struct attn_error *err)
{
    const size_t row_size = arrays->n_number * sizeof(float);
    const size_t n_most = 1 + BLOCK / (row_size + 1); /* maximum rows per block */
    struct attn_array *array = &arrays->array;
    enum attn_status status;
    size_t n_row;
    float *block;

    *array = (struct attn_array){.rank = 0};
    name_array(arrays, attn_site_name(kept->site), (int)kept->site >= N_SITE_OF_1_0);
    if (!*arrays->base.form->sides)
        array->shape[array->rank++] = arrays->n_row;
    if (kept->n_layer > 1)
        array->shape[array->rank++] = kept->n_layer;
    for (int d = 0; d < kept->rank; d++)
        array->shape[array->rank++] = kept->shape[d];
    ATTN_TRY(ATTN_ALLOC(block, n_most * arrays->n_number, err));
    status = begin_array(arrays, "<f4", sizeof *block, err);
    for (size_t at = 0; status == ATTN_OK && at < arrays->n_row; at += n_row) {
        n_row = arrays->n_row - at < n_most ? arrays->n_row - at : n_most;
        status = attn_part_read_at(arrays->base.parts[ROWS], (uint64_t)at * row_size, block,
                                   n_row * row_size, err);
        for (size_t r = 0; status == ATTN_OK && r < n_row; r++)
            put(arrays, block + r * arrays->n_number + first,
                kept->n_layer * kept->n * sizeof *block);
    }
    attn_free(block);
    if (status == ATTN_OK)
        end_array(arrays);
    return status;
}

/* Writes a value as the type KIND; texts have WIDTH characters in UTF-32. */
static void put_value(struct joined_writer *arrays, enum attn_value_type kind, size_t width,
                      const char *text)
{
    const size_t size = strlen(text);
    const bool is_true = strcmp(text, "true") == 0;
    double real = (double)NAN;
    int64_t integer = 0;

    if (kind == ATTN_VALUE_INTEGER && attn_parse_int(text, size, INT64_MIN, INT64_MAX, &integer))
        put(arrays, &integer, sizeof integer);
    else if (kind == ATTN_VALUE_BOOLEAN)
        put(arrays, &is_true, sizeof is_true);
    for (size_t at = 0, i = 0; kind == ATTN_VALUE_TEXT && i < width; i++) {
        uint32_t code = 0;

        if (at < size)
            at += attn_utf8_decode(text + at, size - at, &code);
        put(arrays, &code, sizeof code);
    }
    if (kind != ATTN_VALUE_REAL)
        return;
    attn_parse_double(text, size, &real);
    put(arrays, &real, sizeof real);
}

/* Returns the type of the array of COLUMN. */
static enum attn_value_type kind_of(const struct column *column)
{
    const bool *has = column->has;
    const bool has_number = has[ATTN_VALUE_INTEGER] || has[ATTN_VALUE_REAL];

    if (has[ATTN_VALUE_TEXT] ||
        (has[ATTN_VALUE_BOOLEAN] && (has_number || has[ATTN_VALUE_MISSING])))
        return ATTN_VALUE_TEXT;
    if (has[ATTN_VALUE_BOOLEAN])
        return ATTN_VALUE_BOOLEAN;
    return has[ATTN_VALUE_REAL] || has[ATTN_VALUE_MISSING] ? ATTN_VALUE_REAL : ATTN_VALUE_INTEGER;
}

/* Writes the array of column number I. */
static enum attn_status write_column(struct joined_writer *arrays, size_t i, struct attn_error *err)
{
    const struct column *column = &arrays->columns[i];
    const enum attn_value_type kind = kind_of(column);
    const size_t width = column->width > 0 ? column->width : 1;
    const char *text = column->values.data;
    struct attn_array *array = &arrays->array;
    char dtype[24];

    *array = (struct attn_array){.rank = 1, .shape = {column->n}};
    name_member("", column->name, array->name);
    if (arrays->base.form->mean_by ? i == ID : i > ID)
        name_member(label_prefix(arrays, array->name), column->name, array->name);
    else
        name_array(arrays, column->name, others[i].since);
    snprintf(dtype, sizeof dtype, "<U%zu", width);
    if (kind == ATTN_VALUE_TEXT)
        ATTN_TRY(begin_array(arrays, dtype, sizeof(uint32_t) * width, err));
    else if (kind == ATTN_VALUE_BOOLEAN)
        ATTN_TRY(begin_array(arrays, "|b1", 1, err));
    else
        ATTN_TRY(begin_array(arrays, kind == ATTN_VALUE_INTEGER ? "<i8" : "<f8", 8, err));
    for (size_t k = 0; k < column->n; k++, text += strlen(text) + 1)
        put_value(arrays, kind, width, text);
    end_array(arrays);
    return ATTN_OK;
}

static enum attn_status write_arrays(struct joined_writer *arrays, struct attn_error *err)
{
    struct attn_sink *target = arrays->base.parts[TARGET];
    size_t first = 0;

    ATTN_TRY(attn_part_flush(arrays->base.parts[ROWS], err));
    for (size_t i = 0; i < arrays->n_site; i++) {
        const struct site_rows *kept = &arrays->sites[i];

        ATTN_TRY(write_site(arrays, kept, first, err));
        first += kept->n_layer * kept->n;
    }
    for (size_t i = 0; i < arrays->n_column && arrays->is_archive; i++) {
        ATTN_TRY(attn_buffer_check(&arrays->columns[i].values, err));
        if (arrays->columns[i].n > 0)
            ATTN_TRY(write_column(arrays, i, err));
    }
    if (arrays->is_archive)
        ATTN_TRY(attn_npz_finish(&arrays->npz, 0, err));
    return attn_sink_check(target, err);
}

static enum attn_status finish_joined(struct attn_record_writer *writer, struct attn_error *err)
{
    struct joined_writer *arrays = (struct joined_writer *)writer;

    if (arrays->n_row + arrays->n_group == 0)
        return attn_refuse(err, ATTN_STAGE_INPUT,
                           "no item has a result, and there is nothing to write");
    if (arrays->base.form->mean_by)
        ATTN_TRY(make_means(arrays, err));
    return write_arrays(arrays, err);
}

const struct attn_item_sink attn_item_sink_joined = {
    .name = "joined",
    .size = sizeof(struct joined_writer),
    .open = open_joined,
    .begin = begin_joined,
    .add = add_joined,
    .finish = finish_joined,
    .release = release_joined,
};
