/* test_predictions.c - answers at many masks of a text, which are collected one by one. */
#include "predict/prediction.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

enum { N_VOCAB = 16, N_TOP = 3, N_MASK = 300 };

static const struct attn_request_predict question = {.top = N_TOP};

/* Logits that differ by POSITION. */
static void fill(float logits[N_VOCAB], size_t position)
{
    for (size_t i = 0; i < N_VOCAB; i++)
        logits[i] = (float)((i * 7 + position * 5) % N_VOCAB);
}

/* Answers N masks. */
static struct attn_predictions answer(const struct attn_prediction_args *args, size_t n)
{
    struct attn_predictions found = {0};
    float logits[N_VOCAB];

    for (size_t position = 0; position < n; position++) {
        fill(logits, position);
        ck_assert_int_eq(attn_predict_more(args, position, logits, &found, NULL), ATTN_OK);
    }
    return found;
}

START_TEST(each_mask_has_the_answer_that_it_has_alone)
{
    const struct attn_model model = {0};
    const struct attn_prediction_args args = {
        .question = &question, .model = &model, .n_vocab = N_VOCAB};
    struct attn_predictions found = answer(&args, N_MASK);

    ck_assert_uint_eq(found.n_top, N_MASK * N_TOP);
    ck_assert(found.has_positions);
    for (size_t position = 0; position < N_MASK; position++) {
        struct attn_predictions alone;
        float logits[N_VOCAB];

        fill(logits, position);
        ck_assert_int_eq(attn_predict_last(&args, position, logits, &alone, NULL), ATTN_OK);
        for (size_t i = 0; i < N_TOP; i++) {
            const struct attn_candidate *top = &found.top[position * N_TOP + i];

            ck_assert_uint_eq(top->position, position);
            ck_assert_int_eq(top->id, alone.top[i].id);
            ck_assert(top->prob == alone.top[i].prob);
            ck_assert_ptr_null(top->token);
        }
        attn_predictions_release(&alone);
    }
    attn_predictions_release(&found);
}
END_TEST

/* One buffer for each mask to rank in, and one for each doubling of the candidates. */
START_TEST(candidates_of_many_masks_are_seldom_moved)
{
    const struct attn_model model = {0};
    const struct attn_prediction_args args = {
        .question = &question, .model = &model, .n_vocab = N_VOCAB};
    struct attn_predictions found;

    attn_alloc_fail_off();
    found = answer(&args, N_MASK);
    ck_assert_int_le(attn_alloc_count(), N_MASK + 10);
    attn_predictions_release(&found);
}
END_TEST

ATTN_SUITE("predictions", each_mask_has_the_answer_that_it_has_alone,
           candidates_of_many_masks_are_seldom_moved)
