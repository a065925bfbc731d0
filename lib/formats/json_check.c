/*
 * json_check.c - one pass over a JSON text: its grammar, and no key twice in one object.
 *
 * The keys of an object are sorted when it closes, by a hash and, where that is equal, by their
 * bytes. The hash only saves comparisons: keys that were made to collide cost O(n log n) as well,
 * which a hash table could promise only with a secret seed.
 */
#include "base/escape.h"
#include "base/memory.h"
#include "formats/json_reader.h"

#include <stdlib.h>

struct key {
    uint64_t hash;
    struct attn_json_token token;
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
    enum attn_status status =
        attn_grow(&stack->keys, &stack->capacity, stack->count + 1, sizeof(struct key), err);

    if (status != ATTN_OK)
        return status;
    ((struct key *)stack->keys)[stack->count++] = (struct key){attn_json_hash(token), *token};
    return ATTN_OK;
}

/* Equal keys stay in the order of the text, so that the second one is reported. */
static int compare_keys(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    int order;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    order = attn_json_compare(&x->token, &y->token);
    if (order != 0)
        return order;
    return (x->token.offset > y->token.offset) - (x->token.offset < y->token.offset);
}

/* Drops the keys from FIRST on, after looking for two that are equal. */
static enum attn_status pop_keys(struct key_stack *stack, size_t first, const char *name,
                                 struct attn_error *err)
{
    struct key *keys = stack->keys;

    if (stack->count <= first)
        return ATTN_OK;
    qsort(keys + first, stack->count - first, sizeof *keys, compare_keys);
    for (size_t i = first + 1; i < stack->count; i++) {
        struct attn_quote file, key;

        if (keys[i].hash != keys[i - 1].hash ||
            attn_json_compare(&keys[i].token, &keys[i - 1].token) != 0)
            continue;
        file = attn_quote_string(name);
        key = attn_quote(keys[i].token.text, keys[i].token.size);
        return attn_error_set(err, ATTN_FORMAT,
                              "'%s' has the key '%s' a second time at byte %zu, expected each key "
                              "once in an object",
                              file.text, key.text, keys[i].token.offset);
    }
    stack->count = first;
    return ATTN_OK;
}

enum attn_status attn_json_check_rest(struct attn_json_reader reader, struct attn_error *err)
{
    struct key_stack stack = {0};
    struct attn_json_token token;
    enum attn_status status;

    do {
        status = attn_json_next(&reader, &token, err);
        if (status != ATTN_OK)
            break;
        if (token.type == ATTN_JSON_OBJECT_BEGIN)
            stack.first[reader.depth - 1] = stack.count;
        else if (token.type == ATTN_JSON_KEY)
            status = push_key(&stack, &token, err);
        else if (token.type == ATTN_JSON_OBJECT_END)
            status = pop_keys(&stack, stack.first[reader.depth], reader.name, err);
    } while (status == ATTN_OK && token.type != ATTN_JSON_END);
    attn_free(stack.keys);
    return status;
}

enum attn_status attn_json_check(const char *text, size_t size, const char *name,
                                 struct attn_error *err)
{
    return attn_json_check_rest(attn_json_reader_init(text, size, name), err);
}
