/* settings.c - see settings.h. */
#include "text/settings.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "formats/json.h"

#include <string.h>

/* Parses part NAME of SOURCE, of its objects OBJECT alone; *json stays NULL when there is no such
 * part. */
static enum attn_status parse_part(const struct attn_source *source, const char *name,
                                   const char *object, struct attn_json **json,
                                   struct attn_error *err)
{
    const char *const names[] = {object, NULL};
    struct attn_file file = {0};
    enum attn_status status;

    if (!attn_source_has_part(source, name))
        return ATTN_OK;
    ATTN_TRY(attn_file_read_part(source, name, &file, err));
    status = attn_json_parse_named(&file, names, json, err);
    attn_file_release(&file);
    return status;
}

/* What "type" may be. */
static const char *const types[] = {[ATTN_TOKENIZER_WORD] = "word",
                                    [ATTN_TOKENIZER_CHARACTER] = "char",
                                    [ATTN_TOKENIZER_BPE] = "bpe"};

enum { N_TYPE = sizeof types / sizeof *types };

const char *attn_settings_type(enum attn_tokenizer_kind kind)
{
    return types[kind];
}

static enum attn_status read_drop(struct attn_settings *settings, const struct attn_json *json,
                                  const char *drop, struct attn_error *err)
{
    const size_t size = strlen(drop);

    settings->drop = attn_alloc(size, sizeof *settings->drop, err);
    if (!settings->drop)
        return ATTN_NO_MEMORY;
    for (size_t at = 0, length; at < size; at += length) {
        length = attn_utf8_decode(drop + at, size - at, &settings->drop[settings->n_drop]);
        if (length == 0)
            return attn_error_set(err, ATTN_FORMAT, "'drop' in '%s' is not UTF-8",
                                  attn_quote_string(attn_json_name(json)).text);
        settings->n_drop++;
    }
    return ATTN_OK;
}

/* Reads "tokenizer" of JSON, the config, if it is there. */
static enum attn_status read_settings(struct attn_settings *settings, const struct attn_json *json,
                                      struct attn_error *err)
{
    const struct attn_node *object = attn_node_find(attn_json_root(json), "tokenizer");
    const char *type = NULL, *drop = "", *unk = NULL;

    if (!object || attn_node_is_null(object))
        return ATTN_OK;
    if (!attn_node_is_object(object))
        return attn_error_set(err, ATTN_FORMAT, "'tokenizer' in '%s' is not an object",
                              attn_quote_string(attn_json_name(json)).text);
    /* A misspelt key would silently give other ids. */
    for (const struct attn_node *node = attn_node_first(object); node;
         node = attn_node_next(node)) {
        const char *key = attn_node_key(node);

        if (strcmp(key, "type") != 0 && strcmp(key, "drop") != 0 && strcmp(key, "unk") != 0)
            return attn_error_set(
                err, ATTN_UNSUPPORTED,
                "'%s' of 'tokenizer' in '%s' is not known, expected 'type', 'drop' or 'unk'",
                attn_quote_string(key).text, attn_quote_string(attn_json_name(json)).text);
    }
    ATTN_TRY(attn_json_get_string(json, object, "type", &type, err));
    for (size_t i = 0; type && i < N_TYPE; i++)
        if (strcmp(type, types[i]) == 0) {
            settings->has_kind = true;
            settings->kind = (enum attn_tokenizer_kind)i;
        }
    if (type && !settings->has_kind)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "tokenizer type '%s' in '%s' is not supported, expected 'word', "
                              "'char' or 'bpe'",
                              attn_quote_string(type).text,
                              attn_quote_string(attn_json_name(json)).text);
    ATTN_TRY(attn_json_get_string(json, object, "drop", &drop, err));
    ATTN_TRY(read_drop(settings, json, drop, err));
    ATTN_TRY(attn_json_get_string(json, object, "unk", &unk, err));
    settings->unk = unk ? attn_strndup(unk, strlen(unk), err) : NULL;
    return unk && !settings->unk ? ATTN_NO_MEMORY : ATTN_OK;
}

enum attn_status attn_settings_read(struct attn_settings *settings,
                                    const struct attn_source *source, struct attn_error *err)
{
    struct attn_json *json = NULL;
    enum attn_status status;

    ATTN_TRY(parse_part(source, "config.json", "tokenizer", &json, err));
    status = json ? read_settings(settings, json, err) : ATTN_OK;
    attn_json_free(json);
    return status;
}

void attn_settings_release(struct attn_settings *settings)
{
    attn_free(settings->drop);
    attn_free(settings->unk);
    *settings = (struct attn_settings){0};
}

enum attn_status attn_settings_read_prefix(const struct attn_source *source, bool *prefix,
                                           struct attn_error *err)
{
    struct attn_json *json = NULL;
    enum attn_status status = ATTN_OK;

    ATTN_TRY(parse_part(source, "tokenizer_config.json", NULL, &json, err));
    if (json)
        status = attn_json_get_bool(json, attn_json_root(json), "add_prefix_space", prefix, err);
    attn_json_free(json);
    return status;
}
