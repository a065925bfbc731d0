/*
 * json.c - JSON trees of cJSON, made from the tokens of the strict reader (json_reader.h).
 *
 * cJSON's own parser would accept invalid UTF-8, NUL and duplicate keys, cut strings at \u0000 and
 * numbers after 63 characters. An attn_node is a cJSON item; only this file uses cJSON.
 */
#include "formats/json.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "base/text/number.h"
#include "formats/json_reader.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NUMBER_SIZE = 63 }; /* more digits than a double holds */

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

    if (token->type == ATTN_JSON_KEY || token->type == ATTN_JSON_STRING)
        return attn_json_has_nul(token) ? "a string without NUL" : NULL;
    if (token->type != ATTN_JSON_NUMBER)
        return NULL;
    if (token->size > MAX_NUMBER_SIZE)
        return "a number of at most 63 characters";
    return attn_parse_double(token->text, token->size, &value) ? NULL : "a number below 1.8e308";
}

const char *const attn_json_any[] = {NULL};

/* A tree while the tokens of its file are read. */
struct growth {
    struct attn_json_reader reader;
    struct attn_json_keys keys;       /* owns */
    struct attn_buffer text;          /* owns; scratch */
    cJSON *open[ATTN_JSON_MAX_DEPTH]; /* the root, and the lists and objects in it that are read */
    struct attn_json_token key;       /* of the current member */
    const char *const *names;         /* as in attn_json_parse_named, or NULL */
    bool is_left_empty;               /* the current member of the root */
};

/* Returns the text of TOKEN without escapes, valid until the next call; NULL without memory. */
static const char *text_of(struct growth *growth, const struct attn_json_token *token)
{
    attn_buffer_reset(&growth->text);
    attn_json_unescape(token, &growth->text);
    return attn_buffer_string(&growth->text);
}

/* Returns the item of TOKEN, the begin of a value; NULL without memory. */
static cJSON *make_item(struct growth *growth, const struct attn_json_token *token)
{
    double value = 0;

    switch (token->type) {
    case ATTN_JSON_OBJECT_BEGIN:
        return cJSON_CreateObject();
    case ATTN_JSON_ARRAY_BEGIN:
        return cJSON_CreateArray();
    case ATTN_JSON_STRING:
        return cJSON_CreateString(text_of(growth, token));
    case ATTN_JSON_NUMBER:
        (void)attn_parse_double(token->text, token->size, &value);
        return cJSON_CreateNumber(value);
    case ATTN_JSON_NULL:
        return cJSON_CreateNull();
    default:
        return cJSON_CreateBool(token->type == ATTN_JSON_TRUE);
    }
}

/* Adds TOKEN to the tree. Returns false without memory. */
static bool add_token(struct growth *growth, const struct attn_json_token *token)
{
    const bool begins =
        token->type == ATTN_JSON_OBJECT_BEGIN || token->type == ATTN_JSON_ARRAY_BEGIN;
    const int depth = growth->reader.depth - begins; /* of the value in the tree */
    const char *const *name = growth->names == attn_json_any ? NULL : growth->names;
    cJSON *item, *parent = depth > 0 ? growth->open[depth - 1] : NULL;

    if (token->type == ATTN_JSON_KEY)
        growth->key = *token;
    if (token->type == ATTN_JSON_KEY || token->type == ATTN_JSON_OBJECT_END ||
        token->type == ATTN_JSON_ARRAY_END || (growth->is_left_empty && depth > 1))
        return true;
    item = make_item(growth, token);
    if (begins || !parent)
        growth->open[depth] = item;
    while (depth == 1 && name && *name && !attn_json_equals(&growth->key, *name))
        name++;
    growth->is_left_empty = depth == 1 ? name && !*name : growth->is_left_empty;
    if (!parent || !item)
        return item;
    if (cJSON_IsArray(parent) ? cJSON_AddItemToArray(parent, item)
                              : cJSON_AddItemToObject(parent, text_of(growth, &growth->key), item))
        return true;
    cJSON_Delete(item);
    return false;
}

/* Reads all tokens into the tree. Grammar and keys are checked to the end before a token that the
 * tree cannot hold is refused. */
static enum attn_status grow(struct growth *growth, struct attn_error *err)
{
    struct attn_json_token token, refused;
    const char *expected = NULL;

    for (;;) {
        const bool is_root = growth->reader.offset == 0;

        ATTN_TRY(attn_json_next_unique(&growth->reader, &growth->keys, &token, err));
        if (token.type == ATTN_JSON_END)
            break;
        if (expected)
            continue;
        refused = token;
        expected = is_root && growth->names != attn_json_any && token.type != ATTN_JSON_OBJECT_BEGIN
                       ? "an object"
                       : check_token(&token);
        if (!expected && !add_token(growth, &token))
            return attn_error_no_memory(err);
    }
    if (!expected)
        return ATTN_OK;
    return attn_error_set(err, ATTN_FORMAT, "'%s' has '%s' at byte %zu, expected %s",
                          attn_quote_string(growth->reader.name).text,
                          attn_quote(refused.text, refused.size).text, refused.offset, expected);
}

enum attn_status attn_json_parse(const struct attn_file *file, struct attn_json **json,
                                 struct attn_error *err)
{
    return attn_json_parse_named(file, NULL, json, err);
}

enum attn_status attn_json_parse_named(const struct attn_file *file, const char *const *names,
                                       struct attn_json **json, struct attn_error *err)
{
    struct growth growth = {
        .reader = attn_json_reader_init((const char *)file->data, file->size, file->path),
        .names = names};
    struct attn_json *document;
    enum attn_status status;

    if (file->size > ATTN_JSON_MAX_SIZE)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has %zu bytes, expected at most %d",
                              attn_quote_string(file->path).text, file->size, ATTN_JSON_MAX_SIZE);
    ATTN_TRY(ATTN_ALLOC(document, 1, err));
    document->name = attn_strndup(file->path, strlen(file->path), err);
    status = document->name ? grow(&growth, err) : ATTN_NO_MEMORY;
    document->root = document->tree = growth.open[0];
    attn_free(growth.keys.keys);
    attn_buffer_release(&growth.text);
    ATTN_RETURN_MADE(status, json, document, attn_json_free);
}

enum attn_status attn_json_read_part(const struct attn_source *source, const char *name,
                                     const char *const *names, struct attn_json **json,
                                     struct attn_error *err)
{
    struct attn_file file = {0};
    enum attn_status status;

    ATTN_TRY(attn_file_read_part(source, name, &file, err));
    status = attn_json_parse_named(&file, names, json, err);
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
    char number[32];

    if (cJSON_IsString(item))
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is the string '%s', expected %s",
                                attn_quote_string(item->valuestring).text, expected);
    snprintf(number, sizeof number, "%.15g", item->valuedouble);
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, key, "is %s, expected %s",
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
