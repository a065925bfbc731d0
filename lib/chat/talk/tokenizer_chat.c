/* tokenizer_chat.c - the chat template of a model: where it is, its text, and the special tokens
 * that it may name. It is read here and rendered by the room `template`. */
#include "talk/tokenizer_chat.h"

#include "base/memory.h"
#include "base/text/escape.h"
#include "formats/json.h"
#include "gguf/gguf.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* The tokens that templates know, and their keys in a GGUF file. */
static const char *const names[][2] = {{"bos_token", "tokenizer.ggml.bos_token_id"},
                                       {"eos_token", "tokenizer.ggml.eos_token_id"},
                                       {"unk_token", "tokenizer.ggml.unknown_token_id"},
                                       {"sep_token", "tokenizer.ggml.seperator_token_id"},
                                       {"pad_token", "tokenizer.ggml.padding_token_id"},
                                       {"cls_token", NULL},
                                       {"mask_token", NULL}};

static void add_token(struct attn_buffer *tokens, const char *name, const char *text, size_t size)
{
    attn_buffer_append_format(tokens, "%s\"%s\": ", tokens->size > 1 ? ", " : "", name);
    attn_json_append_string(tokens, text, size);
}

static enum attn_status set_text(struct attn_chat_template *chat, const char *place,
                                 const char *text, size_t size, struct attn_error *err)
{
    chat->text = attn_strndup(text, size, err);
    chat->size = size;
    chat->place = place;
    return chat->text ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status read_gguf(struct attn_tokenizer *tokenizer, const struct attn_bundle *gguf,
                                  struct attn_error *err)
{
    static const char key[] = "tokenizer.chat_template";
    struct attn_chat_template *chat = &tokenizer->chat;
    const char *text = NULL;
    size_t n_text = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t id = SIZE_MAX, size = 0;
        const char *token;

        if (!names[i][1] || attn_gguf_get_size(gguf, names[i][1], &id, NULL) != ATTN_OK ||
            id >= tokenizer->vocabulary.n ||
            !attn_vocabulary_has(&tokenizer->vocabulary, (int32_t)id))
            continue;
        if (i == 0)
            chat->start = (int32_t)id + 1;
        token = attn_decoded_find(tokenizer, (int32_t)id, &size);
        if (token)
            add_token(&chat->tokens, names[i][0], token, size);
    }
    if (attn_gguf_get_text(gguf, key, &text, &n_text, NULL) != ATTN_OK || !text)
        return ATTN_OK;
    return set_text(chat, key, text, n_text, err);
}

/* Reads template and tokens of the GGUF file SOURCE whose tokenizer another file replaces. */
static enum attn_status read_replaced(struct attn_tokenizer *tokenizer,
                                      const struct attn_source *source, struct attn_error *err)
{
    struct attn_file file = {0};
    struct attn_bundle *gguf = NULL;
    enum attn_status status;

    ATTN_TRY(attn_file_open_part(source, ATTN_GGUF_PART, ATTN_MAP, &file, err));
    ATTN_TRY(attn_gguf_take(&file, ATTN_MAP, &gguf, err));
    status = read_gguf(tokenizer, gguf, err);
    attn_gguf_free(gguf);
    return status;
}

/* Returns the text of TOKEN, a text or an object with `content`, or NULL. TOKEN may be NULL. */
static const char *text_of(const struct attn_node *token)
{
    if (token && attn_node_is_object(token))
        token = attn_node_find(token, "content");
    return token ? attn_node_string(token) : NULL;
}

/* Returns the template of a list of {"name", "template"} whose name is `default`, or NULL. */
static const char *find_default(const struct attn_node *list)
{
    for (const struct attn_node *item = attn_node_first(list); item; item = attn_node_next(item)) {
        const char *name = attn_node_string(attn_node_find(item, "name"));

        if (name && strcmp(name, "default") == 0)
            return attn_node_string(attn_node_find(item, "template"));
    }
    return NULL;
}

/* Finds the start token of a folder: `bos_token_id` of config.json, else the added token that
 * tokenizer_config.json names `bos_token`. */
static void find_start(struct attn_tokenizer *tokenizer, const struct attn_class *found)
{
    const struct attn_node *config = found->config ? attn_json_root(found->config) : NULL;
    const struct attn_node *id =
        found->model ? attn_node_find(attn_json_root(found->model), "bos_token_id") : NULL;
    const char *text = config ? text_of(attn_node_find(config, names[0][0])) : NULL;
    const struct attn_added *added = &tokenizer->added;
    int64_t value;

    if (id && attn_node_int(id, &value) && value >= 0 && value < INT32_MAX &&
        attn_vocabulary_has(&tokenizer->vocabulary, (int32_t)value))
        tokenizer->chat.start = (int32_t)value + 1;
    for (size_t i = 0; text && tokenizer->chat.start == 0 && i < added->n; i++)
        if (added->tokens[i].size == strlen(text) &&
            memcmp(attn_added_content(added, i), text, strlen(text)) == 0)
            tokenizer->chat.start = added->tokens[i].id + 1;
}

static enum attn_status read_folder(struct attn_chat_template *chat,
                                    const struct attn_source *source, const struct attn_json *json,
                                    struct attn_error *err)
{
    static const char name[] = "chat_template.jinja";
    const struct attn_node *root = json ? attn_json_root(json) : NULL;
    const struct attn_node *node = root ? attn_node_find(root, "chat_template") : NULL;
    const char *text = NULL;
    struct attn_file file = {0};
    enum attn_status status;

    for (size_t i = 0; root && i < sizeof names / sizeof *names; i++) {
        const char *content = text_of(attn_node_find(root, names[i][0]));

        if (content)
            add_token(&chat->tokens, names[i][0], content, strlen(content));
    }
    if (attn_source_has_part(source, name)) {
        ATTN_TRY(attn_file_read_part(source, name, &file, err));
        status = set_text(chat, name, (const char *)file.data, file.size, err);
        attn_file_release(&file);
        return status;
    }
    if (node)
        text = attn_node_is_array(node) ? find_default(node) : attn_node_string(node);
    return text ? set_text(chat, "tokenizer_config.json", text, strlen(text), err) : ATTN_OK;
}

enum attn_status attn_tokenizer_read_chat(struct attn_tokenizer *tokenizer,
                                          const struct attn_source *source,
                                          const struct attn_class *found, struct attn_error *err)
{
    struct attn_chat_template *chat = &tokenizer->chat;

    if (!tokenizer->bundle)
        find_start(tokenizer, found);
    attn_buffer_append_char(&chat->tokens, '{');
    ATTN_TRY(tokenizer->bundle ? read_gguf(tokenizer, tokenizer->bundle, err)
                               : read_folder(chat, source, found->config, err));
    if (!tokenizer->bundle && !found->config && !chat->text && attn_gguf_is_source(source))
        ATTN_TRY(read_replaced(tokenizer, source, err));
    attn_buffer_append_char(&chat->tokens, '}');
    return attn_buffer_check(&chat->tokens, err);
}
