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
    struct attn_label_store *store;
    struct attn_error failure; /* failure of the first invalid label */
};

/* Appends the string of TOKEN with a NUL to the text of the store, which has room for all. Returns
 * it. */
static const char *keep(struct label_reading *labels, const struct attn_json_token *token,
                        size_t *size)
{
    struct attn_buffer *text = &labels->store->text;
    const size_t begin = text->size;

    attn_json_unescape(token, text);
    *size = text->size - begin;
    attn_buffer_append_char(text, '\0');
    return text->data + begin;
}

/* Returns the label for KEY, without a value; NULL if KEY is not a label. */
static struct attn_item_label *find_label(struct label_reading *labels,
                                          const struct attn_json_token *key, bool is_taken)
{
    struct attn_label_store *store = labels->store;
    size_t size;

    if (!store->names->is_all) {
        for (size_t i = 0; i < store->n; i++)
            if (attn_json_equals(key, store->labels[i].name))
                return &store->labels[i];
        return NULL;
    }
    if (is_taken || attn_json_has_nul(key))
        return NULL;
    store->labels[store->n] = (struct attn_item_label){.name = keep(labels, key, &size)};
    return &store->labels[store->n++];
}

/* Reads VALUE if KEY is a label (`see` of struct attn_record_keys). */
static enum attn_status see(void *user, const struct attn_json_token *key, bool is_taken,
                            const struct attn_json_token *value, struct attn_error *err)
{
    struct label_reading *labels = user;
    struct attn_label_store *store = labels->store;
    struct attn_item_label *label;
    bool is_good = true;
    size_t size = 0;

    ATTN_TRY(attn_grow(&store->labels, &store->capacity, store->n + 1, sizeof *store->labels, err));
    label = find_label(labels, key, is_taken);
    if (!label || value->type == ATTN_JSON_NULL)
        return ATTN_OK;
    if (value->type != ATTN_JSON_STRING)
        is_good = attn_label_read_value(value, &label->value);
    if (is_good)
        label->text = keep(labels, value, &size);
    if (value->type == ATTN_JSON_STRING)
        label->value = attn_cell_text(label->text, size);
    if (!is_good && labels->failure.status == ATTN_OK)
        attn_error_set(&labels->failure, ATTN_INVALID,
                       "the label '%s' has '%s' at byte %zu, expected a text, a number or a "
                       "boolean",
                       attn_quote_string(label->name).text,
                       attn_quote(value->text, value->size).text, value->offset);
    return ATTN_OK;
}

enum attn_status attn_record_labels_read(const char *line, size_t size,
                                         struct attn_label_store *labels,
                                         struct attn_record_store *store,
                                         struct attn_record *record, struct attn_error *err)
{
    const struct attn_label_names *names = labels->names;
    struct label_reading reading = {.store = labels};
    struct attn_record_keys keys = names->keys;

    labels->n = 0;
    if (!names->is_all && names->n == 0)
        return attn_record_read(line, size, &keys, store, record, err);
    keys.see = see;
    keys.user = &reading;
    attn_buffer_reset(&labels->text);
    ATTN_TRY(attn_grow(&labels->labels, &labels->capacity, names->n, sizeof *labels->labels, err));
    /* Names and texts are shorter than the line, so the buffer does not move. */
    if (!attn_buffer_reserve(&labels->text, size + 1))
        return attn_error_no_memory(err);
    for (; labels->n < names->n; labels->n++)
        labels->labels[labels->n] = (struct attn_item_label){.name = names->names[labels->n]};
    ATTN_TRY(attn_record_read(line, size, &keys, store, record, err));
    if (record->failure == ATTN_RECORD_FAILURE_BAD_JSON)
        labels->n = 0;
    if (record->failure != ATTN_RECORD_FAILURE_NONE || reading.failure.status == ATTN_OK)
        return ATTN_OK;
    record->failure = ATTN_RECORD_FAILURE_BAD_VALUE;
    record->err = reading.failure;
    return ATTN_OK;
}

void attn_label_store_release(struct attn_label_store *store)
{
    attn_buffer_release(&store->text);
    attn_free(store->labels);
    *store = (struct attn_label_store){0};
}
