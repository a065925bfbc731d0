/* record_reader.c - see record_reader.h. A line of JSON is scanned twice: first its grammar and its
 * keys are checked, then the values are read. No tree is built, so a line with a million ids needs
 * no more memory than the ids. */
#include "stream/record_reader.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "input/sequence.h"

#include <string.h>

enum { MEMBER_DEPTH = 1 }; /* depth of the reader before and after the value of a member */

struct line_reading {
    struct attn_item *item;
    struct attn_json_reader json;
    const struct attn_record_names *names; /* NULL: of an item */
    struct attn_error failure;             /* failure of the first invalid label of a record */
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
    if (item->images[0] && item->input.n_image > 0 && item->failure == ATTN_RECORD_FAILURE_NONE) {
        item->failure = ATTN_RECORD_FAILURE_BAD_VALUE;
        attn_error_set(&item->err, ATTN_INVALID,
                       "it has 'image' and 'images', expected one of them");
    }
    if (item->failure != ATTN_RECORD_FAILURE_NONE || !item->source.ids ||
        (!item->source.text && !item->source.embeddings))
        return;
    item->failure = ATTN_RECORD_FAILURE_BAD_SOURCE;
    attn_error_set(&item->err, ATTN_INVALID,
                   "it has 'source_ids' and another source, expected one of them");
}

static void check_input(struct attn_item *item, const char *text_key)
{
    const bool has_text = item->input.text || item->messages, has_ids = item->input.ids;

    attn_item_take_messages(item, text_key);
    item->input.image = has_text || has_ids ? NULL : item->images[0];
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
    const char *name = token->text, *copy = NULL;
    size_t size = token->size;

    if (token->has_escape) {
        name = copy = attn_record_keep(reading->item, token, &size, err);
        if (!copy)
            return ATTN_NO_MEMORY;
    }
    attn_record_trim(&name, &size);
    *is_known = attn_record_find_key(reading->names, name, size, key);
    if (*is_known && !key->name) {
        key->name = copy ? copy : attn_store_copy(&reading->item->store, name, size, err);
        key->n_name = size;
    }
    return !*is_known || key->name ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Appends the label NAME, without a value. */
static enum attn_status add_label(struct attn_item *item, const char *name, struct attn_error *err)
{
    ATTN_TRY(attn_grow(&item->labels, &item->label_capacity, item->n_label + 1,
                       sizeof *item->labels, err));
    item->labels[item->n_label++] = (struct attn_item_label){.name = name};
    return ATTN_OK;
}

/* Sets *LABEL to the label for KEY, without a value; NULL if KEY is not a label. */
static enum attn_status find_label(const struct line_reading *reading,
                                   const struct attn_json_token *key, bool is_taken,
                                   struct attn_item_label **label, struct attn_error *err)
{
    const struct attn_record_names *names = reading->names;
    struct attn_item *item = reading->item;
    const char *name;
    size_t size;

    *label = NULL;
    while (!names->is_all && item->n_label < names->n)
        ATTN_TRY(add_label(item, names->labels[item->n_label], err));
    for (size_t i = 0; !names->is_all && i < item->n_label && !*label; i++)
        if (attn_json_equals(key, item->labels[i].name))
            *label = &item->labels[i];
    if (!names->is_all || is_taken || attn_json_has_nul(key))
        return ATTN_OK;
    name = attn_record_keep(item, key, &size, err);
    if (!name)
        return ATTN_NO_MEMORY;
    ATTN_TRY(add_label(item, name, err));
    *label = &item->labels[item->n_label - 1];
    return ATTN_OK;
}

/* Reads VALUE, which may be null, if KEY is a label. IS_TAKEN: the record itself uses the key. */
static enum attn_status read_label(struct line_reading *reading, const struct attn_json_token *key,
                                   bool is_taken, const struct attn_json_token *value,
                                   struct attn_error *err)
{
    struct attn_item_label *label;
    size_t size = 0;

    if (!reading->names || (!reading->names->is_all && reading->names->n == 0))
        return ATTN_OK;
    ATTN_TRY(find_label(reading, key, is_taken, &label, err));
    if (!label || value->type == ATTN_JSON_NULL)
        return ATTN_OK;
    if (value->type == ATTN_JSON_STRING || attn_label_read_value(value, &label->value)) {
        label->text = attn_record_keep(reading->item, value, &size, err);
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
    ATTN_TRY(read_label(reading, token, is_known && key.kind != ATTN_KEY_PLAIN, &value.token, err));
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
    enum attn_status status = attn_json_check_keys(copy, NULL, &why);

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

/* Checks a record after its values were read. */
static void finish_record(struct line_reading *reading)
{
    const struct attn_record_names *names = reading->names;
    struct attn_item *item = reading->item;

    if (!names)
        return;
    check_input(item, names->text ? names->text : "text");
    if (item->failure == ATTN_RECORD_FAILURE_BAD_JSON)
        item->n_label = 0;
    if (item->failure != ATTN_RECORD_FAILURE_NONE || reading->failure.status == ATTN_OK)
        return;
    item->failure = ATTN_RECORD_FAILURE_BAD_VALUE;
    item->err = reading->failure;
}

enum attn_status attn_item_read_line(const char *line, size_t size,
                                     const struct attn_record_names *names, struct attn_item *item,
                                     struct attn_error *err)
{
    struct line_reading reading = {
        .item = item,
        .json = attn_json_reader_init(size > 0 ? line : "", size, "line"),
        .names = names,
    };
    struct attn_error failure = {0}; /* used because ERR may be NULL */

    if (read_members(&reading, &failure) != ATTN_OK)
        return attn_error_copy(err, &failure);
    finish_record(&reading);
    return ATTN_OK;
}

enum attn_status attn_item_read_fields(const struct attn_csv_reader *csv, struct attn_item *item,
                                       struct attn_error *err)
{
    struct line_reading reading = {.item = item, .names = csv->names};

    for (size_t i = 0; i < csv->n_column; i++) {
        const struct attn_csv_column *column = &csv->columns[i];
        const struct attn_json_token name = {
            .type = ATTN_JSON_KEY, .text = column->name, .size = strlen(column->name)};
        struct attn_record_key key = column->key;
        struct attn_record_value value = attn_record_field(&key, column->text, column->size);

        if (column->size == 0)
            value.token.type = ATTN_JSON_NULL;
        ATTN_TRY(read_label(&reading, &name,
                            key.kind != ATTN_KEY_PLAIN && key.kind != ATTN_KEY_LABEL, &value.token,
                            err));
        if (column->size == 0)
            item->has_empty_text |= strcmp(column->name, "text") == 0;
        if (column->size == 0 || (csv->names && key.kind == ATTN_KEY_LABEL))
            continue;
        if (!key.name)
            key.name = attn_store_copy(&item->store, name.text, name.size, err);
        if (!key.name)
            return ATTN_NO_MEMORY;
        ATTN_TRY(attn_record_set(item, &key, &value, err));
    }
    check_values(item);
    finish_record(&reading);
    return ATTN_OK;
}
