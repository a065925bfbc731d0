/* test_token_times.c - times of tokens: the path against trying all paths, and what is refused.
 * tests/tools/check_token_times.py compares them with transformers. */
#include "align/align_extra.h"
#include "base/random.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <math.h>
#include <string.h>

/* With so few frames the median leaves the weights as they are. */
enum { N_TOKEN = 4, N_FRAME = 3, N_CELL = N_TOKEN * N_FRAME, N_ARRAY = 200 };

static enum attn_status find(const float *weights, struct attn_table **table)
{
    return attn_token_times(
        &(struct attn_ndarray){
            .name = "weights", .rank = 2, .shape = {N_TOKEN, N_FRAME}, .data = weights},
        table, NULL);
}

/* The largest sum of a path from cell AT to the last one. FRAMES [N_TOKEN] gets the frame where the
 * path first meets each token. */
static double best_path(const double *x, size_t token, size_t frame, bool is_new,
                        size_t frames[N_TOKEN])
{
    static const size_t steps[3][2] = {{1, 1}, {1, 0}, {0, 1}};
    size_t found[N_TOKEN] = {0};
    double best = token + 1 == N_TOKEN && frame + 1 == N_FRAME ? 0 : -(double)INFINITY;

    for (int i = 0; i < 3; i++) {
        const size_t to = token + steps[i][0], at = frame + steps[i][1];

        if (to == N_TOKEN || at == N_FRAME)
            continue;
        const double sum = best_path(x, to, at, steps[i][0] > 0, found);

        if (sum > best) {
            best = sum;
            memcpy(frames + to, found + to, (N_TOKEN - to) * sizeof *frames);
        }
    }
    if (is_new)
        frames[token] = frame;
    return best + x[token * N_FRAME + frame];
}

START_TEST(path_has_the_largest_sum)
{
    for (size_t number = 0; number < N_ARRAY; number++) {
        struct attn_random random;
        struct attn_table *table;
        float weights[N_CELL];
        double x[N_CELL];
        size_t frames[N_TOKEN] = {0};

        attn_random_seed(&random, number);
        for (size_t i = 0; i < N_CELL; i++)
            weights[i] = (float)attn_random_double(&random);
        for (size_t f = 0; f < N_FRAME; f++) {
            double mean = 0, square = 0;

            for (size_t t = 0; t < N_TOKEN; t++)
                mean += (double)weights[t * N_FRAME + f] / N_TOKEN;
            for (size_t t = 0; t < N_TOKEN; t++)
                square += pow((double)weights[t * N_FRAME + f] - mean, 2) / N_TOKEN;
            for (size_t t = 0; t < N_TOKEN; t++)
                x[t * N_FRAME + f] = ((double)weights[t * N_FRAME + f] - mean) / sqrt(square);
        }
        best_path(x, 0, 0, true, frames);
        ck_assert_int_eq(find(weights, &table), ATTN_OK);
        ck_assert_uint_eq(attn_table_n_row(table), N_TOKEN);
        for (size_t t = 0; t < N_TOKEN; t++) {
            const size_t end = t + 1 < N_TOKEN ? frames[t + 1] : N_FRAME;

            ck_assert_int_eq(attn_table_cell(table, t, 1).integer, (int64_t)frames[t]);
            ck_assert_double_eq_tol(attn_table_cell(table, t, 3).real, 0.02 * (double)end, 1e-12);
        }
        attn_table_free(table);
    }
}
END_TEST

START_TEST(equal_weights_and_wrong_arrays)
{
    const float all[] = {0, NAN, INFINITY, -INFINITY};
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        float weights[N_CELL] = {0};

        weights[N_CELL - 1] = all[i];
        ck_assert_int_eq(find(weights, &table), i == 0 ? ATTN_OK : ATTN_INVALID);
    }
    for (size_t t = 0; t < N_TOKEN; t++) /* a path along the first frame, as there */
        ck_assert_int_eq(attn_table_cell(table, t, 1).integer, 0);
    attn_table_free(table);
    ck_assert_int_eq(attn_token_times(NULL, &table, NULL), ATTN_INVALID);
    ck_assert_int_eq(attn_token_times(&(struct attn_ndarray){.rank = 1, .shape = {3}, .data = all},
                                      &table, &err),
                     ATTN_INVALID);
    ck_assert_str_eq(err.message, "`weights` has 1 axes, expected [H, T, S]");
}
END_TEST

START_TEST(memory_that_runs_out_is_reported)
{
    const float weights[N_CELL] = {0.5F, 0.25F};
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_table *table;
    long n = 0;

    for (; status != ATTN_OK; n++) {
        table = NULL;
        attn_alloc_fail_at(n);
        status = find(weights, &table);
        attn_alloc_fail_off();
        ck_assert_int_eq(status, table ? ATTN_OK : ATTN_NO_MEMORY);
    }
    ck_assert_int_gt(n, 6);
    attn_table_free(table);
}
END_TEST

ATTN_SUITE("token times", path_has_the_largest_sum, equal_weights_and_wrong_arrays,
           memory_that_runs_out_is_reported)
