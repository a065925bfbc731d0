/* page_atlas.c - see page_internal.h: the cards of heads as the JSON object that atlas.js draws.
 *
 *     n_text, has_all      number of texts; false: the middle and the drawn ones are of a sample
 *     side, ranges         tokens of a pattern, and the names of distances
 *     kinds                [{letter, name, brief, words, hue}]
 *     heads                of each row of the table: {name, kind, bar, n, pattern, distances,
 * written, texts, is_cross}, or null. kind: index; null without one. pattern: a letter for each
 * cell, "A" to "_" for 0 to 1 by its square root, " " for masked; is_cross: keys are of the source
 *         written          [[key, [token, ...]], ...]
 *         texts            of each part (strongest, middle, drawn) [{text, value, query, key,
 * weights}]; weights: [key, thousandths, ...]
 *     texts                [{id, tokens, source}]
 */
#include "page/page_internal.h"

#include "base/memory.h"
#include "base/status_internal.h"
#include "figures/table_grid.h"
#include "measures/head_cards_internal.h"
#include "measures/head_kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_LEVEL = 64, /* letters for the weights of a pattern */
};

/* The texts that are shown in any card, sorted by their numbers. */
struct texts {
    const struct attn_card_text **items; /* [n] owns the array */
    size_t n;
};

static int by_number(const void *a, const void *b)
{
    const struct attn_card_text *x = *(const struct attn_card_text *const *)a;
    const struct attn_card_text *y = *(const struct attn_card_text *const *)b;

    return (x->number > y->number) - (x->number < y->number);
}

static enum attn_status list_texts(const struct attn_head_cards *cards, struct texts *texts,
                                   struct attn_error *err)
{
    size_t n = 0;

    ATTN_TRY(ATTN_ALLOC(texts->items, cards->n_head * ATTN_CARD_N_PART * ATTN_CARD_EACH, err));
    for (size_t i = 0; i < cards->n_head; i++)
        for (int part = 0; part < ATTN_CARD_N_PART; part++)
            for (size_t k = 0; k < cards->heads[i].n[part]; k++)
                texts->items[n++] = cards->heads[i].rows[part][k]->text;
    qsort(texts->items, n, sizeof *texts->items, by_number);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || texts->items[i] != texts->items[i - 1])
            texts->items[texts->n++] = texts->items[i];
    return ATTN_OK;
}

static size_t find_text(const struct texts *texts, const struct attn_card_text *text)
{
    const struct attn_card_text *const *found =
        bsearch(&text, texts->items, texts->n, sizeof *texts->items, by_number);

    return (size_t)(found - texts->items);
}

static void push_row(struct attn_json_writer *json, const struct attn_card_row *row,
                     const struct texts *texts)
{
    attn_json_begin(json, '{');
    attn_json_size(attn_json_key(json, "text"), find_text(texts, row->text));
    attn_page_push_number(attn_json_key(json, "value"), 4, row->value);
    attn_json_size(attn_json_key(json, "query"), row->query);
    attn_json_size(attn_json_key(json, "key"), row->key);
    attn_json_begin(attn_json_key(json, "weights"), '[');
    for (size_t i = 0; i < row->n_key; i++) {
        attn_json_size(json, row->keys[i].key);
        attn_json_integer(json, (int64_t)lrint(1000 * (double)row->keys[i].weight));
    }
    attn_json_end(json);
    attn_json_end(json);
}

static void push_pattern(struct attn_json_writer *json, const struct attn_card_head *head)
{
    static const char letters[N_LEVEL + 1] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    char pattern[ATTN_PATTERN_SIDE * ATTN_PATTERN_SIDE];

    for (size_t i = 0; i < sizeof pattern; i++) {
        const float cell = attn_card_cell(head, i / ATTN_PATTERN_SIDE, i % ATTN_PATTERN_SIDE);

        pattern[i] =
            isnan(cell) ? ' ' : letters[lrintf((N_LEVEL - 1) * sqrtf(fminf(fmaxf(cell, 0), 1)))];
    }
    attn_json_string(attn_json_key(json, "pattern"), pattern, sizeof pattern);
}

static void push_written(struct attn_json_writer *json, const struct attn_card_head *head)
{
    attn_json_begin(attn_json_key(json, "written"), '[');
    for (size_t i = 0; i < head->n_writing; i++) {
        const struct attn_card_writing *writing = &head->writings[i];

        attn_json_begin(json, '[');
        attn_json_string(json, writing->key.data, writing->key.size);
        attn_json_begin(json, '[');
        for (size_t k = 0; k < writing->n_token; k++)
            attn_json_string(json, writing->tokens[k].data ? writing->tokens[k].data : "",
                             writing->tokens[k].size);
        attn_json_end(json);
        attn_json_end(json);
    }
    attn_json_end(json);
}

/* Writes the card of HEAD with its TYPE or NULL, whose bar is written if HAS_BAR. */
static void push_head(struct attn_json_writer *json, const struct attn_card_head *head,
                      const struct attn_head_type *type, bool has_bar, const struct texts *texts)
{
    const struct attn_head_kind *kind = type ? type->kind : NULL;

    attn_json_line(json);
    attn_json_begin(json, '{');
    attn_json_text(attn_json_key(json, "name"), attn_location_name(&head->at).text);
    if (kind)
        attn_json_size(attn_json_key(json, "kind"), (size_t)(kind - attn_head_kind_at(0)));
    if (kind && has_bar)
        attn_page_push_bar(attn_json_key(json, "bar"), type->shares, type->park);
    attn_json_bool(attn_json_key(json, "is_cross"), head->is_cross);
    attn_json_bool(attn_json_key(json, "is_of_source"), head->is_of_source);
    attn_json_size(attn_json_key(json, "n"), head->n_text);
    push_pattern(json, head);
    attn_json_begin(attn_json_key(json, "distances"), '[');
    for (size_t i = 0; i < ATTN_CARD_DISTANCES; i++)
        attn_page_push_number(json, 4, attn_card_distance(head, i));
    attn_json_end(json);
    push_written(json, head);
    attn_json_begin(attn_json_key(json, "texts"), '[');
    for (int part = 0; part < ATTN_CARD_N_PART; part++) {
        attn_json_begin(json, '[');
        for (size_t k = 0; k < head->n[part]; k++)
            push_row(json, head->rows[part][k], texts);
        attn_json_end(json);
    }
    attn_json_end(json);
    attn_json_end(json);
}

static void push_names(struct attn_json_writer *json, const struct attn_head_cards *cards)
{
    attn_json_size(attn_page_push_key(json, "n_text"), cards->n_text);
    attn_json_bool(attn_page_push_key(json, "has_all"), cards->has_all);
    attn_json_size(attn_page_push_key(json, "side"), ATTN_PATTERN_SIDE);
    attn_json_begin(attn_page_push_key(json, "ranges"), '[');
    for (size_t i = 0; i < ATTN_CARD_DISTANCES; i++)
        attn_json_text(json, attn_card_distance_name(i));
    attn_json_end(json);
    attn_page_push_kinds(attn_page_push_key(json, "kinds"));
}

static enum attn_status push_heads(struct attn_json_writer *json, const struct attn_table *table,
                                   const struct attn_head_cards *cards, const struct texts *texts,
                                   struct attn_error *err)
{
    struct attn_head_type *types = NULL;
    struct attn_error unseen = {0}; /* tables of other measures have no kinds */
    enum attn_status status = attn_table_types_read(table, &types, &unseen);

    status = status == ATTN_NO_MEMORY ? attn_error_copy(err, &unseen) : ATTN_OK;
    attn_json_begin(attn_page_push_key(json, "heads"), '[');
    for (size_t i = 0; i < attn_table_n_row(table); i++) {
        struct attn_location at;
        const size_t index =
            attn_table_read_head(table, i, &at) ? attn_head_cards_find(cards, &at) : SIZE_MAX;

        if (index == SIZE_MAX)
            attn_json_text(json, NULL);
        else
            push_head(json, &cards->heads[index], types ? &types[i] : NULL,
                      attn_table_has_rest(table), texts);
    }
    attn_json_end(json);
    attn_free(types);
    return status;
}

enum attn_status attn_page_push_atlas(struct attn_json_writer *json, const struct attn_table *table,
                                      const struct attn_head_cards *cards, struct attn_error *err)
{
    struct texts texts = {.n = 0};
    enum attn_status status = list_texts(cards, &texts, err);

    if (status == ATTN_OK) {
        attn_json_begin(attn_page_push_key(json, "atlas"), '{');
        push_names(json, cards);
        attn_json_begin(attn_page_push_key(json, "texts"), '[');
        for (size_t i = 0; i < texts.n; i++)
            attn_card_text_push(json, texts.items[i]);
        attn_json_end(json);
        status = push_heads(json, table, cards, &texts, err);
        attn_json_end(json);
    }
    attn_free(texts.items);
    return status;
}
