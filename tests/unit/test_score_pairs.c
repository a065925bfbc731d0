/*
 * test_score_pairs.c - `attribute --score` of every head of encoders, and of models with an encoder
 * and a decoder: the pairs of writers add up to the score of the forward pass.
 */
#include "attn.h"
#include "extra.h"
#include "model/config_fields.h"
#include "tests/support/column.h"
#include "tests/support/encoders.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const int32_t source[] = {5, 17, 9, 33, 1}, target[] = {2, 11, 7, 22};

static double cell_of(const struct attn_table *table, size_t row, const char *name)
{
    return attn_test_cell(table, row, name).real;
}

/* Splits the score 2,3>1,2 of HEAD; the caller frees the table. */
static struct attn_table *split_score(struct attn_host *host, const struct attn_location *head)
{
    static const int64_t queries[] = {2, 3}, keys[] = {1, 2};
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_error err = {0};
    struct attn_table *table;

    request.input = (struct attn_input){.ids = target, .n_id = sizeof target / sizeof *target};
    if (attn_model_config(attn_host_model(host))->stack.has_encoder)
        request.source = (struct attn_input){.ids = source, .n_id = sizeof source / sizeof *source};
    args.score.queries = (struct attn_number_list){.items = queries, .n = 2};
    args.score.keys = (struct attn_number_list){.items = keys, .n = 2};
    args.score.head = (struct attn_head_list){.items = head, .n = 1};
    args.n_most = 99999;
    ck_assert_msg(attn_attribute(host, &request, &args, &table, &err) == ATTN_OK, "%s: %s",
                  attn_model_name(attn_host_model(host)), err.message);
    return table;
}

/* The rows before the last two are the pairs, the last two their sum and the model's score. */
static void assert_adds_up(const char *name, const struct attn_location *head,
                           const struct attn_table *table)
{
    static const char *const columns[] = {"score", "relative"};
    const size_t n = attn_table_n_row(table) - 2;

    ck_assert_uint_ge(n, 1);
    for (int i = 0; i < 2; i++) {
        const double made = cell_of(table, n, columns[i]),
                     model = cell_of(table, n + 1, columns[i]);
        double largest = 0, sum = 0;

        for (size_t row = 0; row < n; row++) {
            const double x = cell_of(table, row, columns[i]);

            sum += x;
            largest = fmax(largest, fabs(x));
        }
        ck_assert_double_gt(largest, 0);
        ck_assert_msg(fabs(made - model) <= 1e-4 * largest, "%s, %s of %s:%d.%d: %.9g, not %.9g",
                      name, columns[i], attn_model_stack_name(head->stack), head->layer, head->head,
                      made, model);
        ck_assert_double_le(fabs(made - sum), 1e-9 * largest);
    }
}

/* Splits a score of every head of STACK in a model. */
static void split_all(const char *name, enum attn_model_stack stack)
{
    struct attn_host *host = attn_encoder_host(name, 2);
    const bool is_encoder = stack == ATTN_STACK_ENCODER;
    const struct attn_config *config =
        is_encoder ? attn_encoder_config(host) : attn_model_config(attn_host_model(host));
    const size_t n_layer = config->stack.has_encoder ? config->n_layer / 2 : config->n_layer;

    for (size_t i = 0; i < n_layer * config->n_head; i++) {
        const struct attn_location head = {
            .stack = stack, .layer = (int)(i / config->n_head), .head = (int)(i % config->n_head)};
        struct attn_table *table = split_score(host, &head);

        assert_adds_up(name, &head, table);
        attn_table_free(table);
    }
    attn_host_free(host);
}

START_TEST(pairs_of_heads_that_attend_to_a_source_add_up)
{
    static const char *const names[] = {"t5",   "flan_t5", "nllb",    "mt5",
                                        "umt5", "mbart",   "pegasus", "m2m_100"};

    attn_encoders_unpack();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        split_all(names[i], ATTN_STACK_DECODER);
        split_all(names[i], ATTN_STACK_CROSS);
    }
    attn_encoders_remove();
}
END_TEST

START_TEST(pairs_of_heads_of_an_encoder_add_up)
{
    static const char *const names[] = {"t5",   "flan_t5", "nllb",    "mt5",
                                        "umt5", "mbart",   "pegasus", "m2m_100"};

    attn_encoders_unpack();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        split_all(names[i], ATTN_STACK_ENCODER);
    attn_encoders_remove();
}
END_TEST

START_TEST(pairs_add_up_where_norms_follow_the_sums)
{
    static const char *const encoders[] = {ATTN_ENCODERS}, *const stacks[] = {"bart", "marian",
                                                                              "whole_opus",
                                                                              "blenderbot"};

    attn_encoders_unpack();
    for (int i = 0; i < ATTN_N_ENCODER; i++)
        split_all(encoders[i], ATTN_STACK_ONLY);
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        split_all(stacks[i], ATTN_STACK_DECODER);
        split_all(stacks[i], ATTN_STACK_CROSS);
        split_all(stacks[i], ATTN_STACK_ENCODER);
    }
    attn_encoders_remove();
}
END_TEST

ATTN_SUITE("pairs of a score", pairs_of_heads_that_attend_to_a_source_add_up,
           pairs_of_heads_of_an_encoder_add_up, pairs_add_up_where_norms_follow_the_sums)
