/* test_head_cards.c - the cards of heads: sums and texts do not depend on the order of texts, the
 * parts are chosen as described, memory does not grow, and long texts are cut around what matters.
 * Which heads of a large page have all cells. */
#include "measures/head_cards_internal.h"
#include "page/page_internal.h"
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

/* --- Which heads of a large page have all cells --- */

enum { N_HEAD = 40, BLOCK = 1000000 };

/* Gives head I of PAGE a block of BLOCK bytes, and no values. */
static void add_block(const struct attn_page_heads *page, size_t i)
{
    struct attn_page_head *head = &page->items[i];
    static const char bytes[BLOCK];

    ck_assert_int_eq(attn_sink_create_memory(&head->block, NULL), ATTN_OK);
    attn_sink_write(head->block, bytes, BLOCK);
    head->n_byte = BLOCK;
    for (size_t m = 0; m < ATTN_MOST_MEASURE; m++)
        head->values[m] = (double)NAN;
}

START_TEST(heads_of_each_kind_keep_their_cells)
{
    static struct attn_page_head items[N_HEAD];
    struct attn_page_heads page = {.items = items, .n = N_HEAD, .n_whole = N_HEAD};
    size_t n_byte = 0;

    for (size_t i = 0; i < N_HEAD; i++) {
        add_block(&page, i);
        /* the first token gets most of each head, and the larger its number the more */
        items[i].values[ATTN_MEASURE_FIRST] = .6 + .01 * (double)i;
        items[i].values[ATTN_MEASURE_PREVIOUS] = .3 - .005 * (double)i;
        items[i].values[ATTN_MEASURE_INDUCTION] = i == 20 || i == 33 ? .05 : .001;
        attn_page_heads_choose(&page);
    }
    for (size_t i = 0; i < N_HEAD; i++)
        n_byte += items[i].n_byte;
    ck_assert_uint_eq(n_byte, ATTN_PAGE_MOST_BYTES);
    ck_assert_uint_eq(page.n_whole, ATTN_PAGE_MOST_BYTES / BLOCK);
    for (size_t i = 0; i < N_HEAD; i++) {
        /* the two induction heads, and the fourteen that look most at the token before */
        ck_assert_int_eq(items[i].is_pooled, !(i == 20 || i == 33 || i < 14));
        ck_assert_int_eq(items[i].block != NULL, !items[i].is_pooled);
        attn_sink_free(items[i].block);
    }
}
END_TEST

START_TEST(one_head_always_keeps_its_cells)
{
    static struct attn_page_head items[2];
    struct attn_page_heads page = {.items = items, .n = 2, .n_whole = 2};

    add_block(&page, 0);
    items[0].n_byte = ATTN_PAGE_MOST_BYTES + 1;
    attn_page_heads_choose(&page);
    ck_assert(!items[0].is_pooled);
    attn_sink_free(items[0].block);
}
END_TEST

ATTN_SUITE("head_cards", strongest_middle_and_drawn_texts_are_different_texts,
           few_texts_are_shown_once, of_equal_texts_the_earlier_ones_are_the_strongest,
           order_of_texts_does_not_matter, means_and_distances_are_those_of_the_rows,
           a_text_of_one_token_has_no_row, heads_of_each_kind_keep_their_cells,
           one_head_always_keeps_its_cells)
