/* test_edges.c - the largest keys of each query, against sorting whole rows. */
#include "base/memory.h"
#include "measures/edges.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct attn_dims dims = {
    .n_layer = 2,
    .n_head = 3,
    .n_kv_head = 3,
    .n_position = 40,
    .sites = {{UINT64_C(1) << ATTN_SITE_PATTERN}},
};

static struct attn_selection *select_heads(const char *heads, const char *queries)
{
    struct attn_selection *selection = NULL;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_heads(selection, heads, NULL), ATTN_OK);
    ck_assert_int_eq(attn_selection_set_queries(selection, ATTN_STACK_ONLY, queries, NULL),
                     ATTN_OK);
    return selection;
}

static struct attn_edges *make(const struct attn_selection *selection, size_t n_most)
{
    struct attn_edges *edges = NULL;

    ck_assert_int_eq(attn_edges_create(selection, n_most, NULL, &edges, NULL), ATTN_OK);
    return edges;
}

static struct attn_trace_event event_of(const float *rows, size_t row0, size_t n_row, size_t n_col)
{
    return (struct attn_trace_event){.at.site = ATTN_SITE_PATTERN,
                                     .at.layer = 1,
                                     .at.head = 2,
                                     .row0 = row0,
                                     .n_row = n_row,
                                     .n_col = n_col,
                                     .ld = n_col,
                                     .data = rows,
                                     .is_causal = true};
}

static const struct attn_edge *find(const struct attn_edges *edges, int layer, int head,
                                    size_t query, size_t *n)
{
    const struct attn_location at = {.layer = layer, .head = head};

    return attn_edges_find(edges, &at, query, n);
}

static void assert_edges(const struct attn_edges *edges, size_t query,
                         const struct attn_edge *expected, size_t n_expected)
{
    size_t n;
    const struct attn_edge *found = find(edges, 1, 2, query, &n);

    ck_assert_uint_eq(n, n_expected);
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_eq(found[i].key, expected[i].key);
        ck_assert(found[i].weight == expected[i].weight);
    }
}

START_TEST(equal_weights_come_by_key)
{
    static const float row[] = {0.25F, 0, 0.25F, 0.25F, 0.25F, 9};
    const struct attn_edge expected[] = {{0, 0.25F}, {2, 0.25F}, {3, 0.25F}};
    const struct attn_trace_event event = event_of(row, 4, 1, 6);
    struct attn_selection *selection = select_heads("all", "all");
    struct attn_edges *edges = make(selection, 3);

    attn_edges_add(edges, &event);
    assert_edges(edges, 4, expected, 3);
    attn_edges_free(edges);
    attn_selection_free(selection);
}
END_TEST

START_TEST(masked_keys_are_none_but_zeros_are)
{
    static const float rows[] = {1, 0, 0, 0, 1, 0};
    const struct attn_edge first[] = {{0, 1}}, second[] = {{1, 1}, {0, 0}};
    const struct attn_trace_event event = event_of(rows, 0, 2, 3);
    struct attn_selection *selection = select_heads("all", "all");
    struct attn_edges *edges = make(selection, 5);

    attn_edges_add(edges, &event);
    assert_edges(edges, 0, first, 1);
    assert_edges(edges, 1, second, 2);
    attn_edges_free(edges);
    attn_selection_free(selection);
}
END_TEST

START_TEST(sparse_rows_name_their_keys)
{
    static const float rows[] = {0.125F, 0.5F, 0.375F, 0, 1, 0, 0, 0};
    static const int32_t keys[] = {3, 7, 30, 0, 5, 0, 0, 0};
    static const size_t n_kept[] = {3, 1};
    const struct attn_edge first[] = {{7, 0.5F}, {30, 0.375F}}, second[] = {{5, 1}};
    struct attn_trace_event event = event_of(rows, 31, 2, 40);
    struct attn_selection *selection = select_heads("1.2", "31-32");
    struct attn_edges *edges = make(selection, 2);

    event.ld = 4, event.keys = keys, event.n_kept = n_kept;
    attn_edges_add(edges, &event);
    assert_edges(edges, 31, first, 2);
    assert_edges(edges, 32, second, 1);
    attn_edges_free(edges);
    attn_selection_free(selection);
}
END_TEST

START_TEST(what_is_not_selected_has_no_edges)
{
    struct attn_selection *selection = select_heads("1.2", "3");
    struct attn_edges *edges = make(selection, 2);
    size_t n = 9;

    ck_assert_ptr_null(find(edges, 1, 1, 3, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert_ptr_null(find(edges, 0, 2, 3, &n));
    ck_assert_ptr_null(find(edges, 1, 2, 4, &n));
    find(edges, 1, 2, 3, &n); /* its row has not come */
    ck_assert_uint_eq(n, 0);
    attn_edges_free(edges);
    attn_selection_free(selection);
}
END_TEST

START_TEST(what_is_no_number_comes_first)
{
    static const float row[] = {0.5F, NAN, 0.75F};
    const struct attn_trace_event event = event_of(row, 2, 1, 3);
    struct attn_selection *selection = select_heads("all", "all");
    struct attn_edges *edges = make(selection, 2);
    const struct attn_edge *found;
    size_t n;

    attn_edges_add(edges, &event);
    found = find(edges, 1, 2, 2, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_int_eq(found[0].key, 1);
    ck_assert(isnan(found[0].weight));
    ck_assert_int_eq(found[1].key, 2);
    attn_edges_free(edges);
    attn_selection_free(selection);
}
END_TEST

static int compare(const void *a, const void *b)
{
    const struct attn_edge *x = a, *y = b;

    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return x->key - y->key;
}

START_TEST(random_rows_are_those_that_sorting_gives)
{
    enum { N = 40 };
    struct attn_selection *selection = select_heads("all", "all");
    float rows[N * N];

    srand(7);
    for (size_t n_most = 1; n_most <= N + 1; n_most++) {
        struct attn_edges *edges = make(selection, n_most);
        const struct attn_trace_event event = event_of(rows, 0, N, N);

        for (size_t i = 0; i < (size_t)N * N; i++)
            rows[i] = (float)(rand() % 16) / 16; /* many are equal */
        attn_edges_add(edges, &event);
        for (size_t query = 0; query < N; query++) {
            struct attn_edge expected[N];

            for (size_t key = 0; key <= query; key++)
                expected[key] = (struct attn_edge){(int32_t)key, rows[query * N + key]};
            qsort(expected, query + 1, sizeof *expected, compare);
            assert_edges(edges, query, expected, query + 1 < n_most ? query + 1 : n_most);
        }
        attn_edges_free(edges);
    }
    attn_selection_free(selection);
}
END_TEST

START_TEST(memory_that_runs_out_is_reported)
{
    struct attn_selection *selection = select_heads("all", "all");
    struct attn_edges *edges = NULL;
    enum attn_status status = ATTN_NO_MEMORY;

    for (long n = 0; status != ATTN_OK; n++) {
        attn_alloc_fail_at(n);
        status = attn_edges_create(selection, 3, NULL, &edges, NULL);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        ck_assert_int_lt(n, 10);
    }
    attn_edges_free(edges);
    ck_assert_int_eq(attn_edges_create(selection, SIZE_MAX / 8, NULL, &edges, NULL),
                     ATTN_NO_MEMORY);
    attn_selection_free(selection);
}
END_TEST

ATTN_SUITE("edges", equal_weights_come_by_key, masked_keys_are_none_but_zeros_are,
           sparse_rows_name_their_keys, what_is_not_selected_has_no_edges,
           what_is_no_number_comes_first, random_rows_are_those_that_sorting_gives,
           memory_that_runs_out_is_reported)
