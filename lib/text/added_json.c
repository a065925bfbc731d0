/* added_json.c - see added_json.h. */
#include "text/added_json.h"

#include "base/escape.h"
#include "base/memory.h"
#include "formats/json_reader.h"

#include <string.h>

enum { FEW = 2048 }; /* bytes of JSON: so few tokens are looked up without an index */

static const char file_name[] = "tokenizer.json"; /* in messages */

/* One token as it is read. */
struct item {
    struct attn_added_token token;
    struct attn_buffer content;
    uint64_t id;
    unsigned seen; /* bit i: member i of `members` came */
};

enum { ID, CONTENT, SINGLE_WORD, LSTRIP, RSTRIP, NORMALIZED, SPECIAL, N_MEMBER };

static const struct {
    const char *key;
    const char *expected;
} members[N_MEMBER] = {
    [ID] = {"id", "an integer from 0"},
    [CONTENT] = {"content", "a string that is not empty"},
    [SINGLE_WORD] = {"single_word", "true or false"},
    [LSTRIP] = {"lstrip", "true or false"},
    [RSTRIP] = {"rstrip", "true or false"},
    [NORMALIZED] = {"normalized", "true or false"},
    [SPECIAL] = {"special", "true or false"},
};

static bool *flag_of(struct attn_added_token *token, int member)
{
    return member == SINGLE_WORD  ? &token->is_single_word
           : member == LSTRIP     ? &token->strips_left
           : member == RSTRIP     ? &token->strips_right
           : member == NORMALIZED ? &token->is_normalized
                                  : &token->is_special;
}

/* Stores the value of MEMBER; false when it is of a wrong kind. */
static bool store(struct item *item, int member, const struct attn_json_token *value)
{
    if (member == ID)
        return attn_json_uint(value, &item->id) && item->id <= INT32_MAX;
    if (member == CONTENT) {
        if (value->type == ATTN_JSON_STRING)
            attn_json_unescape(value, &item->content);
        return value->type == ATTN_JSON_STRING && value->size > 0;
    }
    *flag_of(&item->token, member) = value->type == ATTN_JSON_TRUE;
    return value->type == ATTN_JSON_TRUE || value->type == ATTN_JSON_FALSE;
}

static enum attn_status read_member(struct attn_json_reader *reader,
                                    const struct attn_json_token *key, size_t index,
                                    struct item *item, struct attn_error *err)
{
    struct attn_json_token value;
    int member = 0;
    enum attn_status status;

    while (member < N_MEMBER && !attn_json_equals(key, members[member].key))
        member++;
    if (member == N_MEMBER)
        return attn_json_skip(reader, err);
    if (item->seen >> member & 1)
        return attn_error_set(err, ATTN_FORMAT, "added token %zu in '%s' has '%s' twice", index,
                              file_name, members[member].key);
    item->seen |= 1u << member;
    status = attn_json_next(reader, &value, err);
    if (status != ATTN_OK)
        return status;
    if (!store(item, member, &value))
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' of added token %zu in '%s' is '%s', expected %s",
                              members[member].key, index, file_name,
                              attn_quote(value.text, value.size).text, members[member].expected);
    return attn_buffer_check(&item->content, err);
}

/* Reads the rest of an object into ITEM. */
static enum attn_status read_item(struct attn_json_reader *reader, size_t index, struct item *item,
                                  struct attn_error *err)
{
    struct attn_json_token key;
    enum attn_status status;

    attn_buffer_reset(&item->content);
    item->token = (struct attn_added_token){0};
    item->seen = 0;
    while ((status = attn_json_next(reader, &key, err)) == ATTN_OK && key.type == ATTN_JSON_KEY)
        if ((status = read_member(reader, &key, index, item, err)) != ATTN_OK)
            return status;
    for (int member = 0; status == ATTN_OK && member < N_MEMBER; member++)
        if (!(item->seen >> member & 1))
            return attn_error_set(err, ATTN_FORMAT, "added token %zu in '%s' has no '%s'", index,
                                  file_name, members[member].key);
    return status;
}

/*
 * How new tokens are numbered: from the number of keys in the vocabulary on. Before 0.23 the library
 * went on from any added token with a higher id, which a vocabulary with holes may have.
 */
struct numbering {
    uint64_t next; /* the number of keys, and of new tokens so far */
    uint64_t old;  /* as before 0.23 */
    bool has_new;
};

/* Gives ITEM the id that the library gives it. */
static enum attn_status place(struct attn_tokenizer *tokenizer, struct numbering *numbering,
                              struct item *item, struct attn_error *err)
{
    struct attn_vocabulary *vocabulary = &tokenizer->vocabulary;
    const char *content = item->content.data;
    const size_t size = item->content.size;
    const int32_t known = attn_vocabulary_find(vocabulary, content, size);
    const uint64_t id = known >= 0 ? (uint64_t)known : numbering->next;
    enum attn_status status = ATTN_OK;

    if (known < 0 && numbering->old != numbering->next)
        return attn_error_set(err, ATTN_UNSUPPORTED,
                              "the added token '%s' in '%s' has id %llu or %llu, as the version of "
                              "tokenizers has it, which is not supported",
                              attn_quote(content, size).text, file_name,
                              (unsigned long long)numbering->next,
                              (unsigned long long)numbering->old);
    if (item->id != id)
        return attn_error_set(
            err, ATTN_FORMAT, "the added token '%s' has id %llu in '%s', expected %llu, %s",
            attn_quote(content, size).text, (unsigned long long)item->id, file_name,
            (unsigned long long)id,
            known >= 0 ? "its id in the vocabulary" : "the next one after the vocabulary");
    item->token.id = (int32_t)id;
    item->token.is_new = known < 0;
    if (known < 0) {
        status = attn_vocabulary_add(vocabulary, content, size, item->token.id, err);
        numbering->has_new = true;
        numbering->next++;
    }
    numbering->old = id >= numbering->old ? id + 1 : numbering->old;
    return status == ATTN_OK ? attn_added_append(&tokenizer->added, item->token, content, size, err)
                             : status;
}

/* Tells the model which tokens are not its own. */
static enum attn_status mark_new(struct attn_tokenizer *tokenizer, struct attn_error *err)
{
    bool *is_foreign = attn_alloc(tokenizer->vocabulary.n, sizeof *is_foreign, err);

    if (!is_foreign)
        return ATTN_NO_MEMORY;
    for (size_t i = 0; i < tokenizer->added.n; i++)
        is_foreign[tokenizer->added.tokens[i].id] = tokenizer->added.tokens[i].is_new;
    tokenizer->bpe.is_foreign = is_foreign;
    return ATTN_OK;
}

enum attn_status attn_added_json_read(struct attn_tokenizer *tokenizer, const char *text,
                                      size_t size, struct attn_error *err)
{
    struct attn_json_reader reader = attn_json_reader_init(text, size, file_name);
    struct numbering numbering = {.next = tokenizer->vocabulary.n_key,
                                  .old = tokenizer->vocabulary.n_key};
    struct attn_json_token token;
    struct item item = {.seen = 0};
    enum attn_status status = attn_json_next(&reader, &token, err);

    if (status == ATTN_OK && size > FEW)
        status = attn_vocabulary_index(&tokenizer->vocabulary, tokenizer->unread->path, err);
    if (status == ATTN_OK && token.type != ATTN_JSON_ARRAY_BEGIN)
        return attn_error_set(err, ATTN_FORMAT, "'added_tokens' in '%s' is not a list", file_name);
    for (size_t i = 0; status == ATTN_OK; i++) {
        status = attn_json_next(&reader, &token, err);
        if (status != ATTN_OK || token.type == ATTN_JSON_ARRAY_END)
            break;
        if (token.type != ATTN_JSON_OBJECT_BEGIN)
            status = attn_error_set(err, ATTN_FORMAT, "added token %zu in '%s' is not an object", i,
                                    file_name);
        if (status == ATTN_OK)
            status = read_item(&reader, i, &item, err);
        if (status == ATTN_OK)
            status = place(tokenizer, &numbering, &item, err);
    }
    attn_buffer_release(&item.content);
    if (status == ATTN_OK && numbering.has_new)
        status = attn_vocabulary_finish_with_holes(&tokenizer->vocabulary, file_name, err);
    return status == ATTN_OK && numbering.has_new ? mark_new(tokenizer, err) : status;
}
