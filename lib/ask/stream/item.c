/* item.c - completes an item that was read from a line, and finds its places and labels: see
 * items_internal.h. */
#include "base/memory.h"
#include "input/position.h"
#include "input/sequence.h"
#include "run/run_internal.h"
#include "stream/record_reader.h"

#include <stdio.h>
#include <string.h>

/* Adds bytes BEGIN to END of the text as the place NAME [n_name]. */
static enum attn_status add_mark(struct attn_item *item, const char *name, size_t n_name,
                                 size_t begin, size_t end, struct attn_error *err)
{
    char range[48];
    const int n = snprintf(range, sizeof range, "\1%zu-%zu", begin, end);
    const char *kept_name = attn_store_copy(&item->store, name, n_name, err);
    const char *kept_range =
        kept_name ? attn_store_copy(&item->store, range, (size_t)n, err) : NULL;

    if (!kept_range)
        return ATTN_NO_MEMORY;
    ATTN_TRY(ATTN_GROW(item->places, item->place_capacity, item->n_place + 1, err));
    item->places[item->n_place++] = (struct attn_item_place){kept_name, {.text = kept_range}};
    return ATTN_OK;
}

/* Removes the marks from the text of INPUT. IS_FIRST: they become places. */
static enum attn_status take_marks(struct attn_item *item, struct attn_input *input, bool is_first,
                                   struct attn_error *err)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    struct attn_buffer name = {0}; /* name of the open mark */
    const size_t n = input->n_text;
    char *text = attn_store_copy(&item->store, input->text, n, err);
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
                status = add_mark(item, name.data, name.size, begin, used, err);
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
        attn_item_fail(item, ATTN_REASON_BAD_TEXT, "its last mark has no ']'");
    status = status == ATTN_OK ? attn_buffer_check(&name, err) : status;
    attn_buffer_release(&name);
    return status;
}

static enum attn_status take_all_marks(struct attn_item *item, struct attn_error *err)
{
    for (size_t p = 0; p < ATTN_N_ITEM_PAIR; p++)
        for (size_t i = 0; i < 2; i++) {
            struct attn_input *input = p == 0 ? &item->input : &item->texts[2 * p + i];

            if (input->text && p + i != 1 && item->failure == ATTN_REASON_NONE)
                ATTN_TRY(take_marks(item, input, i == 0, err));
        }
    return ATTN_OK;
}

/* Makes `keys` of ITEM from its labels: places named as ATTN_PLACE_KEY says (input/position.h). */
static enum attn_status place_labels(struct attn_item *item, struct attn_error *err)
{
    const size_t n_prefix = strlen(ATTN_PLACE_KEY);
    struct attn_item_place *made = NULL;

    if (item->n_label > 0 &&
        !(made = attn_store_take(&item->store, item->n_label * sizeof *made, err)))
        return ATTN_NO_MEMORY;
    item->keys = (struct attn_places){.items = made};
    for (size_t i = 0; i < item->n_label; i++) {
        const struct attn_item_label *label = &item->labels[i];
        const size_t n_name = strlen(label->name);
        char *name;

        if (!label->text)
            continue;
        ATTN_TRY(ATTN_NEW(name, attn_store_take(&item->store, n_prefix + n_name + 1, err)));
        memcpy(name, ATTN_PLACE_KEY, n_prefix);
        memcpy(name + n_prefix, label->name, n_name + 1);
        made[item->keys.n++] = (struct attn_item_place){name, {.text = label->text}};
    }
    return ATTN_OK;
}

enum attn_status attn_item_finish(struct attn_item *item, bool has_marks, struct attn_error *err)
{
    const struct attn_error why = item->err;

    if (item->failure != ATTN_REASON_NONE)
        attn_item_fail(item, item->failure, "%s", why.message);
    if (has_marks)
        ATTN_TRY(take_all_marks(item, err));
    attn_item_choose_first(item);
    if (item->failure == ATTN_REASON_BAD_JSON)
        item->n_label = 0;
    return place_labels(item, err);
}

void attn_item_name_places(struct attn_item *item, const struct attn_places *others)
{
    item->keys.others = others;
    item->named =
        (struct attn_places){.items = item->places, .n = item->n_place, .others = &item->keys};
}

enum attn_reason attn_item_reason(const struct attn_error *why)
{
    return why->reason >= ATTN_REASON_BAD_JSON ? why->reason : ATTN_REASON_NO_FIT;
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

enum attn_status attn_item_sides_read(const char *name, const char *text,
                                      struct attn_item_sides *sides, struct attn_error *err)
{
    char *label = sides->label = attn_strndup(text, strlen(text), err), *a, *b;

    if (!label)
        return ATTN_NO_MEMORY;
    a = strchr(label, '=');
    b = a ? strchr(a + 1, ':') : NULL;
    if (b)
        *a++ = *b++ = '\0';
    if (!b || *label == '\0' || *a == '\0' || *b == '\0' || strcmp(a, b) == 0)
        return attn_error_set(err, ATTN_INVALID,
                              "`%s` is '%s', expected LABEL=A:B, a label and two of its values",
                              name, attn_quote_string(text).text);
    sides->sides[0] = a;
    sides->sides[1] = b;
    return ATTN_OK;
}

bool attn_item_has(const struct attn_item *item, const char *keys)
{
    struct attn_record_key key, form;
    const void *const *field;

    for (size_t n; *keys; keys += n + (keys[n] == '|')) {
        n = strcspn(keys, "|");
        attn_record_find_key(keys, n, &key);
        field = (const void *)((const char *)item + key.at);
        if (attn_record_find_form(keys, n, "ids:", &form) &&
            *(const void *const *)(const void *)((const char *)item + form.at))
            return true;
        if (key.kind == ATTN_KEY_SOURCE || key.kind == ATTN_KEY_ROWS
                ? attn_input_is_given((const void *)field)
            : key.kind == ATTN_KEY_POSITION ? attn_number_list_is_given((const void *)field)
                                            : *field != NULL)
            return true;
    }
    return false;
}

const struct attn_number_list *attn_item_place(const struct attn_item *item, const char *name)
{
    for (size_t i = 0; item && name && i < item->n_place; i++)
        if (strcmp(item->places[i].name, name) == 0)
            return &item->places[i].spec;
    return NULL;
}
