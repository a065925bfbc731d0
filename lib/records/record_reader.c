/* record_reader.c - see record_reader.h. A line of JSON is scanned twice: first its grammar and its
 * keys are checked, then the values are read. No tree is built, so a line with a million ids needs
 * no more memory than the ids. */
#include "records/record_reader.h"

#include "base/escape.h"
#include "base/status_internal.h"
#include "input/sequence.h"

#include <string.h>

enum { MEMBER_DEPTH = 1 }; /* depth of the reader before and after the value of a member */

/* State while a line of JSON is read. */
struct line_reading {
    struct attn_item *item;
    struct attn_json_reader json;
    struct attn_record_form form;
    const struct attn_record_keys *keys; /* or NULL */
};

/* --- A record --------------------------------------------------------------------------------- */

/* If there is a source, the mask applies to its keys. */
static void place_key_mask(struct attn_item *item)
{
    struct attn_input *input = &item->input, *source = &item->source;

    if (!attn_input_is_given(source))
        return;
    source->key_mask = input->key_mask;
    source->n_key_mask = input->n_key_mask;
    input->key_mask = NULL;
    input->n_key_mask = 0;
}

/* Checks values that depend on each other. */
static void check_values(struct attn_item *item)
{
    place_key_mask(item);
    if (item->failure != ATTN_RECORD_FAILURE_NONE || !item->source.ids ||
        (!item->source.text && !item->source.embeddings))
        return;
    item->failure = ATTN_RECORD_FAILURE_BAD_SOURCE;
    attn_error_set(&item->err, ATTN_INVALID,
                   "it has 'source_ids' and another source, expected one of them");
}

static void check_input(struct attn_item *item, const char *text_key)
{
    const bool has_text = item->input.text, has_ids = item->input.ids;

    if (has_text || has_ids)
        item->input.image = NULL;
    if (item->input.image || item->failure != ATTN_RECORD_FAILURE_NONE || has_text != has_ids)
        return;
    item->failure = ATTN_RECORD_FAILURE_NO_TEXT;
    attn_error_set(&item->err, ATTN_INVALID,
                   has_text ? "it has '%s' and 'ids', expected one of them"
                            : "it has no '%s' and no 'ids', expected one of them",
                   attn_quote_string(text_key).text);
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Finds the key of TOKEN, with a null-terminated name. *IS_KNOWN is false if the key is ignored. */
static enum attn_status find_key(const struct line_reading *reading,
                                 const struct attn_json_token *token, struct attn_record_key *key,
                                 bool *is_known, struct attn_error *err)
{
    const char *name = token->text;
    size_t size = token->size;
    char *copy = NULL;

    if (token->has_escape) {
        copy = attn_store_copy(&reading->item->store, name, size, err);
        if (!copy)
            return ATTN_NO_MEMORY;
        size = attn_json_unescape_to(token, copy);
        copy[size] = '\0';
        name = copy;
    }
    *is_known = attn_record_find_key(&reading->form, name, size, key);
    if (*is_known && !key->name) {
        key->name = copy ? copy : attn_store_copy(&reading->item->store, name, size, err);
        key->n_name = size;
    }
    return !*is_known || key->name ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Reads or skips the value of the key TOKEN. */
static enum attn_status read_member(struct line_reading *reading,
                                    const struct attn_json_token *token, struct attn_error *err)
{
    struct attn_record_value name = {.token = *token, .json = &reading->json};
    struct attn_record_value value = {.json = &reading->json};
    struct attn_record_key key;
    struct attn_json_token rest;
    bool is_known;

    ATTN_TRY(attn_json_next(&reading->json, &value.token, err));
    ATTN_TRY(find_key(reading, token, &key, &is_known, err));
    if (reading->keys && reading->keys->see)
        ATTN_TRY(reading->keys->see(reading->keys->user, token,
                                    is_known && key.kind != ATTN_KEY_PICTURE, &value.token, err));
    if (value.token.type == ATTN_JSON_NULL)
        return ATTN_OK;
    if (is_known && (key.n_name == 0 || strlen(key.name) < key.n_name))
        attn_record_refuse(reading->item, ATTN_RECORD_FAILURE_BAD_VALUE, key.name, &name,
                           "names of keys without NUL that are not empty");
    else if (is_known)
        ATTN_TRY(attn_record_set(reading->item, &key, &value, err));
    while (reading->json.depth > MEMBER_DEPTH)
        ATTN_TRY(attn_json_next(&reading->json, &rest, err));
    return ATTN_OK;
}

/* Checks that the line is one well-formed object. The first error makes the record fail. */
static enum attn_status check_line(const struct line_reading *reading, struct attn_error *err)
{
    struct attn_item *item = reading->item;
    struct attn_record_value first = {.json = NULL};
    struct attn_json_reader copy = reading->json;
    struct attn_error why = {0};
    enum attn_status status = attn_json_check_keys(copy, &why);

    first.json = &copy;
    if (status == ATTN_OK)
        status = attn_json_next(&copy, &first.token, &why);
    if (status == ATTN_NO_MEMORY)
        return attn_error_copy(err, &why);
    if (status != ATTN_OK) {
        item->failure = ATTN_RECORD_FAILURE_BAD_JSON;
        item->err = why;
    } else if (first.token.type != ATTN_JSON_OBJECT_BEGIN) {
        attn_record_refuse(reading->item, ATTN_RECORD_FAILURE_BAD_JSON, "line", &first,
                           "an object");
    }
    return ATTN_OK;
}

/* Reads the members of the object. */
static enum attn_status read_members(struct line_reading *reading, struct attn_error *err)
{
    struct attn_json_token token;

    ATTN_TRY(check_line(reading, err));
    if (reading->item->failure != ATTN_RECORD_FAILURE_NONE)
        return ATTN_OK;
    ATTN_TRY(attn_json_next(&reading->json, &token, err));
    for (;;) {
        ATTN_TRY(attn_json_next(&reading->json, &token, err));
        if (token.type != ATTN_JSON_KEY)
            break;
        ATTN_TRY(read_member(reading, &token, err));
    }
    check_values(reading->item);
    return ATTN_OK;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static struct attn_record_form form_of(const struct attn_record_keys *keys)
{
    if (!keys)
        return (struct attn_record_form){.reader = ATTN_KEY_OF_TEXTS};
    return (struct attn_record_form){keys->has_next ? ATTN_KEY_OF_BATCH : ATTN_KEY_OF_TEXTS,
                                     keys->text, keys->id};
}

enum attn_status attn_record_read(const char *line, size_t size,
                                  const struct attn_record_keys *keys, struct attn_item *item,
                                  struct attn_error *err)
{
    struct line_reading reading = {
        .item = item,
        .json = attn_json_reader_init(size > 0 ? line : "", size, "line"),
        .form = form_of(keys),
        .keys = keys,
    };
    struct attn_error failure = {0}; /* used because ERR may be NULL */
    const size_t number = item->number;

    attn_item_release(item);
    item->number = number;
    if (read_members(&reading, &failure) != ATTN_OK)
        return attn_error_copy(err, &failure);
    check_input(item, reading.form.text ? reading.form.text : "text");
    return ATTN_OK;
}

enum attn_status attn_item_read_line(const char *line, size_t size, struct attn_item *item,
                                     struct attn_error *err)
{
    struct line_reading reading = {
        .item = item,
        .json = attn_json_reader_init(size > 0 ? line : "", size, "line"),
        .form = {.reader = ATTN_KEY_OF_ITEMS},
    };

    return read_members(&reading, err);
}

enum attn_status attn_item_read_fields(const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err)
{
    for (size_t i = 0; i < csv->n_column; i++) {
        const struct attn_csv_column *column = &csv->columns[i];
        struct attn_record_key key = column->key;
        struct attn_record_value value;

        if (column->size == 0) {
            item->has_empty_text |= strcmp(column->name, "text") == 0;
            continue;
        }
        value = attn_record_field(&key, column->text, column->size);
        if (!key.name)
            key.name = attn_store_copy(&item->store, column->name, strlen(column->name), err);
        if (!key.name)
            return ATTN_NO_MEMORY;
        ATTN_TRY(attn_record_set(item, &key, &value, err));
    }
    check_values(item);
    return ATTN_OK;
}
