/* record_reader.c - see record_reader.h. A line of JSON is scanned twice: first its grammar and its
 * keys are checked, then the values are read. No tree is built, so a line with a million ids needs
 * no more memory than the ids. */
#include "stream/record_reader.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "input/sequence.h"

#include <string.h>

enum { MEMBER_DEPTH = 1 }; /* depth of the reader before and after the value of a member */

struct line_reading {
    struct attn_item *item;
    struct attn_json_reader json;
};

/* --- A record --------------------------------------------------------------------------------- */

/* Checks values that depend on each other. */
static void check_values(struct attn_item *item)
{
    attn_input_give_key_mask(&item->input, &item->source);
    if (item->images[0] && item->input.n_image > 0 && item->failure == ATTN_REASON_NONE) {
        item->failure = ATTN_REASON_BAD_VALUE;
        attn_error_set(&item->err, ATTN_INVALID,
                       "it has 'image' and 'images', expected one of them");
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Finds the key of TOKEN, with a null-terminated name. */
static enum attn_status find_key(const struct line_reading *reading,
                                 const struct attn_json_token *token, struct attn_record_key *key,
                                 struct attn_error *err)
{
    const char *name = token->text, *copy = NULL;
    size_t size = token->size;

    if (token->has_escape) {
        ATTN_TRY(ATTN_NEW(copy, attn_record_keep(reading->item, token, &size, err)));
        name = copy;
    }
    attn_record_trim(&name, &size);
    attn_record_find_key(name, size, key);
    if (!key->name) {
        key->name = copy ? copy : attn_store_copy(&reading->item->store, name, size, err);
        key->n_name = size;
    }
    return key->name ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Reads or skips the value of the key TOKEN. */
static enum attn_status read_member(struct line_reading *reading,
                                    const struct attn_json_token *token, struct attn_error *err)
{
    struct attn_record_value name = {.token = *token, .json = &reading->json};
    struct attn_record_value value = {.json = &reading->json};
    struct attn_record_key key;
    struct attn_json_token rest;

    ATTN_TRY(attn_json_next(&reading->json, &value.token, err));
    ATTN_TRY(find_key(reading, token, &key, err));
    if (value.token.type == ATTN_JSON_NULL)
        return ATTN_OK;
    if (key.n_name == 0 || strlen(key.name) < key.n_name)
        attn_record_refuse(reading->item, ATTN_REASON_BAD_VALUE, key.name, &name,
                           "names of keys without NUL that are not empty");
    else
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
    enum attn_status status = attn_json_check_keys(copy, NULL, &why);

    first.json = &copy;
    ATTN_THEN(status, attn_json_next(&copy, &first.token, &why));
    if (status == ATTN_NO_MEMORY)
        return attn_error_copy(err, &why);
    if (status != ATTN_OK) {
        item->failure = ATTN_REASON_BAD_JSON;
        item->err = why;
    } else if (first.token.type != ATTN_JSON_OBJECT_BEGIN) {
        attn_record_refuse(reading->item, ATTN_REASON_BAD_JSON, "line", &first, "an object");
    }
    return ATTN_OK;
}

static enum attn_status read_members(struct line_reading *reading, struct attn_error *err)
{
    struct attn_json_token token;

    ATTN_TRY(check_line(reading, err));
    if (reading->item->failure != ATTN_REASON_NONE)
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

enum attn_status attn_item_read_line(const char *line, size_t size, struct attn_item *item,
                                     struct attn_error *err)
{
    struct line_reading reading = {
        .item = item,
        .json = attn_json_reader_init(size > 0 ? line : "", size, "line"),
    };
    struct attn_error failure = {0}; /* used because ERR may be NULL */

    return read_members(&reading, &failure) == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}

enum attn_status attn_item_read_fields(const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err)
{
    for (size_t i = 0; i < csv->n_column; i++) {
        const struct attn_csv_column *column = &csv->columns[i];
        struct attn_record_key key = column->key;
        struct attn_record_value value = attn_record_field(&key, column->text, column->size);

        if (column->size == 0) {
            item->has_empty_text |= strcmp(column->name, "text") == 0;
            continue;
        }
        if (!key.name)
            key.name = attn_store_copy(&item->store, column->name, strlen(column->name), err);
        if (!key.name)
            return ATTN_NO_MEMORY;
        ATTN_TRY(attn_record_set(item, &key, &value, err));
    }
    check_values(item);
    return ATTN_OK;
}
