/*
 * json.c - JSON trees by cJSON, which gets only text that the strict scanner (json_reader.h)
 * accepted.
 *
 * cJSON alone would accept invalid UTF-8, NUL and duplicate keys, cut strings at \u0000 and numbers
 * after 63 characters, and ignore the case of keys. The scanner refuses such texts first, so that
 * cJSON can fail only for lack of memory. An attn_node is a cJSON item; only this file uses cJSON.
 */
#include "formats/json.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "formats/json_reader.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NUMBER_SIZE = 63 }; /* longest number; cJSON copies it to 64 bytes */

struct attn_json {
    cJSON *tree;       /* owns */
    const cJSON *root; /* the current root, in `tree` */
    char *name;        /* owns; the path of the file */
};

static const cJSON *item_of(const struct attn_node *node)
{
    return (const cJSON *)(const void *)node;
}

static const struct attn_node *node_of(const cJSON *item)
{
    return (const struct attn_node *)(const void *)item;
}

/* Returns NULL if cJSON can hold TOKEN, else what the message expects instead. */
static const char *check_token(const struct attn_json_token *token)
{
    double value;

    switch (token->type) {
    case ATTN_JSON_KEY:
    case ATTN_JSON_STRING:
        return attn_json_has_nul(token) ? "a string without NUL" : NULL;
    case ATTN_JSON_NUMBER:
        if (token->size > MAX_NUMBER_SIZE)
            return "a number of at most 63 characters";
        return attn_parse_double(token->text, token->size, &value) ? NULL
                                                                   : "a number below 1.8e308";
    default:
        return NULL;
    }
}

/* Checks all properties of FILE that cJSON relies on. */
static enum attn_status check_file(const struct attn_file *file, struct attn_error *err)
{
    struct attn_json_reader reader =
        attn_json_reader_init((const char *)file->data, file->size, file->path);
    struct attn_json_token token = {0};
    const char *expected = NULL;

    if (file->size > ATTN_JSON_MAX_SIZE)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has %zu bytes, expected at most %d",
                              attn_quote_string(file->path).text, file->size, ATTN_JSON_MAX_SIZE);
    ATTN_TRY(attn_json_check_keys(reader, err));
    while (!expected && token.type != ATTN_JSON_END) {
        const bool is_root = reader.offset == 0;

        ATTN_TRY(attn_json_next(&reader, &token, err));
        expected =
            is_root && token.type != ATTN_JSON_OBJECT_BEGIN ? "an object" : check_token(&token);
    }
    if (!expected)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT, "'%s' has '%s' at byte %zu, expected %s",
                          attn_quote_string(file->path).text,
                          attn_quote(token.text, token.size).text, token.offset, expected);
}

/* Parses TEXT, which was checked, into *json. NAME is the path of its file. */
static enum attn_status make_tree(const char *text, size_t size, const char *name,
                                  struct attn_json **json, struct attn_error *err)
{
    struct attn_json *document;

    ATTN_TRY(ATTN_ALLOC(document, 1, err));
    document->name = attn_strndup(name, strlen(name), err);
    if (!document->name)
        goto fail;
    document->tree = cJSON_ParseWithLengthOpts(text, size, NULL, 0);
    document->root = document->tree;
    if (!document->tree) {
        attn_error_no_memory(err);
        goto fail;
    }
    *json = document;
    return ATTN_OK;
fail:
    attn_json_free(document);
    return ATTN_NO_MEMORY;
}

enum attn_status attn_json_parse(const struct attn_file *file, struct attn_json **json,
                                 struct attn_error *err)
{
    ATTN_TRY(check_file(file, err));
    return make_tree((const char *)file->data, file->size, file->path, json, err);
}

/* Parses FILE, which was checked, but leaves lists and objects of the root empty unless NAMES has
 * their key. TEXT becomes the file without the parts that are left out. */
static enum attn_status parse_named(const struct attn_file *file, const char *const *names,
                                    struct attn_buffer *text, struct attn_json **json,
                                    struct attn_error *err)
{
    const char *whole = (const char *)file->data;
    struct attn_json_reader reader = attn_json_reader_init(whole, file->size, file->path);
    struct attn_json_token token;
    size_t begin = 0;

    ATTN_TRY(attn_json_next(&reader, &token, err)); /* the opening brace */
    for (;;) {
        const char *const *name = names;
        struct attn_json_reader after; /* a reader that stands after the value of this key */

        ATTN_TRY(attn_json_next(&reader, &token, err));
        if (token.type != ATTN_JSON_KEY)
            break;
        while (*name && !attn_json_equals(&token, *name))
            name++;
        after = reader;
        ATTN_TRY(attn_json_skip(&after, err));
        if (!*name) {
            ATTN_TRY(attn_json_next(&reader, &token, err));
            if (after.offset > reader.offset) { /* the value is a list or an object */
                attn_buffer_append(text, whole + begin, reader.offset - begin);
                begin = after.offset - 1; /* at its closing bracket */
            }
        }
        reader = after;
    }
    attn_buffer_append(text, whole + begin, file->size - begin);
    ATTN_TRY(attn_buffer_check(text, err));
    return make_tree(text->data, text->size, file->path, json, err);
}

enum attn_status attn_json_parse_named(const struct attn_file *file, const char *const *names,
                                       struct attn_json **json, struct attn_error *err)
{
    struct attn_buffer text = {0};
    enum attn_status status;

    ATTN_TRY(check_file(file, err));
    status = parse_named(file, names, &text, json, err);
    attn_buffer_release(&text);
    return status;
}

enum attn_status attn_json_read_part(const struct attn_source *source, const char *name,
                                     const char *const *names, struct attn_json **json,
                                     struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    ATTN_TRY(attn_file_read_part(source, name, &file, err));
    status =
        names ? attn_json_parse_named(&file, names, json, err) : attn_json_parse(&file, json, err);
    attn_file_release(&file);
    return status;
}

void attn_json_free(struct attn_json *json)
{
    if (!json)
        return;
    cJSON_Delete(json->tree);
    attn_free(json->name);
    attn_free(json);
}

const struct attn_node *attn_json_root(const struct attn_json *json)
{
    return node_of(json->root);
}

void attn_json_enter(struct attn_json *json, const struct attn_node *object)
{
    json->root = object ? item_of(object) : json->tree;
}

const char *attn_json_name(const struct attn_json *json)
{
    return json->name;
}

const struct attn_node *attn_node_find(const struct attn_node *object, const char *key)
{
    if (!attn_node_is_object(object))
        return NULL;
    return node_of(cJSON_GetObjectItemCaseSensitive(item_of(object), key));
}

const struct attn_node *attn_node_first(const struct attn_node *node)
{
    return node_of(item_of(node)->child);
}

const struct attn_node *attn_node_next(const struct attn_node *node)
{
    return node_of(item_of(node)->next);
}

const char *attn_node_key(const struct attn_node *node)
{
    return item_of(node)->string;
}

bool attn_node_is_object(const struct attn_node *node)
{
    return cJSON_IsObject(item_of(node));
}

bool attn_node_is_array(const struct attn_node *node)
{
    return cJSON_IsArray(item_of(node));
}

bool attn_node_is_null(const struct attn_node *node)
{
    return cJSON_IsNull(item_of(node));
}

bool attn_node_is_bool(const struct attn_node *node, bool *value)
{
    if (!cJSON_IsBool(item_of(node)))
        return false;
    *value = cJSON_IsTrue(item_of(node));
    return true;
}

const char *attn_node_string(const struct attn_node *node)
{
    return cJSON_GetStringValue(item_of(node));
}

bool attn_node_int(const struct attn_node *node, int64_t *value)
{
    double number;

    if (!attn_node_double(node, &number) || number != floor(number) || fabs(number) >= 0x1p53)
        return false;
    *value = (int64_t)number; /* cJSON's valueint would stop at 2^31 - 1 */
    return true;
}

bool attn_node_double(const struct attn_node *node, double *value)
{
    const cJSON *item = item_of(node);

    if (!cJSON_IsNumber(item) || !isfinite(item->valuedouble))
        return false;
    *value = item->valuedouble;
    return true;
}

/* Returns member KEY of OBJECT; NULL if it is missing or null. */
static const struct attn_node *find_value(const struct attn_node *object, const char *key)
{
    const struct attn_node *node = attn_node_find(object, key);

    return !node || attn_node_is_null(node) ? NULL : node;
}

/* Reports that member KEY has the wrong type or value, and what was expected. */
static enum attn_status refuse(const struct attn_json *json, const char *key,
                               const struct attn_node *node, const char *expected,
                               struct attn_error *err)
{
    const cJSON *item = item_of(node);
    struct attn_quote name = attn_quote_string(json->name), member = attn_quote_string(key);
    struct attn_quote text;
    char number[32];

    if (cJSON_IsString(item)) {
        text = attn_quote_string(item->valuestring);
        return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is the string '%s', expected %s",
                              member.text, name.text, text.text, expected);
    }
    snprintf(number, sizeof number, "%.15g", item->valuedouble);
    return attn_error_set(err, ATTN_FORMAT, "'%s' in '%s' is %s, expected %s", member.text,
                          name.text,
                          cJSON_IsNumber(item)   ? number
                          : cJSON_IsObject(item) ? "an object"
                          : cJSON_IsArray(item)  ? "an array"
                          : cJSON_IsTrue(item)   ? "true"
                                                 : "false",
                          expected);
}

/* NOLINTBEGIN(readability-function-size): the functions have one parameter too many, because a
 * range is two; a struct would make each call longer. */
enum attn_status attn_json_get_int(const struct attn_json *json, const struct attn_node *object,
                                   const char *key, int64_t min, int64_t max, int64_t *value,
                                   struct attn_error *err)
{
    const struct attn_node *node = find_value(object, key);
    char expected[80];
    int64_t found;

    if (!node)
        return ATTN_OK;
    if (!attn_node_int(node, &found) || found < min || found > max) {
        snprintf(expected, sizeof expected, "an integer from %" PRId64 " to %" PRId64, min, max);
        return refuse(json, key, node, expected, err);
    }
    *value = found;
    return ATTN_OK;
}

enum attn_status attn_json_get_size(const struct attn_json *json, const struct attn_node *object,
                                    const char *key, size_t min, size_t max, size_t *value,
                                    struct attn_error *err)
{
    /* The largest number that attn_node_int returns. */
    const int64_t limit = ((int64_t)1 << 53) - 1;
    int64_t found = 0;

    if (!find_value(object, key))
        return ATTN_OK;
    ATTN_TRY(attn_json_get_int(json, object, key, min < (size_t)limit ? (int64_t)min : limit,
                               max < (size_t)limit ? (int64_t)max : limit, &found, err));
    *value = (size_t)found;
    return ATTN_OK;
}

enum attn_status attn_json_get_double(const struct attn_json *json, const struct attn_node *object,
                                      const char *key, double min, double max, double *value,
                                      struct attn_error *err)
{
    const struct attn_node *node = find_value(object, key);
    char expected[80];
    double found;

    if (!node)
        return ATTN_OK;
    if (!attn_node_double(node, &found) || found < min || found > max) {
        snprintf(expected, sizeof expected, "a number from %.15g to %.15g", min, max);
        return refuse(json, key, node, expected, err);
    }
    *value = found;
    return ATTN_OK;
}

/* NOLINTEND(readability-function-size) */

enum attn_status attn_json_get_bool(const struct attn_json *json, const struct attn_node *object,
                                    const char *key, bool *value, struct attn_error *err)
{
    const struct attn_node *node = find_value(object, key);

    return !node || attn_node_is_bool(node, value) ? ATTN_OK
                                                   : refuse(json, key, node, "true or false", err);
}

enum attn_status attn_json_get_string(const struct attn_json *json, const struct attn_node *object,
                                      const char *key, const char **value, struct attn_error *err)
{
    const struct attn_node *node = find_value(object, key);

    if (node && !attn_node_string(node))
        return refuse(json, key, node, "a string", err);
    if (node)
        *value = attn_node_string(node);
    return ATTN_OK;
}
