/* fold.c - see fold.h. A group has the moments of each number in its rows, and the numbers of its
 * units: with n_bootstrap each item is one, with `cluster` each cluster, which has their sums.
 * Items of `paired` wait for their partner in a hash table of ids. */
#include "study/fold.h"

#include "base/escape.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/status_internal.h"
#include "encode/float_text.h"
#include "study/rows.h"
#include "study/significance.h"
#include "tables/table_order.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_GROUPS = 1000,
    MOST_CLUSTERS = 10000, /* of a group */
    MOST_LABELS = 16,
    N_LIST = 1 << 14,
    ID_SIZE = 24
};

/* How a column is folded. */
enum role { ROLE_KEY, ROLE_MEAN, ROLE_SHARE, ROLE_COUNT, ROLE_DERIVED };

/* A column of the items' tables. */
struct folded_column {
    struct attn_column column;
    size_t place; /* among all columns of the form */
    enum role role;
    bool has_bounds;
};

/* A copy of an item's label. */
struct label {
    enum attn_value_type type; /* of the column that shows it */
    struct attn_cell value;
    char *text; /* [size] owns; terminated; as it is in the input */
    size_t size;
};

/* Items that depend on each other. */
struct cluster {
    uint64_t hash;
    char *text; /* [size] owns */
    size_t size;
};

struct group {
    struct label *labels;         /* [n_copied] owns */
    size_t n;                     /* items */
    struct attn_moments *moments; /* [n_row, n_column] owns; for counts `mean` is the sum */
    struct cluster *clusters;     /* [n_unit] owns; or NULL: each item is a unit */
    double *values; /* [n_unit, n_value] owns; the numbers of an item, NaN: missing; of a cluster
                       each sum with the number of items in it */
    size_t n_unit, cluster_capacity, capacity;
    double *more; /* [n_more] owns; means */
};

/* An item whose partner has not been read. */
struct waiting {
    char *id; /* owns */
    size_t n_id;
    bool is_b;
    struct label *labels;     /* [n_copied] owns */
    struct attn_table *table; /* owns */
    double *more;             /* [n_more] owns */
    struct waiting *next;
};

struct attn_fold {
    struct attn_fold_form form;
    const struct attn_study_args *study;
    char *names;                         /* owns; group_by, with a NUL after each label */
    const char *labels[MOST_LABELS + 1]; /* [n_label] in `names`, then the label of clusters */
    size_t n_label, n_copied;            /* n_copied counts that one, too */
    char *pair;             /* owns; paired, terminated after the label and after each side */
    const char *sides[2];   /* A and B, in `pair` */
    struct waiting **lists; /* [N_LIST] owns; waiting items, the oldest of each list first */
    size_t n_pair, n_single;

    struct attn_table *first;                        /* owns; of the first item */
    struct folded_column *columns;                   /* [n_column] owns */
    size_t n_column, n_row, n_mean, n_more, n_value; /* n_value: numbers of a unit */
    bool *differs;        /* [n_row, n_column] owns; keys that differ between items */
    struct group *groups; /* [n_group] owns */
    size_t n_group, group_capacity;
};

/* --- Arguments -------------------------------------------------------------------------------- */

static enum attn_status read_labels(struct attn_fold *fold, struct attn_error *err)
{
    const char *list = fold->study->group_by;
    char *at;

    if (!list && fold->study->has_contrasts)
        return attn_error_set(err, ATTN_INVALID, "`has_contrasts` needs `group_by`");
    if (!list)
        return ATTN_OK;
    fold->names = at = attn_strndup(list, strlen(list), err);
    if (!at)
        return ATTN_NO_MEMORY;
    for (char *end = at; end; at = end + 1) {
        end = strchr(at, ',');
        if (end)
            *end = '\0';
        if (*at == '\0')
            return attn_error_set(err, ATTN_INVALID,
                                  "`group_by` '%s' has an empty name, expected labels as in "
                                  "'condition,number'",
                                  attn_quote_string(list).text);
        if (fold->n_label == MOST_LABELS)
            return attn_error_set(err, ATTN_INVALID, "`group_by` names more than %d labels",
                                  MOST_LABELS);
        for (size_t i = 0; i < fold->n_label; i++)
            if (strcmp(fold->labels[i], at) == 0)
                return attn_error_set(err, ATTN_INVALID, "`group_by` names '%s' twice",
                                      attn_quote_string(at).text);
        fold->labels[fold->n_label++] = at;
        if (!end)
            break;
    }
    return ATTN_OK;
}

/* Appends the label of clusters. */
static enum attn_status read_cluster(struct attn_fold *fold, struct attn_error *err)
{
    const char *name = fold->study->cluster;

    fold->n_copied = fold->n_label + (name != NULL);
    for (size_t i = 0; name && i < fold->n_label; i++)
        if (strcmp(fold->labels[i], name) == 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' cannot be in `group_by` and in `cluster`, expected one",
                                  attn_quote_string(name).text);
    fold->labels[fold->n_label] = name;
    return ATTN_OK;
}

static enum attn_status read_pair(struct attn_fold *fold, struct attn_error *err)
{
    const char *pair = fold->study->paired;
    char *a, *b;

    if (!pair)
        return ATTN_OK;
    fold->pair = attn_strndup(pair, strlen(pair), err);
    fold->lists = attn_alloc(N_LIST, sizeof *fold->lists, err);
    if (!fold->pair || !fold->lists)
        return ATTN_NO_MEMORY;
    a = strchr(fold->pair, '=');
    b = a ? strchr(a + 1, ':') : NULL;
    if (b)
        *a++ = *b++ = '\0';
    if (!b || *fold->pair == '\0' || *a == '\0' || *b == '\0' || strcmp(a, b) == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "`paired` is '%s', expected LABEL=A:B, a label and two of its values",
                              attn_quote_string(pair).text);
    fold->sides[0] = a;
    fold->sides[1] = b;
    for (size_t i = 0; i < fold->n_copied; i++)
        if (strcmp(fold->labels[i], fold->pair) == 0)
            return attn_error_set(
                err, ATTN_INVALID, "'%s' cannot be in `%s` and in `paired`, expected one",
                attn_quote_string(fold->pair).text, i < fold->n_label ? "group_by" : "cluster");
    return ATTN_OK;
}

enum attn_status attn_fold_create(const struct attn_fold_form *form,
                                  const struct attn_study_args *study, struct attn_fold **fold,
                                  struct attn_error *err)
{
    struct attn_fold *made;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->form = *form;
    made->study = study;
    status = read_labels(made, err);
    if (status == ATTN_OK)
        status = read_cluster(made, err);
    if (status == ATTN_OK)
        status = read_pair(made, err);
    if (status == ATTN_OK)
        *fold = made;
    else
        attn_fold_free(made);
    return attn_error_at(status, ATTN_STAGE_OPTIONS, err);
}

static void free_labels(struct label *labels, size_t n)
{
    for (size_t i = 0; labels && i < n; i++)
        attn_free(labels[i].text);
    attn_free(labels);
}

static void free_waiting(struct waiting *waiting, size_t n_label)
{
    attn_free(waiting->id);
    free_labels(waiting->labels, n_label);
    attn_table_free(waiting->table);
    attn_free(waiting->more);
    attn_free(waiting);
}

void attn_fold_free(struct attn_fold *fold)
{
    if (!fold)
        return;
    for (size_t i = 0; fold->lists && i < N_LIST; i++)
        for (struct waiting *at = fold->lists[i], *next; at; at = next) {
            next = at->next;
            free_waiting(at, fold->n_copied);
        }
    for (size_t i = 0; i < fold->n_group; i++) {
        free_labels(fold->groups[i].labels, fold->n_copied);
        for (size_t k = 0; fold->groups[i].clusters && k < fold->groups[i].n_unit; k++)
            attn_free(fold->groups[i].clusters[k].text);
        attn_free(fold->groups[i].clusters);
        attn_free(fold->groups[i].moments);
        attn_free(fold->groups[i].values);
        attn_free(fold->groups[i].more);
    }
    attn_free(fold->groups);
    attn_free(fold->differs);
    attn_free(fold->columns);
    attn_table_free(fold->first);
    attn_free(fold->lists);
    attn_free(fold->pair);
    attn_free(fold->names);
    attn_free(fold);
}

/* --- Labels ----------------------------------------------------------------------------------- */

/* Returns ITEM's label NAME, or NULL. */
static const struct attn_item_label *find_label(const struct attn_item *item, const char *name)
{
    for (size_t i = 0; i < item->n_label; i++)
        if (strcmp(item->labels[i].name, name) == 0)
            return &item->labels[i];
    return NULL;
}

static enum attn_status check_label(const struct attn_item *item, const char *name,
                                    struct attn_error *err)
{
    char names[ATTN_QUOTE_SIZE] = "";
    size_t used = 0;

    if (find_label(item, name))
        return ATTN_OK;
    for (size_t i = 0; i < item->n_label; i++)
        attn_fixed_text_append(names, sizeof names, &used, "%s%s", i > 0 ? ", " : "",
                               attn_quote_string(item->labels[i].name).text);
    return attn_error_set(err, ATTN_INVALID, "no label '%s' (labels: %s)",
                          attn_quote_string(name).text, item->n_label > 0 ? names : "none");
}

static size_t size_of(const struct attn_item_label *label)
{
    return label->value.type == ATTN_VALUE_TEXT ? label->value.size : strlen(label->text);
}

static bool is_text(const struct attn_buffer *buffer, const char *text)
{
    return buffer->size == strlen(text) && memcmp(buffer->data, text, buffer->size) == 0;
}

/* Finds the column type that keeps the text of LABEL. *type is TEXT for a number that tables would
 * write differently, such as 1e5, and for integers of more than 64 bits. */
static enum attn_status find_type(const struct attn_item_label *label, enum attn_value_type *type,
                                  struct attn_error *err)
{
    const struct attn_cell *value = &label->value;
    struct attn_buffer number = {0};
    enum attn_status status;

    *type = value->type;
    if (*type != ATTN_VALUE_INTEGER && *type != ATTN_VALUE_REAL)
        return ATTN_OK;
    if (*type == ATTN_VALUE_INTEGER)
        attn_buffer_append_integer(&number, value->integer);
    else
        attn_double_append(&number, value->real);
    status = attn_buffer_check(&number, err);
    if (status == ATTN_OK && !is_text(&number, label->text))
        *type = ATTN_VALUE_TEXT;
    attn_buffer_release(&number);
    return status;
}

/* The id of ITEM, or its number. */
static const char *id_of(const struct attn_item *item, char text[ID_SIZE], size_t *size)
{
    *size = item->record.n_id;
    if (item->record.has != ATTN_RECORD_ID_NUMBER)
        return item->record.id;
    *size = (size_t)snprintf(text, ID_SIZE, "%zu", item->record.number);
    return text;
}

/* Copies the labels of ITEM that name its group and its cluster [n_copied]; NULL if memory is
 * short.
 */
static struct label *copy_labels(const struct attn_fold *fold, const struct attn_item *item,
                                 struct attn_error *err)
{
    struct label *copies = attn_alloc(fold->n_copied, sizeof *copies, err);

    for (size_t i = 0; copies && i < fold->n_copied; i++) {
        const struct attn_item_label *label = find_label(item, fold->labels[i]);
        char number[ID_SIZE];

        if (!label) { /* a cluster by id */
            const char *id = id_of(item, number, &copies[i].size);

            copies[i].text = attn_strndup(id, copies[i].size, err);
            if (copies[i].text)
                continue;
        } else {
            copies[i] = (struct label){.value = label->value,
                                       .text = attn_strndup(label->text, size_of(label), err),
                                       .size = size_of(label)};
        }
        if (!copies[i].text || find_type(label, &copies[i].type, err) != ATTN_OK) {
            free_labels(copies, fold->n_copied);
            return NULL;
        }
    }
    return copies;
}

int attn_fold_side(const struct attn_fold *fold, const struct attn_item *item)
{
    const struct attn_item_label *label = fold->pair ? find_label(item, fold->pair) : NULL;

    for (int side = 0; label && side < 2; side++)
        if (size_of(label) == strlen(fold->sides[side]) &&
            strcmp(label->text, fold->sides[side]) == 0)
            return side;
    return -1;
}

/* --- Rows ------------------------------------------------------------------------------------- */

/* Whether COLUMN of the form has TRAIT. */
static bool has_trait(const struct attn_fold *fold, size_t column, enum attn_column_trait trait)
{
    return (fold->form.columns[column].traits & trait) != 0;
}

/* Whether some column of the form has TRAIT. */
static bool has_any(const struct attn_fold *fold, enum attn_column_trait trait)
{
    size_t i = 0;

    while (i < fold->form.n_column && !has_trait(fold, i, trait))
        i++;
    return i < fold->form.n_column;
}

static enum role role_of(const struct attn_fold *fold, size_t place)
{
    const enum attn_value_type type = fold->form.columns[place].type;

    if (has_trait(fold, place, ATTN_TRAIT_DERIVED))
        return ROLE_DERIVED;
    if (has_trait(fold, place, ATTN_TRAIT_COUNT))
        return ROLE_COUNT;
    return type == ATTN_VALUE_REAL ? ROLE_MEAN : type == ATTN_VALUE_BOOLEAN ? ROLE_SHARE : ROLE_KEY;
}

/* Returns the place of COLUMN in the form. No two shown columns share name, type, notation
 * and range. */
static size_t find_place(const struct attn_fold_form *form, const struct attn_column *column)
{
    size_t place = 0;

    while (strcmp(form->columns[place].name, column->name) != 0 ||
           form->columns[place].type != column->type ||
           form->columns[place].notation != column->notation ||
           form->columns[place].range != column->range) {
        place++;
        assert(place < form->n_column);
    }
    return place;
}

static enum attn_status copy_table(const struct attn_table *table, struct attn_table **copy,
                                   struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(table);
    struct attn_column columns[ATTN_MOST_COLUMNS] = {{0}};
    struct attn_cell cells[ATTN_MOST_COLUMNS];
    struct attn_table *made;
    enum attn_status status;

    for (size_t i = 0; i < n_column; i++)
        columns[i] = *attn_table_column(table, i);
    ATTN_TRY(attn_table_create(attn_table_name(table), columns, n_column, &made, err));
    status = ATTN_OK;
    for (size_t row = 0; status == ATTN_OK && row < attn_table_n_row(table); row++) {
        for (size_t i = 0; i < n_column; i++)
            cells[i] = attn_table_cell(table, row, i);
        status = attn_table_append(made, cells, n_column, err);
    }
    if (status == ATTN_OK)
        *copy = made;
    else
        attn_table_free(made);
    return status;
}

/* Describes how the column at PLACE of the form is folded. */
static struct folded_column column_of(const struct attn_fold *fold, size_t place)
{
    const enum role role = role_of(fold, place);

    return (struct folded_column){
        .column = fold->form.columns[place],
        .place = place,
        .role = role,
        .has_bounds = fold->study->n_bootstrap > 0 &&
                      (role == ROLE_MEAN || has_trait(fold, place, ATTN_TRAIT_BOUNDED))};
}

/* Takes the shape and the keys of all items from ENTRY, the first. */
static enum attn_status begin(struct attn_fold *fold, const struct attn_fold_entry *entry,
                              struct attn_error *err)
{
    const size_t n_row = attn_table_n_row(entry->table),
                 n_column = attn_table_n_column(entry->table);

    ATTN_TRY(copy_table(entry->table, &fold->first, err));
    ATTN_TRY(ATTN_ALLOC(fold->columns, n_column, err));
    ATTN_TRY(ATTN_ALLOC(fold->differs, n_row * n_column, err));
    for (size_t i = 0; i < n_column; i++) {
        const struct attn_column *column = attn_table_column(fold->first, i);

        fold->columns[i] = column_of(fold, find_place(&fold->form, column));
        fold->n_mean += fold->columns[i].role == ROLE_MEAN;
    }
    fold->n_row = n_row;
    fold->n_column = n_column;
    fold->n_more = entry->n_more;
    fold->n_value = fold->study->cluster           ? 2 * n_row * fold->n_mean
                    : fold->study->n_bootstrap > 0 ? n_row * fold->n_mean
                                                   : 0;
    return ATTN_OK;
}

/* Fails if the rows of TABLE do not match those of the first item. */
static enum attn_status check_rows(const struct attn_fold *fold, const struct attn_table *table,
                                   struct attn_error *err)
{
    const size_t n_column = attn_table_n_column(table);

    if (attn_table_n_row(table) != fold->n_row || n_column != fold->n_column)
        return attn_error_set(err, ATTN_INVALID,
                              "its table is %zu rows of %zu columns, that of the first item %zu of "
                              "%zu",
                              attn_table_n_row(table), n_column, fold->n_row, fold->n_column);
    for (size_t i = 0; i < fold->n_row * n_column; i++) {
        const size_t row = i / n_column, column = i % n_column;
        struct attn_cell cell, first;

        if (!has_trait(fold, fold->columns[column].place, ATTN_TRAIT_NAME))
            continue;
        cell = attn_table_cell(table, row, column);
        first = attn_table_cell(fold->first, row, column);
        if (!attn_cell_is_equal(&cell, &first))
            return attn_error_set(err, ATTN_INVALID,
                                  "row %zu is of '%s', that of the first item "
                                  "of '%s'",
                                  row + 1, attn_quote(cell.text, cell.size).text,
                                  attn_quote(first.text, first.size).text);
    }
    return ATTN_OK;
}

enum attn_status attn_fold_check(const struct attn_fold *fold, const struct attn_fold_entry *entry,
                                 struct attn_error *err)
{
    enum attn_status status;

    for (size_t i = 0; i < fold->n_copied; i++)
        if (i < fold->n_label || strcmp(fold->labels[i], "id") != 0)
            ATTN_TRY(check_label(entry->item, fold->labels[i], err));
    if (fold->pair)
        ATTN_TRY(check_label(entry->item, fold->pair, err));
    if (!entry->table || !fold->first)
        return ATTN_OK;
    status = check_rows(fold, entry->table, err);
    if (status != ATTN_OK && fold->form.hint)
        attn_error_hint(err, "%s", fold->form.hint);
    return status;
}

/* Finds or creates the group of *labels. A new group takes them, and *labels becomes NULL. */
static enum attn_status find_group(struct attn_fold *fold, struct label **labels,
                                   struct group **group, struct attn_error *err)
{
    struct group *made;

    for (size_t i = 0; i < fold->n_group; i++) {
        struct label *known = fold->groups[i].labels;
        size_t k = 0;

        while (k < fold->n_label && known[k].size == (*labels)[k].size &&
               memcmp(known[k].text, (*labels)[k].text, known[k].size) == 0)
            k++;
        if (k < fold->n_label)
            continue;
        for (k = 0; k < fold->n_label; k++) /* true and "true" are one group */
            if (known[k].type != (*labels)[k].type)
                known[k].type = ATTN_VALUE_TEXT;
        *group = &fold->groups[i];
        return ATTN_OK;
    }
    if (fold->n_group == MOST_GROUPS)
        return attn_error_set(err, ATTN_INVALID,
                              "`group_by` '%s' has more than %d values, expected a label of "
                              "conditions",
                              attn_quote_string(fold->study->group_by).text, MOST_GROUPS);
    ATTN_TRY(attn_grow(&fold->groups, &fold->group_capacity, fold->n_group + 1,
                       sizeof *fold->groups, err));
    made = &fold->groups[fold->n_group];
    *made = (struct group){.moments =
                               attn_alloc(fold->n_row * fold->n_column, sizeof *made->moments, err),
                           .more = attn_alloc(fold->n_more, sizeof *made->more, err)};
    made->labels = *labels;
    *labels = NULL;
    fold->n_group++;
    if (!made->moments || !made->more)
        return ATTN_NO_MEMORY;
    *group = made;
    return ATTN_OK;
}

/* Returns a cell as a number; NaN if it is missing. */
static double number_of(const struct attn_cell *cell)
{
    return cell->type == ATTN_VALUE_MISSING ? (double)NAN
           : cell->type == ATTN_VALUE_REAL  ? cell->real
                                            : (double)cell->integer;
}

/* Returns the cell of table A, or the difference B - A for a pair. */
static struct attn_cell cell_of(const struct attn_table *a, const struct attn_table *b, size_t row,
                                size_t column)
{
    const struct attn_cell x = attn_table_cell(a, row, column);
    struct attn_cell y;

    if (!b)
        return x;
    y = attn_table_cell(b, row, column);
    return x.type == ATTN_VALUE_MISSING || y.type == ATTN_VALUE_MISSING
               ? attn_cell_missing()
               : attn_cell_real(number_of(&y) - number_of(&x));
}

/* Adds the numbers beside rows, A or B - A, to the means of GROUP, which already counts the
 * item. */
static void add_more(const struct attn_fold *fold, struct group *group, const double *a,
                     const double *b)
{
    for (size_t i = 0; i < fold->n_more; i++)
        group->more[i] += ((b ? b[i] - a[i] : a[i]) - group->more[i]) / (double)group->n;
}

/* Adds a CELL of a number to the MOMENTS of its column. */
static void add_cell(enum role role, const struct attn_cell *cell, struct attn_moments *moments)
{
    if (cell->type == ATTN_VALUE_MISSING)
        return;
    if (role == ROLE_COUNT) {
        moments->n++;
        moments->mean += number_of(cell);
    } else {
        attn_moments_add(moments, number_of(cell));
    }
}

/* Returns the number of the cluster TEXT [size] in GROUP; n_unit if it is missing. */
static size_t find_cluster(const struct group *group, uint64_t hash, const char *text, size_t size)
{
    size_t at = 0;

    while (at < group->n_unit &&
           (group->clusters[at].hash != hash || group->clusters[at].size != size ||
            memcmp(group->clusters[at].text, text, size) != 0))
        at++;
    return at;
}

/* Appends a unit to GROUP, with the label of its CLUSTER, if there are clusters. */
static enum attn_status append_unit(const struct attn_fold *fold, struct group *group,
                                    const struct label *cluster, uint64_t hash,
                                    struct attn_error *err)
{
    const size_t n = group->n_unit;
    char *text;

    ATTN_TRY(attn_grow(&group->values, &group->capacity, (n + 1) * fold->n_value,
                       sizeof *group->values, err));
    for (size_t i = 0; i < fold->n_value; i++)
        group->values[n * fold->n_value + i] = 0;
    if (fold->study->cluster) {
        if (n == MOST_CLUSTERS)
            return attn_error_set(err, ATTN_INVALID,
                                  "`cluster` '%s' has more than %d values%s, expected a label that "
                                  "items share",
                                  attn_quote_string(fold->study->cluster).text, MOST_CLUSTERS,
                                  fold->n_label > 0 ? " in a group" : "");
        ATTN_TRY(attn_grow(&group->clusters, &group->cluster_capacity, n + 1,
                           sizeof *group->clusters, err));
        text = attn_strndup(cluster->text, cluster->size, err);
        if (!text)
            return ATTN_NO_MEMORY;
        group->clusters[n] = (struct cluster){hash, text, cluster->size};
    }
    group->n_unit++;
    return ATTN_OK;
}

/* Adds the number X of an item to the VALUES of its unit, and returns those that follow. */
static double *add_value(const struct attn_fold *fold, double *values, double x)
{
    if (!fold->study->cluster) {
        *values = x;
        return values + 1;
    }
    values[0] += isnan(x) ? 0 : x;
    values[1] += !isnan(x);
    return values + 2;
}

/* Adds the rows of table A, or of the differences B - A, of an item of CLUSTER. */
static enum attn_status add_rows(struct attn_fold *fold, struct group *group,
                                 const struct label *cluster, const struct attn_table *a,
                                 const struct attn_table *b, struct attn_error *err)
{
    struct attn_moments *moments = group->moments;
    bool *differs = fold->differs;
    double *value = NULL;

    if (fold->n_value > 0) {
        const bool is_clustered = fold->study->cluster;
        const uint64_t hash = is_clustered ? attn_hash_bytes(0, cluster->text, cluster->size) : 0;
        const size_t unit =
            is_clustered ? find_cluster(group, hash, cluster->text, cluster->size) : group->n_unit;

        if (unit == group->n_unit)
            ATTN_TRY(append_unit(fold, group, cluster, hash, err));
        value = group->values + unit * fold->n_value;
    }
    for (size_t row = 0; row < fold->n_row; row++)
        for (size_t column = 0; column < fold->n_column; column++, moments++, differs++) {
            const enum role role = fold->columns[column].role;
            struct attn_cell cell, first;

            if (role == ROLE_DERIVED) { /* it is no mean, but counts as a row of the item */
                moments->n += attn_table_cell(a, row, column).type != ATTN_VALUE_MISSING;
                continue;
            }
            if (role == ROLE_KEY && *differs)
                continue;
            cell = cell_of(a, role == ROLE_KEY ? NULL : b, row, column);
            if (role == ROLE_KEY) {
                first = attn_table_cell(fold->first, row, column);
                *differs = !fold->form.keeps_keys && !attn_cell_is_equal(&cell, &first);
                continue;
            }
            if (role == ROLE_MEAN && fold->n_value > 0)
                value = add_value(fold, value, number_of(&cell));
            add_cell(role, &cell, moments);
        }
    group->n++;
    return ATTN_OK;
}

/* --- Pairs ------------------------------------------------------------------------------------ */

/* The list of items that wait with ID. The seed is constant because attn_fold_save writes the lists
 * in order. */
static struct waiting **list_of(const struct attn_fold *fold, const char *id, size_t size)
{
    return &fold->lists[attn_hash_bytes(0, id, size) % N_LIST];
}

/* Removes and returns the oldest item that waits for ITEM, or NULL. */
static struct waiting *take_partner(struct attn_fold *fold, const struct attn_item *item, bool is_b)
{
    char text[ID_SIZE];
    size_t size;
    const char *id = id_of(item, text, &size);

    for (struct waiting **at = list_of(fold, id, size); *at; at = &(*at)->next) {
        struct waiting *found = *at;

        if (found->is_b == is_b || found->n_id != size || memcmp(found->id, id, size) != 0)
            continue;
        *at = found->next;
        return found;
    }
    return NULL;
}

/* Appends a copy of ENTRY to the waiting items. Takes *labels, which becomes NULL. */
static enum attn_status wait_for_partner(struct attn_fold *fold,
                                         const struct attn_fold_entry *entry, bool is_b,
                                         struct label **labels, struct attn_error *err)
{
    struct waiting *made;
    char text[ID_SIZE];
    const char *id;
    struct waiting **at;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->is_b = is_b;
    id = id_of(entry->item, text, &made->n_id);
    made->id = attn_strndup(id, made->n_id, err);
    made->more = attn_alloc(fold->n_more, sizeof *made->more, err);
    if (!made->id || !made->more || copy_table(entry->table, &made->table, err) != ATTN_OK) {
        free_waiting(made, 0);
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; entry->more && i < fold->n_more; i++)
        made->more[i] = entry->more[i];
    made->labels = *labels;
    *labels = NULL;
    at = list_of(fold, id, made->n_id);
    while (*at)
        at = &(*at)->next;
    *at = made;
    fold->n_single++;
    return ATTN_OK;
}

/* Adds A, or the difference B - A, to the group of *labels. A new group takes them. */
static enum attn_status add(struct attn_fold *fold, struct label **labels,
                            const struct attn_fold_entry *a, const struct attn_fold_entry *b,
                            struct attn_error *err)
{
    const struct label *cluster = *labels + fold->n_label;
    struct group *group = NULL;

    ATTN_TRY(find_group(fold, labels, &group, err));
    ATTN_TRY(add_rows(fold, group, cluster, a->table, b ? b->table : NULL, err));
    if (a->more && (!b || b->more))
        add_more(fold, group, a->more, b ? b->more : NULL);
    return ATTN_OK;
}

/* Adds the difference between ENTRY and its partner, or appends ENTRY to the waiting items. */
static enum attn_status add_side(struct attn_fold *fold, const struct attn_fold_entry *entry,
                                 bool is_b, struct attn_error *err)
{
    struct label *labels = copy_labels(fold, entry->item, err);
    struct attn_fold_entry other = {.item = NULL};
    struct waiting *partner;
    enum attn_status status;

    if (!labels)
        return ATTN_NO_MEMORY;
    partner = take_partner(fold, entry->item, is_b);
    if (!partner) {
        status = wait_for_partner(fold, entry, is_b, &labels, err);
        free_labels(labels, fold->n_copied);
        return status;
    }
    fold->n_single--;
    fold->n_pair++;
    other.table = partner->table;
    other.more = partner->more;
    status = is_b ? add(fold, &partner->labels, &other, entry, err)
                  : add(fold, &labels, entry, &other, err);
    free_waiting(partner, fold->n_copied);
    free_labels(labels, fold->n_copied);
    return status;
}

enum attn_status attn_fold_add(struct attn_fold *fold, const struct attn_fold_entry *entry,
                               struct attn_error *err)
{
    const int side = fold->pair ? attn_fold_side(fold, entry->item) : 0;
    struct label *labels;
    enum attn_status status;

    if (side < 0)
        return ATTN_OK;
    if (!fold->first)
        ATTN_TRY(begin(fold, entry, err));
    assert(entry->n_more == fold->n_more);
    if (fold->pair)
        return add_side(fold, entry, side == 1, err);
    labels = copy_labels(fold, entry->item, err);
    if (!labels)
        return ATTN_NO_MEMORY;
    status = add(fold, &labels, entry, NULL, err);
    free_labels(labels, fold->n_copied);
    return status;
}

/* --- Resuming --------------------------------------------------------------------------------- */

/* Returns the numbers beside rows of block I: first the groups, then the waiting items. NULL after
 * the last. */
static double *find_more(const struct attn_fold *fold, size_t *list, struct waiting **at, size_t i)
{
    if (i < fold->n_group)
        return fold->groups[i].more;
    if (i == fold->n_group || !*at)
        *at = NULL;
    else
        *at = (*at)->next;
    while (!*at && fold->lists && *list < N_LIST)
        *at = fold->lists[(*list)++];
    return *at ? (*at)->more : NULL;
}

void attn_fold_save(const struct attn_fold *fold, struct attn_buffer *out)
{
    struct waiting *at = NULL;
    const double *more;
    size_t list = 0;

    attn_buffer_append_format(out, "%zu", fold->n_more);
    for (size_t i = 0; fold->n_more > 0 && (more = find_more(fold, &list, &at, i)); i++)
        for (size_t k = 0; k < fold->n_more; k++) {
            attn_buffer_append_char(out, ' ');
            if (isfinite(more[k]))
                attn_double_append(out, more[k]);
            else
                attn_buffer_append_string(out, isnan(more[k]) ? "nan"
                                               : more[k] < 0  ? "-inf"
                                                              : "inf");
        }
}

bool attn_fold_load(struct attn_fold *fold, const char *text)
{
    struct waiting *at = NULL;
    size_t list = 0;
    double *more;

    text += strcspn(text, " ");
    for (size_t i = 0; fold->n_more > 0 && (more = find_more(fold, &list, &at, i)); i++)
        for (size_t k = 0; k < fold->n_more; k++) {
            const size_t n = *text == ' ' ? strcspn(++text, " ") : 0;

            if (n == 3 && memcmp(text, "nan", n) == 0)
                more[k] = (double)NAN;
            else if ((n == 3 || n == 4) && memcmp(text + n - 3, "inf", 3) == 0)
                more[k] = n == 3 ? (double)INFINITY : (double)-INFINITY;
            else if (!attn_parse_double(text, n, &more[k]))
                return false;
            text += n;
        }
    return *text == '\0';
}

void attn_fold_count(const struct attn_fold *fold, struct attn_study_sum *sum, size_t *n_single)
{
    sum->n_group = fold->n_label > 0 ? fold->n_group : 0;
    sum->n_label = fold->n_label;
    sum->n_pair = fold->n_pair;
    *n_single = fold->n_single;
}

/* --- The whole table -------------------------------------------------------------------------- */

/* Numbers of resamples, ordered by row and then by bounded column. */
struct bounds {
    double *numbers; /* [n_cell, n_resample] owns */
    size_t n_cell, n_resample;
    double tail; /* below and above the interval */
};

/* The group that rows are about, or two and their difference. Units are numbered over both. */
struct sample {
    const struct group *groups[2]; /* the second is subtracted; or NULL */
    size_t *units[2];              /* [n_unit of the group] own; their numbers */
    size_t n_unit;                 /* the second group's, then others: clusters may be in both */
    size_t *weights;               /* [n_unit] owns; how often each was drawn */
    double *residuals;             /* [n_unit] owns; NaN: no number */
    double *sums;                  /* [2, n_row * n_mean] owns */
    struct attn_cell *rows[2];     /* [n_row, n_column of the form] own; of each group; first the
                                      difference */
    struct bounds bounds;          /* owns its arrays */
};

static size_t count_bounded(const struct attn_fold *fold)
{
    size_t n = 0;

    for (size_t i = 0; i < fold->n_column; i++)
        n += fold->columns[i].has_bounds;
    return n;
}

/* Fills ROWS [n_row, n_column of the form] with the means, sums and keys of GROUP. */
static void fill_rows(const struct attn_fold *fold, const struct group *group,
                      struct attn_cell *rows)
{
    for (size_t i = 0; i < fold->n_row * fold->n_column; i++) {
        const struct folded_column *column = &fold->columns[i % fold->n_column];
        const struct attn_moments *moments = &group->moments[i];
        const size_t row = i / fold->n_column;
        struct attn_cell *cell = &rows[row * fold->form.n_column + column->place];

        *cell = attn_cell_missing();
        if (column->role == ROLE_KEY && !fold->differs[i])
            *cell = attn_table_cell(fold->first, row, i % fold->n_column);
        else if (column->role == ROLE_COUNT && moments->n > 0)
            *cell = attn_cell_integer((int64_t)moments->mean);
        else if ((column->role == ROLE_MEAN || column->role == ROLE_SHARE) && moments->n > 0)
            *cell = attn_cell_real(moments->mean);
    }
}

/* Fills the derived columns of ROWS. */
static enum attn_status derive(const struct attn_fold *fold, const struct group *group,
                               struct attn_cell *rows, bool is_resample, struct attn_error *err)
{
    const struct attn_fold_means means = {.rows = rows,
                                          .n_row = fold->n_row,
                                          .more = group->more,
                                          .n_more = fold->n_more,
                                          .n_item = group->n,
                                          .is_resample = is_resample,
                                          .is_paired = fold->pair != NULL};

    return fold->form.derive ? fold->form.derive(fold->form.args, &means, err) : ATTN_OK;
}

/* Fills the rows of group number SIDE of SAMPLE with the means of a resample: of the weights. */
static void resample_rows(const struct attn_fold *fold, const struct sample *sample, int side)
{
    const struct group *group = sample->groups[side];
    const size_t n_value = fold->n_row * fold->n_mean;
    double *sums = sample->sums, *counts = sums + n_value;
    size_t at = 0;

    memset(sums, 0, 2 * n_value * sizeof *sums);
    for (size_t i = 0; i < group->n_unit; i++) {
        const double *value = group->values + i * fold->n_value;
        const double weight = (double)sample->weights[sample->units[side][i]];

        for (size_t k = 0; weight > 0 && k < n_value; k++, value += group->clusters ? 2 : 1) {
            sums[k] += isnan(*value) ? 0 : weight * *value;
            counts[k] += group->clusters ? weight * value[1] : isnan(*value) ? 0 : weight;
        }
    }
    for (size_t i = 0; i < fold->n_row * fold->n_column; i++) {
        const struct folded_column *column = &fold->columns[i % fold->n_column];

        if (column->role != ROLE_MEAN)
            continue;
        sample->rows[side][i / fold->n_column * fold->form.n_column + column->place] =
            counts[at] > 0 ? attn_cell_real(sums[at] / counts[at]) : attn_cell_missing();
        at++;
    }
}

/* Fills the rows of SAMPLE. They must have been filled once before those of a resample. */
static enum attn_status find_rows(const struct attn_fold *fold, const struct sample *sample,
                                  bool is_resample, struct attn_error *err)
{
    struct attn_cell *rows = sample->rows[0], *others = sample->rows[1];

    for (int side = 0; side < 2 && sample->groups[side]; side++) {
        if (is_resample)
            resample_rows(fold, sample, side);
        else
            fill_rows(fold, sample->groups[side], sample->rows[side]);
        if (!is_resample || has_any(fold, ATTN_TRAIT_BOUNDED))
            ATTN_TRY(derive(fold, sample->groups[side], sample->rows[side], is_resample, err));
    }
    for (size_t i = 0; sample->groups[1] && i < fold->n_row * fold->n_column; i++) {
        const struct folded_column *column = &fold->columns[i % fold->n_column];
        const size_t at = i / fold->n_column * fold->form.n_column + column->place;
        const bool is_kept =
            column->role != ROLE_DERIVED || has_trait(fold, column->place, ATTN_TRAIT_BOUNDED);

        if (column->role == ROLE_KEY)
            continue;
        rows[at] = is_kept && rows[at].type == ATTN_VALUE_REAL && others[at].type == rows[at].type
                       ? attn_cell_real(rows[at].real - others[at].real)
                       : attn_cell_missing();
    }
    return ATTN_OK;
}

/* Draws as many units as there are, with replacement: of the second group before the first, or of
 * both together if they share clusters. */
static void draw(const struct sample *sample, struct attn_random *random)
{
    const size_t n_other = sample->groups[1] ? sample->groups[1]->n_unit : 0;
    const size_t n = sample->n_unit == n_other + sample->groups[0]->n_unit ? n_other : 0;

    memset(sample->weights, 0, sample->n_unit * sizeof *sample->weights);
    for (size_t i = 0; i < sample->n_unit; i++)
        if (i < n)
            sample->weights[attn_random_u32(random) % n]++;
        else
            sample->weights[n + attn_random_u32(random) % (sample->n_unit - n)]++;
}

/* Computes the bounded columns of every resample of SAMPLE. */
static enum attn_status resample(const struct attn_fold *fold, const struct sample *sample,
                                 struct attn_error *err)
{
    const struct bounds *bounds = &sample->bounds;
    struct attn_random random;

    attn_random_seed(&random, fold->study->seed);
    for (size_t r = 0; r < bounds->n_resample; r++) {
        const struct attn_cell *rows = sample->rows[0];
        size_t cell = 0;

        draw(sample, &random);
        ATTN_TRY(find_rows(fold, sample, true, err));
        for (size_t i = 0; i < fold->n_row * fold->n_column; i++) {
            const struct folded_column *column = &fold->columns[i % fold->n_column];

            if (column->has_bounds)
                bounds->numbers[cell++ * bounds->n_resample + r] =
                    number_of(&rows[i / fold->n_column * fold->form.n_column + column->place]);
        }
    }
    return ATTN_OK;
}

static int by_number(const void *a, const void *b)
{
    return attn_compare_numbers(*(const double *)a, *(const double *)b);
}

static struct attn_cell real_or_missing(double x)
{
    return isnan(x) ? attn_cell_missing() : attn_cell_real(x);
}

/* Returns quantile Q of SORTED [n] with linear interpolation, as numpy does. */
static struct attn_cell quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1), t = at - floor(at);
    const size_t below = (size_t)at, above = below + 1 < n ? below + 1 : below;
    const double a = sorted[below], b = sorted[above];

    if (isnan(sorted[n - 1]))
        return attn_cell_missing();
    return attn_cell_real(t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t));
}

/* Computes the rows of SAMPLE, and their bounds. */
static enum attn_status find_bounds(const struct attn_fold *fold, struct sample *sample,
                                    struct attn_error *err)
{
    struct bounds *bounds = &sample->bounds;
    const size_t n = fold->study->n_bootstrap;

    bounds->tail = (100 - (fold->study->interval > 0 ? fold->study->interval : 95)) / 200;
    bounds->n_resample = n;
    bounds->n_cell = n > 0 ? fold->n_row * count_bounded(fold) : 0;
    bounds->numbers = attn_alloc(bounds->n_cell, n * sizeof *bounds->numbers, err);
    if (!bounds->numbers)
        return ATTN_NO_MEMORY;
    ATTN_TRY(find_rows(fold, sample, false, err));
    if (bounds->n_cell > 0) {
        ATTN_TRY(resample(fold, sample, err));
        ATTN_TRY(find_rows(fold, sample, false, err));
    }
    for (size_t i = 0; i < bounds->n_cell; i++)
        qsort(bounds->numbers + i * n, n, sizeof *bounds->numbers, by_number);
    return ATTN_OK;
}

/* Standard deviation and error of a mean, or of the difference of two; NaN of too few numbers. */
struct spread {
    double sd, se;
    size_t n, n_cluster, df; /* items and clusters; df: of the t distribution of mean / se */
};

/* Makes the errors of SPREAD cluster-robust, for cell I of SAMPLE, which is mean number K of a
 * unit: sqrt(G / (G - 1) sum_g (sum_{i in g} (x_i - mean))^2) / n, CR1 of Liang and Zeger 1986
 * (Cameron and Miller 2015) for a constant. A difference is the coefficient of a regression on the
 * group: each term is that of the group minus that of the other one, and a factor is (n - 1) / (n -
 * 2). */
static void find_clustered(const struct attn_fold *fold, const struct sample *sample, size_t i,
                           size_t k, struct spread *spread)
{
    const double n = (double)spread->n;
    double *residuals = sample->residuals, sum = 0, n_cluster;

    for (size_t unit = 0; unit < sample->n_unit; unit++)
        residuals[unit] = (double)NAN;
    for (int side = 0; side < 2 && sample->groups[side]; side++)
        for (size_t unit = 0; unit < sample->groups[side]->n_unit; unit++) {
            const struct attn_moments *moments = &sample->groups[side]->moments[i];
            const double *value = sample->groups[side]->values + unit * fold->n_value + 2 * k;
            const double residual = (value[0] - value[1] * moments->mean) / (double)moments->n;
            double *all = &residuals[sample->units[side][unit]];

            if (value[1] > 0)
                *all = (isnan(*all) ? 0 : *all) + (side == 0 ? residual : -residual);
        }
    for (size_t unit = 0; unit < sample->n_unit; unit++)
        if (!isnan(residuals[unit])) {
            spread->n_cluster++;
            sum += residuals[unit] * residuals[unit];
        }
    n_cluster = (double)spread->n_cluster;
    sum *= sample->groups[1] ? (n - 1) / (n - 2) : 1;
    spread->df = spread->n_cluster - 1;
    spread->se = spread->n_cluster > 1 ? sqrt(n_cluster / (n_cluster - 1) * sum) : (double)NAN;
}

/* Computes the spread of cell I of SAMPLE, which is mean number K of a unit. Two groups without
 * clusters are independent. */
static struct spread find_spread(const struct attn_fold *fold, const struct sample *sample,
                                 size_t i, size_t k)
{
    const struct attn_moments *own = &sample->groups[0]->moments[i];
    struct spread spread = {.sd = attn_moments_sd(own), .n = own->n, .df = own->n - 1};

    spread.se = spread.sd / sqrt((double)own->n);
    if (sample->groups[1]) {
        const struct attn_moments *other = &sample->groups[1]->moments[i];
        const double se = attn_moments_sd(other) / sqrt((double)other->n);

        spread.sd = (double)NAN;
        spread.se = sqrt(spread.se * spread.se + se * se);
        spread.n += other->n;
        spread.df = other->n < own->n ? other->n - 1 : own->n - 1;
    }
    if (fold->study->cluster && fold->columns[i % fold->n_column].role == ROLE_MEAN)
        find_clustered(fold, sample, i, k, &spread);
    return spread;
}

enum { NAME_SIZE = 96, MOST_OF_COLUMN = 5, MOST_OTHERS = 4 /* p, q, n_cluster, n */ };

/* The columns of the whole table. */
struct layout {
    struct attn_column *columns; /* [n] owns */
    char (*names)[NAME_SIZE];    /* [n] owns; names that differ from the item's column */
    size_t n;
};

/* Appends COLUMN as NAME with SUFFIX. */
static void add_column(struct layout *layout, const struct attn_column *column, const char *suffix)
{
    struct attn_column *added = &layout->columns[layout->n];
    char *name = layout->names[layout->n++];

    snprintf(name, NAME_SIZE, "%s%s", column->name, suffix);
    *added = *column;
    added->name = name;
}

/* Appends the columns that COLUMN of an item becomes. Differences of pairs have a sign. */
static void add_columns(const struct folded_column *column, bool is_paired, struct layout *layout)
{
    const enum attn_value_range range = is_paired ? ATTN_RANGE_SIGNED : column->column.range;
    struct attn_column added = column->column;

    added.range = range;
    if (column->role == ROLE_SHARE) {
        added.type = ATTN_VALUE_REAL;
        added.notation = ATTN_NOTATION_FIXED;
        added.digits = 4;
    }
    add_column(layout, &added, "");
    added.quantity = NULL; /* it is that of the mean */
    if (column->role == ROLE_MEAN) {
        added.range = ATTN_RANGE_POSITIVE;
        add_column(layout, &added, "_sd");
        add_column(layout, &added, "_se");
        added.range = range;
    }
    if (column->has_bounds) {
        add_column(layout, &added, "_low");
        add_column(layout, &added, "_high");
    }
}

/* Returns the type of the column that shows label I of all groups. */
static enum attn_value_type type_of_label(const struct attn_fold *fold, size_t i)
{
    enum attn_value_type type =
        fold->n_group > 0 ? fold->groups[0].labels[i].type : ATTN_VALUE_TEXT;

    if (fold->study->has_contrasts && fold->n_group > 1)
        return ATTN_VALUE_TEXT;
    for (size_t k = 1; k < fold->n_group; k++)
        if (fold->groups[k].labels[i].type != type)
            return ATTN_VALUE_TEXT;
    return type;
}

/* Returns the number of columns that add_columns appends. */
static size_t n_cells(const struct folded_column *column)
{
    return 1 + (column->role == ROLE_MEAN ? 2 : 0) + (column->has_bounds ? 2 : 0);
}

/* Whether the experiment has a column for the items of a row, "n". */
static bool has_own_count(const struct folded_column *columns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(columns[i].column.name, "n") == 0)
            return true;
    return false;
}

/* Lays out the table: labels, then the item columns COLUMNS [n]. A label with the name of another
 * column is renamed item.NAME. */
static void lay_out(const struct attn_fold *fold, const struct folded_column *columns,
                    size_t n_column, struct layout *layout)
{
    static const struct attn_column n = ATTN_COLUMN_OF(COUNT, "n", INTEGER);
    static const struct attn_column n_cluster = ATTN_COLUMN_OF(COUNT, "n_cluster", INTEGER);
    static const struct attn_column p = ATTN_COLUMN_REAL("p", 6, NULL, SHARE);
    static const struct attn_column q = ATTN_COLUMN_REAL("q", 6, NULL, SHARE);

    for (size_t i = 0; i < fold->n_label; i++) {
        struct attn_column column = {.name = fold->labels[i], .notation = ATTN_NOTATION_LABEL};

        column.type = type_of_label(fold, i);
        add_column(layout, &column, "");
        layout->columns[i].name = fold->labels[i]; /* of any length */
    }
    for (size_t i = 0; i < n_column; i++)
        add_columns(&columns[i], fold->pair != NULL, layout);
    if (fold->study->fdr) {
        add_column(layout, &p, "");
        add_column(layout, &q, "");
    }
    if (fold->study->cluster)
        add_column(layout, &n_cluster, "");
    if (!has_own_count(columns, n_column))
        add_column(layout, &n, "");
    for (size_t i = 0; i < fold->n_label; i++)
        for (size_t k = fold->n_label; k < layout->n; k++)
            if (strcmp(fold->labels[i], layout->names[k]) == 0) {
                snprintf(layout->names[i], NAME_SIZE, "item.%s", fold->labels[i]);
                layout->columns[i].name = layout->names[i];
                break;
            }
}

/* Creates the table for the item columns COLUMNS [n], without rows. */
static enum attn_status make_table(const struct attn_fold *fold,
                                   const struct folded_column *columns, size_t n_column,
                                   struct attn_table **table, struct attn_error *err)
{
    const size_t n_most = fold->n_label + MOST_OF_COLUMN * n_column + MOST_OTHERS;
    struct layout layout = {.n = 0};
    enum attn_status status = ATTN_NO_MEMORY;

    layout.columns = attn_alloc(n_most, sizeof *layout.columns, err);
    layout.names = attn_alloc(n_most, sizeof *layout.names, err);
    if (layout.columns && layout.names) {
        lay_out(fold, columns, n_column, &layout);
        status = attn_table_create(fold->form.name, layout.columns, layout.n, table, err);
    }
    attn_free(layout.columns);
    attn_free(layout.names);
    return status;
}

/* Lists the columns of the form that are not HIDDEN, and returns their number. */
static size_t find_columns(const struct attn_fold *fold, const bool *hidden,
                           struct folded_column columns[ATTN_MOST_COLUMNS])
{
    size_t n = 0;

    for (size_t place = 0; place < fold->form.n_column; place++)
        if (!hidden[place])
            columns[n++] = column_of(fold, place);
    return n;
}

/* Appends a row to TABLE, of COLUMNS [n], with a value in each column that a study may fill. */
static enum attn_status append_filled(const struct attn_fold *fold,
                                      const struct folded_column *columns, size_t n_column,
                                      struct attn_table *table, struct attn_error *err)
{
    static const struct attn_cell values[] = {
        [ATTN_VALUE_TEXT] = {.type = ATTN_VALUE_TEXT, .text = ""},
        [ATTN_VALUE_INTEGER] = {.type = ATTN_VALUE_INTEGER},
        [ATTN_VALUE_REAL] = {.type = ATTN_VALUE_REAL},
        [ATTN_VALUE_BOOLEAN] = {.type = ATTN_VALUE_BOOLEAN},
        [ATTN_VALUE_LIST] = {.type = ATTN_VALUE_MISSING},
    };
    const size_t n = attn_table_n_column(table);
    struct attn_cell *cells;
    size_t at = fold->n_label;
    enum attn_status status;

    ATTN_TRY(ATTN_ALLOC(cells, n, err));
    for (size_t i = 0; i < n; i++)
        cells[i] = values[attn_table_column(table, i)->type];
    for (size_t i = 0; i < n_column; i++)
        for (size_t end = at + n_cells(&columns[i]); at < end; at++)
            if (has_trait(fold, columns[i].place, ATTN_TRAIT_UNFILLED))
                cells[at] = attn_cell_missing();
    status = attn_table_append(table, cells, n, err);
    attn_free(cells);
    return status;
}

enum attn_status attn_fold_check_test(const struct attn_fold *fold, const bool *hidden,
                                      struct attn_error *err)
{
    const char *name = fold->study->fdr;
    struct folded_column columns[ATTN_MOST_COLUMNS];
    const size_t n = find_columns(fold, hidden, columns);

    for (size_t i = 0; name && i < n; i++)
        if (strcmp(columns[i].column.name, name) == 0 &&
            (columns[i].role == ROLE_MEAN
                 ? columns[i].column.range == ATTN_RANGE_SIGNED || fold->study->paired
                 : columns[i].role == ROLE_DERIVED && columns[i].column.range == ATTN_RANGE_SHARE))
            return ATTN_OK;
    if (!name)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "`fdr` is '%s', expected a column of means on both sides of 0, as change",
                   attn_quote_string(name).text);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
}

enum attn_status attn_fold_check_sort(const struct attn_fold *fold, const bool *hidden,
                                      const char *sort, struct attn_error *err)
{
    struct attn_table_order order = ATTN_TABLE_ORDER_DEFAULT;
    struct folded_column columns[ATTN_MOST_COLUMNS];
    const size_t n = find_columns(fold, hidden, columns);
    struct attn_table *table, *sorted = NULL;
    enum attn_status status;

    order.sort = sort;
    ATTN_TRY(make_table(fold, columns, n, &table, err));
    status = append_filled(fold, columns, n, table, err);
    if (status == ATTN_OK)
        status = attn_table_sort(table, &order, &sorted, err);
    attn_table_free(sorted);
    attn_table_free(table);
    return status;
}

/* --- Its rows --------------------------------------------------------------------------------- */

/* Fills SAMPLE: the groups, then the differences of groups from the first. Release it also after a
 * failure. */
static enum attn_status sample_begin(const struct attn_fold *fold, size_t number,
                                     struct sample *sample, struct attn_error *err)
{
    const bool is_difference = number >= fold->n_group;
    const struct group *own = &fold->groups[is_difference ? number - fold->n_group + 1 : number];

    sample->groups[0] = own;
    sample->groups[1] = is_difference ? fold->groups : NULL;
    for (int side = 1; side >= 0; side--) {
        const struct group *group = sample->groups[side];

        ATTN_TRY(ATTN_ALLOC(sample->rows[side], fold->n_row * fold->form.n_column, err));
        ATTN_TRY(ATTN_ALLOC(sample->units[side], group ? group->n_unit : 0, err));
        for (size_t i = 0; group && i < group->n_unit; i++) {
            const struct cluster *cluster = group->clusters ? &group->clusters[i] : NULL;
            const struct group *other = side == 0 && cluster ? sample->groups[1] : NULL;
            const size_t known =
                other ? find_cluster(other, cluster->hash, cluster->text, cluster->size) : 0;

            sample->units[side][i] = other && known < other->n_unit ? known : sample->n_unit++;
        }
    }
    ATTN_TRY(ATTN_ALLOC(sample->weights, sample->n_unit, err));
    ATTN_TRY(ATTN_ALLOC(sample->residuals, sample->n_unit, err));
    return ATTN_ALLOC(sample->sums, 2 * fold->n_row * fold->n_mean, err);
}

static void sample_release(struct sample *sample)
{
    for (int side = 0; side < 2; side++) {
        attn_free(sample->units[side]);
        attn_free(sample->rows[side]);
    }
    attn_free(sample->weights);
    attn_free(sample->residuals);
    attn_free(sample->sums);
    attn_free(sample->bounds.numbers);
}

/* Writes the labels of SAMPLE into CELLS. The difference of two groups is "sg - pl", in NAMES. */
static enum attn_status fill_labels(const struct attn_fold *fold, const struct sample *sample,
                                    struct attn_buffer names[MOST_LABELS], struct attn_cell *cells,
                                    struct attn_error *err)
{
    for (size_t i = 0; i < fold->n_label; i++) {
        const struct label *own = &sample->groups[0]->labels[i];
        const struct label *other = sample->groups[1] ? &sample->groups[1]->labels[i] : NULL;

        attn_buffer_append(&names[i], own->text, own->size);
        if (other && (own->size != other->size || memcmp(own->text, other->text, own->size) != 0)) {
            attn_buffer_append_string(&names[i], " - ");
            attn_buffer_append(&names[i], other->text, other->size);
        }
        ATTN_TRY(attn_buffer_check(&names[i], err));
        cells[i] = type_of_label(fold, i) == ATTN_VALUE_TEXT
                       ? attn_cell_text(attn_buffer_string(&names[i]), names[i].size)
                       : own->value;
    }
    return ATTN_OK;
}

/* Returns the p value of a row whose tested COLUMN is CELL; missing if it does not vary. A derived
 * share is a p value already. */
static struct attn_cell find_p(const struct folded_column *column, const struct attn_cell *cell,
                               const struct spread *spread)
{
    if (cell->type != ATTN_VALUE_REAL || column->role == ROLE_DERIVED)
        return *cell;
    return real_or_missing(attn_student_tails(cell->real / spread->se, spread->df));
}

/* Appends ROW of SAMPLE to TABLE. CELLS have its labels, and room for the rest. */
static enum attn_status append_row(const struct attn_fold *fold, const struct sample *sample,
                                   size_t row, struct attn_cell *cells, struct attn_table *table,
                                   struct attn_error *err)
{
    size_t n = fold->n_label, n_item = 0, n_cluster = 0, mean = row * fold->n_mean;
    const struct bounds *bounds = &sample->bounds;
    size_t bound = row * count_bounded(fold);
    struct attn_cell p = attn_cell_missing();

    for (size_t i = 0; i < fold->n_column; i++) {
        const struct folded_column *column = &fold->columns[i];
        const struct attn_cell *cell = &sample->rows[0][row * fold->form.n_column + column->place];
        const struct spread spread = find_spread(fold, sample, row * fold->n_column + i, mean);

        mean += column->role == ROLE_MEAN;
        n_item = spread.n > n_item ? spread.n : n_item;
        n_cluster = spread.n_cluster > n_cluster ? spread.n_cluster : n_cluster;
        if (fold->study->fdr && strcmp(column->column.name, fold->study->fdr) == 0 &&
            attn_table_total(fold->first, row) == SIZE_MAX)
            p = find_p(column, cell, &spread);
        cells[n++] = *cell;
        if (column->role == ROLE_MEAN) {
            cells[n++] = real_or_missing(spread.sd);
            cells[n++] = real_or_missing(spread.se);
        }
        if (column->has_bounds) {
            const double *sorted = bounds->numbers + bound++ * bounds->n_resample;

            cells[n++] = quantile(sorted, bounds->n_resample, bounds->tail);
            cells[n++] = quantile(sorted, bounds->n_resample, 1 - bounds->tail);
        }
    }
    if (fold->study->fdr) {
        cells[n++] = p;
        cells[n++] = attn_cell_missing();
    }
    if (fold->study->cluster)
        cells[n++] = attn_cell_integer((int64_t)n_cluster);
    if (!has_own_count(fold->columns, fold->n_column))
        cells[n++] = attn_cell_integer((int64_t)n_item);
    return attn_table_append(table, cells, n, err);
}
/* Appends the rows of SAMPLE, which is {0}, to TABLE. */
static enum attn_status append_sample(const struct attn_fold *fold, size_t number,
                                      struct sample *sample, struct attn_cell *cells,
                                      struct attn_table *table, struct attn_error *err)
{
    struct attn_buffer names[MOST_LABELS] = {{0}};
    enum attn_status status = sample_begin(fold, number, sample, err);

    if (status == ATTN_OK) {
        status = find_bounds(fold, sample, err);
        if (status != ATTN_OK && fold->n_label > 0)
            attn_error_hint(err, "of the items whose '%s' is '%s'", fold->labels[0],
                            attn_quote_string(sample->groups[0]->labels[0].text).text);
    }
    if (status == ATTN_OK)
        status = fill_labels(fold, sample, names, cells, err);
    for (size_t row = 0; status == ATTN_OK && row < fold->n_row; row++)
        status = append_row(fold, sample, row, cells, table, err);
    for (size_t i = 0; i < fold->n_label; i++)
        attn_buffer_release(&names[i]);
    return status;
}

/* Fills the column q of TABLE by the column p before it. */
static enum attn_status find_q(struct attn_table *table, struct attn_error *err)
{
    const size_t n = attn_table_n_row(table), column = attn_table_find(table, "q");
    double *p = attn_alloc(n, sizeof *p, err), **order = attn_alloc(n, sizeof *order, err);
    const enum attn_status status = p && order ? ATTN_OK : ATTN_NO_MEMORY;

    for (size_t row = 0; status == ATTN_OK && row < n; row++) {
        const struct attn_cell cell = attn_table_cell(table, row, column - 1);

        p[row] = number_of(&cell);
    }
    if (status == ATTN_OK)
        attn_false_discovery(p, n, order);
    for (size_t row = 0; status == ATTN_OK && row < n; row++)
        if (!isnan(p[row]))
            attn_table_set_real(table, row, column, p[row]);
    attn_free(order);
    attn_free(p);
    return status;
}

enum attn_status attn_fold_tabulate(const struct attn_fold *fold, const bool *hidden,
                                    struct attn_table **table, struct attn_error *err)
{
    const size_t n_most = fold->n_label + MOST_OF_COLUMN * fold->n_column + MOST_OTHERS;
    const size_t n_sample =
        fold->n_group + (fold->study->has_contrasts && fold->n_group > 1 ? fold->n_group - 1 : 0);
    struct attn_cell *cells = attn_alloc(n_most, sizeof *cells, err);
    struct folded_column columns[ATTN_MOST_COLUMNS]; /* without items: all columns that could be
                                                        shown */
    const size_t n = find_columns(fold, hidden, columns);
    struct attn_table *made = NULL;
    enum attn_status status = ATTN_NO_MEMORY;

    if (cells)
        status = fold->n_group > 0 ? make_table(fold, fold->columns, fold->n_column, &made, err)
                                   : make_table(fold, columns, n, &made, err);
    for (size_t i = 0; status == ATTN_OK && i < n_sample; i++) {
        struct sample sample = {.n_unit = 0};

        status = append_sample(fold, i, &sample, cells, made, err);
        sample_release(&sample);
    }
    if (status == ATTN_OK && fold->study->fdr)
        status = find_q(made, err);
    attn_free(cells);
    if (status == ATTN_OK)
        *table = made;
    else
        attn_table_free(made);
    return status;
}

enum attn_status attn_fold_tabulate_texts(const struct attn_fold *fold, struct attn_table **table,
                                          struct attn_error *err)
{
    const struct group *group = &fold->groups[0];
    const size_t n_all = fold->form.n_column;
    struct attn_column columns[ATTN_MOST_COLUMNS];
    struct attn_rows rows = {.columns = columns, .n = fold->n_column, .is_of_many = true};
    struct attn_cell *means = attn_alloc(fold->n_row, n_all * sizeof *means, err);
    enum attn_status status;

    if (!means)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < fold->n_column; i++)
        columns[i] = fold->columns[i].column;
    fill_rows(fold, group, means);
    status = derive(fold, group, means, false, err);
    if (status == ATTN_OK)
        status = attn_rows_create(&rows, fold->form.name, err);
    for (size_t row = 0; status == ATTN_OK && row < fold->n_row; row++) {
        struct attn_cell cells[ATTN_MOST_COLUMNS];

        for (size_t i = 0; i < fold->n_column; i++)
            cells[i] = means[row * n_all + fold->columns[i].place];
        status =
            attn_rows_append(&rows, cells, group->moments + row * fold->n_column, group->n, err);
    }
    attn_free(means);
    if (status == ATTN_OK)
        *table = rows.table;
    else
        attn_table_free(rows.table);
    return status;
}
