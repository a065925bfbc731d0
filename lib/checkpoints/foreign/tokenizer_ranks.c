/*
 * tokenizer_ranks.c - see tokenizer_ranks.h.
 *
 * The state of Encoding has pat_str, the pattern whose matches are pieces; mergeable_ranks, from
 * the bytes of a token to its rank, which is its id; and special_tokens, from texts to ids. Of all
 * adjacent pairs of a piece that make a token, that of the lowest rank is joined first, the
 * leftmost of equal ones. So each way to split a token in two is a merge, in the order of ids: the
 * order of the ways of one token does not matter, because the bytes of a token, joined by lower
 * ranks alone, end in the same two parts wherever they stand.
 */
#include "foreign/tokenizer_ranks.h"

#include "base/status_internal.h"
#include "base/text/escape.h"
#include "base/text/utf8.h"
#include "tokenizer/regex.h"
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
