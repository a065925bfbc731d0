/* record.c - see record.h and record_internal.h. The strict reader goes over the line twice: once
 * for its grammar and its keys, then to take what is wanted. No tree is made, so a line of a
 * million ids costs no more than its ids. */
#include "input/record_internal.h"

#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "formats/json_reader.h"
#include "input/sequence.h"

#include <math.h>
#include <string.h>

const char *attn_record_failure_code(enum attn_record_failure failure)
{
    static const char *const codes[ATTN_N_RECORD_FAILURE] = {
#define CODE(id, number, code) [ATTN_RECORD_FAILURE_##id] = (code),
        ATTN_RECORD_FAILURE_MAP(CODE)
#undef CODE
    };

    return (unsigned)failure < ATTN_N_RECORD_FAILURE ? codes[failure] : "";
}

enum { MEMBER_DEPTH = 1 }; /* of the reader before and after the value of a member */

/* Stores why the record fails, unless a reason is stored. */
static enum attn_status fail(struct attn_record_reading *reading, enum attn_record_failure failure,
                             const char *key, const struct attn_json_token *found,
                             const char *expected)
{
    struct attn_record *record = reading->record;

    if (record->failure != ATTN_RECORD_FAILURE_NONE)
        return ATTN_OK;
    record->failure = failure;
    if (reading->keys->has_no_offsets)
        attn_error_set(&record->err, ATTN_INVALID, "'%s' has '%s', expected %s",
                       attn_quote_string(key).text, attn_quote(found->text, found->size).text,
                       expected);
    else
        attn_error_set(&record->err, ATTN_INVALID, "'%s' has '%s' at byte %zu, expected %s",
                       attn_quote_string(key).text, attn_quote(found->text, found->size).text,
                       found->offset, expected);
    return ATTN_OK;
}

/* Skips the rest of the value of a member. The grammar was checked before. */
static enum attn_status skip_rest(struct attn_record_reading *reading, struct attn_error *err)
{
    struct attn_json_token next;

    while (reading->reader.depth > MEMBER_DEPTH)
        if (attn_json_next(&reading->reader, &next, err) != ATTN_OK)
            return err->status;
    return ATTN_OK;
}

enum attn_status attn_record_refuse(struct attn_record_reading *reading,
                                    enum attn_record_failure failure, const char *name,
                                    const struct attn_json_token *found, const char *expected,
                                    struct attn_error *err)
{
    fail(reading, failure, name, found, expected);
    return skip_rest(reading, err);
}

/* Copies a string to BUFFER. An empty string has an address, too. */
static enum attn_status take_string(const struct attn_json_token *token, struct attn_buffer *buffer,
                                    struct attn_error *err)
{
    attn_buffer_reset(buffer);
    attn_json_unescape(token, buffer);
    attn_buffer_string(buffer);
    return attn_buffer_check(buffer, err);
}

/* --- Values ---------------------------------------------------------------------------------- */

enum attn_status attn_record_take_text(struct attn_record_reading *reading, const char *name,
                                       const struct attn_json_token *value,
                                       struct attn_record_store *store, struct attn_input *input,
                                       struct attn_error *err)
{
    struct attn_buffer *text = &store->text;

    if (value->type != ATTN_JSON_STRING)
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_TEXT, name, value, "a string",
                                  err);
    if (take_string(value, text, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    input->text = text->data;
    input->n_text = text->size;
    return ATTN_OK;
}

bool attn_record_is_integer(const struct attn_json_token *value)
{
    return value->type == ATTN_JSON_NUMBER && !memchr(value->text, '.', value->size) &&
           !memchr(value->text, 'e', value->size) && !memchr(value->text, 'E', value->size);
}

static enum attn_status take_id(struct attn_record_reading *reading,
                                const struct attn_json_token *token, struct attn_error *err)
{
    struct attn_record *record = reading->record;
    struct attn_buffer *id = &reading->store->id;

    if (token->type != ATTN_JSON_STRING && !attn_record_is_integer(token))
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_JSON, reading->id_key, token,
                                  "a string or an integer", err);
    if (take_string(token, id, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    record->has = token->type == ATTN_JSON_STRING ? ATTN_RECORD_ID_TEXT : ATTN_RECORD_ID_INTEGER;
    record->id = id->data;
    record->n_id = id->size;
    return ATTN_OK;
}

/* Reads a list of integers >= 0. */
struct integer_list {
    const char *name;
    enum attn_record_failure failure;   /* when it is none */
    struct attn_record_integers *store; /* where they go */
    const int32_t **items;              /* and the fields that say so */
    size_t *n;
};

static enum attn_status take_integers(struct attn_record_reading *reading,
                                      const struct attn_json_token *value,
                                      const struct integer_list *list, struct attn_error *err)
{
    static const char expected[] = "a list of whole numbers from 0 to 2147483647";
    struct attn_record_integers *store = list->store;
    struct attn_json_token next = *value;

    if (value->type != ATTN_JSON_ARRAY_BEGIN)
        return attn_record_refuse(reading, list->failure, list->name, value, expected, err);
    for (size_t n = 0;; n++) {
        int64_t item;

        if (attn_json_next(&reading->reader, &next, err) != ATTN_OK ||
            attn_grow((void **)&store->items, &store->capacity, n + 1, sizeof *store->items, err) !=
                ATTN_OK)
            return err->status;
        *list->items = store->items;
        *list->n = n;
        if (next.type == ATTN_JSON_ARRAY_END)
            return ATTN_OK;
        if (!attn_record_is_integer(&next) ||
            !attn_parse_int(next.text, next.size, 0, INT32_MAX, &item))
            return attn_record_refuse(reading, list->failure, list->name, &next, expected, err);
        store->items[n] = (int32_t)item;
    }
}

enum attn_status attn_record_take_ids(struct attn_record_reading *reading, const char *name,
                                      const struct attn_json_token *value,
                                      struct attn_record_store *store, struct attn_input *input,
                                      struct attn_error *err)
{
    const struct integer_list list = {name, ATTN_RECORD_FAILURE_BAD_IDS, &store->ids, &input->ids,
                                      &input->n_id};

    return take_integers(reading, value, &list, err);
}

enum attn_status attn_record_take_source_ids(struct attn_record_reading *reading, const char *name,
                                             const struct attn_json_token *value,
                                             struct attn_record_store *store,
                                             struct attn_input *source, struct attn_error *err)
{
    const struct integer_list list = {name, ATTN_RECORD_FAILURE_BAD_SOURCE, &store->source_ids,
                                      &source->ids, &source->n_id};

    return take_integers(reading, value, &list, err);
}

/* --- What goes with a text -------------------------------------------------------------------- */

static enum attn_status take_pair(struct attn_record_reading *reading,
                                  const struct attn_json_token *value, struct attn_error *err)
{
    struct attn_buffer *pair = &reading->store->pair;

    if (value->type != ATTN_JSON_STRING)
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_TEXT, "pair", value, "a string",
                                  err);
    ATTN_TRY(take_string(value, pair, err));
    reading->record->input.pair = pair->data;
    reading->record->input.n_pair = pair->size;
    return ATTN_OK;
}

/* Reads the types of the tokens, or the mask of the keys. */
static enum attn_status take_marks(struct attn_record_reading *reading,
                                   const struct attn_json_token *value, bool are_types,
                                   struct attn_error *err)
{
    struct attn_input *input = &reading->record->input;
    struct attn_record_store *store = reading->store;
    const struct integer_list types = {"types", ATTN_RECORD_FAILURE_BAD_VALUE, &store->types,
                                       &input->types, &input->n_type};
    const struct integer_list key_mask = {"key_mask", ATTN_RECORD_FAILURE_BAD_VALUE,
                                          &store->key_mask, &input->key_mask, &input->n_key_mask};

    return take_integers(reading, value, are_types ? &types : &key_mask, err);
}

/* With a source, the mask is for its keys. */
static void place_key_mask(struct attn_record *record)
{
    struct attn_input *input = &record->input, *source = &record->source;

    if (!attn_input_is_given(source))
        return;
    source->key_mask = input->key_mask;
    source->n_key_mask = input->n_key_mask;
    input->key_mask = NULL;
    input->n_key_mask = 0;
}

/* The path of a picture. */
static enum attn_status take_image(struct attn_record_reading *reading,
                                   const struct attn_json_token *value, struct attn_error *err)
{
    struct attn_buffer *image = &reading->store->image;

    if (value->type != ATTN_JSON_STRING || attn_json_has_nul(value))
        return skip_rest(reading, err); /* of another meaning */
    if (take_string(value, image, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    reading->record->input.image = attn_buffer_string(image);
    return ATTN_OK;
}

/* --- A source -------------------------------------------------------------------------------- */

#define SOURCE_EXPECTED "a string, or rows of numbers that are equally long"

/* Appends the numbers of a row to the N numbers in STORE, and advances *n. *bad is the first token
 * that is not a number. */
static enum attn_status take_row(struct attn_record_reading *reading,
                                 struct attn_record_store *store, size_t *n,
                                 struct attn_json_token *bad, struct attn_error *err)
{
    struct attn_json_token next = {.type = ATTN_JSON_NULL};

    while (attn_json_next(&reading->reader, &next, err) == ATTN_OK) {
        double value;

        if (next.type == ATTN_JSON_ARRAY_END)
            return ATTN_OK;
        if (next.type != ATTN_JSON_NUMBER || !attn_parse_double(next.text, next.size, &value) ||
            !isfinite((float)value)) {
            *bad = next;
            return ATTN_OK;
        }
        if (attn_grow((void **)&store->rows, &store->rows_capacity, *n + 1, sizeof *store->rows,
                      err) != ATTN_OK)
            return err->status;
        store->rows[(*n)++] = (float)value;
    }
    return err->status;
}

static enum attn_status take_rows(struct attn_record_reading *reading, const char *name,
                                  const struct attn_json_token *token,
                                  struct attn_record_store *store, struct attn_input *input,
                                  struct attn_error *err)
{
    struct attn_json_token next = *token, bad = {.type = ATTN_JSON_END};
    size_t n_row = 0, n = 0, width = 0;

    for (;; n_row++) {
        const size_t before = n;

        if (attn_json_next(&reading->reader, &next, err) != ATTN_OK)
            return err->status;
        if (next.type == ATTN_JSON_ARRAY_END)
            break;
        if (next.type != ATTN_JSON_ARRAY_BEGIN)
            bad = next;
        else if (take_row(reading, store, &n, &bad, err) != ATTN_OK)
            return err->status;
        if (bad.type == ATTN_JSON_END && n_row > 0 && n - before != width)
            bad = next;
        width = n - before;
        if (bad.type == ATTN_JSON_END)
            continue;
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_SOURCE, name, &bad,
                                  SOURCE_EXPECTED, err);
    }
    if (n == 0)
        return fail(reading, ATTN_RECORD_FAILURE_BAD_SOURCE, name, token, SOURCE_EXPECTED);
    store->source_rows = (struct attn_ndarray){
        .name = "source", .rank = 2, .shape = {n_row, width}, .data = store->rows};
    input->embeddings = &store->source_rows;
    return ATTN_OK;
}

enum attn_status attn_record_take_source(struct attn_record_reading *reading, const char *name,
                                         const struct attn_json_token *value,
                                         struct attn_record_store *store, struct attn_input *input,
                                         struct attn_error *err)
{
    struct attn_buffer *source = &store->source;

    if (value->type == ATTN_JSON_ARRAY_BEGIN)
        return take_rows(reading, name, value, store, input, err);
    if (value->type != ATTN_JSON_STRING)
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_SOURCE, name, value,
                                  SOURCE_EXPECTED, err);
    if (take_string(value, source, err) != ATTN_OK)
        return ATTN_NO_MEMORY;
    input->text = source->data;
    input->n_text = source->size;
    return ATTN_OK;
}

/* --- Continuations --------------------------------------------------------------------------- */

#define NEXT_EXPECTED "a string or a list of strings, each without NUL"

/* Reads strings up to the end of the list, or TOKEN alone. *bad is the first token that is not a
 * string. */
static enum attn_status take_strings(struct attn_record_reading *reading,
                                     struct attn_json_token token, struct attn_json_token *bad,
                                     struct attn_error *err)
{
    const bool is_list = token.type == ATTN_JSON_ARRAY_BEGIN;
    struct attn_buffer *text = &reading->store->next_text;

    do {
        if (is_list)
            ATTN_TRY(attn_json_next(&reading->reader, &token, err));
        if (is_list && token.type == ATTN_JSON_ARRAY_END && reading->record->n_next > 0)
            break;
        if (token.type != ATTN_JSON_STRING || attn_json_has_nul(&token)) {
            *bad = token;
            break;
        }
        attn_json_unescape(&token, text);
        attn_buffer_append_char(text, '\0');
        reading->record->n_next++;
    } while (is_list);
    return attn_buffer_check(text, err);
}

static enum attn_status take_next(struct attn_record_reading *reading,
                                  const struct attn_json_token *token, struct attn_error *err)
{
    struct attn_record_store *store = reading->store;
    struct attn_record *record = reading->record;
    struct attn_json_token bad = {.type = ATTN_JSON_END};
    const char *at;

    attn_buffer_reset(&store->next_text);
    ATTN_TRY(take_strings(reading, *token, &bad, err));
    if (bad.type != ATTN_JSON_END) {
        record->n_next = 0;
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, "next", &bad,
                                  NEXT_EXPECTED, err);
    }
    ATTN_TRY(
        attn_grow(&store->next, &store->next_capacity, record->n_next, sizeof *store->next, err));
    at = store->next_text.data;
    for (size_t i = 0; i < record->n_next; i++, at += strlen(at) + 1)
        store->next[i] = at;
    record->next = store->next;
    return ATTN_OK;
}

/* --- The line -------------------------------------------------------------------------------- */

/* Reads or skips the value of KEY. */
static enum attn_status take_member(struct attn_record_reading *reading,
                                    const struct attn_json_token *key, struct attn_error *err)
{
    struct attn_json_token value;

    if (attn_json_next(&reading->reader, &value, err) != ATTN_OK)
        return err->status;
    if (reading->keys->see)
        ATTN_TRY(reading->keys->see(reading->keys->user, reading, key, &value, err));
    if (value.type == ATTN_JSON_NULL)
        return ATTN_OK;
    if (attn_json_equals(key, reading->text_key))
        return attn_record_take_text(reading, reading->text_key, &value, reading->store,
                                     &reading->record->input, err);
    if (attn_json_equals(key, reading->id_key))
        return take_id(reading, &value, err);
    if (attn_json_equals(key, "ids"))
        return attn_record_take_ids(reading, "ids", &value, reading->store, &reading->record->input,
                                    err);
    if (attn_json_equals(key, "source"))
        return attn_record_take_source(reading, "source", &value, reading->store,
                                       &reading->record->source, err);
    if (attn_json_equals(key, "source_ids"))
        return attn_record_take_source_ids(reading, "source_ids", &value, reading->store,
                                           &reading->record->source, err);
    if (attn_json_equals(key, "pair"))
        return take_pair(reading, &value, err);
    if (attn_json_equals(key, "types"))
        return take_marks(reading, &value, true, err);
    if (attn_json_equals(key, "key_mask"))
        return take_marks(reading, &value, false, err);
    if (!reading->keys->take && attn_json_equals(key, "image"))
        return take_image(reading, &value, err);
    if (reading->keys->has_next && attn_json_equals(key, "next"))
        return take_next(reading, &value, err);
    if (reading->keys->take)
        return reading->keys->take(reading->keys->user, reading, key, &value, err);
    return skip_rest(reading, err);
}

static void check_input(struct attn_record_reading *reading)
{
    struct attn_record *record = reading->record;
    const bool has_text = record->input.text, has_ids = record->input.ids;

    if (record->failure == ATTN_RECORD_FAILURE_NONE && record->source.ids &&
        (record->source.text || record->source.embeddings)) {
        record->failure = ATTN_RECORD_FAILURE_BAD_SOURCE;
        attn_error_set(&record->err, ATTN_INVALID,
                       "it has 'source' and 'source_ids', expected one of them");
    }
    if (has_text || has_ids)
        record->input.image = NULL;
    if (record->input.image)
        return;
    if (record->failure != ATTN_RECORD_FAILURE_NONE || has_text != has_ids || reading->keys->take)
        return;
    record->failure = ATTN_RECORD_FAILURE_NO_TEXT;
    attn_error_set(&record->err, ATTN_INVALID,
                   has_text ? "it has '%s' and 'ids', expected one of them"
                            : "it has no '%s' and no 'ids', expected one of them",
                   attn_quote_string(reading->text_key).text);
}

/* Checks that the line is one well-formed object; reports the first error. */
static enum attn_status check_line(struct attn_record_reading *reading, struct attn_error *err)
{
    struct attn_record *record = reading->record;
    struct attn_error why = {0};
    struct attn_json_token first = {.type = ATTN_JSON_END};
    struct attn_json_reader copy = reading->reader;
    enum attn_status status = attn_json_check_keys(copy, &why);

    if (status == ATTN_OK)
        status = attn_json_next(&copy, &first, &why);
    if (status == ATTN_NO_MEMORY)
        return attn_error_copy(err, &why);
    if (status == ATTN_OK && first.type == ATTN_JSON_OBJECT_BEGIN)
        return ATTN_OK;
    if (status == ATTN_OK)
        return fail(reading, ATTN_RECORD_FAILURE_BAD_JSON, "line", &first, "an object");
    record->failure = ATTN_RECORD_FAILURE_BAD_JSON;
    record->err = why;
    return ATTN_OK;
}

/* Reads the members of the object. */
static enum attn_status take_members(struct attn_record_reading *reading, struct attn_error *err)
{
    struct attn_json_token token;

    if (attn_json_next(&reading->reader, &token, err) != ATTN_OK)
        return err->status;
    while (attn_json_next(&reading->reader, &token, err) == ATTN_OK) {
        if (token.type != ATTN_JSON_KEY)
            return ATTN_OK;
        if (take_member(reading, &token, err) != ATTN_OK)
            return err->status;
    }
    return err->status;
}

enum attn_status attn_record_read(const char *line, size_t size,
                                  const struct attn_record_keys *keys,
                                  struct attn_record_store *store, struct attn_record *record,
                                  struct attn_error *err)
{
    static const struct attn_record_keys own = {.text = NULL};
    struct attn_record_reading reading = {
        .reader = attn_json_reader_init(size > 0 ? line : "", size, "line"),
        .store = store,
        .record = record,
        .keys = keys ? keys : &own,
        .text_key = keys && keys->text ? keys->text : "text",
        .id_key = keys && keys->id ? keys->id : "id",
    };
    struct attn_error failure = {0}; /* a caller may have none */
    enum attn_status status;

    *record = (struct attn_record){.number = record->number, .mine = record->mine};
    status = check_line(&reading, &failure);
    if (status == ATTN_OK && record->failure == ATTN_RECORD_FAILURE_NONE) {
        status = take_members(&reading, &failure);
        place_key_mask(record);
        check_input(&reading);
    }
    return status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}

void attn_record_store_release(struct attn_record_store *store)
{
    attn_buffer_release(&store->text);
    attn_buffer_release(&store->id);
    attn_buffer_release(&store->source);
    attn_buffer_release(&store->pair);
    attn_free(store->ids.items);
    attn_free(store->types.items);
    attn_free(store->key_mask.items);
    attn_free(store->source_ids.items);
    attn_buffer_release(&store->image);
    attn_free(store->rows);
    attn_buffer_release(&store->next_text);
    attn_free(store->next);
    *store = (struct attn_record_store){.rows = NULL};
}

size_t attn_record_n_byte(const struct attn_record *record)
{
    const struct attn_input *input = &record->input, *source = &record->source;
    size_t n_byte =
        record->n_id + input->n_text + input->n_pair + source->n_text +
        (input->n_id + input->n_type + input->n_key_mask + source->n_id + source->n_key_mask) *
            sizeof(int32_t);

    for (size_t i = 0; i < record->n_next; i++)
        n_byte += strlen(record->next[i]);
    return n_byte;
}
