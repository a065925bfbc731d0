/*
 * test_view.c - views of patterns against matrices that are merged, narrowed and divided whole, in
 * double precision; however the rows are split into events.
 */
#include "base/random.h"
#include "tensors/view.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "trace/site_set.h"
#include "trace/trace_extra.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 7, N_SOURCE = 5, N_WORD = 4, N_SOURCE_WORD = 3 };

/* Words of 1, 3, 1 and 2 tokens; of a source 2, 2 and 1. */
static const size_t words[N] = {0, 1, 1, 1, 2, 3, 3}, source_words[N_SOURCE] = {0, 0, 1, 1, 2};
static const char *const tokens[N] = {"The", " blue", "bell", "s", " sat", " down", "."};
static const char *const source_tokens[N_SOURCE] = {"a", "b", " c", "d", " e"};
static const size_t sizes[N] = {3, 5, 4, 1, 4, 5, 1}, source_sizes[N_SOURCE] = {1, 1, 2, 1, 2};
static const bool is_cross[] = {false, true};

/* A head's cells: what came to the view, and what it told. NaN where nothing counts. */
struct matrix {
    double cells[N][N];
};

struct heard {
    struct matrix matrix;
    size_t n_row, n_col;
};

static enum attn_status hear(void *user, const struct attn_trace_event *event,
                             struct attn_error *err)
{
    struct heard *heard = user;

    (void)err;
    for (size_t r = 0; r < event->n_row; r++) {
        const size_t n = event->keys        ? event->n_kept[r]
                         : event->is_causal ? event->row0 + r + event->ahead + 1
                                            : event->n_col;

        for (size_t i = 0, at = r * event->ld; i < n; i++, at++)
            heard->matrix.cells[event->row0 + r][event->keys ? (size_t)event->keys[at] : i] =
                (double)event->data[at];
        heard->n_row++;
    }
    heard->n_col = event->n_col;
    return ATTN_OK;
}

static void clear(struct matrix *m)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++)
            m->cells[i][j] = (double)NAN;
}

/* Rows that sum to 1, over the first i + 1 keys or over all of a source. */
static void fill(struct matrix *m, bool is_causal)
{
    struct attn_random random;

    attn_random_seed(&random, 3);
    clear(m);
    for (size_t i = 0; i < N; i++) {
        const size_t n = is_causal ? i + 1 : N_SOURCE;
        double sum = 0;

        for (size_t j = 0; j < n; j++)
            sum += m->cells[i][j] = attn_random_u32(&random) % 91 + 1;
        for (size_t j = 0; j < n; j++)
            m->cells[i][j] = (double)(float)(m->cells[i][j] / sum);
    }
}

/* --- The view under test ---------------------------------------------------------------------- */

static struct attn_selection *selection;
static struct attn_labels labels;

static void set_up(void)
{
    const struct attn_dims dims = {.n_layer = 2,
                                   .n_head = 1,
                                   .n_kv_head = 1,
                                   .d_head = 2,
                                   .d_value = 2,
                                   .n_position = N,
                                   .n_source = N_SOURCE,
                                   .is_cross = is_cross,
                                   .sites = ATTN_SITES(ATTN_SITE_PATTERN)};

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    labels = (struct attn_labels){.selection = selection,
                                  .tokens = tokens,
                                  .token_sizes = sizes,
                                  .source_tokens = source_tokens,
                                  .source_token_sizes = source_sizes,
                                  .words = words,
                                  .source_words = source_words};
}

static void tear_down(void)
{
    attn_selection_free(selection);
}

/* Hands M over in events of N_AT_ONCE rows; sparse when IS_SPARSE. */
static struct heard look(const struct matrix *m, struct attn_view_options options, int layer,
                         size_t n_at_once, bool is_sparse)
{
    struct heard heard = {0};
    struct attn_view *view;

    clear(&heard.matrix);
    ck_assert_int_eq(attn_view_create(&labels, options, hear, &heard, &view, NULL), ATTN_OK);
    for (size_t row0 = 0; row0 < N; row0 += n_at_once) {
        const size_t n_row = N - row0 < n_at_once ? N - row0 : n_at_once;
        float data[N][N] = {{0}};
        int32_t keys[N][N];
        size_t n_kept[N] = {0};
        struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                         .at.layer = layer,
                                         .row0 = row0,
                                         .n_row = n_row,
                                         .n_col = is_cross[layer] ? N_SOURCE : N,
                                         .ld = N,
                                         .data = data[0],
                                         .is_causal = !is_cross[layer]};

        for (size_t r = 0; r < n_row; r++)
            for (size_t j = 0; j < event.n_col; j++) {
                const double cell = m->cells[row0 + r][j];

                if (!is_sparse && !isnan(cell))
                    data[r][j] = (float)cell;
                if (is_sparse && !isnan(cell)) {
                    keys[r][n_kept[r]] = (int32_t)j;
                    data[r][n_kept[r]++] = (float)cell;
                }
            }
        event.keys = is_sparse ? keys[0] : NULL;
        event.n_kept = is_sparse ? n_kept : NULL;
        ck_assert_int_eq(attn_view_event(view, &event, NULL), ATTN_OK);
    }
    attn_view_free(view);
    return heard;
}

/* --- What it should tell ---------------------------------------------------------------------- */

static void expect_words(const struct matrix *m, const size_t *key_words, size_t n_key,
                         struct matrix *out)
{
    clear(out);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < n_key; j++) {
            double *cell = &out->cells[words[i]][key_words[j]];
            double n = 0;

            for (size_t k = 0; k < N; k++)
                n += words[k] == words[i];
            if (!isnan(m->cells[i][j]))
                *cell = (isnan(*cell) ? 0 : *cell) + m->cells[i][j] / n;
        }
}

static void hide_first(struct matrix *m)
{
    for (size_t i = 0; i < N; i++)
        m->cells[i][0] = (double)NAN;
}

static void divide(struct matrix *m)
{
    for (size_t i = 0; i < N; i++) {
        double sum = 0;

        for (size_t j = 0; j < N; j++)
            sum += isnan(m->cells[i][j]) ? 0 : m->cells[i][j];
        for (size_t j = 0; j < N; j++)
            m->cells[i][j] = sum == 0 ? (double)NAN : m->cells[i][j] / sum;
    }
}

static void compare(const struct matrix *seen, const struct matrix *expected)
{
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            ck_assert_msg(isnan(seen->cells[i][j]) == isnan(expected->cells[i][j]),
                          "cell %zu,%zu: %g, expected %g", i, j, seen->cells[i][j],
                          expected->cells[i][j]);
            if (!isnan(seen->cells[i][j]))
                ck_assert_double_eq_tol(seen->cells[i][j], expected->cells[i][j], 1e-7);
        }
}

static void compare_look(struct heard heard, const struct matrix *expected)
{
    compare(&heard.matrix, expected);
}

START_TEST(words_are_sums_of_columns_and_means_of_rows)
{
    struct attn_view_options options = {0};
    struct matrix m, expected;

    set_up();
    options.merges_words = true;
    for (int layer = 0; layer < 2; layer++)
        for (size_t n_at_once = 1; n_at_once <= N; n_at_once++)
            for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
                struct heard heard;

                fill(&m, !is_cross[layer]);
                heard = look(&m, options, layer, n_at_once, is_sparse);
                expect_words(&m, layer == 0 ? words : source_words, layer == 0 ? N : N_SOURCE,
                             &expected);
                compare(&heard.matrix, &expected);
                ck_assert_uint_eq(heard.n_row, N_WORD);
                ck_assert_uint_eq(heard.n_col, layer == 0 ? N_WORD : N_SOURCE_WORD);
            }
    tear_down();
}
END_TEST

START_TEST(rows_of_words_still_sum_to_1)
{
    struct attn_view_options options = {0};
    struct matrix m;
    struct heard heard;

    set_up();
    options.merges_words = true;
    fill(&m, true);
    heard = look(&m, options, 0, 2, false);
    for (size_t w = 0; w < N_WORD; w++) {
        double sum = 0;

        for (size_t u = 0; u <= w; u++)
            sum += heard.matrix.cells[w][u];
        ck_assert_double_eq_tol(sum, 1, 1e-6);
    }
    tear_down();
}
END_TEST

START_TEST(the_first_key_is_left_out_and_the_rest_divided)
{
    struct attn_view_options options = {0};
    struct matrix m, expected;

    set_up();
    fill(&m, true);
    expected = m;
    hide_first(&expected);
    options.hides = ATTN_HIDDEN_FIRST;
    compare_look(look(&m, options, 0, 3, false), &expected);
    divide(&expected); /* the first row has nothing left */
    options.renormalizes = true;
    compare_look(look(&m, options, 0, 3, false), &expected);
    compare_look(look(&m, options, 0, 2, true), &expected);
    options.merges_words = true;
    expect_words(&m, words, N, &expected);
    hide_first(&expected);
    divide(&expected);
    compare_look(look(&m, options, 0, 2, false), &expected);
    tear_down();
}
END_TEST

START_TEST(labels_are_the_words)
{
    static const char *const expected[] = {"The", " bluebells", " sat", " down."};
    struct attn_view_options options = {0};
    const struct attn_labels *told;
    struct attn_view *view;

    set_up();
    options.merges_words = true;
    ck_assert_int_eq(attn_selection_add_queries(selection, ATTN_STACK_ONLY, 1, 3, NULL), ATTN_OK);
    ck_assert_int_eq(attn_view_create(&labels, options, hear, NULL, &view, NULL), ATTN_OK);
    told = attn_view_labels(view);
    ck_assert_uint_eq(attn_selection_dims(told->selection)->n_position, N_WORD);
    ck_assert_uint_eq(attn_selection_dims(told->selection)->n_source, N_SOURCE_WORD);
    for (size_t i = 0; i < N_WORD; i++)
        ck_assert_int_eq(attn_selection_has_query(told->selection, ATTN_STACK_ONLY, i), i == 1);
    for (size_t w = 0; w < N_WORD; w++) {
        ck_assert_uint_eq(told->token_sizes[w], strlen(expected[w]));
        ck_assert_mem_eq(told->tokens[w], expected[w], told->token_sizes[w]);
    }
    ck_assert_mem_eq(told->source_tokens[1], " cd", 3);
    attn_view_free(view);
    tear_down();
}
END_TEST

START_TEST(a_failure_to_find_memory_leaves_nothing_behind)
{
    struct attn_view_options options = {0};
    struct attn_error err = {0};
    enum attn_status status;

    set_up();
    options.merges_words = true;
    for (long n = 0;; n++) {
        struct attn_view *view = NULL;

        attn_alloc_fail_at(n);
        status = attn_view_create(&labels, options, hear, NULL, &view, &err);
        attn_alloc_fail_off();
        attn_view_free(view);
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
    }
    tear_down();
}
END_TEST

ATTN_SUITE("view", words_are_sums_of_columns_and_means_of_rows, rows_of_words_still_sum_to_1,
           the_first_key_is_left_out_and_the_rest_divided, labels_are_the_words,
           a_failure_to_find_memory_leaves_nothing_behind)
