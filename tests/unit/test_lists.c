/*
 * test_lists.c - positions and heads that a program gives as numbers give the rows of the same
 * lists as texts, win over texts, and fail with the range that was expected.
 */
#include "extra.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

static const char text[] = "The keys to the cabinet";
static const int64_t one = 1, last = -1, third = 3, none = 90;

enum how { TEXT, NUMBERS, BOTH, BAD, N_HOW };

static struct attn_number_list numbers(enum how how, const char *spec, const int64_t *number)
{
    return (struct attn_number_list){.text = how == TEXT   ? spec
                                             : how == BOTH ? "no such word"
                                                           : NULL,
                                     .items = how == TEXT  ? NULL
                                              : how == BAD ? &none
                                                           : number,
                                     .n = how != TEXT};
}

static struct attn_head_list heads(enum how how)
{
    static const struct attn_location head = {.layer = 2, .head = 5}, bad = {.layer = 90};

    return (struct attn_head_list){.text = how == TEXT   ? "2.5"
                                           : how == BOTH ? "90.0"
                                                         : NULL,
                                   .items = how == TEXT  ? NULL
                                            : how == BAD ? &bad
                                                         : &head,
                                   .n = how != TEXT};
}

typedef enum attn_status ask_fn(struct attn_host *host, struct attn_request *request, enum how how,
                                struct attn_table **table, struct attn_error *err);

static enum attn_status ask_heads(struct attn_host *host, struct attn_request *request,
                                  enum how how, struct attn_table **table, struct attn_error *err)
{
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;

    args.from = numbers(how, "-1", &last), args.to = numbers(how, "keys", &one);
    return attn_heads(host, request, &args, table, err);
}

static enum attn_status ask_lens(struct attn_host *host, struct attn_request *request, enum how how,
                                 struct attn_table **table, struct attn_error *err)
{
    request->selection.queries = numbers(how, "3", &third);
    return attn_lens(host, request, NULL, table, err);
}

static enum attn_status ask_ablate(struct attn_host *host, struct attn_request *request,
                                   enum how how, struct attn_table **table, struct attn_error *err)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;

    args.answer = (struct attn_answer_args){.target = " the", .at = numbers(how, "3", &third)};
    return attn_ablate(host, request, &args, table, &sum, err);
}

static enum attn_status ask_sets(struct attn_host *host, struct attn_request *request, enum how how,
                                 struct attn_table **table, struct attn_error *err)
{
    struct attn_ablate_set set = {.heads = heads(how), .name = "set"};
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;

    args.answer.target = " the";
    args.sets = &set, args.n_set = 1;
    return attn_ablate(host, request, &args, table, &sum, err);
}

static enum attn_status ask_knockout(struct attn_host *host, struct attn_request *request,
                                     enum how how, struct attn_table **table,
                                     struct attn_error *err)
{
    struct attn_intervention knockout = ATTN_INTERVENTION_DEFAULT;
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;

    knockout.op = ATTN_EDIT_MASK, knockout.heads = heads(how == BAD ? TEXT : how);
    knockout.positions = numbers(how, "-1", &last), knockout.keys = numbers(how, "keys", &one);
    request->edits.interventions = &knockout, request->edits.n_intervention = 1;
    return attn_score(host, request, NULL, table, &sum, err);
}

static enum attn_status ask_steering(struct attn_host *host, struct attn_request *request,
                                     enum how how, struct attn_table **table,
                                     struct attn_error *err)
{
    struct attn_intervention scaling = ATTN_INTERVENTION_DEFAULT;
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;

    scaling.op = ATTN_EDIT_SCALE, scaling.factor = 2;
    scaling.at.site = ATTN_SITE_MLP_OUT, scaling.at.layer = 1;
    scaling.positions = numbers(how, "3", &third);
    request->edits.interventions = &scaling, request->edits.n_intervention = 1;
    return attn_score(host, request, NULL, table, &sum, err);
}

static enum attn_status ask_spans(struct attn_host *host, struct attn_request *request,
                                  enum how how, struct attn_table **table, struct attn_error *err)
{
    const struct attn_item_place place = {"noun", numbers(how, "keys", &one)};
    const struct attn_places places = {.items = &place, .n = 1};
    const struct attn_question_call asked = {"spans", host, request, NULL};

    request->reading.places = &places;
    return attn_question_ask(&asked, table, NULL, err);
}

static enum attn_status ask_attribute(struct attn_host *host, struct attn_request *request,
                                      enum how how, struct attn_table **table,
                                      struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;

    args.method = ATTN_ATTRIBUTE_IG, args.n_point = 3, args.answer.target = " the";
    args.baseline_keep = numbers(how, "keys", &one);
    return attn_attribute(host, request, &args, table, err);
}

/* The text stands beside the numbers: QUERY>KEY@LAYER.HEAD. */
static enum attn_status ask_score(struct attn_host *host, struct attn_request *request,
                                  enum how how, struct attn_table **table, struct attn_error *err)
{
    struct attn_attribute_args args = ATTN_ATTRIBUTE_ARGS_DEFAULT;

    if (how != TEXT) {
        args.score.queries = numbers(how, "the", &third),
        args.score.keys = numbers(how, "to", &one);
        args.score.head = heads(how == BAD ? NUMBERS : how);
    }
    args.score.text = how == TEXT ? "3>keys@2.5" : how == BOTH ? "no such word" : NULL;
    return attn_attribute(host, request, &args, table, err);
}

static void expect_same(const struct attn_table *a, const struct attn_table *b)
{
    ck_assert_uint_eq(attn_table_n_row(a), attn_table_n_row(b));
    for (size_t row = 0; row < attn_table_n_row(a); row++)
        for (size_t c = 0; c < attn_table_n_column(a); c++) {
            const struct attn_cell x = attn_table_cell(a, row, c), y = attn_table_cell(b, row, c);

            ck_assert(x.integer == y.integer && (x.real == y.real || isnan(x.real)));
            ck_assert_uint_eq(x.size, y.size);
        }
}

START_TEST(numbers_are_the_positions_and_heads_of_texts)
{
    static const struct {
        ask_fn *ask;
        const char *message; /* of a number that is too large */
    } rows[] = {
        {ask_heads, "from: bad item '90' of the positions, expected numbers from 0 to 4"},
        {ask_lens, "queries: bad item '90' of the positions, expected numbers from 0 to 4"},
        {ask_ablate, "at: bad item '90' of the positions, expected numbers from 0 to 4"},
        {ask_sets, "sets: there is no layer 90, expected 0 to 3"},
        {ask_knockout, "knockouts: bad item '90' of the positions, expected numbers from 0 to 4"},
        {ask_steering, "rescale: bad item '90' of the positions, expected numbers from 0 to 4"},
        {ask_spans, "noun: bad item '90' of the positions, expected numbers from 0 to 4"},
        {ask_attribute,
         "baseline_keep: bad item '90' of the positions, expected numbers from 0 to 4"},
        {ask_score, "score: bad item '90' of the positions, expected numbers from 0 to 4"},
    };
    struct attn_error err = {0};
    struct attn_host *host;

    ck_assert(attn_host_open("fable", NULL, &host, &err) == ATTN_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_table *tables[N_HOW] = {NULL};

        for (int how = 0; how < N_HOW; how++) {
            struct attn_request request = ATTN_REQUEST_DEFAULT;
            enum attn_status status;

            err = (struct attn_error){0};
            request.input.text = text, request.input.n_text = strlen(text);
            status = rows[i].ask(host, &request, (enum how)how, &tables[how], &err);
            ck_assert_msg(status == (how == BAD ? ATTN_INVALID : ATTN_OK), "%zu: %s", i,
                          err.message);
        }
        ck_assert_str_eq(err.message, rows[i].message);
        ck_assert_uint_gt(attn_table_n_row(tables[TEXT]), 0);
        expect_same(tables[TEXT], tables[NUMBERS]);
        expect_same(tables[TEXT], tables[BOTH]);
        for (int how = 0; how < BAD; how++)
            attn_table_free(tables[how]);
    }
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("lists", numbers_are_the_positions_and_heads_of_texts)
