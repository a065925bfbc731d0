/* fold_pairs.c - see fold_internal.h: items of `paired` are stored in a hash table of ids until
 * their partner comes. */
#include "machine/fold_internal.h"

#include "base/hash.h"
#include "base/memory.h"
#include "base/status_internal.h"

#include <string.h>

enum { N_LIST = 1 << 14 };

/* An item whose partner was not read yet. */
struct attn_fold_waiting {
    char *id; /* owns */
    size_t n_id;
    bool is_b;
    struct attn_fold_label *labels; /* [n_copied] owns */
    struct attn_table *table;       /* owns */
    double *more;                   /* [n_more] owns */
    struct attn_fold_waiting *next; /* lists are sorted from oldest to newest */
};

enum attn_status attn_fold_pairs_read(struct attn_fold *fold, struct attn_error *err)
{
    const char *pair = fold->study->paired;

    if (!pair)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(fold->pairing.lists, N_LIST, err));
    ATTN_TRY(attn_item_sides_read("paired", pair, &fold->pairing.of, err));
    for (size_t i = 0; i < fold->n_copied; i++)
        if (strcmp(fold->labels[i], fold->pairing.of.label) == 0)
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' cannot be in `%s` and in `paired`, expected one",
                                  attn_quote_string(fold->pairing.of.label).text,
                                  i < fold->n_label ? "group_by" : "cluster");
    return ATTN_OK;
}

enum attn_status attn_fold_table_copy(const struct attn_table *table, struct attn_table **copy,
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
    ATTN_THEN(status, attn_table_copy_about(table, made, err));
    ATTN_RETURN_MADE(status, copy, made, attn_table_free);
}

static void free_waiting(struct attn_fold_waiting *waiting, size_t n_label)
{
    attn_free(waiting->id);
    attn_fold_labels_free(waiting->labels, n_label);
    attn_table_free(waiting->table);
    attn_free(waiting->more);
    attn_free(waiting);
}

void attn_fold_pairs_release(struct attn_fold *fold)
{
    for (size_t i = 0; fold->pairing.lists && i < N_LIST; i++)
        for (struct attn_fold_waiting *at = fold->pairing.lists[i], *next; at; at = next) {
            next = at->next;
            free_waiting(at, fold->n_copied);
        }
    attn_free(fold->pairing.lists);
    attn_free(fold->pairing.of.label);
}

/* Returns the list that may contain items with ID. */
static struct attn_fold_waiting **list_of(const struct attn_fold *fold, const char *id, size_t size)
{
    return &fold->pairing.lists[attn_hash_bytes(0, id, size) % N_LIST];
}

/* Removes and returns the oldest waiting partner of ITEM; NULL if there is none. */
static struct attn_fold_waiting *take_partner(struct attn_fold *fold, const struct attn_item *item,
                                              bool is_b)
{
    char text[ATTN_FOLD_ID_SIZE];
    size_t size;
    const char *id = attn_fold_id_of(item, text, &size);

    for (struct attn_fold_waiting **at = list_of(fold, id, size); *at; at = &(*at)->next) {
        struct attn_fold_waiting *found = *at;

        if (found->is_b == is_b || found->n_id != size || memcmp(found->id, id, size) != 0)
            continue;
        *at = found->next;
        return found;
    }
    return NULL;
}

/* Stores a copy of RESULT until its partner comes. Takes ownership of *LABELS, which becomes
 * NULL. */
static enum attn_status wait_for_partner(struct attn_fold *fold,
                                         const struct attn_item_result *result, bool is_b,
                                         struct attn_fold_label **labels, struct attn_error *err)
{
    struct attn_fold_waiting *made;
    char text[ATTN_FOLD_ID_SIZE];
    const char *id;
    struct attn_fold_waiting **at;

    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->is_b = is_b;
    id = attn_fold_id_of(result->item, text, &made->n_id);
    made->id = attn_strndup(id, made->n_id, err);
    made->more = attn_alloc(fold->n_more, sizeof *made->more, err);
    if (!made->id || !made->more ||
        attn_fold_table_copy(result->rows, &made->table, err) != ATTN_OK) {
        free_waiting(made, 0);
        return ATTN_NO_MEMORY;
    }
    for (size_t i = 0; result->beside && i < fold->n_more; i++)
        made->more[i] = result->beside[i];
    made->labels = *labels;
    *labels = NULL;
    at = list_of(fold, id, made->n_id);
    while (*at)
        at = &(*at)->next;
    *at = made;
    fold->pairing.n_single++;
    return ATTN_OK;
}

enum attn_status attn_fold_pairs_add(struct attn_fold *fold, const struct attn_item_result *result,
                                     bool is_b, struct attn_error *err)
{
    struct attn_fold_label *labels;
    struct attn_item_result other = {.item = NULL};
    struct attn_fold_waiting *partner;
    enum attn_status status;

    ATTN_TRY(ATTN_NEW(labels, attn_fold_labels_copy(fold, result->item, err)));
    partner = take_partner(fold, result->item, is_b);
    if (!partner) {
        status = wait_for_partner(fold, result, is_b, &labels, err);
        attn_fold_labels_free(labels, fold->n_copied);
        return status;
    }
    fold->pairing.n_single--;
    fold->pairing.n_pair++;
    other.rows = partner->table;
    other.beside = partner->more;
    status = is_b ? attn_fold_group_add(fold, &partner->labels, &other, result, err)
                  : attn_fold_group_add(fold, &labels, result, &other, err);
    free_waiting(partner, fold->n_copied);
    attn_fold_labels_free(labels, fold->n_copied);
    return status;
}
