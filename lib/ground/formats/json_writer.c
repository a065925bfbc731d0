#include "formats/json_writer.h"

#include "base/text/escape.h"
#include "formats/float_text.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void append_line(struct attn_json_writer *json)
{
    attn_buffer_append_char(json->out, '\n');
    for (int i = 0; i < json->indent * json->depth; i++)
        attn_buffer_append_char(json->out, ' ');
    json->has_line = false;
}

/* Writes the comma before a member or a value; nothing before the first, and nothing between a key
 * and its value. */
static void separate(struct attn_json_writer *json)
{
    bool *has_member = json->depth > 0 ? &json->has_member[json->depth - 1] : NULL;

    if (json->has_key) {
        json->has_key = false;
        return;
    }
    if (has_member && *has_member)
        attn_buffer_append_string(json->out, json->has_line ? ","
                                             : json->comma  ? json->comma
                                                            : ", ");
    if (json->has_line)
        append_line(json);
    if (has_member)
        *has_member = true;
}

void attn_json_begin(struct attn_json_writer *json, char kind)
{
    assert(json->depth < ATTN_JSON_WRITER_DEPTH);
    separate(json);
    attn_buffer_append_char(json->out, kind);
    json->kind[json->depth] = kind;
    json->has_member[json->depth] = false;
    json->depth++;
}

bool attn_json_begin_list(struct attn_json_writer *json, bool is_there)
{
    if (is_there)
        attn_json_begin(json, '[');
    else
        attn_json_null(json);
    return is_there;
}

void attn_json_end(struct attn_json_writer *json)
{
    assert(json->depth > 0 && !json->has_key);
    json->depth--;
    if (json->has_line)
        append_line(json);
    attn_buffer_append_char(json->out, json->kind[json->depth] == '{' ? '}' : ']');
}

struct attn_json_writer *attn_json_key(struct attn_json_writer *json, const char *name)
{
    assert(json->depth > 0 && json->kind[json->depth - 1] == '{' && !json->has_key);
    separate(json);
    attn_json_append_string(json->out, name, strlen(name));
    attn_buffer_append_string(json->out, json->colon ? json->colon : ": ");
    json->has_key = true;
    return json;
}

void attn_json_line(struct attn_json_writer *json)
{
    json->has_line = true;
}

struct attn_buffer *attn_json_value(struct attn_json_writer *json)
{
    separate(json);
    return json->out;
}

void attn_json_string(struct attn_json_writer *json, const char *text, size_t size)
{
    if (text)
        attn_json_append_string(attn_json_value(json), text, size);
    else
        attn_json_null(json);
}

void attn_json_text(struct attn_json_writer *json, const char *text)
{
    attn_json_string(json, text, text ? strlen(text) : 0);
}

void attn_json_buffer(struct attn_json_writer *json, struct attn_buffer *text)
{
    attn_json_string(json, text->data ? text->data : "", text->size);
    json->out->has_failed |= text->has_failed;
    attn_buffer_release(text);
}

void attn_json_integer(struct attn_json_writer *json, int64_t value)
{
    attn_buffer_append_format(attn_json_value(json), "%" PRId64, value);
}

void attn_json_ids(struct attn_json_writer *json, const int32_t *ids, size_t n)
{
    attn_json_begin(json, '[');
    for (size_t i = 0; i < n; i++)
        attn_json_integer(json, ids[i]);
    attn_json_end(json);
}

void attn_json_head(struct attn_json_writer *json, enum attn_document_kind kind)
{
#define KIND(id, kind, schema) kind,
#define SCHEMA(id, kind, schema) schema,
    static const char *const kinds[] = {ATTN_DOCUMENT_MAP(KIND)};
    static const int schemas[] = {ATTN_DOCUMENT_MAP(SCHEMA)};
#undef KIND
#undef SCHEMA

    attn_json_integer(attn_json_key(json, "schema"), schemas[kind]);
    attn_json_text(attn_json_key(json, "kind"), kinds[kind]);
}

void attn_json_size(struct attn_json_writer *json, uint64_t value)
{
    attn_buffer_append_format(attn_json_value(json), "%" PRIu64, value);
}

void attn_json_bool(struct attn_json_writer *json, bool value)
{
    attn_buffer_append_string(attn_json_value(json), value ? "true" : "false");
}

void attn_json_null(struct attn_json_writer *json)
{
    attn_buffer_append_string(attn_json_value(json), "null");
}

void attn_json_double(struct attn_json_writer *json, double value)
{
    if (isfinite(value))
        attn_double_append(attn_json_value(json), value);
    else
        attn_json_null(json);
}

void attn_json_float(struct attn_json_writer *json, float value, int precision)
{
    struct attn_buffer *out = attn_json_value(json);
    char *text = attn_buffer_reserve(out, ATTN_NUMBER_TEXT_SIZE);

    if (!isfinite(value))
        attn_buffer_append_string(out, "null");
    else if (text)
        out->size += attn_number_text(value, precision, text);
}
