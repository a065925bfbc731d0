/* fold_labels.c - see fold_internal.h: the labels of items that name their group and their
 * cluster. */
#include "means/fold_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "formats/float_text.h"
#include "stream/items_internal.h"

#include <stdio.h>
#include <string.h>

static enum attn_status read_labels(struct attn_fold *fold, struct attn_error *err)
{
    const char *list = fold->study->group_by;
    char *rest;

    if (!list && fold->study->has_contrasts)
        return attn_error_set(err, ATTN_INVALID, "`has_contrasts` needs `group_by`");
    if (!list)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(rest, attn_strndup(list, strlen(list), err)));
    fold->names = rest;
    for (char *at; (at = strsep(&rest, ","));) {
        if (*at == '\0')
            return attn_error_set(err, ATTN_INVALID,
                                  "`group_by` '%s' has an empty name, expected labels as in "
                                  "'condition,number'",
                                  attn_quote_string(list).text);
        if (fold->n_label == ATTN_FOLD_MOST_LABELS)
            return attn_error_set(err, ATTN_INVALID, "`group_by` names more than %d labels",
                                  ATTN_FOLD_MOST_LABELS);
        for (size_t i = 0; i < fold->n_label; i++)
            if (strcmp(fold->labels[i], at) == 0)
                return attn_error_set(err, ATTN_INVALID, "`group_by` names '%s' twice",
                                      attn_quote_string(at).text);
        fold->labels[fold->n_label++] = at;
    }
    return ATTN_OK;
}

/* Appends the label of clusters to the labels that are copied. */
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

enum attn_status attn_fold_labels_read(struct attn_fold *fold, struct attn_error *err)
{
    ATTN_TRY(read_labels(fold, err));
    return read_cluster(fold, err);
}

/* Checks that ITEM has the label NAME, which FIELD names. */
static enum attn_status check_label(const struct attn_item *item, const char *name,
                                    const char *field, struct attn_error *err)
{
    char names[ATTN_QUOTE_SIZE];

    if (attn_item_label(item, name))
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID, "no label '%s' (labels: %s)", attn_quote_string(name).text,
                   attn_item_list_labels(item, names, sizeof names));
    return attn_error_of(ATTN_INVALID, field, err);
}

enum attn_status attn_fold_labels_check(const struct attn_fold *fold, const struct attn_item *item,
                                        struct attn_error *err)
{
    for (size_t i = 0; i < fold->n_copied; i++)
        if (strcmp(fold->labels[i], "id") != 0)
            ATTN_TRY(check_label(item, fold->labels[i], i < fold->n_label ? "group_by" : "cluster",
                                 err));
    return fold->pairing.of.label ? check_label(item, fold->pairing.of.label, "paired", err)
                                  : ATTN_OK;
}

size_t attn_fold_label_size(const struct attn_item_label *label)
{
    return label->value.type == ATTN_VALUE_TEXT ? label->value.size : strlen(label->text);
}

/* Finds the column type that preserves the text of LABEL. *TYPE is TEXT for numbers that tables
 * would write differently, such as 1e5, and for integers of more than 64 bits. */
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
    if (status == ATTN_OK &&
        (number.size != strlen(label->text) || memcmp(number.data, label->text, number.size) != 0))
        *type = ATTN_VALUE_TEXT;
    attn_buffer_release(&number);
    return status;
}

const char *attn_fold_id_of(const struct attn_item *item, char text[ATTN_FOLD_ID_SIZE],
                            size_t *size)
{
    *size = item->n_id;
    if (item->id_kind != ATTN_RECORD_ID_NUMBER)
        return item->id;
    *size = (size_t)snprintf(text, ATTN_FOLD_ID_SIZE, "%zu", item->number);
    return text;
}

void attn_fold_labels_free(struct attn_fold_label *labels, size_t n)
{
    for (size_t i = 0; labels && i < n; i++)
        attn_free(labels[i].text);
    attn_free(labels);
}

struct attn_fold_label *attn_fold_labels_copy(const struct attn_fold *fold,
                                              const struct attn_item *item, struct attn_error *err)
{
    struct attn_fold_label *copies = attn_alloc(fold->n_copied, sizeof *copies, err);

    for (size_t i = 0; copies && i < fold->n_copied; i++) {
        const struct attn_item_label *label = attn_item_label(item, fold->labels[i]);
        char number[ATTN_FOLD_ID_SIZE];

        if (!label) { /* the id */
            const char *id = attn_fold_id_of(item, number, &copies[i].size);

            copies[i].text = attn_strndup(id, copies[i].size, err);
            copies[i].type = ATTN_VALUE_TEXT;
            if (copies[i].text)
                continue;
        } else {
            copies[i] = (struct attn_fold_label){
                .value = label->value,
                .text = attn_strndup(label->text, attn_fold_label_size(label), err),
                .size = attn_fold_label_size(label)};
        }
        if (!copies[i].text || find_type(label, &copies[i].type, err) != ATTN_OK) {
            attn_fold_labels_free(copies, fold->n_copied);
            return NULL;
        }
    }
    return copies;
}

enum attn_value_type attn_fold_label_type(const struct attn_fold *fold, size_t i)
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

enum attn_status attn_fold_labels_fill(const struct attn_fold *fold,
                                       const struct attn_fold_group *const of[2],
                                       struct attn_buffer names[ATTN_FOLD_MOST_LABELS],
                                       struct attn_cell *cells, struct attn_error *err)
{
    for (size_t i = 0; i < fold->n_label; i++) {
        const struct attn_fold_label *own = &of[0]->labels[i];
        const struct attn_fold_label *other = of[1] ? &of[1]->labels[i] : NULL;

        attn_buffer_append(&names[i], own->text, own->size);
        if (other && (own->size != other->size || memcmp(own->text, other->text, own->size) != 0)) {
            attn_buffer_append_string(&names[i], " - ");
            attn_buffer_append(&names[i], other->text, other->size);
        }
        ATTN_TRY(attn_buffer_check(&names[i], err));
        cells[i] = attn_fold_label_type(fold, i) == ATTN_VALUE_TEXT
                       ? attn_cell_text(attn_buffer_string(&names[i]), names[i].size)
                       : own->value;
    }
    return ATTN_OK;
}
