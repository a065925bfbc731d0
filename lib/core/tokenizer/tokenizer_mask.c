/* tokenizer_mask.c - finds the mask token of a tokenizer: `mask_token` in tokenizer_config.json or,
 * in older directories, special_tokens_map.json. It is a string, or an object with "content". */
#include "tokenizer/tokenizer_internal.h"

#include "base/memory.h"
#include "formats/json.h"

#include <string.h>

static const char mask_key[] = "mask_token";

/* Reads the mask token of JSON into *token, borrowed; *token stays NULL if there is none. */
static enum attn_status find_token(const struct attn_json *json, const char **token,
                                   struct attn_error *err)
{
    const struct attn_node *node = attn_node_find(attn_json_root(json), mask_key);

    if (node && attn_node_is_object(node))
        node = attn_node_find(node, "content");
    if (!node || attn_node_is_null(node))
        return ATTN_OK;
    *token = attn_node_string(node);
    if (*token && **token)
        return ATTN_OK;
    return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, mask_key, "is not a token");
}

/* Returns the id of TOKEN, or -1. Searches the added tokens first, where a mask token usually is,
 * because the vocabulary is not indexed yet. */
static int32_t find_id(const struct attn_tokenizer *tokenizer, const char *token)
{
    const struct attn_added *added = &tokenizer->added;
    const size_t size = strlen(token);

    for (size_t i = 0; i < added->n; i++)
        if (added->tokens[i].size == size && memcmp(attn_added_content(added, i), token, size) == 0)
            return added->tokens[i].id;
    for (size_t i = 0; i < tokenizer->vocabulary.n; i++) {
        size_t n = 0;
        const char *key = attn_tokenizer_key(tokenizer, (int32_t)i, &n);

        if (key && n == size && memcmp(key, token, size) == 0)
            return (int32_t)i;
    }
    return -1;
}

static enum attn_status take_token(struct attn_tokenizer *tokenizer, const char *token,
                                   struct attn_error *err)
{
    const int32_t id = find_id(tokenizer, token);

    if (id < 0)
        return ATTN_OK;
    tokenizer->mask_text = attn_strndup(token, strlen(token), err);
    tokenizer->mask_id = id;
    return tokenizer->mask_text ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status read_part(struct attn_tokenizer *tokenizer,
                                  const struct attn_source *source, const char *name,
                                  struct attn_error *err)
{
    const char *const names[] = {mask_key, NULL};
    struct attn_json *json = NULL;
    const char *token = NULL;
    enum attn_status status;

    if (tokenizer->mask_text || !attn_source_has_part(source, name))
        return ATTN_OK;
    ATTN_TRY(attn_json_read_part(source, name, names, &json, err));
    status = find_token(json, &token, err);
    if (status == ATTN_OK && token)
        status = take_token(tokenizer, token, err);
    attn_json_free(json);
    return status;
}

enum attn_status attn_tokenizer_read_mask(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source, struct attn_error *err)
{
    ATTN_TRY(read_part(tokenizer, source, "tokenizer_config.json", err));
    return read_part(tokenizer, source, "special_tokens_map.json", err);
}
