/*
 * json_check.c - no key twice in one object, over the rest of a JSON text.
 *
 * The keys of an object are sorted when it closes, by a hash and, where that is equal, by their
 * bytes. The hash only saves comparisons: keys that were made to collide cost O(n log n) as well,
 * which a hash table could promise only with a secret seed. A key is 8 bytes here, less than the
 * text of any: what an object of millions of keys takes stays below the text itself.
 */
#include "base/escape.h"
#include "base/memory.h"
#include "formats/json_reader.h"

#include <stdlib.h>

struct key {
    uint32_t hash, offset; /* of its opening quote in the text */
};

/* Keys of the objects that are open, outermost first. */
struct key_stack {
    void *keys; /* struct key [count]; owns */
    size_t count, capacity;
    size_t first[ATTN_JSON_MAX_DEPTH]; /* of each level: where its keys begin */
};

static enum attn_status push_key(struct key_stack *stack, const struct attn_json_token *token,
                                 struct attn_error *err)
{
    const uint64_t hash = attn_json_hash(token);
    enum attn_status status =
        attn_grow(&stack->keys, &stack->capacity, stack->count + 1, sizeof(struct key), err);

    if (status != ATTN_OK)
        return status;
    ((struct key *)stack->keys)[stack->count++] =
        (struct key){(uint32_t)(hash ^ hash >> 32), (uint32_t)token->offset};
    return ATTN_OK;
}

/* The token of a key that the reader has passed. */
static struct attn_json_token token_of(const struct key *key, const char *text)
{
    struct attn_json_token token = {ATTN_JSON_KEY, text + key->offset + 1, 0, false, key->offset};

    for (; token.text[token.size] != '"'; token.size++)
        if (token.text[token.size] == '\\') {
            token.has_escape = true;
            token.size++; /* what is escaped may be a quote */
        }
    return token;
}

static int compare_strings(const struct key *a, const struct key *b, const char *text)
{
    const struct attn_json_token a_token = token_of(a, text), b_token = token_of(b, text);

    return attn_json_compare(&a_token, &b_token);
}

/* Equal keys stay in the order of the text, so that the second one is reported. */
static int compare_keys(const void *a, const void *b, void *reader)
{
    const struct key *x = a, *y = b;
    int order;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    order = compare_strings(x, y, ((const struct attn_json_reader *)reader)->text);
    return order != 0 ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Drops the keys from FIRST on, after looking for two that are equal. */
static enum attn_status pop_keys(struct key_stack *stack, size_t first,
                                 struct attn_json_reader *reader, struct attn_error *err)
{
    struct key *keys = stack->keys;

    if (stack->count <= first)
        return ATTN_OK;
    qsort_r(keys + first, stack->count - first, sizeof *keys, compare_keys, reader);
    for (size_t i = first + 1; i < stack->count; i++) {
        struct attn_json_token token;

        if (keys[i].hash != keys[i - 1].hash ||
            compare_strings(&keys[i], &keys[i - 1], reader->text) != 0)
            continue;
        token = token_of(&keys[i], reader->text);
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has the key '%s' a second time at byte %zu, expected each key "
                              "once in an object",
                              attn_quote_string(reader->name).text,
                              attn_quote(token.text, token.size).text, token.offset);
    }
    stack->count = first;
    return ATTN_OK;
}

enum attn_status attn_json_check_keys(struct attn_json_reader reader, struct attn_error *err)
{
    struct key_stack stack = {0};
    struct attn_json_token token;
    enum attn_status status;

    if (reader.size > UINT32_MAX)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has %zu bytes, expected at most %u",
                              attn_quote_string(reader.name).text, reader.size, UINT32_MAX);
    do {
        status = attn_json_next(&reader, &token, err);
        if (status != ATTN_OK)
            break;
        if (token.type == ATTN_JSON_OBJECT_BEGIN)
            stack.first[reader.depth - 1] = stack.count;
        else if (token.type == ATTN_JSON_KEY)
            status = push_key(&stack, &token, err);
        else if (token.type == ATTN_JSON_OBJECT_END)
            status = pop_keys(&stack, stack.first[reader.depth], &reader, err);
    } while (status == ATTN_OK && token.type != ATTN_JSON_END);
    attn_free(stack.keys);
    return status;
}
