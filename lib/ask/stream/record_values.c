/* record_values.c - reads the values of keys: see record_keys_internal.h. Lists are scanned twice:
 * first counted, then stored. */
#include "base/memory.h"
#include "base/status_internal.h"
#include "base/text/number.h"
#include "formats/ndarray.h"
#include "run/run_internal.h"
#include "sound/sound_internal.h"
#include "stream/items.h"
#include "stream/record_keys_internal.h"

#include <math.h>
#include <string.h>

/* --- Tokens ----------------------------------------------------------------------------------- */

/* Returns true if TEXT is an integer in JSON's grammar. */
static bool is_integer(const char *text, size_t size)
{
    const size_t sign = size > 0 && text[0] == '-';
    size_t n = sign;

    while (n < size && text[n] >= '0' && text[n] <= '9')
        n++;
    return n == size && n > sign && (text[sign] != '0' || n == sign + 1);
}

/* Returns the type that JSON would read for the unquoted TEXT; otherwise the type of a string. */
static enum attn_json_type find_type(const char *text, size_t size)
{
    enum { FINITE = 300 }; /* an integer with so many digits surely is a finite double */
    double value;

    if ((size <= FINITE && is_integer(text, size)) || attn_parse_double(text, size, &value))
        return ATTN_JSON_NUMBER;
    if (size == 4 && memcmp(text, "true", 4) == 0)
        return ATTN_JSON_TRUE;
    return size == 5 && memcmp(text, "false", 5) == 0 ? ATTN_JSON_FALSE : ATTN_JSON_STRING;
}

struct attn_record_value attn_record_field(const struct attn_record_key *key, const char *text,
                                           size_t size)
{
    struct attn_record_value value = {
        .token = {.type = ATTN_JSON_STRING, .text = text, .size = size}};

    if (key->kind == ATTN_KEY_INTEGERS)
        value.token.type = ATTN_JSON_ARRAY_BEGIN;
    else if (key->kind == ATTN_KEY_TOKEN || key->kind == ATTN_KEY_LABEL ||
             key->kind == ATTN_KEY_WORDS)
        value.token.type = find_type(text, size);
    else if (key->kind == ATTN_KEY_ID && is_integer(text, size))
        value.token.type = ATTN_JSON_NUMBER;
    return value;
}

/* Reads the next token of a list. */
static enum attn_status pull(struct attn_record_value *list, struct attn_json_token *token,
                             struct attn_error *err)
{
    const char *text = list->token.text;
    const size_t size = list->token.size;
    size_t begin;

    if (list->json)
        return attn_json_next(list->json, token, err);
    while (list->at < size && (text[list->at] == ' ' || text[list->at] == ','))
        list->at++;
    begin = list->at;
    while (list->at < size && text[list->at] != ' ' && text[list->at] != ',')
        list->at++;
    *token = (struct attn_json_token){.text = text + begin, .size = list->at - begin};
    token->type = list->at == begin                      ? ATTN_JSON_ARRAY_END
                  : is_integer(token->text, token->size) ? ATTN_JSON_NUMBER
                                                         : ATTN_JSON_STRING;
    return ATTN_OK;
}

/* Counts the tokens of type ITEM in the rest of LIST, and their bytes, without consuming them. */
static enum attn_status count(const struct attn_record_value *list, enum attn_json_type item,
                              size_t *n, size_t *n_byte, struct attn_error *err)
{
    struct attn_record_value copy = *list;
    struct attn_json_reader json;
    struct attn_json_token token;
    int depth = 1;

    if (list->json) {
        json = *list->json;
        copy.json = &json;
    }
    for (*n = *n_byte = 0; depth > 0;) {
        ATTN_TRY(pull(&copy, &token, err));
        depth += token.type == ATTN_JSON_ARRAY_BEGIN || token.type == ATTN_JSON_OBJECT_BEGIN;
        depth -= token.type == ATTN_JSON_ARRAY_END || token.type == ATTN_JSON_OBJECT_END;
        *n += token.type == item;
        *n_byte += token.type == item ? token.size : 0;
    }
    return ATTN_OK;
}

/* Returns true if TOKEN is a string without NUL. */
static bool is_plain(const struct attn_json_token *token)
{
    return token->type == ATTN_JSON_STRING && !attn_json_has_nul(token) &&
           !memchr(token->text, '\0', token->size);
}

/* Returns true if TOKEN is written as an integer, without fraction and exponent. */
static bool is_whole(const struct attn_json_token *token)
{
    return token->type == ATTN_JSON_NUMBER && is_integer(token->text, token->size);
}

static bool read_whole(const struct attn_json_token *token, int32_t *number)
{
    int64_t value;

    if (!is_whole(token) || !attn_parse_int(token->text, token->size, 0, INT32_MAX, &value))
        return false;
    *number = (int32_t)value;
    return true;
}

/* Reads TOKEN, a boolean or a finite number: as an integer, or as a real if it does not fit into 64
 * bits. Returns false for other tokens. */
static bool read_label_value(const struct attn_json_token *token, struct attn_cell *value)
{
    const bool is_boolean = token->type == ATTN_JSON_TRUE || token->type == ATTN_JSON_FALSE;
    int64_t integer;
    double real;

    if (is_boolean)
        *value = attn_cell_boolean(token->type == ATTN_JSON_TRUE);
    if (is_boolean || token->type != ATTN_JSON_NUMBER)
        return is_boolean;
    if (attn_parse_int(token->text, token->size, INT64_MIN, INT64_MAX, &integer)) {
        *value = attn_cell_integer(integer);
        return true;
    }
    if (!attn_parse_double(token->text, token->size, &real))
        return false;
    *value = attn_cell_real(real);
    return true;
}

/* --- Failures --------------------------------------------------------------------------------- */

static void refuse(struct attn_item *item, enum attn_reason failure, const char *name,
                   const struct attn_json_token *found, bool is_json, const char *expected)
{
    char place[40] = "";
    size_t used = 0;

    if (item->failure != ATTN_REASON_NONE)
        return;
    if (is_json)
        attn_fixed_text_append(place, sizeof place, &used, " at byte %zu", found->offset);
    item->failure = failure;
    attn_error_set(&item->err, ATTN_INVALID, "'%s' has '%s'%s, expected %s",
                   attn_quote_string(name).text, attn_quote(found->text, found->size).text, place,
                   expected);
}

void attn_record_refuse(struct attn_item *item, enum attn_reason failure, const char *name,
                        const struct attn_record_value *value, const char *expected)
{
    refuse(item, failure, name, &value->token, value->json != NULL, expected);
}

/* The state while a value is read. */
struct setting {
    struct attn_item *item;
    const struct attn_record_key *key;
    struct attn_record_value *value;
    void *at, *second; /* pointers to the fields */
};

/* Marks the record as failed because of the token FOUND. */
static enum attn_status fail(const struct setting *setting, const struct attn_json_token *found,
                             const char *expected)
{
    refuse(setting->item, setting->key->failure, setting->key->name, found,
           setting->value->json != NULL, expected);
    return ATTN_OK;
}

/* --- Texts ------------------------------------------------------------------------------------ */

const char *attn_record_keep(struct attn_item *item, const struct attn_json_token *token,
                             size_t *size, struct attn_error *err)
{
    char *text = attn_store_take(&item->store, token->size + 1, err);

    if (!text)
        return NULL;
    *size = attn_json_unescape_to(token, text);
    text[*size] = '\0';
    return text;
}

/* Returns a copy of the text of the value. */
static const char *keep(const struct setting *setting, size_t *size, struct attn_error *err)
{
    return attn_record_keep(setting->item, &setting->value->token, size, err);
}

static enum attn_status set_id(const struct setting *setting, struct attn_error *err)
{
    const struct attn_json_token *token = &setting->value->token;
    struct attn_item *item = setting->item;

    if (token->type != ATTN_JSON_STRING && !is_whole(token))
        return fail(setting, token, "a string or an integer");
    item->id = keep(setting, &item->n_id, err);
    item->id_kind = token->type == ATTN_JSON_STRING ? ATTN_RECORD_ID_TEXT : ATTN_RECORD_ID_INTEGER;
    return item->id ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status set_bytes(const struct setting *setting, struct attn_error *err)
{
    const char **text = setting->at;

    if (setting->value->token.type != ATTN_JSON_STRING)
        return fail(setting, &setting->value->token, "a string");
    return ATTN_NEW(*text, keep(setting, setting->second, err));
}

/* Sets *TEXT to a text without NUL or, if IS_POSITION, also to an integer. */
static enum attn_status set_text(const struct setting *setting, bool is_position, const char **text,
                                 struct attn_error *err)
{
    const struct attn_json_token *token = &setting->value->token;
    size_t size;

    if (!is_plain(token) && !(is_position && is_whole(token)))
        return fail(setting, token,
                    token->type == ATTN_JSON_STRING ? "a text without NUL"
                    : is_position                   ? "a position or a word"
                                                    : "a text");
    return ATTN_NEW(*text, keep(setting, &size, err));
}

/* --- Lists of an item ------------------------------------------------------------------------- */

static enum attn_status set_place(const struct setting *setting, struct attn_error *err)
{
    struct attn_item *item = setting->item;
    struct attn_item_place place = {.name = strchr(setting->key->name, '.') + 1};

    if (!*place.name)
        return fail(setting, &setting->value->token, "a name after the point");
    ATTN_TRY(set_text(setting, true, &place.spec.text, err));
    if (!place.spec.text)
        return ATTN_OK;
    ATTN_TRY(ATTN_GROW(item->places, item->place_capacity, item->n_place + 1, err));
    item->places[item->n_place++] = place;
    return ATTN_OK;
}

/* Appends a label. If the key is a PLAIN_LABEL, its text is also stored. A list or
 * an object under another key is ignored. */
static enum attn_status set_label(const struct setting *setting, struct attn_error *err)
{
    struct attn_item *item = setting->item;
    const struct attn_json_token *token = &setting->value->token;
    struct attn_item_label label = {.name = setting->key->name};
    size_t size;

    if (strncmp(label.name, "attn.", 5) == 0)
        return fail(setting, token, "another key: 'attn.' begins columns of later versions");
    if (setting->key->kind == ATTN_KEY_LABEL &&
        (token->type == ATTN_JSON_ARRAY_BEGIN || token->type == ATTN_JSON_OBJECT_BEGIN))
        return ATTN_OK;
    if (token->type != ATTN_JSON_STRING && !read_label_value(token, &label.value))
        return fail(setting, token, "a text, a number or a boolean");
    ATTN_TRY(ATTN_NEW(label.text, keep(setting, &size, err)));
    if (token->type == ATTN_JSON_STRING)
        label.value = attn_cell_text(label.text, size);
    ATTN_TRY(ATTN_GROW(item->labels, item->label_capacity, item->n_label + 1, err));
    item->labels[item->n_label++] = label;
    if (setting->key->kind == ATTN_KEY_PLAIN_LABEL && is_plain(token))
        *(const char **)setting->at = label.text;
    return ATTN_OK;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

static enum attn_status set_token(const struct setting *setting, struct attn_error *err)
{
    int32_t number, *kept;

    if (!read_whole(&setting->value->token, &number))
        return fail(setting, &setting->value->token, "a whole number from 0 to 2147483647");
    ATTN_TRY(ATTN_NEW(kept, attn_store_take(&setting->item->store, sizeof *kept, err)));
    *kept = number;
    *(const int32_t **)setting->at = kept;
    return ATTN_OK;
}

static enum attn_status set_integers(const struct setting *setting, struct attn_error *err)
{
    static const char expected[] = "a list of whole numbers from 0 to 2147483647";
    struct attn_json_token token = setting->value->token;
    size_t n, n_byte;
    int32_t *items;

    if (token.type != ATTN_JSON_ARRAY_BEGIN)
        return fail(setting, &token, expected);
    ATTN_TRY(count(setting->value, ATTN_JSON_NUMBER, &n, &n_byte, err));
    ATTN_TRY(ATTN_NEW(items, attn_store_take(&setting->item->store, n * sizeof *items, err)));
    for (size_t i = 0;; i++) {
        ATTN_TRY(pull(setting->value, &token, err));
        if (token.type == ATTN_JSON_ARRAY_END)
            break;
        if (!read_whole(&token, &items[i]))
            return fail(setting, &token, expected);
    }
    *(const int32_t **)setting->at = items;
    *(size_t *)setting->second = n;
    return ATTN_OK;
}

/* Reads the numbers of a row to ROW and advances *N. *IS_GOOD is false if TOKEN is not a number. */
static enum attn_status read_row(const struct setting *setting, float *row, size_t *n,
                                 struct attn_json_token *token, bool *is_good,
                                 struct attn_error *err)
{
    double value;

    for (;; ++*n) {
        ATTN_TRY(pull(setting->value, token, err));
        *is_good = token->type == ATTN_JSON_ARRAY_END;
        if (*is_good || token->type != ATTN_JSON_NUMBER ||
            !attn_parse_double(token->text, token->size, &value) || !isfinite((float)value))
            return ATTN_OK;
        row[*n] = (float)value;
    }
}

/* Sets the source to ROWS, whose data the store has. */
static enum attn_status put_rows(const struct setting *setting, const struct attn_ndarray *rows,
                                 struct attn_error *err)
{
    struct attn_input *input = setting->at;
    struct attn_ndarray *kept;

    ATTN_TRY(ATTN_NEW(kept, attn_store_take(&setting->item->store, sizeof *kept, err)));
    *kept = *rows;
    input->embeddings = kept;
    return ATTN_OK;
}

/* Reads a source: a text, or rows of numbers with equal lengths. */
static enum attn_status set_source(const struct setting *setting, struct attn_error *err)
{
    static const char expected[] = "a string, or rows of numbers that are equally long";
    struct attn_input *input = setting->at;
    struct attn_json_token token = setting->value->token, row;
    size_t n, n_byte, n_row = 0, width = 0, used = 0;
    float *rows;
    bool is_good = true;

    if (token.type == ATTN_JSON_STRING)
        return ATTN_NEW(input->text, keep(setting, &input->n_text, err));
    if (token.type != ATTN_JSON_ARRAY_BEGIN)
        return fail(setting, &token, expected);
    ATTN_TRY(count(setting->value, ATTN_JSON_NUMBER, &n, &n_byte, err));
    ATTN_TRY(ATTN_NEW(rows, attn_store_take(&setting->item->store, n * sizeof *rows, err)));
    for (;; n_row++) {
        const size_t before = used;

        ATTN_TRY(pull(setting->value, &token, err));
        if (token.type == ATTN_JSON_ARRAY_END)
            break;
        if (token.type != ATTN_JSON_ARRAY_BEGIN)
            return fail(setting, &token, expected);
        ATTN_TRY(read_row(setting, rows, &used, &row, &is_good, err));
        if (!is_good || (n_row > 0 && used - before != width))
            return fail(setting, is_good ? &token : &row, expected);
        width = used - before;
    }
    if (used == 0)
        return fail(setting, &setting->value->token, expected);
    return put_rows(
        setting,
        &(struct attn_ndarray){.name = "source", .rank = 2, .shape = {n_row, width}, .data = rows},
        err);
}

/* Reads the rows of a source, or a sound, from a file. */
static enum attn_status set_rows(const struct setting *setting, struct attn_error *err)
{
    struct attn_item *item = setting->item;
    struct attn_ndarray read = {.rank = 0}, kept;
    struct attn_error why = {0};
    const char *path = NULL;
    enum attn_status status;
    size_t n;
    float *rows;

    ATTN_TRY(set_text(setting, false, &path, err));
    if (!path)
        return ATTN_OK;
    status = attn_source_file_read(path, &read, &why);
    if (status != ATTN_OK) {
        if (why.status == ATTN_NO_MEMORY)
            return attn_error_copy(err, &why);
        if (item->failure == ATTN_REASON_NONE) {
            item->failure = setting->key->failure;
            item->err = why;
        }
        return ATTN_OK;
    }
    n = read.shape[0] * (read.rank == 1 ? 1 : read.shape[1]);
    rows = attn_store_take(&setting->item->store, n * sizeof *rows, err);
    if (rows)
        memcpy(rows, read.data, n * sizeof *rows);
    kept = (struct attn_ndarray){
        .name = path, .rank = read.rank, .shape = {read.shape[0], read.shape[1]}, .data = rows};
    attn_ndarray_release(&read);
    return rows ? put_rows(setting, &kept, err) : ATTN_NO_MEMORY;
}

/* --- Lists of texts --------------------------------------------------------------------------- */

/* Reads a string, or a list of at least LEAST strings, as N null-terminated strings at *TEXTS; NULL
 * if the record failed. */
static enum attn_status read_strings(const struct setting *setting, size_t least,
                                     const char *expected, const char **texts, size_t *n,
                                     struct attn_error *err)
{
    struct attn_json_token token = setting->value->token;
    const bool is_list = token.type == ATTN_JSON_ARRAY_BEGIN;
    size_t n_string = 1, n_byte = token.size, used = 0;
    char *to;

    if (is_list)
        ATTN_TRY(count(setting->value, ATTN_JSON_STRING, &n_string, &n_byte, err));
    ATTN_TRY(ATTN_NEW(to, attn_store_take(&setting->item->store, n_byte + n_string + 1, err)));
    *texts = NULL;
    for (*n = 0;; ++*n) {
        if (is_list)
            ATTN_TRY(pull(setting->value, &token, err));
        if (is_list ? token.type == ATTN_JSON_ARRAY_END && *n >= least : *n == 1)
            break;
        if (!is_plain(&token))
            return fail(setting, &token, expected);
        used += attn_json_unescape_to(&token, to + used);
        to[used++] = '\0';
    }
    to[used] = '\0';
    *texts = to;
    return ATTN_OK;
}

static const char expected_form[] = "a text or ids:5,17,3; text: in front makes it a text";

/* Reads a text or several. If LISTS is not NULL, those with the prefix ids: become *LISTS. */
static enum attn_status set_texts(const struct setting *setting,
                                  const struct attn_label_ids **lists, size_t *n_list,
                                  struct attn_error *err)
{
    static const struct attn_record_key ids = {.kind = ATTN_KEY_INTEGERS};
    struct attn_store **store = &setting->item->store;
    struct attn_label_ids *list = NULL;
    const char *text, **texts;
    size_t n, *n_text = setting->second;

    ATTN_TRY(read_strings(setting, 1, "a string or a list of strings, each without NUL", &text, &n,
                          err));
    if (!text)
        return ATTN_OK;
    ATTN_TRY(ATTN_NEW(texts, attn_store_take(store, n * sizeof *texts, err)));
    *(const char *const **)setting->at = texts;
    if (lists)
        ATTN_TRY(ATTN_STORE_ALLOC(store, list, n, err));
    if (lists)
        *lists = list, *n_list = 0;
    for (*n_text = 0; n > 0; n--, text += strlen(text) + 1) {
        struct attn_record_value value = attn_record_field(setting->key, text, strlen(text));
        struct setting one = {setting->item, setting->key, &value, NULL, NULL};
        const char *prefix = lists ? attn_input_prefix(text, value.token.size) : NULL;

        text += prefix ? strlen(prefix) : 0;
        if (!prefix || strcmp(prefix, "text:") == 0) {
            texts[(*n_text)++] = text;
            continue;
        }
        if (strcmp(prefix, "ids:") != 0)
            return fail(&one, &value.token, expected_form);
        value = attn_record_field(&ids, text, strlen(text));
        list->name = text;
        one.at = (void *)&list->ids, one.second = &list->n;
        ATTN_TRY(set_integers(&one, err));
        list++, ++*n_list;
    }
    return ATTN_OK;
}

/* Reads a list of words; values of other types are labels. */
static enum attn_status set_words(const struct setting *setting, struct attn_error *err)
{
    struct attn_word_texts *words = setting->at;
    struct attn_word_texts read;

    if (setting->value->token.type != ATTN_JSON_ARRAY_BEGIN)
        return set_label(setting, err);
    ATTN_TRY(read_strings(setting, 0, "a list of words without NUL", &read.text, &read.n, err));
    if (read.text)
        *words = read;
    return ATTN_OK;
}

/* Keeps a list as JSON, or an object if IS_OBJECT. */
static enum attn_status set_json(const struct setting *setting, bool is_object,
                                 struct attn_error *err)
{
    const struct attn_record_value *value = setting->value;
    struct attn_json_reader ahead;
    struct attn_json_token last;
    size_t size;
    char *kept;

    if (is_plain(&value->token) && value->token.size > 0 &&
        value->token.text[0] == (is_object ? '{' : '['))
        return set_text(setting, false, setting->at, err);
    if (value->token.type != (is_object ? ATTN_JSON_OBJECT_BEGIN : ATTN_JSON_ARRAY_BEGIN) ||
        !value->json)
        return fail(setting, &value->token,
                    is_object ? "an object"
                    : strncmp(setting->key->name, "tools", 5) == 0
                        ? "a list of functions"
                        : "a list of messages, or file:PATH");
    ahead = *value->json;
    do {
        ATTN_TRY(attn_json_next(&ahead, &last, err));
    } while (ahead.depth >= value->json->depth);
    size = ahead.offset - value->token.offset;
    ATTN_TRY(ATTN_NEW(kept, attn_store_take(&setting->item->store, size + 1, err)));
    memcpy(kept, ahead.text + value->token.offset, size);
    kept[size] = '\0';
    *(const char **)setting->at = kept;
    return ATTN_OK;
}

/* --- All -------------------------------------------------------------------------------------- */

/* Replaces *KEY by the row for what VALUE begins with, which is cut off, or for its type. Returns
 * false if the record fails. */
static bool choose_form(struct attn_item *item, struct attn_record_key *key,
                        struct attn_record_value *value)
{
    struct attn_json_token *token = &value->token, next;
    struct attn_record_key form, found;
    struct attn_json_reader ahead;
    bool has_ids = attn_record_find_form(key->name, key->n_name, "ids:", &form);
    const char *prefix =
        token->type == ATTN_JSON_STRING ? attn_input_prefix(token->text, token->size) : NULL;

    if (prefix) {
        if (attn_record_find_form(key->name, key->n_name, prefix, &found))
            *key = found;
        else if (!has_ids)
            return true;
        else if (strcmp(prefix, "text:") != 0) {
            attn_record_refuse(item, key->failure, key->name, value, expected_form);
            return false;
        }
        token->text += strlen(prefix);
        token->size -= strlen(prefix);
        if (key->kind == ATTN_KEY_INTEGERS || key->kind == ATTN_KEY_TOKEN)
            *value = attn_record_field(key, token->text, token->size);
        return true;
    }
    if (value->json && token->type == ATTN_JSON_ARRAY_BEGIN && has_ids &&
        form.kind == ATTN_KEY_INTEGERS) {
        ahead = *value->json;
        has_ids = attn_json_next(&ahead, &next, NULL) == ATTN_OK &&
                  (next.type == ATTN_JSON_NUMBER || key->kind != ATTN_KEY_SOURCE);
    } else {
        has_ids = has_ids && token->type == ATTN_JSON_NUMBER && form.kind == ATTN_KEY_TOKEN;
    }
    if (has_ids)
        *key = form;
    else if (key->form) /* a word, as on the command line */
        attn_record_refuse(item, key->failure, key->name, value, "text:TEXT or ids:5,17,3");
    return has_ids || !key->form;
}

enum attn_status attn_record_set(struct attn_item *item, const struct attn_record_key *named,
                                 struct attn_record_value *value, struct attn_error *err)
{
    char *home = named->traits & ATTN_KEY_IS_TEXT ? (char *)item->texts : (char *)item;
    struct attn_record_key key = *named;
    struct setting setting = {item, &key, value, NULL, NULL};

    if (!choose_form(item, &key, value))
        return ATTN_OK;
    setting.at = home + key.at;
    setting.second = home + key.second;
    switch (key.kind) {
    case ATTN_KEY_ID:
        return set_id(&setting, err);
    case ATTN_KEY_BYTES:
        return set_bytes(&setting, err);
    case ATTN_KEY_TEXT:
    case ATTN_KEY_POSITION:
        return set_text(&setting, key.kind == ATTN_KEY_POSITION, setting.at, err);
    case ATTN_KEY_PLACE:
        return set_place(&setting, err);
    case ATTN_KEY_TOKEN:
        return set_token(&setting, err);
    case ATTN_KEY_INTEGERS:
        return set_integers(&setting, err);
    case ATTN_KEY_SOURCE:
        return set_source(&setting, err);
    case ATTN_KEY_ROWS:
        return set_rows(&setting, err);
    case ATTN_KEY_TEXTS:
        return set_texts(&setting, NULL, NULL, err);
    case ATTN_KEY_CONTINUATIONS:
        return set_texts(&setting, &item->next_ids, &item->n_next_ids, err);
    case ATTN_KEY_WORDS:
        return set_words(&setting, err);
    case ATTN_KEY_MESSAGES:
        return set_json(&setting, false, err);
    case ATTN_KEY_OBJECT:
        return set_json(&setting, true, err);
    case ATTN_KEY_PLAIN_LABEL:
    case ATTN_KEY_LABEL:
        return set_label(&setting, err);
    }
    return ATTN_OK;
}
