/*
 * tokenizer_lists.c - see tokenizer_lists.h.
 *
 * A line of tiktoken's list is a token in base64, a space and its rank. In tekken.json special
 * tokens have the first ids, and the id of another token is its rank after them.
 */
#include "foreign/tokenizer_lists.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "formats/json.h"
#include "formats/quoting.h"
#include "tokenizer/tokenizer_class.h"

#include <stdio.h>
#include <string.h>

/* --- A pickle --------------------------------------------------------------------------------- */

/* Appends OPCODE, one of those that a size of 32 bits and bytes follow, and TEXT [size]. */
static void add_text(struct attn_buffer *pickle, char opcode, const char *text, size_t size)
{
    const uint32_t n = (uint32_t)size; /* little-endian, as the files that are read */

    attn_buffer_append_char(pickle, opcode);
    attn_buffer_append(pickle, (const char *)&n, sizeof n);
    attn_buffer_append(pickle, text, size);
}

static void add_key(struct attn_buffer *pickle, const char *key)
{
    add_text(pickle, 'X', key, strlen(key));
}

/* Appends KEY and the beginning of a dictionary. end_dict appends its end. */
static void begin_dict(struct attn_buffer *pickle, const char *key)
{
    if (key)
        add_key(pickle, key);
    attn_buffer_append_string(pickle, "}(");
}

static void end_dict(struct attn_buffer *pickle)
{
    attn_buffer_append_char(pickle, 'u');
}

static void add_token(struct attn_buffer *pickle, const char *text, size_t size, size_t id)
{
    const int32_t number = (int32_t)id;

    add_text(pickle, 'B', text, size);
    attn_buffer_append_char(pickle, 'J');
    attn_buffer_append(pickle, (const char *)&number, sizeof number);
}

/* Appends the token that is TEXT [size] in base64. ROOM is memory. */
static enum attn_status add_base64(struct attn_buffer *pickle, const char *text, size_t size,
                                   size_t id, struct attn_buffer *room)
{
    unsigned char *to;
    size_t n = 0;

    attn_buffer_reset(room);
    to = (unsigned char *)attn_buffer_reserve(room, size + 1);
    if (!to)
        return ATTN_NO_MEMORY;
    if (!attn_base64_decode(text, size, to, &n))
        return ATTN_FORMAT;
    add_token(pickle, (const char *)to, n, id);
    return ATTN_OK;
}

/* --- tiktoken's list -------------------------------------------------------------------------- */

/* Appends the tokens of FILE. Sets *n to the highest rank plus one. */
static enum attn_status add_lines(const struct attn_file *file, struct attn_buffer *pickle,
                                  size_t *n, struct attn_error *err)
{
    const char *at = (const char *)file->data, *const end = at + file->size;
    struct attn_buffer room = {0};
    enum attn_status status = ATTN_OK;
    size_t line = 0;

    for (*n = 0; at < end && status == ATTN_OK; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const char *space = memchr(at, ' ', (size_t)((stop ? stop : end) - at));
        size_t id = 0;

        stop = stop ? stop : end;
        for (const char *digit = space ? space + 1 : stop; digit < stop; digit++)
            id = *digit >= '0' && *digit <= '9' && id < INT32_MAX / 10
                     ? 10 * id + (size_t)(*digit - '0')
                     : INT32_MAX;
        status = !space || space + 1 == stop || id >= INT32_MAX
                     ? ATTN_FORMAT
                     : add_base64(pickle, at, (size_t)(space - at), id, &room);
        *n = id >= *n ? id + 1 : *n;
        at = stop + (stop < end);
    }
    attn_buffer_release(&room);
    if (status == ATTN_NO_MEMORY)
        return attn_error_no_memory(err);
    return status == ATTN_OK ? ATTN_OK
                             : attn_error_set(err, ATTN_FORMAT,
                                              "line %zu of '%s' is no token of tiktoken, expected "
                                              "base64, a space and a number",
                                              line, attn_quote_string(file->path).text);
}

/* Appends the special tokens of Qwen, from id N on: three, which Qwen2 has, too, and 205 more. */
static void add_qwen(struct attn_buffer *pickle, bool is_first, size_t n)
{
    static const char *const names[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
    char name[24];

    for (size_t i = 0; i < (is_first ? 208 : 3); i++) {
        snprintf(name, sizeof name, "<|extra_%zu|>", i - 3);
        add_token(pickle, i < 3 ? names[i] : name, strlen(i < 3 ? names[i] : name), n + i);
    }
}

enum attn_status attn_ranks_from_list(const struct attn_file *file,
                                      const struct attn_source *source, struct attn_buffer *pickle,
                                      struct attn_error *err)
{
    const struct attn_class_row *row = attn_class_row("Qwen2");
    struct attn_class found = {.row = NULL};
    const enum attn_status status = attn_class_find(&found, source, err);
    const bool is_first = status == ATTN_OK && found.name &&
                          strcmp(found.name, found.is_class ? "QWenTokenizer" : "qwen") == 0;
    const bool is_qwen = is_first || (row && found.row == row);
    size_t n;

    attn_class_release(&found);
    ATTN_TRY(status);
    if (!row || !is_qwen) {
        attn_error_set(err, ATTN_UNSUPPORTED,
                       "'%s' is tiktoken's list, which has no pattern to split texts by, and the "
                       "model is not one of Qwen's",
                       attn_quote_string(file->path).text);
        attn_error_hint(err,
                        "python3 -c \"from transformers.convert_slow_tokenizer import "
                        "TikTokenConverter as T; T('%s', pattern=PATTERN, extra_special_tokens="
                        "[...]).converted().save('tokenizer.json')\", both of its program",
                        file->path);
        return ATTN_UNSUPPORTED;
    }
    begin_dict(pickle, NULL);
    begin_dict(pickle, "mergeable_ranks");
    ATTN_TRY(add_lines(file, pickle, &n, err));
    end_dict(pickle);
    begin_dict(pickle, "special_tokens");
    add_qwen(pickle, is_first, n);
    end_dict(pickle);
    add_key(pickle, "pat_str");
    add_key(pickle, row->split);
    add_key(pickle, "nfc");
    add_key(pickle, "");
    attn_buffer_append_string(pickle, "u.");
    return attn_buffer_check(pickle, err);
}

/* --- tekken.json ------------------------------------------------------------------------------ */

/* Special tokens of files that do not list them, of version 7 and before. */
static const char *const old_special[] = {"<unk>",
                                          "<s>",
                                          "</s>",
                                          "[INST]",
                                          "[/INST]",
                                          "[AVAILABLE_TOOLS]",
                                          "[/AVAILABLE_TOOLS]",
                                          "[TOOL_RESULTS]",
                                          "[/TOOL_RESULTS]",
                                          "[TOOL_CALLS]",
                                          "[IMG]",
                                          "<pad>",
                                          "[IMG_BREAK]",
                                          "[IMG_END]",
                                          "[PREFIX]",
                                          "[MIDDLE]",
                                          "[SUFFIX]",
                                          "[SYSTEM_PROMPT]",
                                          "[/SYSTEM_PROMPT]",
                                          "[TOOL_CONTENT]"};

static const struct attn_node *first_of(const struct attn_json *json, const char *key)
{
    const struct attn_node *list = attn_node_find(attn_json_root(json), key);

    return list && attn_node_is_array(list) ? attn_node_first(list) : NULL;
}

/* Appends the special tokens, whose ids are 0 to N - 1; those without a name are <SPECIAL_i>. */
static enum attn_status add_special(const struct attn_json *json, size_t n,
                                    struct attn_buffer *pickle, struct attn_error *err)
{
    const struct attn_node *own = first_of(json, "special_tokens");
    const size_t n_old = own ? 0 : sizeof old_special / sizeof *old_special;
    char filler[32];

    for (size_t i = 0; i < n; i++, own = own ? attn_node_next(own) : NULL) {
        const char *text = filler;
        size_t rank = i;

        snprintf(filler, sizeof filler, "<SPECIAL_%zu>", i);
        if (own) {
            ATTN_TRY(attn_json_get_string(json, own, "token_str", &text, err));
            ATTN_TRY(attn_json_get_size(json, own, "rank", 0, n - 1, &rank, err));
        }
        text = i < n_old ? old_special[i] : text;
        add_token(pickle, text, strlen(text), rank);
    }
    return ATTN_OK;
}

static enum attn_status add_tekken(const struct attn_json *json, struct attn_buffer *pickle,
                                   struct attn_error *err)
{
    const struct attn_node *config = attn_node_find(attn_json_root(json), "config");
    struct attn_buffer room = {0};
    size_t size = 0, n_special = 0, rank = 0;
    const char *pattern = NULL, *text = NULL;
    enum attn_status status = ATTN_OK;

    if (config && attn_node_is_object(config)) {
        ATTN_TRY(attn_json_get_size(json, config, "default_vocab_size", 1, 1 << 24, &size, err));
        ATTN_TRY(attn_json_get_size(json, config, "default_num_special_tokens", 0, 1 << 16,
                                    &n_special, err));
        ATTN_TRY(attn_json_get_string(json, config, "pattern", &pattern, err));
    }
    if (!pattern)
        return attn_json_refuse(json, err, ATTN_FORMAT, "config",
                                "has no 'pattern', expected a tekken.json of Mistral");
    begin_dict(pickle, NULL);
    begin_dict(pickle, "mergeable_ranks");
    for (const struct attn_node *node = first_of(json, "vocab"); node && status == ATTN_OK;
         node = attn_node_next(node)) {
        status = attn_json_get_size(json, node, "rank", 0, 1 << 24, &rank, err);
        if (status == ATTN_OK)
            status = attn_json_get_string(json, node, "token_bytes", &text, err);
        if (status == ATTN_OK && text && rank + n_special < size &&
            add_base64(pickle, text, strlen(text), rank + n_special, &room) != ATTN_OK)
            status = attn_json_refuse(json, err, ATTN_FORMAT, "token_bytes", "is not base64: '%s'",
                                      attn_quote_string(text).text);
    }
    attn_buffer_release(&room);
    ATTN_TRY(status);
    end_dict(pickle);
    begin_dict(pickle, "special_tokens");
    ATTN_TRY(add_special(json, n_special, pickle, err));
    end_dict(pickle);
    add_key(pickle, "bos");
    add_key(pickle, "<s>");
    add_key(pickle, "pat_str");
    add_key(pickle, pattern);
    attn_buffer_append_string(pickle, "u.");
    return attn_buffer_check(pickle, err);
}

enum attn_status attn_ranks_from_tekken(const struct attn_file *file, struct attn_buffer *pickle,
                                        struct attn_error *err)
{
    static const char *const names[] = {"config", "vocab", "special_tokens", NULL};
    struct attn_file copy = *file;
    struct attn_json *json = NULL;
    char *text = attn_alloc_uninitialized(file->size + 1, 1, err), *at = text;
    enum attn_status status;

    if (!text)
        return ATTN_NO_MEMORY;
    /* A tree holds no NUL, which is the text of the first token. Its bytes are read, not its text.
     */
    memcpy(text, file->data, file->size);
    while ((at = memmem(at, file->size - (size_t)(at - text), "\\u0000", 6)))
        at[5] = '1';
    copy.data = (unsigned char *)text;
    copy.storage = ATTN_FILE_BORROWED;
    status = attn_json_parse_named(&copy, names, &json, err);
    if (status == ATTN_OK)
        status = add_tekken(json, pickle, err);
    attn_json_free(json);
    attn_free(text);
    return status;
}
