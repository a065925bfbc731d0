/*
 * test_metrics.c - the measures of heads against their definitions, written out over whole matrices
 * in double precision; and the rows that do not count.
 */
#include "attn.h"
#include "base/random.h"
#include "measures/measure_rows.h"
#include "tests/support/suite.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 11, WINDOW = 4 };

/* 3 and 5 come back, 5 right after itself. */
static const int32_t ids[N] = {7, 3, 5, 5, 2, 3, 5, 9, 3, 1, 7};

/* What these are called: 1, 3, 4 and 9 are punctuation. 7 has white space within; the last is a
 * part of a character. */
static const char *const tokens[N] = {"The",   " ,", " dog",    "\xe3\x80\x82\xe2\x80\x9d",
                                      "...\n", "$",  "a.",      ". ,",
                                      " ",     "(",  "\xe2\x80"};

/* A matrix [N, N] whose rows sum to 1, and which of its cells count. */
struct matrix {
    float weights[N][N];
    bool is_visible[N][N];
};

/* Each row sees WINDOW keys up to itself, and with IS_MUTUAL those behind it. */
static void fill(struct matrix *m, size_t window, bool is_mutual)
{
    struct attn_random random;

    attn_random_seed(&random, 7);
    for (size_t i = 0; i < N; i++) {
        float sum = 0;

        for (size_t j = 0; j < N; j++) {
            m->is_visible[i][j] = j <= i ? i - j < window : is_mutual;
            m->weights[i][j] =
                m->is_visible[i][j] ? (float)(attn_random_u32(&random) % 997 + 1) : 0;
            sum += m->weights[i][j];
        }
        for (size_t j = 0; j < N; j++)
            m->weights[i][j] /= sum;
    }
}

/* --- The measures under test ------------------------------------------------------------------ */

/* Returns the measure called NAME. */
static const struct attn_metric *find_metric(const char *name)
{
#define RETURN_IF_NAMED(row, number, label, id, ...)                                               \
    if (strcmp(attn_metric_##id.name, name) == 0)                                                  \
        return &attn_metric_##id;
    ATTN_MEASURE_MAP(RETURN_IF_NAMED)
#undef RETURN_IF_NAMED
    return NULL;
}

/* Measures M row by row, sparse when IS_SPARSE. */
static void measure(const char *name, const struct matrix *m, bool is_sparse,
                    const struct attn_dims *dims, bool has_text, double *values)
{
    size_t sizes[N];
    struct attn_metric_settings settings = {.ids = NULL};
    struct attn_selection *selection;
    struct attn_measurement *measurement;
    struct attn_error err = {0};

    for (size_t i = 0; i < N; i++)
        sizes[i] = strlen(tokens[i]);
    if (has_text) {
        settings.ids = ids;
        settings.tokens = tokens;
        settings.token_sizes = sizes;
        settings.n_token = N;
    }
    ck_assert_int_eq(attn_selection_create(dims, &selection, &err), ATTN_OK);
    ck_assert_int_eq(
        attn_measurement_create(find_metric(name), &settings, selection, NULL, &measurement, &err),
        ATTN_OK);
    for (size_t i = 0; i < N; i++) {
        float kept[N];
        int32_t keys[N];
        size_t n = 0;
        struct attn_trace_event event = {.at.site = ATTN_SITE_PATTERN,
                                         .row0 = i,
                                         .n_row = 1,
                                         .n_col = N,
                                         .ld = N,
                                         .data = m->weights[i],
                                         .is_causal = !m->is_visible[0][N - 1]};

        for (size_t j = 0; j < N; j++)
            if (m->is_visible[i][j]) {
                keys[n] = (int32_t)j;
                kept[n++] = m->weights[i][j];
            }
        if (is_sparse) {
            event.data = kept;
            event.keys = keys;
            event.n_kept = &n;
        }
        attn_measurement_add(measurement, &event);
    }
    attn_measurement_find(measurement, &(const struct attn_location){.layer = 0}, values);
    attn_measurement_free(measurement);
    attn_selection_free(selection);
}

/* --- Their definitions ------------------------------------------------------------------------ */

/* The mean over rows with targets of the weight on them; *n is how many such rows there are. */
static double mean_on(const struct matrix *m, bool (*is_target)(size_t i, size_t j), double *n)
{
    double sum = 0;

    *n = 0;
    for (size_t i = 0; i < N; i++) {
        bool has_target = false;

        for (size_t j = 0; j < N; j++)
            if (is_target(i, j)) {
                sum += (double)m->weights[i][j];
                has_target = true;
            }
        *n += has_target;
    }
    return sum / *n;
}

static bool is_self(size_t i, size_t j)
{
    return i == j;
}

static bool is_previous(size_t i, size_t j)
{
    return j + 1 == i;
}

static bool is_first(size_t i, size_t j)
{
    return i >= 1 && j == 0;
}

static bool is_duplicate(size_t i, size_t j)
{
    return j < i && ids[i] == ids[j];
}

static bool is_induction(size_t i, size_t j)
{
    return j >= 1 && j <= i && ids[j - 1] == ids[i];
}

static bool is_punctuation(size_t i, size_t j)
{
    return j <= i && (j == 1 || j == 3 || j == 4 || j == 9);
}

static void check_entropy(const struct matrix *m, const double *found)
{
    double entropy = 0, norm = 0, n_norm = 0;

    for (size_t i = 0; i < N; i++) {
        double of_row = 0, n = 0;

        for (size_t j = 0; j < N; j++)
            if (m->is_visible[i][j]) {
                of_row -= (double)m->weights[i][j] * log((double)m->weights[i][j]);
                n++;
            }
        entropy += of_row / N;
        if (n > 1) {
            norm += of_row / log(n);
            n_norm++;
        }
    }
    ck_assert_double_eq_tol(found[0], entropy, 1e-12);
    ck_assert_double_eq_tol(found[1], norm / n_norm, 1e-12);
}

static double largest_between(const struct matrix *m, size_t i, size_t first, size_t end)
{
    double largest = 0;

    for (size_t j = first; j < end; j++)
        largest = fmax(largest, (double)m->weights[i][j]);
    return largest;
}

static double distance_of(const struct matrix *m)
{
    double moment = 0, weight = 0;

    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            moment += (double)m->weights[i][j] * ((double)i - (double)j);
            weight += (double)m->weights[i][j];
        }
    return moment / weight;
}

static const struct attn_dims dims = {.n_layer = 1,
                                      .n_head = 1,
                                      .n_kv_head = 1,
                                      .d_head = 4,
                                      .d_value = 4,
                                      .n_position = N,
                                      .sites = {{UINT64_C(1) << ATTN_SITE_PATTERN}}};

/* Every measure of M, dense and sparse. */
static void check_all(const struct matrix *m, bool is_sparse)
{
    static const struct {
        const char *name;
        bool (*is_target)(size_t i, size_t j);
        int n_value;
    } means[] = {{"self", is_self, 1},           {"previous", is_previous, 1},
                 {"first", is_first, 1},         {"duplicate", is_duplicate, 2},
                 {"induction", is_induction, 2}, {"punctuation", is_punctuation, 2}};
    double found[2], largest = 0, far = 0, n;

    measure("entropy", m, is_sparse, &dims, true, found);
    check_entropy(m, found);
    for (size_t i = 0; i < sizeof means / sizeof *means; i++) {
        measure(means[i].name, m, is_sparse, &dims, true, found);
        ck_assert_double_eq_tol(found[0], mean_on(m, means[i].is_target, &n), 1e-12);
        if (means[i].n_value == 2)
            ck_assert_double_eq(found[1], n);
    }
    for (size_t i = 0; i < N; i++) {
        largest += largest_between(m, i, 0, N) / N;
        far += i >= 3 ? largest_between(m, i, 1, i - 1) / (N - 3) : 0;
    }
    measure("max", m, is_sparse, &dims, true, found);
    ck_assert_double_eq_tol(found[0], largest, 1e-12);
    measure("far", m, is_sparse, &dims, true, found);
    ck_assert_double_eq_tol(found[0], far, 1e-12);
    ck_assert_double_eq(found[1], N - 3);
    measure("distance", m, is_sparse, &dims, true, found);
    ck_assert_double_eq_tol(found[0], distance_of(m), 1e-12);
    ck_assert_double_eq_tol(found[1], found[0], 1e-12); /* no query sees a later key */
}

START_TEST(measures_are_what_their_definitions_say)
{
    struct matrix m;

    fill(&m, N, false);
    check_all(&m, false);
    check_all(&m, true);
}
END_TEST

START_TEST(masked_keys_have_no_part_in_measures)
{
    struct matrix m;

    fill(&m, WINDOW, false);
    check_all(&m, true);
}
END_TEST

/* Every row sees all punctuation. */
START_TEST(keys_behind_the_query_may_be_punctuation)
{
    struct matrix m;

    fill(&m, N, true);
    for (int is_sparse = 0; is_sparse < 2; is_sparse++) {
        double found[2], sum = 0;

        measure("punctuation", &m, is_sparse, &dims, true, found);
        for (size_t i = 0; i < N; i++)
            sum += (double)m.weights[i][1] + (double)m.weights[i][3] + (double)m.weights[i][4] +
                   (double)m.weights[i][9];
        ck_assert_double_eq_tol(found[0], sum / N, 1e-12);
        ck_assert_double_eq(found[1], N);
    }
}
END_TEST

START_TEST(measures_without_rows_have_no_value)
{
    static const bool is_cross = true;
    static const char *const names[] = {"distance", "self",      "previous",
                                        "first",    "duplicate", "punctuation"};
    struct attn_dims cross = dims;
    struct matrix m;
    double found[2];

    fill(&m, N, false);
    measure("induction", &m, false, &dims, false, found);
    ck_assert_double_nan(found[0]);
    ck_assert_double_eq(found[1], 0);
    measure("punctuation", &m, false, &dims, false, found);
    ck_assert_double_nan(found[0]);
    ck_assert_double_eq(found[1], 0);
    cross.is_cross = &is_cross;
    cross.n_source = N;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        measure(names[i], &m, false, &cross, true, found);
        ck_assert_double_nan(found[0]);
    }
}
END_TEST

START_TEST(a_weight_that_is_no_number_makes_a_measure_none)
{
    static const char *const names[] = {"entropy", "max", "distance", "self", "previous", "far"};
    struct matrix m;
    double found[2];

    fill(&m, N, false);
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j <= i; j++)
            m.weights[i][j] = NAN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        measure(names[i], &m, false, &dims, true, found);
        ck_assert_double_nan(found[0]);
    }
}
END_TEST

static bool count_row(const struct attn_metric_row *row, double *terms)
{
    (void)row;
    terms[0] = 1;
    return true;
}

static void repeat(const double *sums, double *values)
{
    for (size_t i = 0; i < ATTN_METRIC_MOST; i++)
        values[i] = sums[0] + (double)i;
}

/* A measure of N_VALUE values. */
static struct attn_metric metric_of(size_t n_value)
{
    return (struct attn_metric){
        .name = "many", .n_value = n_value, .n_term = 1, .row = count_row, .finish = repeat};
}

START_TEST(a_measure_may_have_as_many_values_as_readers_have_room_for)
{
    const struct attn_metric metric = metric_of(ATTN_METRIC_MOST);
    const struct attn_metric_settings settings = {.ids = NULL};
    struct attn_error err = {0};
    struct attn_selection *selection;
    struct attn_measurement *measurement;
    double found[ATTN_METRIC_MOST];

    ck_assert_int_eq(attn_selection_create(&dims, &selection, &err), ATTN_OK);
    ck_assert_int_eq(
        attn_measurement_create(&metric, &settings, selection, NULL, &measurement, &err), ATTN_OK);
    attn_measurement_find(measurement, &(const struct attn_location){.layer = 0}, found);
    for (size_t i = 0; i < ATTN_METRIC_MOST; i++)
        ck_assert_double_eq(found[i], (double)i);
    attn_measurement_free(measurement);
    attn_selection_free(selection);
}
END_TEST

/* One more would be written after the arrays of all who ask. */
START_TEST(a_measure_of_more_values_is_not_begun)
{
    const struct attn_metric metric = metric_of(ATTN_METRIC_MOST + 1);
    const struct attn_metric_settings settings = {.ids = NULL};
    struct attn_selection *selection;
    struct attn_measurement *measurement;
    int status;

    ck_assert_int_eq(attn_selection_create(&dims, &selection, NULL), ATTN_OK);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        close(STDERR_FILENO); /* the assertion is expected */
        attn_measurement_create(&metric, &settings, selection, NULL, &measurement, NULL);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    attn_selection_free(selection);
}
END_TEST

/* Where a query sees all keys, later ones count, and both directions. */
START_TEST(later_keys_count_where_they_are_seen)
{
    static const float weights[3][3] = {
        {0.5F, 0.125F, 0.375F}, {0.25F, 0.5F, 0.25F}, {0.75F, 0, 0.25F}};
    static const double far[] = {0.375, 0.25, (double)NAN}; /* the last query sees no other key */
    static const double away[] = {0.125 + 0.75, 0.25 + 0.25, 1.5};
    static const double back[] = {-0.125 - 0.75, 0.25 - 0.25, 1.5};
    const struct attn_metric_settings settings = {0};

    for (size_t i = 0; i < 3; i++) {
        struct attn_metric_row row = {
            .settings = &settings, .query = i, .cells = {.values = weights[i], .n = 3}};
        double terms[ATTN_METRIC_MOST] = {0}, values[2];

        ck_assert_int_eq(attn_metric_far.row(&row, terms), !isnan(far[i]));
        attn_metric_far.finish(terms, values);
        if (!isnan(far[i]))
            ck_assert_double_eq(values[0], far[i]);
        memset(terms, 0, sizeof terms);
        ck_assert(attn_metric_distance.row(&row, terms));
        attn_metric_distance.finish(terms, values);
        ck_assert_double_eq(values[0], back[i]);
        ck_assert_double_eq(values[1], away[i]);
    }
}
END_TEST

/* Keys that are masked are not the last; neither is one that a sparse kind leaves out. */
START_TEST(within_a_source_are_neither_its_first_nor_its_last_place)
{
    static const float weights[] = {0.25F, 0.125F, 0.0625F, 0.5F, 0.0625F};
    static const int32_t mask[] = {1, 1, 1, 1, 0}, keys[] = {0, 2, 3};
    static const struct {
        size_t n;
        const int32_t *mask, *keys;
        double far;
    } cases[] = {{5, NULL, NULL, 0.5},         {5, mask, NULL, 0.125},
                 {3, NULL, keys, 0.125},       {3, NULL, NULL, 0.125},
                 {2, NULL, NULL, (double)NAN}, {1, NULL, NULL, (double)NAN}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct attn_metric_settings settings = {.source_mask = cases[i].mask};
        const struct attn_metric_row row = {
            .settings = &settings,
            .is_cross = true,
            .query = 1,
            .cells = {.values = weights, .keys = cases[i].keys, .n = cases[i].n}};
        double terms[ATTN_METRIC_MOST] = {0}, values[2];

        ck_assert_int_eq(attn_metric_far.row(&row, terms), !isnan(cases[i].far));
        attn_metric_far.finish(terms, values);
        if (!isnan(cases[i].far))
            ck_assert_double_eq(values[0], cases[i].far);
    }
}
END_TEST

/* [CLS], a register, and 2 x 2 patches; numbers of a picture against numpy are in pictures.test. */
START_TEST(patches_have_distances_in_two_dimensions)
{
    static const float weights[] = {0.25f, 0.125f, 0.125f, 0.25f, 0, 0.25f};
    const struct attn_metric_settings picture = {.n_front = 2, .n_patch_column = 2}, text = {0};
    struct attn_metric_row row = {
        .settings = &picture, .query = 2, .cells = {.values = weights, .n = 6}};
    double terms[ATTN_METRIC_MOST] = {0}, values[4];

    ck_assert(attn_metric_patches.row(&row, terms));
    attn_metric_patches.finish(terms, values);
    ck_assert_double_eq_tol(values[0], (0.25 + 0.25 * sqrt(2)) / 0.625, 1e-15);
    ck_assert_double_eq(values[1], 0.625); /* all are neighbours */
    ck_assert_double_eq(values[2], 0.25);
    ck_assert_double_eq(values[3], 0.125);
    row.query = 1; /* a register */
    ck_assert(!attn_metric_patches.row(&row, terms));
    row.query = 2, row.settings = &text;
    ck_assert(!attn_metric_patches.row(&row, terms));
}
END_TEST

ATTN_SUITE("metrics", measures_are_what_their_definitions_say, masked_keys_have_no_part_in_measures,
           keys_behind_the_query_may_be_punctuation, measures_without_rows_have_no_value,
           a_weight_that_is_no_number_makes_a_measure_none,
           a_measure_may_have_as_many_values_as_readers_have_room_for,
           a_measure_of_more_values_is_not_begun, later_keys_count_where_they_are_seen,
           within_a_source_are_neither_its_first_nor_its_last_place,
           patches_have_distances_in_two_dimensions)
