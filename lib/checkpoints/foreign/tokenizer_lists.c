/*
 * tokenizer_lists.c - tiktoken's list and Mistral's tekken.json (tokenizer_ranks.h).
 *
 * A line of tiktoken's list is a token in base64, a space and its rank. In tekken.json special
 * tokens have the first ids, and the id of another token is its rank after them.
 */
#include "foreign/tokenizer_ranks.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
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

/* Appends KEY, and the text that it has; NULL: the beginning of a dictionary. */
static void add_key(struct attn_buffer *pickle, const char *key, const char *text)
{
    add_text(pickle, 'X', key, strlen(key));
    if (text)
        add_text(pickle, 'X', text, strlen(text));
    else
        attn_buffer_append_string(pickle, "}(");
}

static void add_id(struct attn_buffer *pickle, size_t id)
{
    const int32_t number = (int32_t)id;

    attn_buffer_append_char(pickle, 'J');
    attn_buffer_append(pickle, (const char *)&number, sizeof number);
}

/* Appends the token that is TEXT [size] in base64. False: it is not. */
static bool add_base64(struct attn_buffer *pickle, const char *text, size_t size, size_t id)
{
    const size_t at = pickle->size + 5;
    size_t n = 0;
    uint32_t written;

    add_text(pickle, 'B', text, size);
    if (pickle->size < at + size) /* no memory */
        return true;
    if (!attn_base64_decode(text, size, (unsigned char *)pickle->data + at, &n))
        return false;
    written = (uint32_t)n;
    memcpy(pickle->data + at - sizeof written, &written, sizeof written);
    pickle->size = at + n;
    add_id(pickle, id);
    return true;
}

/* --- tiktoken's list -------------------------------------------------------------------------- */

/* Appends the tokens of FILE. Sets *n to the highest rank plus one. */
static enum attn_status add_lines(const struct attn_file *file, struct attn_buffer *pickle,
                                  size_t *n, struct attn_error *err)
{
    const char *at = (const char *)file->data, *const end = at + file->size;

    for (size_t line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        const char *space = memchr(at, ' ', (size_t)(stop - at));
        int64_t id = 0;

        if (!space ||
            !attn_parse_int(space + 1, (size_t)(stop - space - 1), 0, INT32_MAX - 1, &id) ||
            !add_base64(pickle, at, (size_t)(space - at), (size_t)id))
            return attn_error_set(err, ATTN_FORMAT,
                                  "line %zu of '%s' is no token of tiktoken, expected base64, a "
                                  "space and a number",
                                  line, attn_quote_string(file->path).text);
        *n = (size_t)id >= *n ? (size_t)id + 1 : *n;
        at = stop + (stop < end);
    }
    return ATTN_OK;
}

/* Appends the special tokens of Qwen, from id N on: three, which Qwen2 has, too, and 205 more. */
static void add_qwen(struct attn_buffer *pickle, bool is_first, size_t n)
{
    static const char *const names[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
    char name[24];

    for (size_t i = 0; i < (is_first ? 208 : 3); i++) {
        snprintf(name, sizeof name, "<|extra_%zu|>", i - 3);
        add_text(pickle, 'X', i < 3 ? names[i] : name, strlen(i < 3 ? names[i] : name));
        add_id(pickle, n + i);
    }
}

static enum attn_status read_list(const struct attn_file *file, const struct attn_source *source,
                                  struct attn_buffer *pickle, struct attn_error *err)
{
    const struct attn_class_row *row = attn_class_row("Qwen2");
    struct attn_class found = {.row = NULL};
    const enum attn_status status = attn_class_find(&found, source, err);
    const bool is_first = status == ATTN_OK && found.name &&
                          strcmp(found.name, found.is_class ? "QWenTokenizer" : "qwen") == 0;
    const bool is_qwen = is_first || (row && found.row == row);
    size_t n = 0;

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
    attn_buffer_append_string(pickle, "}(");
    add_key(pickle, "mergeable_ranks", NULL);
    ATTN_TRY(add_lines(file, pickle, &n, err));
    attn_buffer_append_char(pickle, 'u');
    add_key(pickle, "special_tokens", NULL);
    add_qwen(pickle, is_first, n);
    attn_buffer_append_char(pickle, 'u');
    add_key(pickle, "pat_str", row->split);
    add_key(pickle, "nfc", "");
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
        add_text(pickle, 'X', text, strlen(text));
        add_id(pickle, rank);
    }
    return ATTN_OK;
}

static enum attn_status add_tekken(const struct attn_json *json, struct attn_buffer *pickle,
                                   struct attn_error *err)
{
    const struct attn_node *config = attn_node_find(attn_json_root(json), "config");
    size_t size = 0, n_special = 0, rank = 0;
    const char *pattern = NULL, *text = "";

    if (config && attn_node_is_object(config)) {
        ATTN_TRY(attn_json_get_size(json, config, "default_vocab_size", 1, 1 << 24, &size, err));
        ATTN_TRY(attn_json_get_size(json, config, "default_num_special_tokens", 0, 1 << 16,
                                    &n_special, err));
        ATTN_TRY(attn_json_get_string(json, config, "pattern", &pattern, err));
    }
    if (!pattern)
        return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "config",
                                "has no 'pattern', expected a tekken.json of Mistral");
    attn_buffer_append_string(pickle, "}(");
    add_key(pickle, "mergeable_ranks", NULL);
    for (const struct attn_node *node = first_of(json, "vocab"); node;
         node = attn_node_next(node)) {
        ATTN_TRY(attn_json_get_size(json, node, "rank", 0, 1 << 24, &rank, err));
        ATTN_TRY(attn_json_get_string(json, node, "token_bytes", &text, err));
        if (rank + n_special < size && !add_base64(pickle, text, strlen(text), rank + n_special))
            return ATTN_JSON_REFUSE(json, err, ATTN_FORMAT, "token_bytes", "is not base64: '%s'",
                                    attn_quote_string(text).text);
    }
    attn_buffer_append_char(pickle, 'u');
    add_key(pickle, "special_tokens", NULL);
    ATTN_TRY(add_special(json, n_special, pickle, err));
    attn_buffer_append_char(pickle, 'u');
    add_key(pickle, "bos", "<s>");
    add_key(pickle, "pat_str", pattern);
    attn_buffer_append_string(pickle, "u.");
    return attn_buffer_check(pickle, err);
}

static enum attn_status read_tekken(const struct attn_file *file, struct attn_buffer *pickle,
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
    ATTN_THEN(status, add_tekken(json, pickle, err));
    attn_json_free(json);
    attn_free(text);
    return status;
}

enum attn_status attn_ranks_from_text(const struct attn_file *file,
                                      const struct attn_source *source, struct attn_buffer *pickle,
                                      struct attn_error *err)
{
    return file->size > 0 && file->data[0] == '{' ? read_tekken(file, pickle, err)
                                                  : read_list(file, source, pickle, err);
}
