/* special.c - see special.h. */
#include "text/special.h"

#include "base/escape.h"
#include "base/memory.h"
#include "formats/json.h"

#include <string.h>

/* Marks KEY when the vocabulary has it; an empty token would be found everywhere. */
static void mark(bool *is_special, const struct attn_vocabulary *vocabulary, const char *key,
                 size_t size)
{
    int32_t id = size > 0 ? attn_vocabulary_find(vocabulary, key, size) : -1;

    if (id >= 0)
        is_special[id] = true;
}

/* Reads added_tokens.json into ADDED and adds the keys that are new to VOCABULARY. */
static enum attn_status read_added(const struct attn_source *source, struct attn_vocabulary *added,
                                   struct attn_vocabulary *vocabulary, struct attn_error *err)
{
    struct attn_file file = {0};
    size_t n = vocabulary->n;
    enum attn_status status = attn_file_read_part(source, "added_tokens.json", &file, err);

    if (status == ATTN_OK)
        status = attn_vocabulary_read(added, &file, err);
    for (size_t i = 0; status == ATTN_OK && i < added->n; i++) {
        int32_t id = added->entries[i].id;
        size_t size = added->entries[i].size;
        const char *key = added->keys.data + added->entries[i].begin;
        int32_t known = attn_vocabulary_find(vocabulary, key, size);

        if (known < 0)
            status = attn_vocabulary_add(vocabulary, key, size, id, err);
        else if (known != id)
            status = attn_error_set(
                err, ATTN_FORMAT, "'%s' has id %d in '%s', but the vocabulary has it with id %d",
                attn_quote(key, size).text, (int)id, attn_quote_string(file.path).text, (int)known);
    }
    if (status == ATTN_OK && vocabulary->n > n)
        status = attn_vocabulary_finish(vocabulary, file.path, err);
    if (status == ATTN_OK)
        status = attn_vocabulary_index(vocabulary, file.path, err);
    attn_file_close(&file);
    return status;
}

/* Marks the token that VALUE, a string or an object with "content", names. */
static enum attn_status mark_value(bool *is_special, const struct attn_vocabulary *vocabulary,
                                   const struct attn_json *json, const struct attn_node *value,
                                   struct attn_error *err)
{
    static const char *const flags[] = {"lstrip", "rstrip", "single_word"};
    const char *content = attn_node_string(value);

    for (size_t i = 0; attn_node_is_object(value) && i < sizeof flags / sizeof *flags; i++) {
        bool is_set = false;
        enum attn_status status = attn_json_get_bool(json, value, flags[i], &is_set, err);

        if (status == ATTN_OK && is_set)
            status = attn_error_set(err, ATTN_UNSUPPORTED,
                                    "'%s' of a special token in '%s' is not supported", flags[i],
                                    attn_quote_string(attn_json_name(json)).text);
        if (status == ATTN_OK)
            status = attn_json_get_string(json, value, "content", &content, err);
        if (status != ATTN_OK)
            return status;
    }
    if (content)
        mark(is_special, vocabulary, content, strlen(content));
    return ATTN_OK;
}

static enum attn_status read_map(bool *is_special, const struct attn_source *source,
                                 const struct attn_vocabulary *vocabulary, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_json *json = NULL;
    enum attn_status status = attn_file_read_part(source, "special_tokens_map.json", &file, err);

    if (status == ATTN_OK)
        status = attn_json_parse(&file, &json, err);
    attn_file_close(&file);
    if (status != ATTN_OK)
        return status;
    for (const struct attn_node *member = attn_node_first(attn_json_root(json));
         member && status == ATTN_OK; member = attn_node_next(member)) {
        const struct attn_node *item = attn_node_is_array(member) ? attn_node_first(member) : NULL;

        if (!attn_node_is_array(member))
            status = mark_value(is_special, vocabulary, json, member, err);
        for (; item && status == ATTN_OK; item = attn_node_next(item))
            status = mark_value(is_special, vocabulary, json, item, err);
    }
    attn_json_free(json);
    return status;
}

/* Appends what is marked. */
static enum attn_status append_marked(struct attn_added *added, const bool *is_special,
                                      const struct attn_vocabulary *vocabulary,
                                      struct attn_error *err)
{
    enum attn_status status = ATTN_OK;

    for (size_t i = 0; status == ATTN_OK && i < vocabulary->n; i++) {
        const struct attn_added_token token = {.id = (int32_t)i, .is_special = true};
        size_t size;
        const char *key = attn_vocabulary_key(vocabulary, token.id, &size);

        if (is_special[i])
            status = attn_added_append(added, token, key, size, err);
    }
    return status;
}

enum attn_status attn_specials_read(struct attn_added *added, const struct attn_source *source,
                                    struct attn_vocabulary *vocabulary, struct attn_error *err)
{
    static const char end_of_text[] = "<|endoftext|>";
    struct attn_vocabulary more = {0};
    bool *is_special = NULL;
    enum attn_status status = ATTN_OK;

    if (attn_source_has_part(source, "added_tokens.json"))
        status = read_added(source, &more, vocabulary, err);
    if (status != ATTN_OK)
        goto done;
    is_special = attn_alloc(vocabulary->n, sizeof *is_special, err);
    if (!is_special) {
        status = ATTN_NO_MEMORY;
        goto done;
    }
    mark(is_special, vocabulary, end_of_text, sizeof end_of_text - 1);
    for (size_t i = 0; i < more.n; i++)
        mark(is_special, vocabulary, more.keys.data + more.entries[i].begin, more.entries[i].size);
    if (attn_source_has_part(source, "special_tokens_map.json"))
        status = read_map(is_special, source, vocabulary, err);
    if (status == ATTN_OK)
        status = append_marked(added, is_special, vocabulary, err);
done:
    attn_free(is_special);
    attn_vocabulary_release(&more);
    return status;
}
