/* model_init_config.c - makes the text of config.json. Values from a file are copied unchanged. */
#include "drawn/model_init_internal.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/list.h"
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "formats/json.h"
#include "formats/json_reader.h"
#include "model/family.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

struct config_member {
    struct attn_buffer key, value; /* the value is JSON text */
};

/* The members, in the order in which they were first set. */
struct config_members {
    struct config_member *items; /* owns; [n] */
    size_t n, capacity;
};

static struct config_member *find(const struct config_members *members, const char *key,
                                  size_t size)
{
    for (size_t i = 0; i < members->n; i++)
        if (members->items[i].key.size == size &&
            (size == 0 || memcmp(members->items[i].key.data, key, size) == 0))
            return &members->items[i];
    return NULL;
}

/* Sets the value of KEY; adds a member if there is none. */
static enum attn_status set(struct config_members *members, const char *key, size_t key_size,
                            const char *value, size_t value_size, struct attn_error *err)
{
    struct config_member *member = find(members, key, key_size);

    if (!member) {
        ATTN_TRY(ATTN_GROW(members->items, members->capacity, members->n + 1, err));
        member = &members->items[members->n++];
        *member = (struct config_member){0};
        attn_buffer_append(&member->key, key, key_size);
    }
    attn_buffer_reset(&member->value);
    attn_buffer_append(&member->value, value, value_size);
    if (member->key.has_failed)
        return attn_error_no_memory(err);
    return attn_buffer_check(&member->value, err);
}

/* Sets the value of KEY to the JSON text in VALUE. */
static enum attn_status set_buffer(struct config_members *members, const char *key, size_t key_size,
                                   const struct attn_buffer *value, struct attn_error *err)
{
    ATTN_TRY(attn_buffer_check(value, err));
    return set(members, key, key_size, value->data, value->size, err);
}

/* The memory that is used while a file is copied. */
struct copied {
    struct attn_file file;
    struct attn_json *json;
    struct attn_buffer key; /* key of the current member */
};

static enum attn_status copy_members(struct config_members *members, const char *path,
                                     struct copied *copied, struct attn_error *err)
{
    const struct attn_override chosen = {"config.json", path};
    const struct attn_source source = {.overrides = &chosen, .n_override = 1};
    struct attn_file *file = &copied->file;
    struct attn_buffer *key = &copied->key;
    struct attn_json_reader reader;
    struct attn_json_token token;

    ATTN_TRY(attn_file_read_part(&source, chosen.name, file, err));
    /* Parsing it here also checks that it is an object without duplicate keys. */
    ATTN_TRY(attn_json_parse_named(file, attn_family_config_keys, &copied->json, err));
    reader = attn_json_reader_init((const char *)file->data, file->size, file->path);
    ATTN_TRY(attn_json_next(&reader, &token, err)); /* the opening brace */
    for (;;) {
        const char *value;

        ATTN_TRY(attn_json_next(&reader, &token, err));
        if (token.type != ATTN_JSON_KEY)
            return ATTN_OK;
        value = (const char *)file->data + reader.offset;
        /* A value follows, so this does not run past the end of the text. */
        value += strspn(value, ": \t\r\n");
        ATTN_TRY(attn_json_skip(&reader, err));
        attn_buffer_reset(key);
        attn_json_unescape(&token, key);
        ATTN_TRY(attn_buffer_check(key, err));
        ATTN_TRY(set(members, key->data, key->size, value,
                     (size_t)((const char *)file->data + reader.offset - value), err));
    }
}

static enum attn_status copy_file(struct config_members *members, const char *path,
                                  struct attn_error *err)
{
    struct copied copied = {.json = NULL};
    const enum attn_status status = copy_members(members, path, &copied, err);

    attn_json_free(copied.json);
    attn_file_release(&copied.file);
    attn_buffer_release(&copied.key);
    return status;
}

/* Whether VALUE is JSON without quotes: a number, true, false or null. */
static bool is_literal(const char *value)
{
    double number;

    return attn_parse_double(value, strlen(value), &number) || strcmp(value, "true") == 0 ||
           strcmp(value, "false") == 0 || strcmp(value, "null") == 0;
}

static enum attn_status apply_setting(struct config_members *members, const char *setting,
                                      struct attn_error *err)
{
    struct attn_buffer json = {0};
    size_t size = strcspn(setting, "=");
    const char *value = setting + size + 1;
    enum attn_status status;

    if (setting[size] == '\0' || size == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "setting '%s' has the wrong form, expected KEY=VALUE",
                              attn_quote_string(setting).text);
    if (attn_utf8_valid_length(setting, strlen(setting)) != strlen(setting))
        return attn_error_set(err, ATTN_INVALID, "setting '%s' is not UTF-8",
                              attn_quote_string(setting).text);
    if (strncmp(setting, "tokenizer", size) == 0 && size == strlen("tokenizer"))
        return attn_error_set(err, ATTN_INVALID,
                              "'tokenizer' follows from the vocabulary, expected another key");
    if (strncmp(setting, "blocks", size) == 0 && size == strlen("blocks")) {
        /* "self,cross" becomes a list of strings. */
        attn_buffer_append_char(&json, '[');
        for (struct attn_list_item item = {.rest = value}; attn_list_next(&item);) {
            attn_json_append_string(&json, item.text, item.size);
            attn_buffer_append_string(&json, item.rest ? ", " : "");
        }
        attn_buffer_append_char(&json, ']');
    } else if (is_literal(value)) {
        attn_buffer_append_string(&json, value);
    } else {
        attn_json_append_string(&json, value, strlen(value));
    }
    status = set_buffer(members, setting, size, &json, err);
    attn_buffer_release(&json);
    return status;
}

static enum attn_status add_vocabulary(struct config_members *members,
                                       const struct attn_word_list *words, struct attn_error *err)
{
    const struct config_member *type = find(members, "model_type", strlen("model_type"));
    const char *key = NULL; /* the key that holds the size of the vocabulary in this family */
    struct attn_buffer text = {0};
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; attn_families[i] && !key; i++) {
        const struct attn_family *family = attn_families[i];
        const size_t size = strlen(family->model_type);

        if (type ? type->value.size == size + 2 &&
                       memcmp(type->value.data + 1, family->model_type, size) == 0
                 : (bool)family->architecture)
            key = family->vocabulary_key;
    }
    key = key ? key : "n_vocab";
    if (!find(members, key, strlen(key))) {
        attn_buffer_append_format(&text, "%zu", words->n);
        status = set_buffer(members, key, strlen(key), &text, err);
        attn_buffer_reset(&text);
    }
    attn_buffer_append_format(
        &text, "{\n    \"type\": \"%s\",\n    \"drop\": ", attn_tokenizer_kind_name(words->kind));
    attn_json_append_string(&text, words->drop, strlen(words->drop));
    attn_buffer_append_string(&text, ",\n    \"unk\": null\n  }");
    ATTN_THEN(status, set_buffer(members, "tokenizer", strlen("tokenizer"), &text, err));
    attn_buffer_release(&text);
    return status;
}

static enum attn_status write_members(struct config_members *members,
                                      const struct attn_init_options *options,
                                      struct attn_buffer *out, struct attn_error *err)
{
    static const char type[] = "model_type", attn[] = "\"attn\"";

    ATTN_TRY(options->config ? copy_file(members, options->config, err)
                             : set(members, type, sizeof type - 1, attn, sizeof attn - 1, err));
    for (size_t i = 0; i < options->n_setting; i++)
        ATTN_TRY(apply_setting(members, options->settings[i], err));
    if (options->words)
        ATTN_TRY(add_vocabulary(members, options->words, err));
    attn_buffer_append_char(out, '{');
    for (size_t i = 0; i < members->n; i++) {
        attn_buffer_append_string(out, i > 0 ? ",\n  " : "\n  ");
        attn_json_append_string(out, members->items[i].key.data, members->items[i].key.size);
        attn_buffer_append_string(out, ": ");
        attn_buffer_append(out, members->items[i].value.data, members->items[i].value.size);
    }
    attn_buffer_append_string(out, "\n}\n");
    return attn_buffer_check(out, err);
}

enum attn_status attn_init_config_write(struct attn_buffer *out,
                                        const struct attn_init_options *options,
                                        struct attn_error *err)
{
    struct config_members members = {0};
    const enum attn_status status = write_members(&members, options, out, err);

    for (size_t i = 0; i < members.n; i++) {
        attn_buffer_release(&members.items[i].key);
        attn_buffer_release(&members.items[i].value);
    }
    attn_free(members.items);
    return status;
}
