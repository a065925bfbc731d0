/*
 * fuzz_json.c - the strict JSON scanner.
 *
 * The check of the keys and a full pull agree, and on every key that comes twice; an accepted text
 * is refused without its last byte; its tokens, written out again, give the same tokens; members
 * and elements that are taken in one go are those that are pulled; strings unescape to UTF-8, in
 * place as well; the tree of an object has as many values as were pulled.
 */
#include "base/text/utf8.h"
#include "formats/json.h"
#include "formats/json_reader.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define NAME "fuzz.json"

/* What a pull over the whole text found. */
struct pulled {
    enum attn_status status;
    enum attn_json_type root;
    size_t n_value;           /* at any depth */
    bool fits_tree;           /* none of what json.h says no tree could hold */
    bool has_double;          /* a key is twice in one object */
    struct attn_buffer again; /* the tokens written out, without white space */
};

enum { MAX_KEY = 4096 }; /* of the objects that are open; inputs are shorter */

/* Every key seen, with the level of its object; a level that closes takes its keys away. */
struct seen {
    struct attn_json_token keys[MAX_KEY];
    int depths[MAX_KEY];
    size_t n;
};

/* Compares each key with all before it in its object. */
static void look_for_double(struct seen *seen, const struct attn_json_token *token, int depth,
                            struct pulled *pulled)
{
    while (seen->n > 0 && seen->depths[seen->n - 1] > depth)
        seen->n--;
    if (token->type != ATTN_JSON_KEY)
        return;
    for (size_t i = seen->n; i > 0 && seen->depths[i - 1] == depth; i--)
        pulled->has_double |= attn_json_compare(&seen->keys[i - 1], token) == 0;
    FUZZ_CHECK(seen->n < MAX_KEY);
    seen->keys[seen->n] = *token;
    seen->depths[seen->n++] = depth;
}

/* A token that is unescaped in a copy of its own text gives TEXT. */
static void check_in_place(const struct attn_json_token *token, const struct attn_buffer *text)
{
    struct attn_json_token own = *token;
    char *copy;

    if (!token->has_escape)
        return;
    copy = malloc(token->size);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, token->text, token->size);
    own.text = copy;
    FUZZ_CHECK(attn_json_unescape_to(&own, copy) == text->size);
    FUZZ_CHECK(memcmp(copy, text->data, text->size) == 0);
    free(copy);
}

/* Keys and strings: unescaped they are UTF-8, and all functions of json_reader.h agree on them. */
static void check_string(const struct attn_json_token *token, struct pulled *pulled)
{
    struct attn_buffer text = {0};
    const char *string;

    attn_json_unescape(token, &text);
    FUZZ_CHECK(!text.has_failed && text.size <= token->size);
    check_in_place(token, &text);
    FUZZ_CHECK(token->has_escape || text.size == token->size);
    FUZZ_CHECK(text.size == 0 || attn_utf8_valid_length(text.data, text.size) == text.size);
    FUZZ_CHECK(attn_json_compare(token, token) == 0);
    FUZZ_CHECK(attn_json_has_nul(token) ==
               (text.size > 0 && memchr(text.data, '\0', text.size) != NULL));
    string = attn_buffer_string(&text);
    FUZZ_CHECK(attn_json_equals(token, string) == !attn_json_has_nul(token));
    if (!attn_json_has_nul(token)) {
        struct attn_json_token plain = {token->type, string, text.size, false, 0};

        if (memchr(string, '\\', text.size) == NULL) {
            FUZZ_CHECK(attn_json_compare(token, &plain) == 0);
            FUZZ_CHECK(attn_json_hash(token) == attn_json_hash(&plain));
        }
    } else {
        pulled->fits_tree = false;
    }
    attn_buffer_release(&text);
}

/* A member that READER takes in one go is the one that comes next when it is pulled. */
static void check_taken(struct attn_json_reader reader)
{
    struct attn_json_reader pulled = reader;
    struct attn_json_token token;
    struct attn_buffer key = {0};
    char to[256];
    size_t size;
    uint32_t count;
    uint64_t value;

    if (!attn_json_read_count(&reader, to, sizeof to, &size, &count))
        return;
    FUZZ_CHECK(attn_json_next(&pulled, &token, NULL) == ATTN_OK && token.type == ATTN_JSON_KEY);
    attn_json_unescape(&token, &key);
    FUZZ_CHECK(key.size == size && (size == 0 || memcmp(key.data, to, size) == 0));
    FUZZ_CHECK(attn_json_next(&pulled, &token, NULL) == ATTN_OK && attn_json_uint(&token, &value) &&
               value == count);
    FUZZ_CHECK(pulled.offset == reader.offset && pulled.state == reader.state);
    attn_buffer_release(&key);
}

/* An element that READER skips in one go is a value. */
static void check_skipped(struct attn_json_reader reader)
{
    struct attn_json_reader skipped = reader;

    if (!attn_json_skip_strings(&reader))
        return;
    FUZZ_CHECK(attn_json_skip(&skipped, NULL) == ATTN_OK);
    FUZZ_CHECK(skipped.offset == reader.offset && skipped.state == reader.state);
}

static void write_again(const struct attn_json_token *token, bool needs_comma,
                        struct attn_buffer *again)
{
    const bool is_string = token->type == ATTN_JSON_KEY || token->type == ATTN_JSON_STRING;

    if (needs_comma)
        attn_buffer_append_char(again, ',');
    if (is_string)
        attn_buffer_append_char(again, '"');
    attn_buffer_append(again, token->text, token->size);
    if (is_string)
        attn_buffer_append_char(again, '"');
    if (token->type == ATTN_JSON_KEY)
        attn_buffer_append_char(again, ':');
}

static enum attn_status check_keys(const char *text, size_t size, struct attn_error *err)
{
    return attn_json_check_keys(attn_json_reader_init(text, size, NAME), NULL, err);
}

static struct pulled pull(const char *text, size_t size)
{
    struct attn_json_reader reader = attn_json_reader_init(text, size, NAME);
    struct attn_json_token token, last = {.type = ATTN_JSON_END};
    struct pulled pulled = {.fits_tree = true};
    static struct seen seen; /* too large to be poisoned on the stack each time */
    struct attn_error err = {0};

    seen.n = 0;
    while ((pulled.status = attn_json_next(&reader, &token, &err)) == ATTN_OK) {
        const bool is_close =
            token.type == ATTN_JSON_OBJECT_END || token.type == ATTN_JSON_ARRAY_END;
        const bool follows = last.type == ATTN_JSON_END || last.type == ATTN_JSON_KEY ||
                             last.type == ATTN_JSON_OBJECT_BEGIN ||
                             last.type == ATTN_JSON_ARRAY_BEGIN;

        FUZZ_CHECK(token.offset <= size && token.size <= size - token.offset);
        FUZZ_CHECK(token.text >= text && token.text + token.size <= text + size);
        FUZZ_CHECK(reader.depth >= 0 && reader.depth <= ATTN_JSON_MAX_DEPTH);
        FUZZ_CHECK(last.type == ATTN_JSON_END || token.offset >= last.offset + last.size);
        if (token.type == ATTN_JSON_END)
            break;
        if (last.type == ATTN_JSON_END)
            pulled.root = token.type;
        if (token.type == ATTN_JSON_KEY || token.type == ATTN_JSON_STRING)
            check_string(&token, &pulled);
        check_taken(reader);
        check_skipped(reader);
        look_for_double(&seen, &token, reader.depth, &pulled);
        if (token.type == ATTN_JSON_NUMBER &&
            (token.size > 63 || memchr(token.text, 'e', token.size) ||
             memchr(token.text, 'E', token.size)))
            pulled.fits_tree = false; /* it may or may not: the exponent decides */
        pulled.n_value += !is_close && token.type != ATTN_JSON_KEY;
        write_again(&token, !follows && !is_close, &pulled.again);
        last = token;
    }
    attn_fuzz_check_error(pulled.status, &err, FUZZ_BIT(ATTN_FORMAT));
    FUZZ_CHECK(pulled.status != ATTN_OK || reader.depth == 0);
    return pulled;
}

static size_t count_nodes(const struct attn_node *node)
{
    size_t n = 1;

    for (const struct attn_node *child = attn_node_first(node); child;
         child = attn_node_next(child))
        n += count_nodes(child);
    return n;
}

/* The same without its lists and objects: the members of the root, and no more. */
static void check_emptied(const struct attn_file *file, const struct attn_json *whole)
{
    static const char *const names[] = {"a", NULL};
    const struct attn_node *member = attn_node_first(attn_json_root(whole)), *emptied;
    struct attn_json *json = NULL;

    FUZZ_CHECK(attn_json_parse_named(file, names, &json, NULL) == ATTN_OK);
    emptied = attn_node_first(attn_json_root(json));
    for (; member != NULL; member = attn_node_next(member), emptied = attn_node_next(emptied)) {
        const bool is_kept = strcmp(attn_node_key(member), names[0]) == 0;

        FUZZ_CHECK(emptied != NULL && strcmp(attn_node_key(member), attn_node_key(emptied)) == 0);
        FUZZ_CHECK(count_nodes(emptied) == (is_kept ? count_nodes(member) : 1));
        FUZZ_CHECK(attn_node_is_object(member) == attn_node_is_object(emptied));
        FUZZ_CHECK(attn_node_is_array(member) == attn_node_is_array(emptied));
    }
    FUZZ_CHECK(emptied == NULL);
    attn_json_free(json);
}

/* The tree of a text that passed the check, or did not. */
static void check_tree(const uint8_t *data, size_t size, bool is_ok, const struct pulled *pulled)
{
    struct attn_file file = attn_fuzz_file(NAME, data, size);
    struct attn_json *json = NULL;
    struct attn_error err = {0};
    enum attn_status status = attn_json_parse(&file, &json, &err);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    FUZZ_CHECK((status == ATTN_OK) == (json != NULL));
    if (!is_ok || pulled->root != ATTN_JSON_OBJECT_BEGIN)
        FUZZ_CHECK(status == ATTN_FORMAT);
    else if (pulled->fits_tree)
        FUZZ_CHECK(status == ATTN_OK);
    if (status == ATTN_OK) {
        FUZZ_CHECK(count_nodes(attn_json_root(json)) == pulled->n_value);
        check_emptied(&file, json);
    }
    attn_json_free(json);
    attn_file_release(&file);
}

/* What holds for every accepted text. */
static void check_accepted(const char *text, size_t size, const struct pulled *pulled)
{
    struct attn_json_reader reader = attn_json_reader_init(text, size, NAME);
    struct attn_json_token token;
    struct attn_error err = {0};
    struct pulled again = pull(pulled->again.data, pulled->again.size);
    char *shorter = malloc(size);

    FUZZ_CHECK(attn_json_skip(&reader, &err) == ATTN_OK);
    FUZZ_CHECK(attn_json_next(&reader, &token, &err) == ATTN_OK && token.type == ATTN_JSON_END);

    FUZZ_CHECK(again.status == ATTN_OK && again.again.size == pulled->again.size);
    FUZZ_CHECK(memcmp(again.again.data, pulled->again.data, again.again.size) == 0);
    FUZZ_CHECK(check_keys(again.again.data, again.again.size, &err) == ATTN_OK);

    FUZZ_CHECK(shorter != NULL && size > 0);
    memcpy(shorter, text, size - 1);
    if (check_keys(shorter, size - 1, &err) == ATTN_OK)
        FUZZ_CHECK(strchr(" \t\r\n", text[size - 1]) != NULL || pulled->root == ATTN_JSON_NUMBER);
    free(shorter);
    attn_buffer_release(&again.again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct attn_error err = {0};
    enum attn_status status = check_keys(text, size, &err);
    struct pulled pulled = pull(text, size);

    attn_fuzz_check_error(status, &err, FUZZ_BIT(ATTN_FORMAT));
    if (status == ATTN_OK) {
        FUZZ_CHECK(pulled.status == ATTN_OK && !pulled.has_double);
        check_accepted(text, size, &pulled);
    } else if (pulled.status == ATTN_OK) {
        FUZZ_CHECK(pulled.has_double && strstr(err.message, "a second time") != NULL);
    }
    check_tree(data, size, status == ATTN_OK, &pulled);
    attn_buffer_release(&pulled.again);
    return 0;
}
