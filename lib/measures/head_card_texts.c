/* head_card_texts.c - chooses the texts of a card, and the tokens of a long one that are shown. */
#include "measures/head_cards_internal.h"

#include <stdlib.h>

/* The names of the parts, and words about their texts. */
static const char *const parts[ATTN_CARD_N_PART][2] = {
#define PART_ROW(id, name, words) {name, words},
    ATTN_CARD_PART_MAP(PART_ROW)
#undef PART_ROW
};

const char *attn_card_part_name(int part)
{
    return parts[part][0];
}

const char *attn_card_part_words(int part, bool is_cross)
{
    return is_cross && part == ATTN_CARD_STRONGEST
               ? "the texts with the largest weight on a token of the source"
               : parts[part][1];
}

static int by_value(const void *a, const void *b)
{
    const struct attn_card_row *x = *(const struct attn_card_row *const *)a;
    const struct attn_card_row *y = *(const struct attn_card_row *const *)b;

    return x->value != y->value
               ? (x->value < y->value) - (x->value > y->value)
               : (x->text->number > y->text->number) - (x->text->number < y->text->number);
}

static int by_draw(const void *a, const void *b)
{
    const struct attn_card_row *x = *(const struct attn_card_row *const *)a;
    const struct attn_card_row *y = *(const struct attn_card_row *const *)b;

    return x->text->draw != y->text->draw
               ? (x->text->draw > y->text->draw) - (x->text->draw < y->text->draw)
               : (x->text->number > y->text->number) - (x->text->number < y->text->number);
}

static bool is_strongest(const struct attn_card_head *head, const struct attn_card_text *text)
{
    for (size_t i = 0; i < ATTN_CARD_EACH; i++)
        if (head->strongest[i].text == text)
            return true;
    return false;
}

/* Moves up to ATTN_CARD_EACH rows of LIST [*n] from FIRST on to PART of HEAD. */
static void take_rows(struct attn_card_head *head, enum attn_card_part part,
                      const struct attn_card_row **list, size_t *n, size_t first)
{
    size_t taken = 0;

    for (; taken < ATTN_CARD_EACH && first + taken < *n; taken++)
        head->rows[part][taken] = list[first + taken];
    head->n[part] = taken;
    *n -= taken;
    for (size_t i = first; i < *n; i++)
        list[i] = list[i + taken];
}

static void choose_of(struct attn_card_head *head, size_t n_sample)
{
    const struct attn_card_row *list[ATTN_CARD_SAMPLE];
    size_t n = 0, n_value = 0, first;

    for (size_t i = 0; i < n_sample && i < head->capacity; i++) {
        n_value += head->sample[i].text != NULL;
        if (head->sample[i].text && !is_strongest(head, head->sample[i].text))
            list[n++] = &head->sample[i];
    }
    for (size_t i = 0; i < ATTN_CARD_EACH && head->strongest[i].text; i++)
        head->rows[ATTN_CARD_STRONGEST][head->n[ATTN_CARD_STRONGEST]++] = &head->strongest[i];
    qsort(list, n, sizeof *list, by_value);
    /* the list lacks the strongest texts, so its place of the median is earlier */
    first = n_value / 2 - (n_value - n < n_value / 2 ? n_value - n : n_value / 2);
    first -= first < ATTN_CARD_EACH / 2 ? first : ATTN_CARD_EACH / 2;
    first = n < ATTN_CARD_EACH ? 0 : first > n - ATTN_CARD_EACH ? n - ATTN_CARD_EACH : first;
    take_rows(head, ATTN_CARD_MIDDLE, list, &n, first);
    qsort(list, n, sizeof *list, by_draw);
    take_rows(head, ATTN_CARD_DRAWN, list, &n, 0);
}

void attn_head_cards_choose(struct attn_head_cards *cards)
{
    for (size_t i = 0; i < cards->n_head; i++)
        choose_of(&cards->heads[i], cards->n_sample);
}

/* Shows token I if it fits *ROOM. Returns false if not. */
static bool show_token(const double *widths, size_t i, double *room, bool *shown)
{
    if (shown[i])
        return true;
    if (widths[i] > *room)
        return false;
    *room -= widths[i];
    return shown[i] = true;
}

void attn_card_clip(const double *widths, size_t n, size_t a, size_t b, double room, bool *shown)
{
    /* the next token on each side of A and of B */
    const size_t middles[2] = {a, b};
    size_t before[2] = {a, b < n ? b : 0}, after[2] = {a + 1, b < n ? b + 1 : n};
    bool is_growing = true;

    for (size_t i = 0; i < n; i++)
        shown[i] = false;
    for (int i = 0; i < 2; i++)
        if (middles[i] < n && !shown[middles[i]]) {
            shown[middles[i]] = true;
            room -= widths[middles[i]];
        }
    while (is_growing) {
        is_growing = false;
        for (int i = 0; i < 2; i++) {
            if (before[i] > 0 && show_token(widths, before[i] - 1, &room, shown)) {
                before[i]--;
                is_growing = true;
            } else {
                before[i] = 0;
            }
            if (after[i] < n && show_token(widths, after[i], &room, shown)) {
                after[i]++;
                is_growing = true;
            } else {
                after[i] = n;
            }
        }
    }
}
