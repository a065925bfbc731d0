/* head_card_texts.c - chooses the texts of a card, and writes texts for pages. */
#include "measures/head_cards_internal.h"

#include "base/text/escape.h"

#include <stdlib.h>

static void push_printable(struct attn_json_writer *json, const char *text, size_t size)
{
    struct attn_buffer printable = {0};

    attn_escape_append(&printable, text, size);
    attn_json_buffer(json, &printable);
}

void attn_card_text_push(struct attn_json_writer *json, const struct attn_card_text *text)
{
    attn_json_line(json);
    attn_json_begin(json, '{');
    push_printable(attn_json_key(json, "id"), text->id.data, text->id.size);
    attn_json_begin(attn_json_key(json, "tokens"), '[');
    for (size_t i = 0; i < text->n_token + text->n_source; i++) {
        size_t size;
        const char *token = attn_card_token(text, i, &size);

        if (i == text->n_token) {
            attn_json_end(json);
            attn_json_begin(attn_json_key(json, "source"), '[');
        }
        (text->is_printed ? attn_json_string : push_printable)(json, token, size);
    }
    attn_json_end(json);
    attn_json_end(json);
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
