/*
 * test_attention_keys.c - the keys that rows keep, against what each kind is defined to be, over
 * all pairs; what random rows promise; how pairs are counted.
 */
#include "attention/keys.h"

#include "attention/attention_internal.h"
#include "attention/kind.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KEY = 70 };

static struct attn_attention make(const char *text, enum attn_mask mask)
{
    struct attn_attention attention = ATTN_ATTENTION_DEFAULT;
    struct attn_error err = {0};

    ck_assert_msg(attn_attention_parse(text, &attention, &err) == ATTN_OK, "%s", err.message);
    attention.mask = mask;
    return attention;
}

static bool is_power_of_two(size_t n)
{
    for (size_t power = 1; power <= n; power *= 2)
        if (power == n)
            return true;
    return false;
}

/* The pair (i, j) by the words of `attn-cli help attention`, without the mask. */
static bool is_kept(const struct attn_attention *attention, size_t i, size_t j)
{
    const size_t distance = i > j ? i - j : j - i;
    const size_t n_col = attention->stride > 0 ? attention->stride : SIZE_MAX;

    switch (attention->kind) {
    case ATTN_ATTENTION_FULL:
        return true;
    case ATTN_ATTENTION_WINDOW:
        return distance < attention->window;
    case ATTN_ATTENTION_STRIDED:
        return distance < attention->stride || distance % attention->stride == 0;
    case ATTN_ATTENTION_LOG:
        return distance == 0 || is_power_of_two(distance);
    case ATTN_ATTENTION_BLOCK:
        return i / n_col / attention->count == j / n_col / attention->count &&
               i % n_col / attention->count == j % n_col / attention->count;
    case ATTN_ATTENTION_SINK:
        return j < attention->count || distance < attention->window;
    case ATTN_ATTENTION_HYBRID:
        return distance < attention->window || distance % attention->stride == 0;
    default:
        ck_abort_msg("no definition of kind %d", attention->kind);
    }
}

/* Lists ROW into a block of exactly attn_keys_largest keys, which sanitizers watch. */
static size_t list_row(const struct attn_attention *attention, const struct attn_key_row *row,
                       int32_t *keys)
{
    const size_t most = attn_keys_largest(attention, row->n_key);
    int32_t *room = malloc(most * sizeof *room);
    size_t n;

    ck_assert_uint_le(most, row->n_key);
    ck_assert_ptr_nonnull(room);
    n = attn_keys_list(attention, row, room);
    ck_assert_msg(n <= most, "%zu keys of at most %zu", n, most);
    memcpy(keys, room, n * sizeof *keys);
    free(room);
    return n;
}

/* The rows of one matrix, and their number, against the definition. */
static void check_matrix(const char *text, const struct attn_attention *attention, size_t n_query,
                         size_t n_key)
{
    const bool is_causal = attention->mask == ATTN_MASK_CAUSAL;
    const size_t ahead = is_causal ? n_key - n_query : 0;
    uint64_t n_pair = 0;

    for (size_t query = 0; query < n_query; query++) {
        const struct attn_key_row row = {0, 1, query, query + ahead, n_key};
        const unsigned char *cells = attention->mask == ATTN_MASK_MATRIX
                                         ? attention->matrix.cells + (1 * n_query + query) * n_key
                                         : NULL;
        int32_t keys[MAX_KEY];
        const size_t n = list_row(attention, &row, keys);
        size_t at = 0;

        for (size_t j = 0; j < n_key; j++) {
            const bool expected = is_kept(attention, row.position, j) &&
                                  (!is_causal || j <= row.position) && (!cells || cells[j]);
            const bool found = at < n && (size_t)keys[at] == j;

            if (found != expected) /* an assertion a pair would take minutes */
                ck_abort_msg("%s, %zu x %zu, mask %d: pair (%zu, %zu) is %d", text, n_query, n_key,
                             (int)attention->mask, query, j, found);
            at += found;
        }
        ck_assert_uint_eq(at, n);
        n_pair += n;
    }
    ck_assert_msg(attn_attention_n_pair(attention, n_query, n_key,
                                        &(struct attn_location){.layer = 0, .head = 1}) == n_pair,
                  "%s, %zu x %zu: counts %llu of %llu pairs", text, n_query, n_key,
                  (unsigned long long)attn_attention_n_pair(
                      attention, n_query, n_key, &(struct attn_location){.layer = 0, .head = 1}),
                  (unsigned long long)n_pair);
}

static const char *const defined_kinds[] = {
    "full",       "window:1",     "window:2",     "window:5",    "window:64",  "strided",
    "strided:1",  "strided:3",    "strided:16",   "strided:100", "log",        "block:1",
    "block:4",    "block:7",      "block:70",     "hybrid:1:1",  "hybrid:3:7", "hybrid:7:3",
    "hybrid:1:8", "hybrid:100:2", "hybrid:2:100", "sink:1:1",    "sink:4:3",   "sink:3:9",
    "sink:100:1", "sink:2:100",   "block:3:7",    "block:4:8",   "block:1:9",  "block:8:3",
    "block:70:5", "block:2:100"};
enum { N_DEFINED = sizeof defined_kinds / sizeof *defined_kinds };

START_TEST(rows_hold_the_pairs_that_the_kind_is_defined_by)
{
    for (size_t i = 0; i < N_DEFINED; i++)
        for (size_t n = 1; n < MAX_KEY; n++) {
            struct attn_attention attention = make(defined_kinds[i], ATTN_MASK_CAUSAL);

            attn_attention_resolve_stride(&attention, n);
            check_matrix(defined_kinds[i], &attention, n, n);
            attention.mask = ATTN_MASK_NONE;
            check_matrix(defined_kinds[i], &attention, n, n);
        }
}
END_TEST

START_TEST(queries_and_keys_may_differ_in_number)
{
    for (size_t i = 0; i < N_DEFINED; i++)
        for (size_t n_query = 1; n_query < 40; n_query += 3)
            for (size_t n_key = 1; n_key < 40; n_key += 4) {
                struct attn_attention attention = make(defined_kinds[i], ATTN_MASK_NONE);

                attn_attention_resolve_stride(&attention, n_key);
                check_matrix(defined_kinds[i], &attention, n_query, n_key);
                attention.mask = ATTN_MASK_CAUSAL;
                if (n_query <= n_key)
                    check_matrix(defined_kinds[i], &attention, n_query, n_key);
            }
}
END_TEST

START_TEST(a_mask_matrix_leaves_what_kind_and_matrix_both_keep)
{
    enum { N_QUERY = 21, N_KEY = 17 };
    static unsigned char cells[2 * N_QUERY * N_KEY];

    for (size_t i = 0; i < sizeof cells; i++)
        cells[i] = i * i % 7 < 3;
    for (size_t i = 0; i < N_DEFINED; i++) {
        struct attn_attention attention = make(defined_kinds[i], ATTN_MASK_MATRIX);

        attention.matrix = (struct attn_mask_matrix){cells, 2, N_QUERY, N_KEY};
        attn_attention_resolve_stride(&attention, N_KEY);
        check_matrix(defined_kinds[i], &attention, N_QUERY, N_KEY);
    }
}
END_TEST

/* In the block FIRST to END-1 of N positions the window limits the past, or nothing. */
static void check_block(const char *kind, size_t first, size_t end, size_t n)
{
    struct attn_attention attention = make(kind, ATTN_MASK_CAUSAL);
    const size_t width = attention.kind == ATTN_ATTENTION_WINDOW ? attention.window : n;
    int32_t keys[MAX_KEY];

    for (int ignores = 0; ignores < 2; ignores++)
        for (size_t i = 0; i < n; i++) {
            const struct attn_key_row row = {0, 0, i, i, n};
            size_t at = 0, n_key;

            attention.block = (struct attn_mask_block){first, end, ignores};
            n_key = list_row(&attention, &row, keys);
            for (size_t j = 0; j < n; j++) {
                const bool is_of_block = i >= first && i < end;
                const bool expected = (j + width > i || (is_of_block && ignores)) &&
                                      (j <= i || (is_of_block && j >= first && j < end));

                ck_assert_msg(expected == (at < n_key && (size_t)keys[at] == j),
                              "%s, block %zu to %zu, query %zu, key %zu", kind, first, end, i, j);
                at += expected;
            }
            ck_assert_uint_eq(at, n_key);
        }
}

START_TEST(positions_of_a_block_see_each_other)
{
    static const char *const kinds[] = {"full", "window:1", "window:5", "window:64"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (size_t end = 1; end <= 20; end++) {
            check_block(kinds[i], 0, end, 20);
            check_block(kinds[i], end / 2, end, 20);
        }
}
END_TEST

START_TEST(one_mask_matrix_serves_all_heads)
{
    static const unsigned char cells[] = {1, 0, 1, 0, 1, 1, 0, 0, 1};
    struct attn_attention attention = make("full", ATTN_MASK_MATRIX);

    attention.matrix = (struct attn_mask_matrix){cells, 1, 3, 3};
    for (int head = 0; head < 5; head++) {
        const struct attn_key_row row = {0, head, 1, 1, 3};
        int32_t keys[3];

        ck_assert_uint_eq(attn_keys_list(&attention, &row, keys), 2);
        ck_assert_int_eq(keys[0], 1);
        ck_assert_int_eq(keys[1], 2);
        ck_assert_uint_eq(attn_attention_n_pair(&attention, 3, 3,
                                                &(struct attn_location){.layer = 0, .head = head}),
                          5);
    }
}
END_TEST

START_TEST(parameters_beyond_the_keys_mean_full_and_overflow_nothing)
{
    static const char *const texts[] = {"window:9",
                                        "window:18446744073709551615",
                                        "strided:9",
                                        "strided:18446744073709551615",
                                        "strided:1",
                                        "random:9",
                                        "block:9",
                                        "random:18446744073709551615:3",
                                        "block:18446744073709551615",
                                        "block:9:2",
                                        "block:9:18446744073709551615",
                                        "block:18446744073709551615:8",
                                        "hybrid:18446744073709551615:18446744073709551615",
                                        "hybrid:9:2",
                                        "hybrid:2:1",
                                        "sink:18446744073709551615:18446744073709551615"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int mask = ATTN_MASK_CAUSAL; mask <= ATTN_MASK_NONE; mask++) {
            struct attn_attention attention = make(texts[i], (enum attn_mask)mask);

            for (size_t query = 0; query < 9; query++) {
                const struct attn_key_row row = {0, 0, query, query, 9};
                const size_t n_visible = mask == ATTN_MASK_CAUSAL ? query + 1 : 9;
                int32_t keys[MAX_KEY];

                ck_assert_uint_eq(list_row(&attention, &row, keys), n_visible);
                for (size_t j = 0; j < n_visible; j++)
                    ck_assert_int_eq(keys[j], (int32_t)j);
            }
        }
}
END_TEST

START_TEST(a_stride_that_was_not_given_is_the_square_root_rounded_up)
{
    for (size_t n = 1; n < 3000; n++) {
        struct attn_attention attention = make("strided", ATTN_MASK_CAUSAL);

        attn_attention_resolve_stride(&attention, n);
        ck_assert_uint_ge(attention.stride * attention.stride, n);
        ck_assert_uint_lt((attention.stride - 1) * (attention.stride - 1), n);
    }
    for (size_t root = 65535; root < 65538; root++)
        for (size_t over = 0; over < 2; over++) {
            struct attn_attention attention = make("strided", ATTN_MASK_CAUSAL);

            attn_attention_resolve_stride(&attention, root * root + over);
            ck_assert_uint_eq(attention.stride, root + over);
        }
}
END_TEST

START_TEST(a_given_stride_stays)
{
    struct attn_attention strided = make("strided:5", ATTN_MASK_CAUSAL);
    struct attn_attention full = make("full", ATTN_MASK_CAUSAL);

    attn_attention_resolve_stride(&strided, 100);
    ck_assert_uint_eq(strided.stride, 5);
    attn_attention_resolve_stride(&full, 100);
    ck_assert_uint_eq(full.stride, 0);
}
END_TEST

/* --- Random ----------------------------------------------------------------------------------- */

START_TEST(random_rows_hold_the_query_and_distinct_others)
{
    static const size_t counts[] = {1, 2, 3, 5, 16, 33, 64, 69, 70};

    for (int mask = ATTN_MASK_CAUSAL; mask <= ATTN_MASK_NONE; mask++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (size_t n = 1; n < MAX_KEY; n++) {
                struct attn_attention attention = make("random:1:7", (enum attn_mask)mask);
                uint64_t n_pair = 0;

                attention.count = counts[c];
                for (size_t i = 0; i < n; i++) {
                    const struct attn_key_row row = {0, 0, i, i, n};
                    const size_t n_visible = mask == ATTN_MASK_CAUSAL ? i + 1 : n;
                    int32_t keys[MAX_KEY];
                    const size_t n_kept = list_row(&attention, &row, keys);
                    bool has_self = false;

                    ck_assert_uint_eq(n_kept, n_visible < counts[c] ? n_visible : counts[c]);
                    for (size_t k = 0; k < n_kept; k++) {
                        if (keys[k] < 0 || (size_t)keys[k] >= n_visible ||
                            (k > 0 && keys[k] <= keys[k - 1]))
                            ck_abort_msg("key %d of row %zu", (int)keys[k], i);
                        has_self |= (size_t)keys[k] == i;
                    }
                    ck_assert(has_self);
                    n_pair += n_kept;
                }
                ck_assert_uint_eq(
                    attn_attention_n_pair(&attention, n, n, &(struct attn_location){0}), n_pair);
            }
}
END_TEST

START_TEST(random_queries_behind_all_keys_draw_every_one_of_them)
{
    const struct attn_attention attention = make("random:4", ATTN_MASK_NONE);

    for (size_t query = 0; query < 30; query++) {
        const struct attn_key_row row = {0, 0, query, query, 11};
        int32_t keys[MAX_KEY];

        ck_assert_uint_eq(list_row(&attention, &row, keys), 4);
        for (size_t k = 0; k < 4; k++)
            ck_assert(keys[k] < 11 && (k == 0 || keys[k] > keys[k - 1]));
    }
}
END_TEST

START_TEST(a_longer_text_changes_no_earlier_random_row)
{
    const struct attn_attention attention = make("random:6:1", ATTN_MASK_CAUSAL);

    for (size_t i = 0; i < 60; i++) {
        int32_t first[MAX_KEY], later[MAX_KEY];
        const struct attn_key_row row = {2, 3, i, i, i + 1};
        const size_t n = list_row(&attention, &row, first);

        for (size_t n_key = i + 2; n_key < MAX_KEY; n_key++) {
            struct attn_key_row longer = row;

            longer.n_key = n_key;
            ck_assert_uint_eq(list_row(&attention, &longer, later), n);
            ck_assert(memcmp(first, later, n * sizeof *first) == 0);
        }
    }
}
END_TEST

START_TEST(the_last_rows_of_a_random_matrix_are_those_of_the_square_one)
{
    const struct attn_attention attention = make("random:6:1", ATTN_MASK_CAUSAL);
    const struct attn_key_row square = {0, 0, 40, 40, 50}, wide = {0, 0, 3, 40, 50};
    int32_t of_square[MAX_KEY], of_wide[MAX_KEY];

    ck_assert_uint_eq(list_row(&attention, &square, of_square), 6);
    ck_assert_uint_eq(list_row(&attention, &wide, of_wide), 6);
    ck_assert(memcmp(of_square, of_wide, 6 * sizeof *of_square) == 0);
}
END_TEST

START_TEST(random_rows_depend_on_seed_layer_head_and_row)
{
    const struct attn_key_row rows[] = {{0, 0, 50, 50, 60}, {0, 0, 50, 50, 60}, {1, 0, 50, 50, 60},
                                        {0, 1, 50, 50, 60}, {1, 1, 50, 50, 60}, {0, 0, 51, 51, 60}};
    enum { N_ROW = sizeof rows / sizeof *rows };
    int32_t keys[N_ROW][MAX_KEY];

    for (int i = 0; i < N_ROW; i++) {
        const struct attn_attention attention =
            make(i == 1 ? "random:20:9" : "random:20", ATTN_MASK_NONE);

        ck_assert_uint_eq(list_row(&attention, &rows[i], keys[i]), 20);
        for (int other = 0; other < i; other++)
            ck_assert_msg(memcmp(keys[i], keys[other], 20 * sizeof **keys) != 0,
                          "rows %d and %d are the same", other, i);
    }
}
END_TEST

START_TEST(random_rows_are_the_same_on_every_machine)
{
    static const int32_t expected[] = {43, 362, 378, 709, 727, 817, 928, 999};
    const struct attn_attention attention = make("random:8:123", ATTN_MASK_CAUSAL);
    const struct attn_key_row row = {1, 2, 999, 999, 1000};
    int32_t keys[8];

    ck_assert_uint_eq(attn_keys_list(&attention, &row, keys), 8);
    for (size_t k = 0; k < 8; k++)
        ck_assert_int_eq(keys[k], expected[k]);
}
END_TEST

/* Chi-square of COUNTS [n], which should be equal. */
static double unevenness(const double *counts, size_t n)
{
    double sum = 0, chi = 0;

    for (size_t i = 0; i < n; i++)
        sum += counts[i];
    for (size_t i = 0; i < n; i++)
        chi += (counts[i] - sum / (double)n) * (counts[i] - sum / (double)n) / (sum / (double)n);
    return chi;
}

/*
 * Of N keys before the query 2 are drawn, many times: every pair of them must come equally often.
 * Chi-square has n_pair - 1 degrees of freedom; its mean is that, its deviation sqrt(2 n_pair).
 */
static void check_evenness(size_t n, size_t n_row)
{
    double *counts = calloc(n * n, sizeof *counts), chi;
    const struct attn_attention attention = make("random:3:5", ATTN_MASK_CAUSAL);
    const double n_pair = (double)(n * (n - 1)) / 2;
    size_t at = 0;

    ck_assert_ptr_nonnull(counts);
    for (size_t i = 0; i < n_row; i++) {
        const struct attn_key_row row = {(int)(i % 48), (int)(i / 48), n, n, n + 1};
        int32_t keys[3];

        ck_assert_uint_eq(attn_keys_list(&attention, &row, keys), 3);
        counts[(size_t)keys[0] * n + (size_t)keys[1]]++;
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = a + 1; b < n; b++)
            counts[at++] = counts[a * n + b];
    chi = unevenness(counts, at);
    free(counts);
    ck_assert_msg(chi < n_pair + 5 * sqrt(2 * n_pair), "%zu keys: chi-square %g of %g pairs", n,
                  chi, n_pair);
}

START_TEST(every_pair_of_keys_is_drawn_equally_often)
{
    static const size_t sizes[] = {3, 4, 5, 6, 7, 8, 11, 16, 17, 33, 64, 100};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        check_evenness(sizes[i], 20000);
}
END_TEST

/* Rows that are listed by a map and by sorting, against the question for each key. */
START_TEST(long_random_rows_list_the_keys_that_they_keep)
{
    static const size_t sizes[] = {1000, 32768, 32769, 40000}, counts[] = {2, 4, 100, 700};
    static int32_t listed[40000], kept[40000];
    unsigned char *cells = malloc(40000);

    ck_assert_ptr_nonnull(cells);
    memset(cells, 1, 40000);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const struct attn_key_row row = {3, 1, 0, sizes[s] / 3, sizes[s]};
            struct attn_attention attention = make("random:1:5", ATTN_MASK_NONE);

            attention.count = counts[c];
            ck_assert_uint_eq(list_row(&attention, &row, listed), counts[c]);
            attention.mask = ATTN_MASK_MATRIX; /* keeps, of every key */
            attention.matrix = (struct attn_mask_matrix){cells, 1, 1, sizes[s]};
            ck_assert_uint_eq(list_row(&attention, &row, kept), counts[c]);
            ck_assert_mem_eq(listed, kept, counts[c] * sizeof *kept);
        }
    free(cells);
}
END_TEST

START_TEST(a_matrix_filters_random_rows_after_they_are_drawn)
{
    enum { N = 40 };
    static unsigned char all[N * N], some[N * N];
    struct attn_attention attention = make("random:9:2", ATTN_MASK_NONE);
    struct attn_attention with_all = attention, with_some = attention;

    memset(all, 1, sizeof all);
    for (size_t i = 0; i < sizeof some; i++)
        some[i] = i % 3 == 0;
    with_all.mask = with_some.mask = ATTN_MASK_MATRIX;
    with_all.matrix = (struct attn_mask_matrix){all, 1, N, N};
    with_some.matrix = (struct attn_mask_matrix){some, 1, N, N};
    for (size_t i = 0; i < N; i++) {
        const struct attn_key_row row = {0, 0, i, i, N};
        int32_t drawn[N], kept[N];
        const size_t n = list_row(&attention, &row, drawn);
        size_t n_kept = 0;

        ck_assert_uint_eq(list_row(&with_all, &row, kept), n);
        ck_assert(memcmp(drawn, kept, n * sizeof *drawn) == 0);
        for (size_t k = 0; k < n; k++)
            if (some[i * N + (size_t)drawn[k]])
                drawn[n_kept++] = drawn[k];
        ck_assert_uint_eq(list_row(&with_some, &row, kept), n_kept);
        ck_assert(memcmp(drawn, kept, n_kept * sizeof *drawn) == 0);
    }
}
END_TEST

/* --- Numbers ---------------------------------------------------------------------------------- */

START_TEST(rows_of_kinds_with_a_window_or_a_block_lie_together)
{
    static const struct {
        const char *text;
        bool is_near;
    } rows[] = {{"full", true},     {"window:3", true}, {"block:3", true},   {"block:3:4", true},
                {"strided", false}, {"log", false},     {"random:3", false}, {"hybrid:3:4", false}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct attn_attention attention = make(rows[i].text, ATTN_MASK_CAUSAL);

        ck_assert_msg(attn_keys_are_near(&attention) == rows[i].is_near, "%s", rows[i].text);
    }
}
END_TEST

START_TEST(pairs_of_kinds_without_pairs_are_none_or_those_of_the_projection)
{
    const struct attn_attention linear = make("linear", ATTN_MASK_CAUSAL);
    struct attn_attention lowrank = make("lowrank:8", ATTN_MASK_NONE);

    ck_assert_uint_eq(attn_attention_n_pair(&linear, 10, 10, &(struct attn_location){0}), 0);
    ck_assert_uint_eq(attn_attention_n_pair(&lowrank, 10, 30, &(struct attn_location){0}), 80);
    lowrank.count = SIZE_MAX;
    ck_assert_uint_eq(attn_attention_n_pair(&lowrank, 10, 30, &(struct attn_location){0}),
                      UINT64_MAX);
}
END_TEST

START_TEST(a_longer_text_costs_as_many_pairs_as_the_articles_say)
{
    enum { N = 1 << 14 };
    static const struct {
        const char *text;
        double least, most; /* pairs a row, on average */
    } rows[] = {{"full", N / 2., N / 2. + 1},
                {"window:64", 63, 64},
                {"strided", 128, 192}, /* 128 = sqrt(N) near, up to as many far */
                {"log", 13, 15},
                {"random:32", 31.9, 32},
                {"block:64", 32, 33}};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_attention attention = make(rows[i].text, ATTN_MASK_CAUSAL);
        double a_row;

        attn_attention_resolve_stride(&attention, N);
        a_row = (double)attn_attention_n_pair(&attention, N, N, &(struct attn_location){0}) / N;
        ck_assert_msg(a_row >= rows[i].least && a_row <= rows[i].most, "%s: %g pairs a row",
                      rows[i].text, a_row);
    }
}
END_TEST

/* The pairs that bear out n^2, n, n sqrt(n) and n log(n). */
START_TEST(counts_the_pairs_of_sparse_kinds)
{
    static const struct {
        const char *kind;
        enum attn_mask mask;
        uint64_t n_pair[4]; /* of 64, 256, 1024, 4096 tokens */
    } kinds[] = {
        {"full", ATTN_MASK_NONE, {4096, 65536, 1048576, 16777216}},
        {"window:3", ATTN_MASK_NONE, {314, 1274, 5114, 20474}},
        {"strided", ATTN_MASK_CAUSAL, {708, 5896, 48144, 389152}},
        {"log", ATTN_MASK_CAUSAL, {385, 2049, 10241, 49153}},
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        for (int length = 0; length < 4; length++) {
            const size_t n = (size_t)64 << 2 * length;
            struct attn_attention attention = make(kinds[i].kind, kinds[i].mask);

            attn_attention_resolve_stride(&attention, n);
            ck_assert_uint_eq(attn_attention_n_pair(&attention, n, n, &(struct attn_location){0}),
                              kinds[i].n_pair[length]);
        }
    }
}
END_TEST

ATTN_SUITE("attention keys", rows_hold_the_pairs_that_the_kind_is_defined_by,
           queries_and_keys_may_differ_in_number,
           a_mask_matrix_leaves_what_kind_and_matrix_both_keep, one_mask_matrix_serves_all_heads,
           positions_of_a_block_see_each_other,
           parameters_beyond_the_keys_mean_full_and_overflow_nothing,
           a_stride_that_was_not_given_is_the_square_root_rounded_up, a_given_stride_stays,
           random_rows_hold_the_query_and_distinct_others,
           random_queries_behind_all_keys_draw_every_one_of_them,
           a_longer_text_changes_no_earlier_random_row,
           the_last_rows_of_a_random_matrix_are_those_of_the_square_one,
           random_rows_depend_on_seed_layer_head_and_row, random_rows_are_the_same_on_every_machine,
           every_pair_of_keys_is_drawn_equally_often, long_random_rows_list_the_keys_that_they_keep,
           a_matrix_filters_random_rows_after_they_are_drawn,
           rows_of_kinds_with_a_window_or_a_block_lie_together,
           pairs_of_kinds_without_pairs_are_none_or_those_of_the_projection,
           a_longer_text_costs_as_many_pairs_as_the_articles_say, counts_the_pairs_of_sparse_kinds)
