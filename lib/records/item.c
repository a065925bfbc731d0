/* item.c - one item: see items.h. It is read from a line; then one of its inputs is selected. */
#include "base/escape.h"
#include "base/memory.h"
#include "base/status_internal.h"
#include "input/position.h"
#include "input/sequence.h"
#include "records/item_internal.h"
#include "records/record_reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const image_names[2] = {"image", "corrupted_image"};

/* The names of the two texts of each kind of pair. */
static const char *const pair_names[ATTN_N_ITEM_PAIR][2] = {
#define NAMES(id, number, first, second) [ATTN_ITEM_##id] = {first, second},
    ATTN_ITEM_PAIR_MAP(NAMES)
#undef NAMES
};

/* --- Inputs ----------------------------------------------------------------------------------- */

void attn_item_fail(struct attn_item *item, enum attn_record_failure failure, const char *format,
                    ...)
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

/* Selects pair P, of which the item has at least one text, as its input. */
static void choose_pair(struct attn_item_made *made, size_t p)
{
    struct attn_item *item = &made->item;

    item->pair = (enum attn_item_pair)p;
    item->record.input = made->inputs[p][0];
    item->other = made->inputs[p][1];
}

void attn_item_choose(struct attn_item *item, unsigned pairs)
{
    struct attn_item_made *made = (struct attn_item_made *)item;
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
            attn_item_fail(item, ATTN_RECORD_FAILURE_NO_TEXT,
                           "it has '%s' and '%s', expected one of them", pair_names[found][0],
                           pair_names[p][0]);
            return;
        }
        found = is_here ? p : found;
    }
    if (found == ATTN_N_ITEM_PAIR && pairs & ATTN_ITEM_BIT(SINGLE) &&
        (pairs & ATTN_ITEM_SOURCE_ALONE || made->has_empty_text) &&
        attn_input_is_given(&item->record.source)) {
        made->inputs[ATTN_ITEM_SINGLE][0].text = "";
        found = ATTN_ITEM_SINGLE;
    }
    if (found == ATTN_N_ITEM_PAIR) {
        attn_item_fail(item, ATTN_RECORD_FAILURE_NO_TEXT, "it has no %s", names);
        return;
    }
    given = made->inputs[found][0].image || made->inputs[found][1].image ? image_names
                                                                         : pair_names[found];
    for (size_t i = 0; i < 2 && pair_names[found][i]; i++)
        if (!is_there(&made->inputs[found][i]))
            attn_item_fail(item, ATTN_RECORD_FAILURE_NO_TEXT,
                           "it has '%s' and no '%s', expected both", given[1 - i], given[i]);
    choose_pair(made, found);
}

/* Selects the first input that the item has, until attn_item_choose is called. Pictures are inputs
 * of items without a text, and all inputs share the second text, the types and the mask of keys. */
static void choose_first(struct attn_item_made *made)
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
                attn_item_fail(item, ATTN_RECORD_FAILURE_NO_TEXT,
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
        attn_item_fail(item, ATTN_RECORD_FAILURE_BAD_SOURCE,
                       "it has 'corrupted_source_ids' and another one, expected one of them");
}

void attn_item_choose_only(struct attn_item_made *made)
{
    made->inputs[ATTN_ITEM_SINGLE][0] = made->item.record.input;
    choose_pair(made, ATTN_ITEM_SINGLE);
}

/* --- Marks ------------------------------------------------------------------------------------ */

/* Adds bytes BEGIN to END of the text as the place NAME [n_name]. */
static enum attn_status add_mark(struct attn_item_made *made, const char *name, size_t n_name,
                                 size_t begin, size_t end, struct attn_error *err)
{
    char range[48];
    const int n = snprintf(range, sizeof range, "\1%zu-%zu", begin, end);
    const char *kept_name = attn_record_store_copy(&made->store, name, n_name, err);
    const char *kept_range =
        kept_name ? attn_record_store_copy(&made->store, range, (size_t)n, err) : NULL;

    if (!kept_range)
        return ATTN_NO_MEMORY;
    ATTN_TRY(attn_grow(&made->places, &made->place_capacity, made->item.n_place + 1,
                       sizeof *made->places, err));
    made->places[made->item.n_place++] = (struct attn_item_place){kept_name, kept_range};
    return ATTN_OK;
}

/* Removes the marks from the text of INPUT. IS_FIRST: they become places. */
static enum attn_status take_marks(struct attn_item_made *made, struct attn_input *input,
                                   bool is_first, struct attn_error *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    struct attn_buffer name = {0}; /* name of the open mark */
    const size_t n = input->n_text;
    char *text = attn_record_store_copy(&made->store, input->text, n, err);
    enum attn_status status = text ? ATTN_OK : ATTN_NO_MEMORY;
    size_t used = 0, begin = 0;

    for (size_t at = 0; status == ATTN_OK && at < n; at++) {
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
    if (text)
        text[used] = '\0';
    input->text = text;
    input->n_text = used;
    if (name.size > 0)
        attn_item_fail(&made->item, ATTN_RECORD_FAILURE_BAD_TEXT, "its last mark has no ']'");
    status = status == ATTN_OK ? attn_buffer_check(&name, err) : status;
    attn_buffer_release(&name);
    return status;
}

/* Removes the marks from all texts. */
static enum attn_status take_all_marks(struct attn_item_made *made, struct attn_error *err)
{
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        for (size_t i = 0; i < 2; i++) {
            struct attn_input *input = p == 0 ? &made->item.record.input : &made->inputs[p][i];

            if (input->text && p + i != 1 && made->item.record.failure == ATTN_RECORD_FAILURE_NONE)
                ATTN_TRY(take_marks(made, input, i == 0, err));
        }
    return ATTN_OK;
}

/* --- An item ---------------------------------------------------------------------------------- */

enum attn_status attn_item_finish(struct attn_item_made *made, bool has_marks,
                                  struct attn_error *err)
{
    struct attn_item *item = &made->item;
    const struct attn_error why = item->record.err;

    if (item->record.failure != ATTN_RECORD_FAILURE_NONE)
        attn_item_fail(item, item->record.failure, "%s", why.message);
    if (has_marks)
        ATTN_TRY(take_all_marks(made, err));
    choose_first(made);
    item->places = made->places;
    item->labels = made->labels;
    return attn_labels_place(item->labels, item->n_label, &made->store, &made->keys, err);
}

enum attn_status attn_labels_place(const struct attn_item_label *labels, size_t n,
                                   struct attn_record_store *store, struct attn_places *places,
                                   struct attn_error *err)
{
    const size_t n_prefix = strlen(ATTN_PLACE_KEY);
    struct attn_item_place *made = NULL;

    if (n > 0 && !(made = attn_record_store_take(store, n * sizeof *made, err)))
        return ATTN_NO_MEMORY;
    places->items = made;
    places->n = 0;
    for (size_t i = 0; i < n; i++) {
        const size_t n_name = strlen(labels[i].name);
        char *name;

        if (!labels[i].text)
            continue;
        name = attn_record_store_take(store, n_prefix + n_name + 1, err);
        if (!name)
            return ATTN_NO_MEMORY;
        memcpy(name, ATTN_PLACE_KEY, n_prefix);
        memcpy(name + n_prefix, labels[i].name, n_name + 1);
        made[places->n++] = (struct attn_item_place){name, labels[i].text};
    }
    return ATTN_OK;
}

void attn_item_name_places(struct attn_item *item, const struct attn_places *others)
{
    struct attn_item_made *made = (struct attn_item_made *)item;

    made->keys.others = others;
    item->named = (struct attn_places){item->places, item->n_place, &made->keys};
    item->record.places = &item->named;
}

void attn_item_free(struct attn_item *item)
{
    struct attn_item_made *made = (struct attn_item_made *)item;

    if (!made)
        return;
    attn_record_store_release(&made->store);
    attn_free(made->places);
    attn_free(made->labels);
    attn_free(made);
}

void attn_item_digest(const struct attn_item *item, char hex[ATTN_DIGEST_HEX_SIZE], uint64_t *end)
{
    const struct attn_item_made *made = (const struct attn_item_made *)item;

    attn_digest_hex(&made->read, hex);
    *end = made->end;
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

bool attn_item_has(const struct attn_item *item, const char *keys)
{
    const struct attn_record_form form = {.reader = ATTN_KEY_OF_ITEMS};
    struct attn_record_key key;
    const void *const *field;

    for (size_t n; *keys; keys += n + (keys[n] == '|')) {
        n = strcspn(keys, "|");
        attn_record_find_key(&form, keys, n, &key);
        field = (const void *)((const char *)item + key.at);
        if (key.kind == ATTN_KEY_SOURCE || key.kind == ATTN_KEY_ROWS
                ? attn_input_is_given((const void *)field)
                : *field != NULL)
            return true;
    }
    return false;
}

const char *attn_item_place(const struct attn_item *item, const char *name)
{
    for (size_t i = 0; item && name && i < item->n_place; i++)
        if (strcmp(item->places[i].name, name) == 0)
            return item->places[i].spec;
    return NULL;
}
