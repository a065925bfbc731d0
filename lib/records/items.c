/* items.c - see items.h. The record reader (input/record_internal.h) reads each item from a line of
 * JSON; a line of CSV is converted to JSON first. */
#include "records/items_internal.h"

#include "base/escape.h"
#include "base/fixed_text.h"
#include "base/given.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status_internal.h"
#include "input/record_internal.h"
#include "input/sequence.h"
#include "records/batch_lines.h"
#include "records/csv_reader.h"
#include "records/record_labels.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* The names of both texts of each pair. */
static const char *const pair_names[ATTN_N_ITEM_PAIR][2] = {
#define NAMES(id, number, first, second) [ATTN_ITEM_##id] = {first, second},
    ATTN_ITEM_PAIR_MAP(NAMES)
#undef NAMES
};

/* A text that an item points to. */
struct kept {
    struct kept *next;
    char text[];
};

/* An item and what it owns. */
struct made_item {
    struct attn_item item; /* comes first */
    struct attn_input inputs[ATTN_N_ITEM_PAIR][2];
    const char *images[2]; /* paths of the picture and of the corrupted one, which are also
                              labels */
    struct attn_record_store stores[ATTN_N_ITEM_PAIR]
                                   [2]; /* for the inputs; the first has id and source */
    struct attn_record_store baseline;
    struct kept *kept;              /* owns all */
    struct attn_item_place *places; /* [item.n_place] */
    struct attn_item_label *labels; /* [item.n_label] */
    size_t place_capacity, label_capacity;
    struct attn_sha256 read; /* all bytes of the input up to the item's end */
    uint64_t end;            /* of the item, in bytes of the input */
};

struct attn_items {
    struct attn_items_options options;
    char *path; /* owns; NULL: standard input, or bytes in memory */
    struct attn_batch_lines *lines;
    struct attn_batch_line line;
    struct attn_sha256 read;    /* all bytes of lines that were read */
    struct attn_csv_reader csv; /* separator 0: JSON Lines */
    struct attn_buffer json;    /* a line of CSV as JSON */
    uint64_t from, limit;       /* items of the shard begin in these bytes */
    size_t n_read;              /* items of the whole input, so far */
    size_t line_number;         /* of the next line, from 1 */
    bool has_labels;
    char **labels; /* [n_label] owns */
    size_t n_label, label_capacity;
    struct attn_item **ahead; /* owns; [at_ahead, n_ahead) were read and not returned yet */
    size_t at_ahead, n_ahead, ahead_capacity;
};

/* --- Keys ------------------------------------------------------------------------------------- */

static const char corrupted_source[] = "corrupted_source";
static const char corrupted_source_ids[] = "corrupted_source_ids";
static const char baseline_text[] = "baseline_text";
static const char baseline_ids[] = "baseline_ids";
static const char *const image_names[2] = {"image", "corrupted_image"};

/* Keys that are not labels, places or inputs, and their kind in CSV. */
static const struct item_key {
    const char *name;
    enum attn_csv_kind kind;
    size_t text;          /* offset of a text in struct attn_item; 0: not a text */
    bool takes_integers;  /* the text is a position, and may be an integer */
    size_t token, has_it; /* offsets of a token id in struct attn_item; 0: not an id */
} item_keys[] = {
    {"id", ATTN_CSV_INTEGER, 0, false, 0, 0},
    {"source", ATTN_CSV_TEXT, 0, false, 0, 0},
    {"source_ids", ATTN_CSV_LIST, 0, false, 0, 0},
    {corrupted_source, ATTN_CSV_TEXT, 0, false, 0, 0},
    {corrupted_source_ids, ATTN_CSV_LIST, 0, false, 0, 0},
    {baseline_text, ATTN_CSV_TEXT, 0, false, 0, 0},
    {baseline_ids, ATTN_CSV_LIST, 0, false, 0, 0},
    {"next", ATTN_CSV_TEXT, 0, false, 0, 0},
    {"pair", ATTN_CSV_TEXT, 0, false, 0, 0},
    {"types", ATTN_CSV_LIST, 0, false, 0, 0},
    {"key_mask", ATTN_CSV_LIST, 0, false, 0, 0},
#define TEXT_KEY(name, is_position)                                                                \
    {                                                                                              \
#name, ATTN_CSV_TEXT, offsetof(struct attn_item, name), is_position, 0, 0                  \
    }
    TEXT_KEY(target, false),
    TEXT_KEY(foil, false),
    TEXT_KEY(at, true),
    TEXT_KEY(from, true),
    TEXT_KEY(to, true),
    TEXT_KEY(queries, true),
#undef TEXT_KEY
    {"target_id", ATTN_CSV_VALUE, 0, false, offsetof(struct attn_item, target_id),
     offsetof(struct attn_item, has_target_id)},
    {"foil_id", ATTN_CSV_VALUE, 0, false, offsetof(struct attn_item, foil_id),
     offsetof(struct attn_item, has_foil_id)},
};

enum { N_ITEM_KEY = sizeof item_keys / sizeof *item_keys };

static const char place_prefix[] = "pos.";

/* Whether NAME is an input: number *i of *pair, as ids or as a text. */
static bool find_input(const char *name, size_t *pair, size_t *i, bool *are_ids)
{
    static const char prefix[] = "sentence_"; /* of BLiMP's files */
    const char *rest = name + sizeof prefix - 1;

    if (strncmp(name, prefix, sizeof prefix - 1) == 0 &&
        (strcmp(rest, "good") == 0 || strcmp(rest, "bad") == 0))
        name = rest;
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        for (size_t k = 0; k < 2 && pair_names[p][k]; k++) {
            const size_t n = strlen(pair_names[p][k]);

            *pair = p;
            *i = k;
            *are_ids = p == ATTN_ITEM_SINGLE ? strcmp(name, "ids") == 0
                                             : strncmp(name, pair_names[p][k], n) == 0 &&
                                                   strcmp(name + n, "_ids") == 0;
            if (*are_ids || strcmp(name, pair_names[p][k]) == 0)
                return true;
        }
    return false;
}

static const struct item_key *find_key(const char *name)
{
    for (size_t i = 0; i < N_ITEM_KEY; i++)
        if (strcmp(name, item_keys[i].name) == 0)
            return &item_keys[i];
    return NULL;
}

/* Whether NAME is a picture: number *i. */
static bool find_image(const char *name, size_t *i)
{
    for (*i = 0; *i < 2; ++*i)
        if (strcmp(name, image_names[*i]) == 0)
            return true;
    return false;
}

static bool is_place(const char *name)
{
    return strncmp(name, place_prefix, sizeof place_prefix - 1) == 0;
}

/* --- Values ----------------------------------------------------------------------------------- */

/* Returns a terminated copy of a string or a number; NULL on failure. */
static const char *keep(struct made_item *made, const struct attn_json_token *token, size_t *size,
                        struct attn_error *err)
{
    struct kept *kept = attn_alloc_uninitialized(1, sizeof *kept + token->size + 1, err);

    if (!kept)
        return NULL;
    kept->next = made->kept;
    made->kept = kept;
    *size = attn_json_unescape_to(token, kept->text);
    kept->text[*size] = '\0';
    return kept->text;
}

/* Reads the value of NAME as a terminated text. If it is not a text, the record fails and *text is
 * unchanged. */
static enum attn_status take_text(struct made_item *made, struct attn_record_reading *reading,
                                  const char *name, const struct attn_json_token *value,
                                  const char **text, struct attn_error *err)
{
    size_t size;

    if (value->type != ATTN_JSON_STRING || attn_json_has_nul(value))
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, name, value,
                                  value->type == ATTN_JSON_STRING ? "a text without NUL" : "a text",
                                  err);
    *text = keep(made, value, &size, err);
    return *text ? ATTN_OK : ATTN_NO_MEMORY;
}

/* Reads a position, which may be an integer, in the same way. */
static enum attn_status take_position(struct made_item *made, struct attn_record_reading *reading,
                                      const char *name, const struct attn_json_token *value,
                                      const char **text, struct attn_error *err)
{
    size_t size;

    if (value->type == ATTN_JSON_STRING)
        return take_text(made, reading, name, value, text, err);
    if (!attn_record_is_integer(value))
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, name, value,
                                  "a position or a word", err);
    *text = keep(made, value, &size, err);
    return *text ? ATTN_OK : ATTN_NO_MEMORY;
}

static enum attn_status take_token(struct attn_item *item, struct attn_record_reading *reading,
                                   const struct item_key *key, const struct attn_json_token *value,
                                   struct attn_error *err)
{
    int64_t id;

    if (!attn_record_is_integer(value) ||
        !attn_parse_int(value->text, value->size, 0, INT32_MAX, &id))
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, key->name, value,
                                  "a whole number from 0 to 2147483647", err);
    *(int32_t *)((char *)item + key->token) = (int32_t)id;
    *(bool *)((char *)item + key->has_it) = true;
    return ATTN_OK;
}

static enum attn_status take_place(struct made_item *made, struct attn_record_reading *reading,
                                   const char *name, const struct attn_json_token *value,
                                   struct attn_error *err)
{
    struct attn_item_place place = {.name = name + sizeof place_prefix - 1, .spec = NULL};

    if (!*place.name)
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, name, value,
                                  "a name after the point", err);
    ATTN_TRY(take_position(made, reading, name, value, &place.spec, err));
    if (!place.spec)
        return ATTN_OK;
    ATTN_TRY(attn_grow(&made->places, &made->place_capacity, made->item.n_place + 1,
                       sizeof *made->places, err));
    made->places[made->item.n_place++] = place;
    return ATTN_OK;
}

static enum attn_status take_label(struct made_item *made, struct attn_record_reading *reading,
                                   const char *name, const struct attn_json_token *value,
                                   struct attn_error *err)
{
    const enum attn_json_type type = value->type;
    struct attn_item_label label = {.name = name};
    size_t size;

    if (type == ATTN_JSON_TRUE || type == ATTN_JSON_FALSE)
        label.value = attn_cell_boolean(type == ATTN_JSON_TRUE);
    else if (type != ATTN_JSON_STRING && !attn_label_read_number(value, &label.value))
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, name, value,
                                  "a text, a number or a boolean", err);
    label.text = keep(made, value, &size, err);
    if (!label.text)
        return ATTN_NO_MEMORY;
    if (type == ATTN_JSON_STRING)
        label.value = attn_cell_text(label.text, size);
    ATTN_TRY(attn_grow(&made->labels, &made->label_capacity, made->item.n_label + 1,
                       sizeof *made->labels, err));
    made->labels[made->item.n_label++] = label;
    return ATTN_OK;
}

/* Reads a label that is also the path of picture number I if the item has no other input. */
static enum attn_status take_image(struct made_item *made, struct attn_record_reading *reading,
                                   size_t i, const struct attn_json_token *value,
                                   struct attn_error *err)
{
    ATTN_TRY(take_label(made, reading, image_names[i], value, err));
    if (value->type == ATTN_JSON_STRING && !attn_json_has_nul(value))
        made->images[i] = made->labels[made->item.n_label - 1].text;
    return ATTN_OK;
}

/* Reads the list VALUE as words. */
static enum attn_status take_words(struct made_item *made, struct attn_record_reading *reading,
                                   const char *name, struct attn_word_texts *words,
                                   struct attn_error *err)
{
    struct attn_buffer list = {0};
    struct attn_json_token word = {.type = ATTN_JSON_NULL};
    enum attn_status status;
    struct kept *kept;

    while ((status = attn_json_next(&reading->reader, &word, err)) == ATTN_OK) {
        if (word.type != ATTN_JSON_STRING || attn_json_has_nul(&word))
            break;
        attn_json_unescape(&word, &list);
        attn_buffer_append_char(&list, '\0');
        words->n++;
    }
    if (status == ATTN_OK && word.type != ATTN_JSON_ARRAY_END)
        status = attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, name, &word,
                                    "a list of words without NUL", err);
    if (status == ATTN_OK)
        status = attn_buffer_check(&list, err);
    kept = status == ATTN_OK ? attn_alloc_uninitialized(1, sizeof *kept + list.size, err) : NULL;
    if (kept) {
        kept->next = made->kept;
        made->kept = kept;
        words->text = list.size > 0 ? memcpy(kept->text, list.data, list.size) : "";
    } else if (status == ATTN_OK) {
        status = ATTN_NO_MEMORY;
    }
    attn_buffer_release(&list);
    return status;
}

/* The `take` function of struct attn_record_keys: reads the keys that plain records lack. */
static enum attn_status take(void *user, struct attn_record_reading *reading,
                             const struct attn_json_token *key, const struct attn_json_token *value,
                             struct attn_error *err)
{
    struct made_item *made = user;
    const struct item_key *known;
    size_t size, pair, i;
    const char *name;
    bool are_ids;

    name = keep(made, key, &size, err);
    if (!name)
        return ATTN_NO_MEMORY;
    if (strlen(name) < size || size == 0)
        return attn_record_refuse(reading, ATTN_RECORD_FAILURE_BAD_VALUE, name, key,
                                  "names of keys without NUL that are not empty", err);
    if (find_input(name, &pair, &i, &are_ids))
        return (are_ids ? attn_record_take_ids : attn_record_take_text)(
            reading, name, value, &made->stores[pair][i], &made->inputs[pair][i], err);
    if (is_place(name))
        return take_place(made, reading, name, value, err);
    if (value->type == ATTN_JSON_ARRAY_BEGIN && strcmp(name, "words") == 0)
        return take_words(made, reading, name, &made->item.words, err);
    if (value->type == ATTN_JSON_ARRAY_BEGIN && strcmp(name, "source_words") == 0)
        return take_words(made, reading, name, &made->item.source_words, err);
    known = find_key(name);
    if (find_image(name, &i))
        return take_image(made, reading, i, value, err);
    if (!known)
        return take_label(made, reading, name, value, err);
    if (known->name == corrupted_source)
        return attn_record_take_source(reading, name, value,
                                       &made->stores[ATTN_ITEM_CLEAN_CORRUPTED][1],
                                       &made->item.corrupted_source, err);
    if (known->name == corrupted_source_ids)
        return attn_record_take_source_ids(reading, name, value,
                                           &made->stores[ATTN_ITEM_CLEAN_CORRUPTED][1],
                                           &made->item.corrupted_source, err);
    if (known->name == baseline_text || known->name == baseline_ids)
        return (known->name == baseline_ids ? attn_record_take_ids : attn_record_take_text)(
            reading, name, value, &made->baseline, &made->item.baseline, err);
    if (known->token > 0)
        return take_token(&made->item, reading, known, value, err);
    return (known->takes_integers ? take_position : take_text)(
        made, reading, name, value, (const char **)((char *)made + known->text), err);
}

/* --- Inputs ----------------------------------------------------------------------------------- */

/* Marks the item as failed, with a formatted message. */
ATTN_PRINTF(3, 4)
static void fail(struct attn_item *item, enum attn_record_failure failure, const char *format, ...)
{
    char message[ATTN_ERROR_MESSAGE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    item->record.failure = failure;
    item->record.err = (struct attn_error){.stage = ATTN_STAGE_INPUT};
    attn_error_set(&item->record.err, ATTN_INVALID, "line %zu: %s", item->line, message);
}

static bool is_there(const struct attn_input *input)
{
    return input->text || input->ids || input->image || input->embeddings || input->pixels;
}

/* Makes pair P the input of the item, which has at least one half of it. */
static void choose_pair(struct made_item *made, size_t p)
{
    struct attn_item *item = &made->item;

    item->pair = (enum attn_item_pair)p;
    item->record.input = made->inputs[p][0];
    item->other = made->inputs[p][1];
}

void attn_item_choose(struct attn_item *item, unsigned pairs)
{
    struct made_item *made = (struct made_item *)item;
    const char *const *given;
    char names[80] = "";
    size_t used = 0, found = ATTN_N_ITEM_PAIR;

    if (!item || item->record.failure != ATTN_RECORD_FAILURE_NONE)
        return;
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++) {
        const bool is_here = is_there(&made->inputs[p][0]) || is_there(&made->inputs[p][1]);

        if (!(pairs & 1U << p))
            continue;
        attn_fixed_text_append(names, sizeof names, &used, "%s'%s'", used > 0 ? " or " : "",
                               pair_names[p][0]);
        if (is_here && found < ATTN_N_ITEM_PAIR) {
            fail(item, ATTN_RECORD_FAILURE_NO_TEXT, "it has '%s' and '%s', expected one of them",
                 pair_names[found][0], pair_names[p][0]);
            return;
        }
        found = is_here ? p : found;
    }
    if (found == ATTN_N_ITEM_PAIR && pairs & ATTN_ITEM_SOURCE_ALONE &&
        attn_input_is_given(&item->record.source)) {
        made->inputs[ATTN_ITEM_SINGLE][0].text = "";
        found = ATTN_ITEM_SINGLE;
    }
    if (found == ATTN_N_ITEM_PAIR) {
        fail(item, ATTN_RECORD_FAILURE_NO_TEXT, "it has no %s", names);
        return;
    }
    given = made->inputs[found][0].image || made->inputs[found][1].image ? image_names
                                                                         : pair_names[found];
    for (size_t i = 0; i < 2 && pair_names[found][i]; i++)
        if (!is_there(&made->inputs[found][i]))
            fail(item, ATTN_RECORD_FAILURE_NO_TEXT, "it has '%s' and no '%s', expected both",
                 given[1 - i], given[i]);
    choose_pair(made, found);
}

/* Selects the first input that the item has, until attn_item_choose. Pictures are inputs of items
 * without a text, and all inputs share the second text, the types and the mask of keys. */
static void choose_first(struct made_item *made)
{
    struct attn_item *item = &made->item;
    size_t first = ATTN_N_ITEM_PAIR;
    bool has_text = item->record.input.text || item->record.input.ids;
    struct attn_input of_all;

    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        has_text = has_text || is_there(&made->inputs[p][0]) || is_there(&made->inputs[p][1]);
    if (!has_text) {
        item->record.input.image = made->inputs[ATTN_ITEM_CLEAN_CORRUPTED][0].image =
            made->images[0];
        made->inputs[ATTN_ITEM_CLEAN_CORRUPTED][1].image = made->images[1];
    }
    made->inputs[ATTN_ITEM_SINGLE][0] = of_all = item->record.input;
    item->corrupted_source.key_mask = item->record.source.key_mask;
    item->corrupted_source.n_key_mask = item->record.source.n_key_mask;
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        for (size_t i = 0; i < 2; i++) {
            struct attn_input *input = &made->inputs[p][i];

            if (!is_there(input))
                continue;
            first = first == ATTN_N_ITEM_PAIR ? p : first;
            input->pair = of_all.pair;
            input->n_pair = of_all.n_pair;
            input->types = of_all.types;
            input->n_type = of_all.n_type;
            input->key_mask = of_all.key_mask;
            input->n_key_mask = of_all.n_key_mask;
            if (item->record.failure == ATTN_RECORD_FAILURE_NONE && input->text && input->ids)
                fail(item, ATTN_RECORD_FAILURE_NO_TEXT,
                     "it has '%s' and '%s%s', expected one of "
                     "them",
                     pair_names[p][i], p == ATTN_ITEM_SINGLE ? "" : pair_names[p][i],
                     p == ATTN_ITEM_SINGLE ? "ids" : "_ids");
        }
    if (first < ATTN_N_ITEM_PAIR)
        choose_pair(made, first);
    else if (!attn_input_is_given(&item->record.source))
        attn_item_choose(item, (1U << ATTN_N_ITEM_PAIR) - 1);
    if (item->record.failure == ATTN_RECORD_FAILURE_NONE && item->corrupted_source.ids &&
        (item->corrupted_source.text || item->corrupted_source.embeddings))
        fail(item, ATTN_RECORD_FAILURE_BAD_SOURCE, "it has '%s' and '%s', expected one of them",
             corrupted_source, corrupted_source_ids);
}

/* Adds the bytes BEGIN to END of the text as the place NAME [n_name]. */
static enum attn_status add_mark(struct made_item *made, const char *name, size_t n_name,
                                 size_t begin, size_t end, struct attn_error *err)
{
    enum { RANGE_SIZE = 48 };
    struct kept *kept = attn_alloc(1, sizeof *kept + n_name + 1 + RANGE_SIZE, err);
    char *range;

    if (!kept)
        return ATTN_NO_MEMORY;
    kept->next = made->kept;
    made->kept = kept;
    memcpy(kept->text, name, n_name);
    range = kept->text + n_name + 1;
    snprintf(range, RANGE_SIZE, "\1%zu-%zu", begin, end);
    ATTN_TRY(attn_grow(&made->places, &made->place_capacity, made->item.n_place + 1,
                       sizeof *made->places, err));
    made->places[made->item.n_place++] = (struct attn_item_place){kept->text, range};
    return ATTN_OK;
}

/* Takes the marks out of TEXT [*n]; IS_FIRST: they become places. */
static enum attn_status take_marks(struct made_item *made, char *text, size_t *n, bool is_first,
                                   struct attn_error *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    struct attn_buffer name = {0}; /* of the open mark */
    enum attn_status status = ATTN_OK;
    size_t used = 0, begin = 0;

    for (size_t at = 0; status == ATTN_OK && at < *n; at++) {
        const size_t n_name = text[at] == '[' ? strspn(text + at + 1, letters) : 0;

        if (name.size == 0 && n_name > 0 && text[at + 1 + n_name] == ' ') {
            attn_buffer_append(&name, text + at + 1, n_name);
            at += n_name + 1;
            begin = used;
        } else if (name.size > 0 && text[at] == ']') {
            if (is_first)
                status = add_mark(made, name.data, name.size, begin, used, err);
            attn_buffer_reset(&name);
        } else {
            text[used++] = text[at];
        }
    }
    text[used] = '\0';
    *n = used;
    if (name.size > 0)
        fail(&made->item, ATTN_RECORD_FAILURE_BAD_TEXT, "its last mark has no ']'");
    status = status == ATTN_OK ? attn_buffer_check(&name, err) : status;
    attn_buffer_release(&name);
    return status;
}

/* --- An item ---------------------------------------------------------------------------------- */

void attn_item_free(struct attn_item *item)
{
    struct made_item *made = (struct made_item *)item;

    if (!made)
        return;
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        for (size_t i = 0; i < 2; i++)
            attn_record_store_release(&made->stores[p][i]);
    attn_record_store_release(&made->baseline);
    for (struct kept *kept = made->kept, *next; kept; kept = next) {
        next = kept->next;
        attn_free(kept);
    }
    attn_free(made->places);
    attn_free(made->labels);
    attn_free(made);
}

void attn_item_digest(const struct attn_item *item, char hex[ATTN_DIGEST_HEX_SIZE], uint64_t *end)
{
    const struct made_item *made = (const struct made_item *)item;

    attn_digest_hex(&made->read, hex);
    *end = made->end;
}

/* Returns the text of the current line without a byte order mark. */
static const char *text_of_line(const struct attn_items *items, size_t *size)
{
    static const char mark[] = "\xef\xbb\xbf";
    const struct attn_buffer *text = &items->line.text;
    const size_t n = sizeof mark - 1;
    const bool has_mark =
        items->line.begin == 0 && text->size >= n && memcmp(text->data, mark, n) == 0;

    *size = text->size - (has_mark ? n : 0);
    return text->size > 0 ? text->data + (has_mark ? n : 0) : "";
}

/* Whether each line is an item that is only a text. */
static bool are_texts(const struct attn_items *items)
{
    return items->options.form == ATTN_ITEMS_LINES || items->options.form == ATTN_ITEMS_TEXTS;
}

/* Makes the input of MADE's record the only one. */
static void choose_only(struct made_item *made)
{
    made->inputs[ATTN_ITEM_SINGLE][0] = made->item.record.input;
    choose_pair(made, ATTN_ITEM_SINGLE);
}

/* Reads the current line, which is a text, into MADE. */
static enum attn_status read_text(const struct attn_items *items, struct made_item *made,
                                  struct attn_error *err)
{
    struct attn_record_store *store = &made->stores[ATTN_ITEM_SINGLE][0];
    struct attn_record *record = &made->item.record;
    const struct attn_buffer *line = &items->line.text;
    struct attn_buffer *text = &store->text;
    size_t size;
    const char *object = text_of_line(items, &size);

    if (items->options.form == ATTN_ITEMS_LINES) {
        attn_buffer_append(text, line->data, line->size);
        if (text->size > 0 && text->data[text->size - 1] == '\r')
            text->size--;
        record->input.text = attn_buffer_string(text);
        record->input.n_text = text->size;
        choose_only(made);
        return attn_buffer_check(text, err);
    }
    ATTN_TRY(attn_record_read(object, size, NULL, store, record, err));
    if (record->failure != ATTN_RECORD_FAILURE_NONE)
        return attn_error_set(err, ATTN_FORMAT, "line %zu of '%s': %s", made->item.line,
                              attn_quote_string(attn_items_name(items)).text, record->err.message);
    record->source = (struct attn_input){.text = NULL}; /* one of the keys that are ignored */
    choose_only(made);
    return ATTN_OK;
}

static enum attn_status add_label(struct attn_items *items, const char *name,
                                  struct attn_error *err)
{
    ATTN_TRY(attn_grow(&items->labels, &items->label_capacity, items->n_label + 1,
                       sizeof *items->labels, err));
    items->labels[items->n_label] = attn_strndup(name, strlen(name), err);
    return items->labels[items->n_label] ? (items->n_label++, ATTN_OK) : ATTN_NO_MEMORY;
}

/* Checks that the first line of a pipe, or of a file of an unknown kind, may be JSON: TEXT. */
static enum attn_status check_first(const struct attn_items *items, const char *text, size_t size,
                                    struct attn_error *err)
{
    const char *name = items->path ? items->path : "";
    const size_t n = strlen(name);
    size_t at = 0;

    while (at < size && (text[at] == ' ' || text[at] == '\t'))
        at++;
    if (items->options.form != ATTN_ITEMS_BY_NAME || items->n_read > 1 || items->csv.separator ||
        (at < size && text[at] == '{') || (n >= 6 && strcmp(name + n - 6, ".jsonl") == 0))
        return ATTN_OK;
    attn_error_set(err, ATTN_FORMAT, "the first line of '%s' is '%s', expected an object of JSON",
                   attn_quote_string(attn_items_name(items)).text, attn_quote(text, size).text);
    attn_error_hint(err, "`form csv` reads CSV with a header, `form lines` a text a line");
    return ATTN_FORMAT;
}

/* Reads the current line into MADE. A malformed line is a failure of the item. The labels of the
 * first readable item name those of all items. */
static enum attn_status read_item(struct attn_items *items, struct made_item *made,
                                  struct attn_error *err)
{
    const struct attn_record_keys keys = {
        .has_next = true, .take = take, .user = made, .has_no_offsets = items->csv.separator};
    char bytes[ATTN_QUANTITY_SIZE], most[ATTN_QUANTITY_SIZE];
    struct attn_item *item = &made->item;
    struct attn_error why = {0};
    size_t size;
    const char *text = text_of_line(items, &size);

    if (items->line.is_too_long) {
        fail(item, ATTN_RECORD_FAILURE_LINE_TOO_LONG, "it has %s bytes, expected at most %s",
             attn_quantity_count(items->line.size, bytes),
             attn_quantity_count(items->options.max_line, most));
        return ATTN_OK;
    }
    if (are_texts(items))
        return read_text(items, made, err);
    ATTN_TRY(check_first(items, text, size, err));
    if (items->csv.separator) {
        attn_buffer_reset(&items->json);
        if (attn_csv_reader_append(&items->csv, text, size, &items->json, &why) != ATTN_OK) {
            fail(item, ATTN_RECORD_FAILURE_BAD_CSV, "%s", why.message);
            return why.status == ATTN_NO_MEMORY ? attn_error_copy(err, &why) : ATTN_OK;
        }
        text = items->json.data;
        size = items->json.size;
    }
    ATTN_TRY(attn_record_read(text, size, &keys, &made->stores[ATTN_ITEM_SINGLE][0], &item->record,
                              err));
    if (item->record.failure != ATTN_RECORD_FAILURE_NONE) {
        why = item->record.err;
        fail(item, item->record.failure, "%s", why.message);
    }
    for (size_t p = 0; items->options.has_marks && p < ATTN_N_ITEM_PAIR; p++)
        for (size_t i = 0; i < 2; i++) {
            struct attn_input *input = p == 0 ? &item->record.input : &made->inputs[p][i];

            if (input->text && p + i != 1 && item->record.failure == ATTN_RECORD_FAILURE_NONE)
                ATTN_TRY(
                    take_marks(made, made->stores[p][i].text.data, &input->n_text, i == 0, err));
        }
    choose_first(made);
    item->places = made->places;
    item->labels = made->labels;
    if (items->has_labels || item->record.failure == ATTN_RECORD_FAILURE_BAD_JSON)
        return ATTN_OK;
    items->has_labels = true;
    for (size_t i = 0; i < item->n_label; i++)
        ATTN_TRY(add_label(items, item->labels[i].name, err));
    return ATTN_OK;
}

const struct attn_item_label *attn_item_label(const struct attn_item *item, const char *name)
{
    for (size_t i = 0; i < item->n_label; i++)
        if (strcmp(item->labels[i].name, name) == 0)
            return &item->labels[i];
    return NULL;
}

const char *attn_item_list_labels(const struct attn_item *item, char *names, size_t size)
{
    size_t used = 0;

    snprintf(names, size, "none");
    for (size_t i = 0; i < item->n_label; i++)
        attn_fixed_text_append(names, size, &used, "%s%s", i > 0 ? ", " : "",
                               attn_quote_string(item->labels[i].name).text);
    return names;
}

const char *attn_item_place(const struct attn_item *item, const char *name)
{
    for (size_t i = 0; item && name && i < item->n_place; i++)
        if (strcmp(item->places[i].name, name) == 0)
            return item->places[i].spec;
    return NULL;
}

const char *const *attn_items_labels(const struct attn_items *items, size_t *n)
{
    if (n)
        *n = items ? items->n_label : 0;
    return items && items->n_label > 0 ? (const char *const *)items->labels : NULL;
}

bool attn_items_have_header(const struct attn_items *items)
{
    return items->csv.separator != 0;
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Reads the next line, or the next one that is not blank. *line is its number. */
static enum attn_status read_line(struct attn_items *items, size_t *line, bool *is_over,
                                  struct attn_error *err)
{
    const struct attn_stop stop = {.cancel = items->options.cancel};
    uint64_t begin, at;
    const char *text;
    size_t size;

    do {
        *is_over = true;
        attn_batch_lines_range(items->lines, &begin, &at);
        if (at >= items->limit)
            return ATTN_OK;
        ATTN_TRY(attn_batch_lines_next(items->lines, &items->line, is_over, err));
        if (attn_must_stop(&stop))
            return attn_report_stopped(err);
        *line = items->line_number;
        items->line_number += items->line.n_end;
        text = text_of_line(items, &size);
        while (size > 0 && (text[size - 1] == '\r' || text[size - 1] == ' '))
            size--;
    } while (!*is_over && size == 0 && !items->line.is_too_long && !are_texts(items));
    return ATTN_OK;
}

/* Makes the next item from an input in memory. */
static enum attn_status take_input(struct attn_items *items, struct attn_item **item,
                                   struct attn_error *err)
{
    const struct attn_items_options *options = &items->options;
    const struct attn_input *input;
    struct made_item *made;

    *item = NULL;
    if (items->n_read >= options->n_input || items->n_read >= items->limit)
        return ATTN_OK;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    input = &options->inputs[items->n_read];
    attn_sha256_update(&items->read, input->text, input->n_text);
    attn_sha256_update(&items->read, input->ids, input->n_id * sizeof *input->ids);
    made->item.record.number = items->n_read++;
    made->item.record.input = *input;
    made->item.line = made->end = items->n_read;
    made->read = items->read;
    choose_only(made);
    *item = &made->item;
    return ATTN_OK;
}

static enum attn_status read_next(struct attn_items *items, struct attn_item **item,
                                  struct attn_error *err)
{
    if (items->options.inputs)
        return take_input(items, item, err);
    for (;;) {
        struct made_item *made;
        enum attn_status status;
        size_t line;
        bool is_over, is_of_shard;

        ATTN_TRY(read_line(items, &line, &is_over, err));
        *item = NULL;
        if (is_over && items->n_read == 0 && are_texts(items))
            return attn_error_set(err, ATTN_INVALID,
                                  "'%s' has no lines, expected one text per line",
                                  attn_quote_string(attn_items_name(items)).text);
        if (is_over)
            return ATTN_OK;
        is_of_shard = items->line.begin >= items->from;
        if (!is_of_shard && items->has_labels) {
            items->n_read++;
            continue;
        }
        ATTN_TRY(ATTN_ALLOC(made, 1, err));
        made->item.record.number = items->n_read++;
        made->item.line = line;
        made->read = items->read;
        made->end = items->line.end;
        status = read_item(items, made, err);
        if (status == ATTN_OK && is_of_shard) {
            *item = &made->item;
            return ATTN_OK;
        }
        attn_item_free(&made->item);
        ATTN_TRY(status);
    }
}

enum attn_status attn_items_peek(struct attn_items *items, size_t i, struct attn_item **item,
                                 struct attn_error *err)
{
    while (items->n_ahead - items->at_ahead <= i) {
        struct attn_item *next = NULL;

        ATTN_TRY(attn_grow(&items->ahead, &items->ahead_capacity, items->n_ahead + 1,
                           sizeof *items->ahead, err));
        ATTN_TRY(attn_error_at(read_next(items, &next, err), ATTN_STAGE_INPUT, err));
        if (!next) {
            *item = NULL;
            return ATTN_OK;
        }
        items->ahead[items->n_ahead++] = next;
    }
    *item = items->ahead[items->at_ahead + i];
    return ATTN_OK;
}

/* Frees the items that were read ahead. */
static void forget_ahead(struct attn_items *items)
{
    while (items->at_ahead < items->n_ahead)
        attn_item_free(items->ahead[items->at_ahead++]);
    items->at_ahead = items->n_ahead = 0;
}

enum attn_status attn_items_next(struct attn_items *items, struct attn_item **item,
                                 struct attn_error *err)
{
    struct attn_error failure = {0}; /* a caller may have none */
    enum attn_status status;

    if (!attn_is_given(items, "items", err) || !attn_is_given(item, "item", err))
        return ATTN_INVALID;
    if (items->at_ahead < items->n_ahead) {
        *item = items->ahead[items->at_ahead++];
        if (items->at_ahead == items->n_ahead)
            items->at_ahead = items->n_ahead = 0;
        return ATTN_OK;
    }
    status = attn_error_at(read_next(items, item, &failure), ATTN_STAGE_INPUT, &failure);
    return status == ATTN_OK ? ATTN_OK : attn_error_copy(err, &failure);
}

/* --- The header ------------------------------------------------------------------------------- */

/* Whether NAME is a column of inputs; a source may be the only one. */
static bool is_input(const char *name)
{
    size_t pair, i;
    bool are_ids;

    return find_input(name, &pair, &i, &are_ids) || find_image(name, &i) ||
           strcmp(name, "source") == 0 || strcmp(name, "source_ids") == 0;
}

/* Chooses how the fields of each column are parsed. */
static enum attn_status take_columns(struct attn_items *items, struct attn_error *err)
{
    items->has_labels = true;
    for (size_t c = 0; c < items->csv.n_column; c++) {
        struct attn_csv_column *column = &items->csv.columns[c];
        const struct item_key *known = find_key(column->name);
        size_t pair, i;
        bool are_ids;

        column->kind = known ? known->kind : ATTN_CSV_VALUE;
        if (find_input(column->name, &pair, &i, &are_ids)) {
            column->kind = are_ids ? ATTN_CSV_LIST : ATTN_CSV_TEXT;
        } else if (find_image(column->name, &i)) {
            column->kind = ATTN_CSV_TEXT;
            ATTN_TRY(add_label(items, column->name, err));
        } else if (is_place(column->name)) {
            column->kind = ATTN_CSV_TEXT;
        } else if (!known) {
            ATTN_TRY(add_label(items, column->name, err));
        }
    }
    return ATTN_OK;
}

/* Parses the column names in TEXT, separated by SEPARATOR. *has_input: a column has inputs. */
static enum attn_status read_names(struct attn_items *items, const char *text, size_t size,
                                   char separator, bool *has_input, struct attn_error *err)
{
    attn_csv_reader_release(&items->csv);
    items->csv.separator = separator;
    *has_input = false;
    ATTN_TRY(attn_csv_reader_begin(&items->csv, text, size, err));
    for (size_t c = 0; c < items->csv.n_column && !*has_input; c++)
        *has_input = is_input(items->csv.columns[c].name);
    return ATTN_OK;
}

/* Parses the column names with the usual separator, or else with the first one that gives a column
 * of inputs. */
static enum attn_status find_names(struct attn_items *items, const char *text, size_t size,
                                   bool *has_input, struct attn_error *err)
{
    static const char others[] = ",;\t";
    const char usual = items->csv.separator;
    struct attn_error unseen;

    for (size_t i = 0; i <= strlen(others); i++) {
        const char separator = i == 0 ? usual : others[i - 1];
        const enum attn_status status =
            read_names(items, text, size, separator, has_input, &unseen);

        if (status == ATTN_NO_MEMORY)
            return attn_error_copy(err, &unseen);
        if (status == ATTN_OK && *has_input) {
            attn_batch_lines_set_separator(items->lines, separator);
            return ATTN_OK;
        }
    }
    return read_names(items, text, size, usual, has_input, err);
}

/* Returns the key that WORD [size] of the header probably means, or NULL. */
static const char *find_meant(const char *word, size_t size)
{
    static const char *const names[] = {"text", "ids", "image", "clean", "a", "good"};
    static const char other[] = "sentence";

    if (size == sizeof other - 1 && strncasecmp(word, other, size) == 0)
        return names[0];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && strncasecmp(word, names[i], size) == 0)
            return memcmp(word, names[i], size) == 0 ? NULL : names[i];
    return NULL;
}

/* Refuses the header TEXT, which has no inputs. The hint names a column that probably has them. */
static enum attn_status refuse_names(const struct attn_items *items, const char *text, size_t size,
                                     struct attn_error *err)
{
    const char *meant = NULL;
    size_t n;

    attn_error_set(err, ATTN_FORMAT,
                   "the first line of '%s' is '%s', expected a header with 'text', 'ids', "
                   "'image', 'clean', 'a' or 'good'",
                   attn_quote_string(attn_items_name(items)).text, attn_quote(text, size).text);
    for (size_t at = 0; at < size && !meant; at += n + 1) {
        for (n = 0; at + n < size && !strchr(",;\t\r\"", text[at + n]);)
            n++;
        meant = find_meant(text + at, n);
        if (meant)
            attn_error_hint(err, "rename the column '%s' to '%s'", attn_quote(text + at, n).text,
                            meant);
    }
    return ATTN_FORMAT;
}

static enum attn_status read_header(struct attn_items *items, struct attn_error *err)
{
    const struct attn_quote name = attn_quote_string(attn_items_name(items));
    struct attn_error why = {0};
    size_t line, size;
    const char *text;
    bool is_over, has_input;

    ATTN_TRY(read_line(items, &line, &is_over, err));
    if (is_over || items->line.is_too_long)
        return attn_error_set(err, ATTN_FORMAT, "'%s' has %s, expected a header of CSV", name.text,
                              is_over ? "no line" : "a first line that is too long");
    text = text_of_line(items, &size);
    if (find_names(items, text, size, &has_input, &why) != ATTN_OK) {
        if (why.status == ATTN_NO_MEMORY)
            return attn_error_copy(err, &why);
        attn_error_set(err, ATTN_FORMAT, "the header of '%s': %s", name.text, why.message);
        if (*why.hint)
            attn_error_hint(err, "%s", why.hint);
        return ATTN_FORMAT;
    }
    return has_input ? take_columns(items, err) : refuse_names(items, text, size, err);
}

enum attn_status attn_items_check_failures(const char *unit, uint64_t n_failed, uint64_t n,
                                           int64_t most, struct attn_error *err)
{
    if (most < 0 || n_failed <= (uint64_t)most)
        return ATTN_OK;
    attn_error_set(err, ATTN_INVALID,
                   "%" PRIu64 " of %" PRIu64 " %s failed, `max_failed` allows %" PRId64, n_failed,
                   n, unit, most);
    return attn_error_at(ATTN_INVALID, ATTN_STAGE_INPUT, err);
}

/* --- Opening ---------------------------------------------------------------------------------- */

const char *attn_items_name(const struct attn_items *items)
{
    return items ? attn_batch_lines_name(items->lines) : "";
}

bool attn_items_are_of_file(const struct attn_items *items, uint64_t *size)
{
    return attn_batch_lines_is_file(items->lines, size);
}

bool attn_items_are_of_path(const struct attn_items *items, const char *path)
{
    return attn_batch_lines_is_path(items->lines, path);
}

void attn_items_shard(const struct attn_items *items, size_t *shard, size_t *n)
{
    *shard = items ? items->options.shard : 0;
    *n = items ? items->options.n_shard : 0;
}

double attn_items_share(const struct attn_items *items)
{
    uint64_t size, begin, at;

    if (!items || !attn_batch_lines_is_file(items->lines, &size))
        return (double)NAN;
    attn_batch_lines_range(items->lines, &begin, &at);
    if (items->options.inputs) {
        at = items->n_read;
        size = items->options.n_input;
    }
    size = items->limit < size ? items->limit : size;
    if (at <= items->from)
        return 0;
    return at >= size ? 1 : (double)(at - items->from) / (double)(size - items->from);
}

char attn_items_separator_of(const char *path)
{
    const size_t n = strlen(path);

    if (n >= 4 && strcmp(path + n - 4, ".csv") == 0)
        return ',';
    return n >= 4 && strcmp(path + n - 4, ".tsv") == 0 ? '\t' : '\0';
}

/* Returns the usual separator of the form; 0 for JSON Lines. */
static char find_separator(const struct attn_items_options *options)
{
    if (options->form == ATTN_ITEMS_BY_NAME)
        return attn_items_separator_of(options->path ? options->path : "");
    return options->form == ATTN_ITEMS_CSV ? ',' : options->form == ATTN_ITEMS_TSV ? '\t' : '\0';
}

static enum attn_status cut_shard(struct attn_items *items, struct attn_error *err)
{
    const struct attn_items_options *options = &items->options;
    uint64_t size;
    const bool is_file = attn_batch_lines_is_file(items->lines, &size);

    if (options->inputs)
        size = options->n_input;
    if (options->n_shard == 0)
        return ATTN_OK;
    if (options->shard >= options->n_shard)
        attn_error_set(err, ATTN_INVALID, "shard is %zu of %zu, expected less", options->shard,
                       options->n_shard);
    else if (!is_file)
        attn_error_set(err, ATTN_INVALID,
                       "'%s' is no file that can be sought, as `n_shard` needs one",
                       attn_quote_string(attn_items_name(items)).text);
    if (options->shard >= options->n_shard || !is_file)
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    items->from = attn_batch_lines_share(size, options->shard, options->n_shard);
    items->n_read = options->inputs ? (size_t)items->from : 0;
    items->limit = attn_batch_lines_share(size, options->shard + 1, options->n_shard);
    return ATTN_OK;
}

static enum attn_status open_items(struct attn_items *items, struct attn_error *err)
{
    const struct attn_items_options *options = &items->options;
    const bool is_path = options->path && strcmp(options->path, "-") != 0 && !options->inputs;
    struct attn_batch_lines_options lines = {
        .path = options->inputs ? "inputs" : NULL,
        .data = options->inputs ? "" : options->data,
        .n_data = options->inputs ? 0 : options->n_data,
        .is_fasta = options->form == ATTN_ITEMS_FASTA,
        .may_be_fasta = options->form == ATTN_ITEMS_BY_NAME || options->form == ATTN_ITEMS_TEXTS,
        .separator = options->inputs ? '\0' : find_separator(options),
        .max_line = options->max_line > 0 ? options->max_line : ATTN_MAX_LINE,
        .stop = {.cancel = options->cancel},
        .read = &items->read,
    };

    if (is_path) {
        items->path = attn_strndup(options->path, strlen(options->path), err);
        if (!items->path)
            return ATTN_NO_MEMORY;
        lines.path = items->path;
    }
    items->options.max_line = lines.max_line;
    items->csv.separator = lines.separator;
    items->line_number = 1;
    items->limit = UINT64_MAX;
    attn_sha256_init(&items->read);
    ATTN_TRY(attn_batch_lines_open(&lines, &items->lines, err));
    if (items->csv.separator)
        ATTN_TRY(read_header(items, err));
    return cut_shard(items, err);
}

enum attn_status attn_items_open(const struct attn_items_options *given, struct attn_items **items,
                                 struct attn_error *err)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_error failure = {0};
    struct attn_items *made;
    enum attn_status status;

    if (!attn_is_given(given, "options", err) || !attn_is_given(items, "items", err))
        return ATTN_INVALID;
    ATTN_TRY(attn_error_at(attn_options_read(given, &options, err), ATTN_STAGE_OPTIONS, err));
    if (!attn_is_choice(options.form, ATTN_ITEMS_FASTA + 1, "form", err) ||
        (options.n_input > 0 && !attn_is_given(options.inputs, "inputs", err)))
        return ATTN_INVALID;
    ATTN_TRY(ATTN_ALLOC(made, 1, err));
    made->options = options;
    status = attn_error_at(open_items(made, &failure), ATTN_STAGE_INPUT, &failure);
    if (status == ATTN_OK) {
        *items = made;
        return ATTN_OK;
    }
    attn_items_free(made);
    return attn_error_copy(err, &failure);
}

enum attn_status attn_items_open_again(const struct attn_items *items, struct attn_items **again,
                                       struct attn_error *err)
{
    struct attn_items_options options = items->options;

    options.path = items->path;
    options.n_shard = 0;
    return attn_items_open(&options, again, err);
}

void attn_items_free(struct attn_items *items)
{
    if (!items)
        return;
    attn_batch_lines_free(items->lines);
    attn_batch_line_release(&items->line);
    attn_csv_reader_release(&items->csv);
    attn_buffer_release(&items->json);
    for (size_t i = 0; i < items->n_label; i++)
        attn_free(items->labels[i]);
    attn_free(items->labels);
    forget_ahead(items);
    attn_free(items->ahead);
    attn_free(items->path);
    attn_free(items);
}

enum attn_status attn_items_rewind(struct attn_items *items, struct attn_error *err)
{
    uint64_t size;
    size_t line;
    bool is_over;

    if (!attn_is_given(items, "items", err))
        return ATTN_INVALID;
    if (!attn_batch_lines_is_file(items->lines, &size)) {
        attn_error_set(err, ATTN_INVALID, "'%s' is read twice, expected a file",
                       attn_quote_string(attn_items_name(items)).text);
        return attn_error_at(ATTN_INVALID, ATTN_STAGE_OPTIONS, err);
    }
    forget_ahead(items);
    attn_batch_lines_rewind(items->lines);
    attn_sha256_init(&items->read);
    items->n_read = items->options.inputs ? (size_t)items->from : 0;
    items->line_number = 1;
    return items->csv.separator
               ? attn_error_at(read_line(items, &line, &is_over, err), ATTN_STAGE_INPUT, err)
               : ATTN_OK;
}
