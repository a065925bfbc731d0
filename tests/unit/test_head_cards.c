/* test_head_cards.c - the cards of heads: sums and texts do not depend on the order of texts, the
 * parts are chosen as described, memory does not grow, and long texts are cut around what matters.
 */
#include "measures/head_cards_internal.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_TOKEN = 4 };

static const struct attn_location heads[] = {{.layer = 0, .head = 0}, {.layer = 1, .head = 1}};

/* A causal pattern in which query 2 looks at key 1 with WEIGHT, and at itself and at the first
 * token with the rest. */
static void add_event(struct attn_card_reading *reading, size_t head, float weight)
{
    const float rest = (1 - weight) / 2;
    const float data[N_TOKEN * N_TOKEN] = {1,    0,      0,    0, 0.5F, 0.5F, 0, 0,
                                           rest, weight, rest, 0, 0.7F, 0,    0, 0.3F};
    const struct attn_trace_event event = {
        .at = {.site = ATTN_SITE_PATTERN, .layer = heads[head].layer, .head = heads[head].head},
        .n_row = N_TOKEN,
        .n_col = N_TOKEN,
        .ld = N_TOKEN,
        .data = data,
        .is_causal = true};

    attn_card_reading_add(reading, head, 0, false, &event);
}

static void add_text(struct attn_head_cards *cards, uint64_t number, float weight)
{
    struct attn_card_reading *reading;
    struct attn_card_text text = {.number = number, .n_token = N_TOKEN};

    ck_assert_int_eq(attn_card_reading_create(cards, N_TOKEN, NULL, &reading, NULL), ATTN_OK);
    add_event(reading, 0, weight);
    add_event(reading, 1, 1 - weight);
    attn_buffer_append_format(&text.id, "%d", (int)number);
    ck_assert_int_eq(attn_head_cards_add(cards, reading, &text, NULL), ATTN_OK);
    attn_card_reading_free(reading);
}

static struct attn_head_cards *make_cards(void)
{
    struct attn_head_cards *cards;

    ck_assert_int_eq(attn_head_cards_create(&cards, NULL), ATTN_OK);
    ck_assert_int_eq(attn_head_cards_begin(cards, heads, 2, 0, NULL), ATTN_OK);
    return cards;
}

/* Returns the cards of texts with the numbers 0 to N-1 and the weights I / N, added in steps of
 * STEP (which has no factor in common with N). */
static struct attn_head_cards *make_many(size_t n, size_t step)
{
    struct attn_head_cards *cards = make_cards();

    for (size_t i = 0; i < n; i++) {
        const size_t number = i * step % n;

        add_text(cards, number, (float)number / (float)n);
    }
    attn_head_cards_choose(cards);
    return cards;
}

START_TEST(strongest_middle_and_drawn_texts_are_different_texts)
{
    struct attn_head_cards *cards = make_many(21, 1);
    const struct attn_card_head *head = &cards->heads[0];
    bool seen[21] = {false};

    for (int part = 0; part < ATTN_CARD_N_PART; part++) {
        ck_assert_uint_eq(head->n[part], ATTN_CARD_EACH);
        for (size_t i = 0; i < head->n[part]; i++) {
            const uint64_t number = head->rows[part][i]->text->number;

            ck_assert(!seen[number]);
            seen[number] = true;
            ck_assert_double_eq(head->rows[part][i]->value, (double)((float)number / 21));
            ck_assert_uint_eq(head->rows[part][i]->query, 2);
            ck_assert_uint_eq(head->rows[part][i]->key, 1);
        }
    }
    for (size_t i = 0; i < ATTN_CARD_EACH; i++) {
        ck_assert_uint_eq(head->rows[ATTN_CARD_STRONGEST][i]->text->number, 20 - i);
        ck_assert_uint_eq(head->rows[ATTN_CARD_MIDDLE][i]->text->number, 12 - i);
    }
    ck_assert_uint_eq(cards->heads[1].rows[ATTN_CARD_STRONGEST][0]->text->number, 0);
    attn_head_cards_free(cards);
}
END_TEST

START_TEST(few_texts_are_shown_once)
{
    struct attn_head_cards *cards = make_many(7, 1);

    ck_assert_uint_eq(cards->heads[0].n[ATTN_CARD_STRONGEST], 5);
    ck_assert_uint_eq(cards->heads[0].n[ATTN_CARD_MIDDLE], 2);
    ck_assert_uint_eq(cards->heads[0].n[ATTN_CARD_DRAWN], 0);
    attn_head_cards_free(cards);
}
END_TEST

START_TEST(of_equal_texts_the_earlier_ones_are_the_strongest)
{
    struct attn_head_cards *cards = make_cards();

    for (uint64_t number = 9; number < 10; number--) /* from the last to the first */
        add_text(cards, number, 0.5F);
    attn_head_cards_choose(cards);
    for (size_t i = 0; i < ATTN_CARD_EACH; i++)
        ck_assert_uint_eq(cards->heads[0].rows[ATTN_CARD_STRONGEST][i]->text->number, i);
    attn_head_cards_free(cards);
}
END_TEST

START_TEST(order_of_texts_does_not_matter)
{
    enum { MANY = 701 };
    struct attn_head_cards *a = make_many(MANY, 1), *b = make_many(MANY, 300);

    ck_assert(!a->has_all);
    ck_assert_uint_eq(a->n_sample, ATTN_CARD_SAMPLE);
    for (int h = 0; h < 2; h++) {
        const struct attn_card_head *x = &a->heads[h], *y = &b->heads[h];

        ck_assert_mem_eq(x->cells, y->cells, sizeof x->cells);
        ck_assert_mem_eq(x->distances, y->distances, sizeof x->distances);
        for (int part = 0; part < ATTN_CARD_N_PART; part++) {
            ck_assert_uint_eq(x->n[part], ATTN_CARD_EACH);
            for (size_t i = 0; i < ATTN_CARD_EACH; i++)
                ck_assert_uint_eq(x->rows[part][i]->text->number, y->rows[part][i]->text->number);
        }
    }
    attn_head_cards_free(a);
    attn_head_cards_free(b);
}
END_TEST

START_TEST(means_and_distances_are_those_of_the_rows)
{
    struct attn_head_cards *cards = make_cards();
    const struct attn_card_head *head = &cards->heads[0];

    add_text(cards, 0, 0.25F);
    add_text(cards, 1, 0.75F);
    ck_assert_double_eq((double)attn_card_cell(head, 2, 1), 0.5);
    ck_assert_double_eq((double)attn_card_cell(head, 0, 0), 1);
    ck_assert(isnan(attn_card_cell(head, 0, 1))); /* masked */
    /* three rows of each text, without the first: 0.5 + 0.25 (mean of both rests) + 0.3 on the
     * token itself, 0.5 + 0.5 on the one before, 0.25 two and 0.7 three tokens away */
    ck_assert_double_eq_tol(attn_card_distance(head, ATTN_CARD_NEAR), 1.05 / 3, 1e-7);
    ck_assert_double_eq_tol(attn_card_distance(head, ATTN_CARD_NEAR + 1), 1.0 / 3, 1e-7);
    ck_assert_double_eq_tol(attn_card_distance(head, ATTN_CARD_NEAR + 2), 0.25 / 3, 1e-7);
    ck_assert_double_eq_tol(attn_card_distance(head, ATTN_CARD_NEAR + 3), 0.7 / 3, 1e-7);
    ck_assert_double_eq(attn_card_distance(head, ATTN_CARD_NEAR - 1), 0);
    ck_assert_str_eq(attn_card_distance_name(ATTN_CARD_NEAR + 3), "3");
    attn_head_cards_free(cards);
}
END_TEST

START_TEST(a_text_of_one_token_has_no_row)
{
    static const float one = 1;
    const struct attn_trace_event event = {.at = {.site = ATTN_SITE_PATTERN},
                                           .n_row = 1,
                                           .n_col = 1,
                                           .ld = 1,
                                           .data = &one,
                                           .is_causal = true};
    struct attn_head_cards *cards = make_cards();
    struct attn_card_reading *reading;
    struct attn_card_text text = {.n_token = 1};

    ck_assert_int_eq(attn_card_reading_create(cards, 1, NULL, &reading, NULL), ATTN_OK);
    attn_card_reading_add(reading, 0, 0, false, &event);
    ck_assert_int_eq(attn_head_cards_add(cards, reading, &text, NULL), ATTN_OK);
    attn_card_reading_free(reading);
    attn_head_cards_choose(cards);
    ck_assert_uint_eq(cards->n_text, 1);
    ck_assert_uint_eq(cards->heads[0].n_text, 0);
    ck_assert_uint_eq(cards->heads[0].n[ATTN_CARD_STRONGEST], 0);
    attn_head_cards_free(cards);
}
END_TEST

ATTN_SUITE("head_cards", strongest_middle_and_drawn_texts_are_different_texts,
           few_texts_are_shown_once, of_equal_texts_the_earlier_ones_are_the_strongest,
           order_of_texts_does_not_matter, means_and_distances_are_those_of_the_rows,
           a_text_of_one_token_has_no_row)
