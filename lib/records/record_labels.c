/* record_labels.c - see record_labels.h. */
#include "records/record_labels.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"

#include <string.h>

/* --- Names ----------------------------------------------------------------------------------- */

static enum attn_status check_names(const struct attn_label_names *names, struct attn_error *err)
{
    for (size_t i = 0; i < names->n; i++) {
        if (*names->names[i] == '\0')
            return attn_error_set(err, ATTN_INVALID,
                                  "`labels` has an empty name, expected keys of a record or 'all'");
        for (size_t k = 0; k < i; k++)
            if (strcmp(names->names[k], names->names[i]) == 0)
                return attn_error_set(err, ATTN_INVALID, "`labels` has '%s' twice",
                                      attn_quote_string(names->names[i]).text);
    }
    return ATTN_OK;
}

enum attn_status attn_label_names_parse(const char *list, struct attn_label_names *names,
                                        struct attn_error *err)
{
    names->is_all = strcmp(list, "all") == 0;
    if (names->is_all)
        return ATTN_OK;
    attn_buffer_append_string(&names->text, list);
    attn_buffer_string(&names->text);
    ATTN_TRY(attn_buffer_check(&names->text, err));
    for (char *at = names->text.data; at;) {
        char *comma = strchr(at, ',');

        ATTN_TRY(
            attn_grow(&names->names, &names->capacity, names->n + 1, sizeof *names->names, err));
        names->names[names->n++] = at;
        if (comma)
            *comma++ = '\0';
        at = comma;
    }
    return check_names(names, err);
}

void attn_label_names_release(struct attn_label_names *names)
{
    attn_buffer_release(&names->text);
    attn_free(names->names);
    *names = (struct attn_label_names){0};
}

/* --- A line ---------------------------------------------------------------------------------- */

struct label_reading {
    const struct attn_label_names *names;
    struct attn_item *item;
    struct attn_error failure; /* failure of the first invalid label */
};

/* Appends the label NAME, without a value. */
static enum attn_status add_label(struct attn_item *item, const char *name, struct attn_error *err)
{
    ATTN_TRY(attn_grow(&item->labels, &item->label_capacity, item->n_label + 1,
                       sizeof *item->labels, err));
    item->labels[item->n_label++] = (struct attn_item_label){.name = name};
    return ATTN_OK;
}

/* Returns a null-terminated copy of the string of TOKEN; NULL on failure. */
static const char *keep(struct attn_item *item, const struct attn_json_token *token, size_t *size,
                        struct attn_error *err)
{
    char *text = attn_store_take(&item->store, token->size + 1, err);

    if (!text)
        return NULL;
    *size = attn_json_unescape_to(token, text);
    text[*size] = '\0';
    return text;
}

/* Sets *LABEL to the label for KEY, without a value; NULL if KEY is not a label. */
static enum attn_status find_label(const struct label_reading *reading,
                                   const struct attn_json_token *key, bool is_taken,
                                   struct attn_item_label **label, struct attn_error *err)
{
    const struct attn_label_names *names = reading->names;
    struct attn_item *item = reading->item;
    const char *name;
    size_t size;

    *label = NULL;
    while (!names->is_all && item->n_label < names->n)
        ATTN_TRY(add_label(item, names->names[item->n_label], err));
    for (size_t i = 0; !names->is_all && i < item->n_label && !*label; i++)
        if (attn_json_equals(key, item->labels[i].name))
            *label = &item->labels[i];
    if (!names->is_all || is_taken || attn_json_has_nul(key))
        return ATTN_OK;
    name = keep(item, key, &size, err);
    if (!name)
        return ATTN_NO_MEMORY;
    ATTN_TRY(add_label(item, name, err));
    *label = &item->labels[item->n_label - 1];
    return ATTN_OK;
}

/* Reads VALUE if KEY is a label (`see` of struct attn_record_keys). */
static enum attn_status see(void *user, const struct attn_json_token *key, bool is_taken,
                            const struct attn_json_token *value, struct attn_error *err)
{
    struct label_reading *reading = user;
    struct attn_item_label *label;
    size_t size = 0;

    ATTN_TRY(find_label(reading, key, is_taken, &label, err));
    if (!label || value->type == ATTN_JSON_NULL)
        return ATTN_OK;
    if (value->type == ATTN_JSON_STRING || attn_label_read_value(value, &label->value)) {
        label->text = keep(reading->item, value, &size, err);
        if (!label->text)
            return ATTN_NO_MEMORY;
        if (value->type == ATTN_JSON_STRING)
            label->value = attn_cell_text(label->text, size);
    } else if (reading->failure.status == ATTN_OK) {
        attn_error_set(&reading->failure, ATTN_INVALID,
                       "the label '%s' has '%s' at byte %zu, expected a text, a number or a "
                       "boolean",
                       attn_quote_string(label->name).text,
                       attn_quote(value->text, value->size).text, value->offset);
    }
    return ATTN_OK;
}

enum attn_status attn_record_labels_read(const char *line, size_t size,
                                         const struct attn_label_names *names,
                                         struct attn_item *item, struct attn_error *err)
{
    struct label_reading reading = {.names = names, .item = item};
    struct attn_record_keys keys = names->keys;

    keys.see = see;
    keys.user = &reading;
    ATTN_TRY(attn_record_read(line, size, names->is_all || names->n > 0 ? &keys : &names->keys,
                              item, err));
    if (item->failure == ATTN_RECORD_FAILURE_BAD_JSON)
        item->n_label = 0;
    if (item->failure != ATTN_RECORD_FAILURE_NONE || reading.failure.status == ATTN_OK)
        return ATTN_OK;
    item->failure = ATTN_RECORD_FAILURE_BAD_VALUE;
    item->err = reading.failure;
    return ATTN_OK;
}
