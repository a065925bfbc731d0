/*
 * tokenizer_ranks.c - see tokenizer_ranks.h.
 *
 * The state of Encoding has pat_str, the pattern whose matches are pieces; mergeable_ranks, from
 * the bytes of a token to its rank, which is its id; and special_tokens, from texts to ids. Of all
 * adjacent pairs of a piece that make a token, that of the lowest rank is joined first, the
 * leftmost of equal ones. So each way to split a token in two is a merge, in the order of ids: the
 * order of the ways of one token does not matter, because the bytes of a token, joined by lower
 * ranks alone, end in the same two parts wherever they stand.
 *
 * A line of tiktoken's list is a token in base64, a space and its rank. In tekken.json special
 * tokens have the first ids, and the id of another token is its rank after them.
 */
#include "foreign/tokenizer_ranks.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/fixed_text.h"
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "formats/json.h"
#include "formats/quoting.h"
#include "tokenizer/regex.h"
#include "tokenizer/tokenizer_class.h"
#include "tokenizer/vocabulary.h"

#include <stdio.h>
#include <string.h>

/* A file of real tokens needs a few megabytes of each. */
enum { MOST_WRITTEN = 1 << 26, MOST_LOOKED_UP = 1 << 30 };

static const char ranks_key[] = "mergeable_ranks", special_key[] = "special_tokens";

struct ranks {
    const struct attn_pickle *pickle;
    const char *path; /* quoted */
    struct attn_vocabulary vocabulary;
    struct attn_buffer *json;
    char bos[32];   /* the token that stands in front of each text */
    int64_t bos_id; /* -1: no such token */
    bool has_gap;   /* ids are not 0 to n - 1, or special tokens not the last, in their order */
    struct attn_error *err;
};

/* An item of a dictionary of tokens. */
struct item {
    const char *text; /* [size] */
    size_t size;
    int64_t id;
};

/* Begins to walk through the dictionary NAME. */
static enum attn_status begin(const struct ranks *r, const char *name, uint32_t *cell)
{
    const attn_pickle_value dict = attn_pickle_find(r->pickle, attn_pickle_root(r->pickle), name);

    *cell = attn_pickle_first(r->pickle, dict);
    if (attn_pickle_type(r->pickle, dict) == ATTN_PICKLE_DICT)
        return ATTN_OK;
    return attn_error_set(r->err, ATTN_FORMAT,
                          "'%s' has no '%s', expected a dictionary from tokens to ids", r->path,
                          name);
}

/* Reads the item at *CELL of the dictionary NAME; its size is 0 at the end. */
static enum attn_status next(const struct ranks *r, const char *name, uint32_t *cell,
                             struct item *item)
{
    attn_pickle_value key, value;

    *item = (struct item){0};
    if (!attn_pickle_next(r->pickle, cell, &key) || !attn_pickle_next(r->pickle, cell, &value))
        return ATTN_OK;
    if (attn_pickle_type(r->pickle, key) == ATTN_PICKLE_TEXT)
        item->text = attn_pickle_text(r->pickle, key, &item->size);
    if (item->size == 0)
        return attn_error_set(r->err, ATTN_FORMAT,
                              "'%s' in '%s' has a key that is no token, expected bytes or a text",
                              name, r->path);
    if (attn_pickle_type(r->pickle, value) != ATTN_PICKLE_INT)
        return attn_error_set(
            r->err, ATTN_FORMAT, "'%s' of '%s' in '%s' has no id, expected an integer from 0 to %d",
            attn_quote(item->text, item->size).text, name, r->path, INT32_MAX - 1);
    attn_pickle_int(r->pickle, value, &item->id);
    if (item->id >= 0 && item->id < INT32_MAX)
        return ATTN_OK;
    return attn_error_set(r->err, ATTN_FORMAT, "'%s' of '%s' in '%s' has id %lld, expected 0 to %d",
                          attn_quote(item->text, item->size).text, name, r->path,
                          (long long)item->id, INT32_MAX - 1);
}

static enum attn_status read_ranks(struct ranks *r)
{
    struct attn_buffer key = {0};
    struct attn_alphabet alphabet;
    enum attn_status status;
    struct item item;
    uint32_t cell;

    attn_alphabet_init(&alphabet);
    ATTN_TRY(begin(r, ranks_key, &cell));
    while ((status = next(r, ranks_key, &cell, &item)) == ATTN_OK && item.size > 0) {
        char *written;

        attn_buffer_reset(&key);
        written = attn_buffer_reserve(&key, 2 * item.size);
        status = written ? attn_vocabulary_add(
                               &r->vocabulary, written,
                               attn_alphabet_from_bytes(&alphabet, item.text, item.size, written),
                               (int32_t)item.id, r->err)
                         : attn_error_no_memory(r->err);
        if (status != ATTN_OK)
            break;
    }
    attn_buffer_release(&key);
    ATTN_TRY(status);
    ATTN_TRY(attn_vocabulary_finish(&r->vocabulary, r->path, true, r->err));
    ATTN_TRY(attn_vocabulary_index(&r->vocabulary, r->path, r->err));
    for (unsigned byte = 0; byte < 256; byte++) {
        char single[4];

        if (attn_vocabulary_find(&r->vocabulary, single,
                                 attn_utf8_encode(alphabet.code_point[byte], single)) < 0)
            return attn_error_set(r->err, ATTN_FORMAT,
                                  "'%s' in '%s' has no token for byte 0x%02x, expected all 256",
                                  ranks_key, r->path, byte);
    }
    return ATTN_OK;
}

/* Appends a comma, or nothing at the begin of a list or an object. */
static void separate(struct attn_buffer *json)
{
    const char last = json->data ? json->data[json->size - 1] : '\0';

    if (last != '[' && last != '{')
        attn_buffer_append_char(json, ',');
}

static void append(struct attn_buffer *json, const char *text)
{
    attn_buffer_append(json, text, strlen(text));
}

static enum attn_status write_special(struct ranks *r)
{
    int64_t next_id = (int64_t)r->vocabulary.n_key;
    struct item item;
    uint32_t cell;

    append(r->json, "{\"added_tokens\":[");
    ATTN_TRY(begin(r, special_key, &cell));
    for (;;) {
        ATTN_TRY(next(r, special_key, &cell, &item));
        if (item.size == 0)
            break;
        if (attn_utf8_valid_length(item.text, item.size) < item.size)
            return attn_error_set(r->err, ATTN_FORMAT, "'%s' of '%s' in '%s' is not UTF-8",
                                  attn_quote(item.text, item.size).text, special_key, r->path);
        if (attn_vocabulary_has(&r->vocabulary, (int32_t)item.id) ||
            attn_vocabulary_find(&r->vocabulary, item.text, item.size) >= 0)
            return attn_error_set(r->err, ATTN_FORMAT,
                                  "'%s' of '%s' in '%s' has id %lld, and another token has this id "
                                  "or this text",
                                  attn_quote(item.text, item.size).text, special_key, r->path,
                                  (long long)item.id);
        r->has_gap = r->has_gap || item.id != next_id++;
        if (item.size == strlen(r->bos) && memcmp(item.text, r->bos, item.size) == 0)
            r->bos_id = item.id;
        separate(r->json);
        append(r->json, "{\"content\":");
        attn_json_append_string(r->json, item.text, item.size);
        attn_buffer_append_format(r->json,
                                  ",\"id\":%lld,\"single_word\":false,\"lstrip\":false,"
                                  "\"rstrip\":false,\"normalized\":false,\"special\":true}",
                                  (long long)item.id);
    }
    append(r->json, "]");
    if (attn_pickle_find(r->pickle, attn_pickle_root(r->pickle), "nfc") != ATTN_PICKLE_NONE)
        append(r->json, ",\"normalizer\":{\"type\":\"NFC\"}");
    return ATTN_OK;
}

/* Whether PATTERN has ^ or $, which are places of a text for tiktoken, of a line for the reader. */
static bool has_anchor(const char *pattern, size_t size)
{
    bool is_in_set = false;

    for (size_t i = 0; i < size; i++) {
        if (!is_in_set && (pattern[i] == '^' || pattern[i] == '$'))
            return true;
        if (!is_in_set && pattern[i] == '[' && i + 1 < size && pattern[i + 1] == '^')
            i++, is_in_set = true;
        else if (pattern[i] == '\\')
            i++;
        else if (pattern[i] == '[' || pattern[i] == ']')
            is_in_set = pattern[i] == '[';
    }
    return false;
}

/* Writes the pattern: its matches are pieces, and what is between them is dropped. */
static enum attn_status write_pattern(struct ranks *r)
{
    const attn_pickle_value value =
        attn_pickle_find(r->pickle, attn_pickle_root(r->pickle), "pat_str");
    struct attn_regex *regex = NULL;
    size_t size = 0;
    const char *text = attn_pickle_type(r->pickle, value) == ATTN_PICKLE_TEXT
                           ? attn_pickle_text(r->pickle, value, &size)
                           : NULL;

    if (!text || attn_utf8_valid_length(text, size) < size)
        return attn_error_set(r->err, ATTN_FORMAT, "'%s' has no 'pat_str', expected a text",
                              r->path);
    if (has_anchor(text, size))
        return attn_error_set(r->err, ATTN_UNSUPPORTED,
                              "the pattern '%s' in '%s' has ^ or $, which is not supported",
                              attn_quote(text, size).text, r->path);
    ATTN_TRY(attn_regex_create(text, size, r->path, false, &regex, r->err));
    attn_regex_free(regex);
    append(r->json, ",\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                    "\"Split\",\"behavior\":\"Removed\",\"invert\":true,\"pattern\":{\"Regex\":");
    attn_json_append_string(r->json, text, size);
    append(r->json, "}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":false,"
                    "\"use_regex\":false}]},\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_"
                    "space\":false,\"trim_offsets\":false,\"use_regex\":false}");
    if (r->bos_id >= 0)
        attn_buffer_append_format(
            r->json,
            ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":"
            "{\"id\":\"%s\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],"
            "\"pair\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"Sequence\":{\"id\":\"B\","
            "\"type_id\":0}}],\"special_tokens\":{\"%s\":{\"id\":\"%s\",\"ids\":[%lld],"
            "\"tokens\":[\"%s\"]}}}",
            r->bos, r->bos, r->bos, (long long)r->bos_id, r->bos);
    return ATTN_OK;
}

/* Writes each way to split token ID in two tokens. */
static enum attn_status write_merges(struct ranks *r, int32_t id, size_t *looked_up)
{
    size_t size;
    const char *key = attn_vocabulary_key(&r->vocabulary, id, &size);

    for (size_t at = 0; at < size;) {
        at += (unsigned char)key[at] < 0x80 ? 1 : 2; /* a character of the alphabet */
        *looked_up += size;
        if (*looked_up > MOST_LOOKED_UP || r->json->size > MOST_WRITTEN)
            return attn_error_set(r->err, ATTN_UNSUPPORTED,
                                  "the tokens of '%s' can be joined in too many ways: token %d has "
                                  "%zu bytes",
                                  r->path, (int)id, size);
        if (at >= size || attn_vocabulary_find(&r->vocabulary, key, at) < 0 ||
            attn_vocabulary_find(&r->vocabulary, key + at, size - at) < 0)
            continue;
        separate(r->json);
        append(r->json, "[");
        attn_json_append_string(r->json, key, at);
        append(r->json, ",");
        attn_json_append_string(r->json, key + at, size - at);
        append(r->json, "]");
    }
    return ATTN_OK;
}

static enum attn_status write_model(struct ranks *r)
{
    const int32_t n = (int32_t)r->vocabulary.n;
    size_t looked_up = 0, size;
    struct item item;
    uint32_t cell;

    append(r->json, ",\"model\":{\"type\":\"BPE\",\"ignore_merges\":true,"
                    "\"vocab\":{");
    for (int32_t id = 0; id < n; id++) {
        const char *key = attn_vocabulary_key(&r->vocabulary, id, &size);

        if (size == 0)
            continue;
        separate(r->json);
        attn_json_append_string(r->json, key, size);
        attn_buffer_append_format(r->json, ":%d", (int)id);
    }
    ATTN_TRY(begin(r, special_key, &cell));
    while (r->has_gap) {
        ATTN_TRY(next(r, special_key, &cell, &item));
        if (item.size == 0)
            break;
        separate(r->json);
        attn_json_append_string(r->json, item.text, item.size);
        attn_buffer_append_format(r->json, ":%lld", (long long)item.id);
    }
    append(r->json, "},\"merges\":[");
    for (int32_t id = 0; id < n; id++)
        ATTN_TRY(write_merges(r, id, &looked_up));
    append(r->json, "]}}");
    return attn_buffer_check(r->json, r->err);
}

/* Refuses an object whose state is the name of a tokenizer, or no dictionary. */
static enum attn_status check_state(const struct ranks *r)
{
    const attn_pickle_value root = attn_pickle_root(r->pickle);
    const attn_pickle_value state = attn_pickle_state(r->pickle, root);
    size_t size = 0;
    const char *text = attn_pickle_text(r->pickle, state, &size);

    if (attn_pickle_type(r->pickle, root) == ATTN_PICKLE_DICT ||
        attn_pickle_type(r->pickle, state) == ATTN_PICKLE_DICT)
        return ATTN_OK;
    if (attn_pickle_type(r->pickle, state) != ATTN_PICKLE_TEXT)
        return attn_pickle_refuse(r->pickle, root, r->err);
    attn_error_set(r->err, ATTN_UNSUPPORTED,
                   "'%s' has no ranks, only the name '%s' of a tokenizer of tiktoken", r->path,
                   attn_quote(text, size).text);
    attn_error_hint(r->err, "`vocab` tokenizer.json of a folder that has these tokens");
    return ATTN_UNSUPPORTED;
}

bool attn_ranks_is_pickle(const struct attn_pickle *pickle)
{
    const attn_pickle_value root = attn_pickle_root(pickle);

    return attn_pickle_type(pickle, root) == ATTN_PICKLE_OPAQUE ||
           attn_pickle_find(pickle, root, ranks_key) != ATTN_PICKLE_NONE;
}

static enum attn_status write_all(struct ranks *r)
{
    const attn_pickle_value bos = attn_pickle_find(r->pickle, attn_pickle_root(r->pickle), "bos");
    size_t size = 0;
    const char *text = attn_pickle_text(r->pickle, bos, &size);

    ATTN_TRY(check_state(r));
    snprintf(r->bos, sizeof r->bos, "%.*s", text ? (int)size : 7, text ? text : "<|bos|>");
    ATTN_TRY(read_ranks(r));
    ATTN_TRY(write_special(r));
    ATTN_TRY(write_pattern(r));
    return write_model(r);
}

enum attn_status attn_ranks_write(const struct attn_pickle *pickle, const char *path,
                                  struct attn_buffer *json, struct attn_error *err)
{
    const struct attn_quote quoted = attn_quote_string(path);
    struct ranks r = {
        .pickle = pickle, .path = quoted.text, .json = json, .bos_id = -1, .err = err};
    const enum attn_status status = write_all(&r);

    attn_vocabulary_release(&r.vocabulary);
    return status;
}

/* --- The pickle of a list --------------------------------------------------------------------- */

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
static const char old_special[] =
    "<unk> <s> </s> [INST] [/INST] [AVAILABLE_TOOLS] [/AVAILABLE_TOOLS] [TOOL_RESULTS] "
    "[/TOOL_RESULTS] [TOOL_CALLS] [IMG] <pad> [IMG_BREAK] [IMG_END] [PREFIX] [MIDDLE] [SUFFIX] "
    "[SYSTEM_PROMPT] [/SYSTEM_PROMPT] [TOOL_CONTENT]";

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
    const char *old = own ? "" : old_special;
    char filler[32];

    for (size_t i = 0; i < n; i++, own = own ? attn_node_next(own) : NULL) {
        const size_t n_old = strcspn(old, " ");
        const char *text = n_old > 0 ? old : filler;
        size_t rank = i;

        snprintf(filler, sizeof filler, "<SPECIAL_%zu>", i);
        if (own) {
            ATTN_TRY(attn_json_get_string(json, own, "token_str", &text, err));
            ATTN_TRY(attn_json_get_size(json, own, "rank", 0, n - 1, &rank, err));
        }
        add_text(pickle, 'X', text, n_old > 0 ? n_old : strlen(text));
        old += n_old + strspn(old + n_old, " ");
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
