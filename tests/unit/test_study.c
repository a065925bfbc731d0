/* test_study.c - experiments about many items: their tables against those of single runs. */
#include "base/random.h"
#include "extra.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/column.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_ITEM = 5 };

static const char *const texts[N_ITEM] = {"The keys to the cabinet", "The dog near", "The boys",
                                          "The key to the doors", "A cat by the gate"};
static const char *const corrupted[N_ITEM] = {"The key to the cabinet", "The dogs near", "The boy",
                                              "The keys to the doors", "A cats by the gate"};
static const bool is_plural[N_ITEM] = {true, false, true, false, false};

static struct attn_host *host;
static char data[2048]; /* the items, as JSON Lines */

static void open_host_of(int n_thread)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    size_t used = 0;

    options.n_thread = n_thread;
    host = attn_open_host("fable", &options);
    for (size_t i = 0; i < N_ITEM; i++)
        used += (size_t)snprintf(
            data + used, sizeof data - used,
            "{\"id\": %zu, \"text\": \"%s\", \"clean\": \"%s\", \"corrupted\": \"%s\", "
            "\"target\": \"%s\", \"foil\": \"%s\", \"c\": \"%s\"}\n",
            i / 2, texts[i], texts[i], corrupted[i], is_plural[i] ? " are" : " is",
            is_plural[i] ? " is" : " are", i % 2 ? "odd" : "even");
}

static void open_host(void)
{
    open_host_of(3);
}

static void close_host(void)
{
    attn_host_free(host);
}

static struct attn_items *open_items(const char *lines)
{
    struct attn_items_options options = ATTN_ITEMS_OPTIONS_DEFAULT;
    struct attn_items *items = NULL;

    options.data = lines;
    options.n_data = strlen(lines);
    ck_assert(attn_items_open(&options, &items, NULL) == ATTN_OK);
    return items;
}

static struct attn_input input_of(const char *text)
{
    return (struct attn_input){.text = text, .n_text = strlen(text)};
}

static void take_answer(struct attn_answer_args *answer, size_t item)
{
    answer->target = is_plural[item] ? " are" : " is";
    answer->foil = is_plural[item] ? " is" : " are";
}

/* What is asked of items, or of one of them. */
typedef struct attn_table *(*ask_fn)(const struct attn_study_args *study, size_t item);

static struct attn_table *ask_ablate(const struct attn_study_args *study, size_t item)
{
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    args.study = study;
    args.by = ATTN_ABLATE_BY_ATTN;
    args.n_control = 4;
    args.seed = 3;
    if (!study) {
        request.input = input_of(texts[item]);
        take_answer(&args.answer, item);
    }
    ck_assert_msg(attn_ablate(host, &request, &args, &table, &sum, &err) == ATTN_OK, "%s",
                  err.message);
    return table;
}

static struct attn_table *ask_patch(const struct attn_study_args *study, size_t item)
{
    struct attn_patch_args args = ATTN_PATCH_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_patch_sum sum = ATTN_PATCH_SUM_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    args.study = study;
    args.site = "z";
    args.n_control = 6;
    if (!study) {
        request.input = input_of(texts[item]);
        args.corrupted = input_of(corrupted[item]);
        take_answer(&args.answer, item);
    }
    ck_assert_msg(attn_patch(host, &request, &args, &table, &sum, &err) == ATTN_OK, "%s",
                  err.message);
    return table;
}

static struct attn_table *ask_items(ask_fn ask, const struct attn_study_args *asked)
{
    struct attn_study_args study = *asked;
    struct attn_table *table;

    study.items = open_items(data);
    table = ask(&study, 0);
    attn_items_free(study.items);
    return table;
}

static double number_at(const struct attn_table *table, size_t row, const char *name)
{
    const struct attn_cell cell = attn_test_cell(table, row, name);

    return cell.type == ATTN_VALUE_MISSING ? (double)NAN
           : cell.type == ATTN_VALUE_REAL  ? cell.real
                                           : (double)cell.integer;
}

static void expect_near(double actual, double expected, size_t row, const char *what)
{
    ck_assert_msg(fabs(actual - expected) <= 1e-12 * fmax(1, fabs(expected)),
                  "%s in row %zu: %.17g, "
                  "expected %.17g",
                  what, row, actual, expected);
}

/* Numbers of items, and their mean, standard deviation and standard error. */
struct sample {
    double x[N_ITEM], mean, sd, se;
    size_t n;
};

static void sample_end(struct sample *sample)
{
    double squares = 0;

    sample->mean = 0;
    for (size_t i = 0; i < sample->n; i++)
        sample->mean += sample->x[i] / (double)sample->n;
    for (size_t i = 0; i < sample->n; i++)
        squares += (sample->x[i] - sample->mean) * (sample->x[i] - sample->mean);
    sample->sd = sqrt(squares / ((double)sample->n - 1));
    sample->se = sample->sd / sqrt((double)sample->n);
}

/* The column NAME of row ROW in the tables of all items, or of those whose number has the PARITY.
 */
static struct sample sample_of(struct attn_table *const tables[N_ITEM], size_t row,
                               const char *name, int parity)
{
    struct sample sample = {.n = 0};

    for (size_t i = 0; i < N_ITEM; i++)
        if (parity < 0 || (int)(i % 2) == parity)
            sample.x[sample.n++] = number_at(tables[i], row, name);
    sample_end(&sample);
    return sample;
}

static void ask_each(ask_fn ask, struct attn_table *tables[N_ITEM])
{
    for (size_t i = 0; i < N_ITEM; i++)
        tables[i] = ask(NULL, i);
}

static void free_each(struct attn_table *tables[N_ITEM])
{
    for (size_t i = 0; i < N_ITEM; i++)
        attn_table_free(tables[i]);
}

static struct attn_table *ask_heads(const struct attn_study_args *study, size_t item)
{
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    args.study = study;
    args.measures = ATTN_MEASURE_BIT(ATTN_MEASURE_MAX) | ATTN_MEASURE_BIT(ATTN_MEASURE_N_INDUCTION);
    args.from.text = "-1";
    args.to.text = "0";
    if (!study)
        request.input = input_of(texts[item]);
    ck_assert_msg(attn_heads(host, &request, &args, &table, &err) == ATTN_OK, "%s", err.message);
    return table;
}

/* Several texts are fed together. */
START_TEST(heads_of_packs_are_those_of_single_runs)
{
    static const char *const names[] = {"max", "weight", "percentile"};
    const struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table;

    open_host();
    table = ask_items(ask_heads, &study);
    ask_each(ask_heads, tables);
    for (size_t row = 0; row < attn_table_n_row(table); row++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            expect_near(number_at(table, row, names[i]), sample_of(tables, row, names[i], -1).mean,
                        row, names[i]);
    free_each(tables);
    attn_table_free(table);
    close_host();
}
END_TEST

/* The share of items whose metric logit_diff is above 0 in ROW. */
static double share_right(struct attn_table *const tables[N_ITEM], size_t row, const char *name)
{
    double n = 0;

    for (size_t i = 0; i < N_ITEM; i++)
        n += number_at(tables[i], row, name) > 0;
    return n / N_ITEM;
}

static struct attn_table *ask_lens(const struct attn_study_args *study, size_t item)
{
    struct attn_lens_args args = ATTN_LENS_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    args.study = study;
    if (!study) {
        request.input = input_of(texts[item]);
        take_answer(&args.answer, item);
    }
    ck_assert_msg(attn_lens(host, &request, &args, &table, &err) == ATTN_OK, "%s", err.message);
    return table;
}

START_TEST(right_is_the_share_of_items_above_0)
{
    static const struct {
        ask_fn ask;
        const char *metric;
    } cases[] = {{ask_ablate, "value"}, {ask_patch, "value"}, {ask_lens, "value"}};
    const struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table;
    bool has_wrong = false;

    open_host();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        table = ask_items(cases[i].ask, &study);
        ask_each(cases[i].ask, tables);
        for (size_t row = 0; row < attn_table_n_row(table); row++) {
            const double right = share_right(tables, row, cases[i].metric);

            expect_near(number_at(table, row, "right"), right, row, "right");
            has_wrong = has_wrong || right < 1;
        }
        ck_assert(has_wrong);
        free_each(tables);
        attn_table_free(table);
    }
    close_host();
}
END_TEST

START_TEST(means_are_those_of_single_runs)
{
    static const char *const names[] = {"value", "change", "kl"};
    const struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table;

    open_host();
    table = ask_items(ask_ablate, &study);
    ask_each(ask_ablate, tables);
    ck_assert_uint_eq(attn_table_n_row(table), attn_table_n_row(tables[0]));
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const struct sample sample = sample_of(tables, row, names[i], -1);
            char name[32];

            expect_near(number_at(table, row, names[i]), sample.mean, row, names[i]);
            snprintf(name, sizeof name, "%s_sd", names[i]);
            expect_near(number_at(table, row, name), sample.sd, row, name);
            snprintf(name, sizeof name, "%s_se", names[i]);
            expect_near(number_at(table, row, name), sample.se, row, name);
        }
        expect_near(number_at(table, row, "same_top"), sample_of(tables, row, "same_top", -1).mean,
                    row, "same_top");
        ck_assert(number_at(table, row, "n") == N_ITEM);
        if (row > 0) /* the same choices for all: the order of means does not matter */
            expect_near(number_at(table, row, "control"),
                        sample_of(tables, row, "control", -1).mean, row, "control");
    }
    free_each(tables);
    attn_table_free(table);
    close_host();
}
END_TEST

START_TEST(groups_are_in_the_order_of_their_first_items)
{
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table;
    struct attn_study_sum sum = ATTN_STUDY_SUM_DEFAULT;
    size_t n;

    open_host();
    study.group_by = "c";
    study.sum = &sum;
    table = ask_items(ask_ablate, &study);
    ask_each(ask_ablate, tables);
    n = attn_table_n_row(tables[0]);
    ck_assert_uint_gt(n, 0);
    ck_assert_uint_eq(attn_table_n_row(table), 2 * n);
    ck_assert_uint_eq(sum.n_group, 2);
    ck_assert_uint_eq(sum.n_label, 1);
    for (size_t row = 0; row < 2 * n; row++) {
        const struct attn_cell label = attn_table_cell(table, row, 0);

        ck_assert_mem_eq(label.text, row < n ? "even" : "odd", label.size);
        expect_near(number_at(table, row, "value"),
                    sample_of(tables, row % n, "value", row < n ? 0 : 1).mean, row, "value");
        ck_assert(number_at(table, row, "n") == (row < n ? 3 : 2));
    }
    free_each(tables);
    attn_table_free(table);
    close_host();
}
END_TEST

START_TEST(pairs_are_differences_of_partners)
{
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table;
    struct attn_study_sum sum = ATTN_STUDY_SUM_DEFAULT;

    open_host();
    study.paired = "c=odd:even"; /* items 1 and 0, 3 and 2; 4 has no partner */
    study.sum = &sum;
    table = ask_items(ask_ablate, &study);
    ask_each(ask_ablate, tables);
    ck_assert_uint_eq(sum.n_pair, 2);
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        struct sample sample = {.n = 2};

        for (size_t i = 0; i < 2; i++)
            sample.x[i] = number_at(tables[2 * i], row, "change") -
                          number_at(tables[2 * i + 1], row, "change");
        sample_end(&sample);
        expect_near(number_at(table, row, "change"), sample.mean, row, "change");
        expect_near(number_at(table, row, "change_se"), sample.se, row, "change_se");
    }
    free_each(tables);
    attn_table_free(table);
    close_host();
}
END_TEST

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* numpy's, linear. */
static double quantile(const double *sorted, size_t n, double q)
{
    const double at = q * (double)(n - 1);
    const size_t below = (size_t)at;

    return sorted[below] +
           (at - floor(at)) * (sorted[below + 1 < n ? below + 1 : below] - sorted[below]);
}

/* Intervals of means, and of effects, which are ratios of means. */
START_TEST(intervals_are_of_the_same_resamples)
{
    enum { N_RESAMPLE = 40 };
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table;

    open_host();
    study.n_bootstrap = N_RESAMPLE;
    study.seed = 5;
    study.interval = 80;
    table = ask_items(ask_patch, &study);
    ask_each(ask_patch, tables);
    for (size_t row = 0; row < attn_table_n_row(table); row++) {
        const struct sample base = sample_of(tables, 0, "value", -1),
                            source = sample_of(tables, 1, "value", -1),
                            value = sample_of(tables, row, "value", -1);
        const double whole = source.mean - base.mean;
        double means[N_RESAMPLE], effects[N_RESAMPLE];
        struct attn_random random;

        expect_near(number_at(table, row, "effect"), (value.mean - base.mean) / whole, row,
                    "effect");
        attn_random_seed(&random, 5);
        for (size_t r = 0; r < N_RESAMPLE; r++) {
            double sums[3] = {0};

            for (size_t i = 0; i < N_ITEM; i++) {
                const size_t item = attn_random_u32(&random) % N_ITEM;

                sums[0] += value.x[item];
                sums[1] += value.x[item] - base.x[item];
                sums[2] += source.x[item] - base.x[item];
            }
            means[r] = sums[0] / N_ITEM;
            effects[r] = sums[1] / sums[2];
        }
        qsort(means, N_RESAMPLE, sizeof *means, by_size);
        qsort(effects, N_RESAMPLE, sizeof *effects, by_size);
        expect_near(number_at(table, row, "value_low"), quantile(means, N_RESAMPLE, 0.1), row,
                    "value_low");
        expect_near(number_at(table, row, "value_high"), quantile(means, N_RESAMPLE, 0.9), row,
                    "value_high");
        expect_near(number_at(table, row, "effect_low"), quantile(effects, N_RESAMPLE, 0.1), row,
                    "effect_low");
        expect_near(number_at(table, row, "effect_high"), quantile(effects, N_RESAMPLE, 0.9), row,
                    "effect_high");
    }
    free_each(tables);
    attn_table_free(table);
    close_host();
}
END_TEST

/* Clusters of the items: key, dog, boy. */
enum { N_CLUSTER = 3 };

static const size_t clusters[N_ITEM] = {0, 1, 2, 0, 0};

/* Asks STUDY about the items with their lemma, whose clusters these are. */
static struct attn_table *ask_lemmas(const struct attn_study_args *study)
{
    static const char *const lemmas[N_CLUSTER] = {"key", "dog", "boy"};
    struct attn_study_args asked = *study;
    struct attn_table *table;
    char lines[2048];
    size_t used = 0;

    for (size_t i = 0; i < N_ITEM; i++)
        used += (size_t)snprintf(
            lines + used, sizeof lines - used,
            "{\"text\": \"%s\", \"target\": \"%s\", \"foil\": \"%s\", \"c\": \"%s\", "
            "\"lemma\": \"%s\"}\n",
            texts[i], is_plural[i] ? " are" : " is", is_plural[i] ? " is" : " are",
            i % 2 ? "odd" : "even", lemmas[clusters[i]]);
    asked.items = open_items(lines);
    table = ask_ablate(&asked, 0);
    attn_items_free(asked.items);
    return table;
}

/* sqrt(G / (G - 1) sum_g (sum_{i in g} r_i)^2) of the residuals R, already divided by n. */
static double clustered(const double r[N_ITEM])
{
    double sum = 0;

    for (size_t g = 0; g < N_CLUSTER; g++) {
        double residual = 0;

        for (size_t i = 0; i < N_ITEM; i++)
            residual += clusters[i] == g ? r[i] : 0;
        sum += residual * residual;
    }
    return sqrt(N_CLUSTER / (N_CLUSTER - 1.0) * sum);
}

/* Fills MEANS [n], sorted, of resamples of whole clusters of X from seed 8. */
static void resample_clusters(const double x[N_ITEM], double *means, size_t n)
{
    struct attn_random random;

    attn_random_seed(&random, 8);
    for (size_t r = 0; r < n; r++) {
        double total = 0, count = 0;

        for (size_t g = 0; g < N_CLUSTER; g++) {
            const size_t drawn = attn_random_u32(&random) % N_CLUSTER;

            for (size_t i = 0; i < N_ITEM; i++) {
                total += clusters[i] == drawn ? x[i] : 0;
                count += clusters[i] == drawn;
            }
        }
        means[r] = total / count;
    }
    qsort(means, n, sizeof *means, by_size);
}

/* Standard errors and intervals go by clusters. The difference of two groups that share them is a
 * coefficient of a regression. */
START_TEST(clusters_are_drawn_whole)
{
    enum { N_RESAMPLE = 30 };
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table, *groups;
    struct attn_study_sum sum = ATTN_STUDY_SUM_DEFAULT;
    size_t n;

    open_host();
    study.cluster = "lemma";
    study.n_bootstrap = N_RESAMPLE;
    study.seed = 8;
    study.sum = &sum;
    table = ask_lemmas(&study);
    ck_assert(isnan(sum.se)); /* items are not independent */
    study.group_by = "c";
    study.has_contrasts = true;
    groups = ask_lemmas(&study);
    ask_each(ask_ablate, tables);
    n = attn_table_n_row(table);
    ck_assert_uint_eq(attn_table_n_row(groups), 3 * n);
    for (size_t row = 0; row < n; row++) {
        const struct sample all = sample_of(tables, row, "change", -1),
                            even = sample_of(tables, row, "change", 0),
                            odd = sample_of(tables, row, "change", 1);
        double residuals[N_ITEM], of_groups[N_ITEM], means[N_RESAMPLE];

        for (size_t i = 0; i < N_ITEM; i++) {
            residuals[i] = (all.x[i] - all.mean) / N_ITEM;
            of_groups[i] = i % 2 ? (all.x[i] - odd.mean) / 2 : (even.mean - all.x[i]) / 3;
        }
        expect_near(number_at(table, row, "change"), all.mean, row, "change");
        expect_near(number_at(table, row, "change_sd"), all.sd, row, "change_sd");
        expect_near(number_at(table, row, "change_se"), clustered(residuals), row, "change_se");
        ck_assert(number_at(table, row, "n_cluster") == N_CLUSTER);
        expect_near(number_at(groups, 2 * n + row, "change"), odd.mean - even.mean, row, "odd");
        expect_near(number_at(groups, 2 * n + row, "change_se"),
                    sqrt((N_ITEM - 1.0) / (N_ITEM - 2.0)) * clustered(of_groups), row, "odd_se");
        resample_clusters(all.x, means, N_RESAMPLE);
        expect_near(number_at(table, row, "change_low"), quantile(means, N_RESAMPLE, 0.025), row,
                    "change_low");
        expect_near(number_at(table, row, "change_high"), quantile(means, N_RESAMPLE, 0.975), row,
                    "change_high");
    }
    free_each(tables);
    attn_table_free(groups);
    attn_table_free(table);
    close_host();
}
END_TEST

/* The difference of two independent groups, its error and its interval. */
START_TEST(groups_are_compared_with_the_first)
{
    enum { N_RESAMPLE = 30 };
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_table *tables[N_ITEM], *table;
    struct attn_cell label;
    size_t n;

    open_host();
    study.group_by = "c";
    study.has_contrasts = true;
    study.fdr = "change";
    study.n_bootstrap = N_RESAMPLE;
    table = ask_items(ask_ablate, &study);
    ask_each(ask_ablate, tables);
    n = attn_table_n_row(tables[0]);
    ck_assert_uint_eq(attn_table_n_row(table), 3 * n);
    label = attn_table_cell(table, 2 * n, 0);
    ck_assert_uint_eq(label.size, strlen("odd - even"));
    ck_assert_mem_eq(label.text, "odd - even", label.size);
    for (size_t row = 0; row < n; row++) {
        const struct sample even = sample_of(tables, row, "change", 0),
                            odd = sample_of(tables, row, "change", 1);
        double means[N_RESAMPLE];
        struct attn_random random;

        expect_near(number_at(table, 2 * n + row, "change"), odd.mean - even.mean, row, "change");
        expect_near(number_at(table, 2 * n + row, "change_se"),
                    sqrt(odd.se * odd.se + even.se * even.se), row, "change_se");
        ck_assert(isnan(number_at(table, 2 * n + row, "change_sd")));
        ck_assert(number_at(table, 2 * n + row, "n") == N_ITEM);
        ck_assert(isnan(number_at(table, row, "p")) == (row == 0)); /* the base is no test */
        ck_assert(isnan(number_at(table, row, "q")) == (row == 0));
        attn_random_seed(&random, 0);
        for (size_t r = 0; r < N_RESAMPLE; r++) {
            double a = 0, b = 0;

            for (size_t i = 0; i < even.n; i++)
                a += even.x[attn_random_u32(&random) % even.n];
            for (size_t i = 0; i < odd.n; i++)
                b += odd.x[attn_random_u32(&random) % odd.n];
            means[r] = b / (double)odd.n - a / (double)even.n;
        }
        qsort(means, N_RESAMPLE, sizeof *means, by_size);
        expect_near(number_at(table, 2 * n + row, "change_low"), quantile(means, N_RESAMPLE, 0.025),
                    row, "change_low");
    }
    free_each(tables);
    attn_table_free(table);
    close_host();
}
END_TEST

/* --- Failures --------------------------------------------------------------------------------- */

static void count_note(void *user, enum attn_note code, const char *message)
{
    size_t *n = user;

    ck_assert_int_eq(code, ATTN_NOTE_ITEM_FAILED);
    ck_assert_uint_gt(strlen(message), 0);
    ++*n;
}

struct edit_notes {
    size_t n_masked, n_first; /* about knockouts; about the first one */
};

static void count_edit_note(void *user, enum attn_note code, const char *message)
{
    struct edit_notes *notes = user;

    notes->n_masked += code == ATTN_NOTE_EDIT_MASKED;
    notes->n_first += strstr(message, "'0>1'") != NULL;
}

enum { D_MODEL = 128, N_LAYER = 4, N_HEAD = 8 }; /* of fable */

/* The metric of one run of text 0 with EDITS [n]. */
static double run_edited(const struct attn_edit *edits, size_t n)
{
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_answer_args answer = {.metric = ATTN_ANSWER_AUTO};
    struct attn_result result = {0};
    double value;

    take_answer(&answer, 0);
    request.input = input_of(texts[0]);
    request.edits.items = edits;
    request.edits.n = n;
    request.predict.answer = &answer;
    ck_assert(attn_run_request(host, &request, &result, NULL) == ATTN_OK);
    value = result.predictions.metric->value;
    attn_result_release(&result);
    return value;
}

/* Runs that begin in a layer have the edits of the run that come after it, once: of all layers and
 * of one, at the stream that they begin with and at z. */
START_TEST(changed_runs_have_the_edits_of_the_run)
{
    enum { N_EDIT = 4 };
    static float vector[D_MODEL];
    struct attn_edit edits[N_EDIT + 1];
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table;

    open_host();
    for (size_t i = 0; i < D_MODEL; i++)
        vector[i] = 0.01F * (float)(i % 7);
    for (size_t i = 0; i <= N_EDIT; i++)
        edits[i] = ATTN_EDIT_DEFAULT;
    edits[0].at.site = ATTN_SITE_RESID_PRE, edits[0].op = ATTN_EDIT_ADD;
    edits[0].data = vector, edits[0].col1 = D_MODEL;
    edits[1].at.site = ATTN_SITE_Z, edits[1].at.head = 5;
    edits[1].op = ATTN_EDIT_SCALE, edits[1].factor = 0.5F;
    edits[2].at.site = ATTN_SITE_RESID_PRE, edits[2].at.layer = 2;
    edits[2].op = ATTN_EDIT_SCALE, edits[2].factor = 1.25F;
    edits[3].at.site = ATTN_SITE_ATTN_SCORES, edits[3].at.layer = 3, edits[3].row0 = 4;
    edits[3].op = ATTN_EDIT_MASK, edits[3].col0 = 1, edits[3].col1 = 2;
    edits[4].at.site = ATTN_SITE_Z, edits[4].op = ATTN_EDIT_ZERO;
    request.input = input_of(texts[0]);
    request.edits.items = edits;
    request.edits.n = N_EDIT;
    take_answer(&args.answer, 0);
    ck_assert(attn_ablate(host, &request, &args, &table, &sum, NULL) == ATTN_OK);
    ck_assert_uint_eq(sum.n_row, 5); /* of the first part, not of the edits */
    expect_near(number_at(table, 0, "value"), run_edited(edits, N_EDIT), 0, "base");
    for (size_t i = 0; i < (size_t)N_LAYER * N_HEAD; i++) {
        edits[N_EDIT].at.layer = (int)(i / N_HEAD), edits[N_EDIT].at.head = (int)(i % N_HEAD);
        expect_near(number_at(table, 1 + i, "value"), run_edited(edits, N_EDIT + 1), 1 + i, "head");
    }
    attn_table_free(table);
    close_host();
}
END_TEST

/* Counts the calls that name all items, and others. */
static void count_progress(void *user, size_t done, size_t total)
{
    size_t *counts = user;

    counts[done == 0 || done > total || total != counts[2]]++;
}

START_TEST(tells_progress_of_the_items_that_are_done)
{
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_ablate_sum sum = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    size_t counts[3] = {[2] = N_ITEM};

    open_host_of(1); /* several threads can compute all items before the first is done */
    request.on_progress = count_progress;
    request.user = counts;
    study.items = open_items(data);
    args.study = &study;
    ck_assert(attn_ablate(host, &request, &args, &table, &sum, NULL) == ATTN_OK);
    ck_assert(counts[0] > N_ITEM && counts[1] == 0); /* also while an item is computed */
    attn_table_free(table);
    attn_items_free(study.items);
    close_host();
}
END_TEST

/* The last number of runs, and of all; each call may only raise the first. */
static void follow_runs(void *user, size_t done, size_t total)
{
    size_t *runs = user;

    ck_assert(runs[0] <= done && done <= total);
    ck_assert(runs[1] == 0 || runs[1] == total);
    runs[0] = done, runs[1] = total;
}

START_TEST(counts_the_runs_of_both_effects_of_some_heads_together)
{
    static const char other[] = "The key to the cabinet";
    struct attn_heads_args args = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_table *table = NULL;
    size_t runs[2] = {0};

    open_host();
    request.on_progress = follow_runs;
    request.user = runs;
    request.input = (struct attn_input){.text = "The keys to the cabinet", .n_text = 23};
    request.selection.heads = "1.0,2.5";
    args.effects = ATTN_HEADS_ABLATED | ATTN_HEADS_PATCHED;
    args.answer.target = " are";
    args.corrupted = (struct attn_input){.text = other, .n_text = sizeof other - 1};
    ck_assert(attn_heads(host, &request, &args, &table, NULL) == ATTN_OK);
    ck_assert_uint_eq(runs[1], 6); /* both texts, and two heads in each */
    attn_table_free(table);
    close_host();
}
END_TEST

/* Both knockouts are of pairs that the causal mask excludes, in each of the items. */
START_TEST(notes_each_idle_edit_once)
{
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_score_args args = ATTN_SCORE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_intervention knockouts[] = {
        {.op = ATTN_EDIT_MASK, .positions = {.text = "0"}, .keys = {.text = "1"}, .name = "0>1"},
        {.op = ATTN_EDIT_MASK, .positions = {.text = "0"}, .keys = {.text = "2"}, .name = "0>2"}};
    struct attn_score_sum sum = ATTN_SCORE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    struct edit_notes notes = {0};

    open_host();
    request.edits.interventions = knockouts;
    request.edits.n_intervention = 2;
    request.on_note = count_edit_note;
    request.user = &notes;
    study.items = open_items(data);
    args.study = &study;
    ck_assert(attn_score(host, &request, &args, &table, &sum, NULL) == ATTN_OK);
    ck_assert_uint_eq(notes.n_masked, 2);
    ck_assert_uint_eq(notes.n_first, 1);
    attn_table_free(table);
    attn_items_free(study.items);
    close_host();
}
END_TEST

START_TEST(counts_items_that_fail)
{
    static const char lines[] = "{\"text\": \"The keys\", \"target\": \" are\"}\n"
                                "{\"text\": \"The keys\", \"taget\": \" are\"}\n"
                                "{\"text\": \"The keys\", \"target\": \" not one token\"}\n"
                                "{\"text\": 5}\n"
                                "not JSON\n";
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_study_sum sum = ATTN_STUDY_SUM_DEFAULT;
    struct attn_ablate_sum unused = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};
    size_t n_note = 0;

    open_host();
    study.items = open_items(lines);
    study.sum = &sum;
    args.study = &study;
    request.on_note = count_note;
    request.user = &n_note;
    ck_assert(attn_ablate(host, &request, &args, &table, &unused, &err) == ATTN_OK);
    ck_assert_uint_eq(sum.n_item, 5);
    ck_assert_uint_eq(sum.n_failed, 4);
    ck_assert_uint_eq(n_note, 4);
    ck_assert_str_eq(sum.metric, "log_prob");
    ck_assert_str_eq(sum.row, "base");
    ck_assert(number_at(table, 0, "n") == 1);
    attn_table_free(table);
    attn_items_free(study.items);

    study.items = open_items(lines);
    study.max_errors = 2;
    table = NULL;
    ck_assert(attn_ablate(host, &request, &args, &table, &unused, &err) == ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_INPUT);
    ck_assert_ptr_null(table);
    attn_items_free(study.items);
    close_host();
}
END_TEST

/* Every allocation fails once: that is said, nothing leaks, and the next attempt succeeds. */
START_TEST(a_failing_allocation_leaves_nothing_behind)
{
    static const char lines[] =
        "{\"id\": 1, \"text\": \"The keys\", \"target\": \" are\", \"c\": \"a\", \"g\": 1}\n"
        "{\"id\": 1, \"text\": \"The dog\", \"target\": \" is\", \"c\": \"b\", \"g\": 2}\n"
        "{\"text\": \"The dog\", \"g\": 2}\n";
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    enum attn_status status = ATTN_NO_MEMORY;
    struct attn_ablate_sum unused = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;

    open_host();
    study.paired = "c=a:b";
    study.group_by = "g";
    study.cluster = "id";
    study.has_contrasts = true;
    study.fdr = "change";
    study.n_bootstrap = 3;
    args.study = &study;
    args.by = ATTN_ABLATE_BY_ATTN;
    args.is_cumulative = true;
    args.n_control = 1;
    for (long n = 0; status != ATTN_OK; n += 1 + n / 16) {
        struct attn_error err = {0};

        study.items = open_items(lines);
        attn_alloc_fail_at(n);
        status = attn_ablate(host, &request, &args, &table, &unused, &err);
        attn_alloc_fail_off();
        attn_items_free(study.items);
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
        ck_assert(status == ATTN_OK || table == NULL);
    }
    ck_assert_uint_eq(attn_table_n_row(table), 5);
    attn_table_free(table);
    close_host();
}
END_TEST

/* What is asked of STUDY in packs. */
static enum attn_status ask_packs(const struct attn_study_args *study, bool is_score,
                                  struct attn_table **table, struct attn_error *err)
{
    struct attn_heads_args heads = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_score_args score = ATTN_SCORE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_score_sum unused = ATTN_SCORE_SUM_DEFAULT;

    score.study = heads.study = study;
    return is_score ? attn_score(host, &request, &score, table, &unused, err)
                    : attn_heads(host, &request, &heads, table, err);
}

START_TEST(a_failing_allocation_leaves_nothing_of_packs)
{
    static const char *const asked[] = {
        "{\"text\": \"The keys\", \"target\": \" are\", \"at\": 0}\n"
        "{\"text\": 1}\n{\"text\": \"The dog\", \"target\": \" is\"}\n",
        "{\"good\": \"The keys are\", \"bad\": \"The keys is\"}\n"
        "{\"good\": \"The\", \"bad\": \"The keys is\"}\n"
        "{\"good\": \"The dog is\", \"bad\": \"The dog are\"}\n",
        "{\"text\": \"The keys\", \"from\": 1, \"to\": \"The\"}\n"
        "{\"text\": \"The dog\", \"from\": \"dog\", \"to\": \"keys\"}\n"};

    open_host();
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        enum attn_status status = ATTN_NO_MEMORY;
        struct attn_table *table = NULL;

        for (long n = 0; status != ATTN_OK; n += 1 + n / 32) {
            struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
            struct attn_error err = {0};

            study.items = open_items(asked[i]);
            attn_alloc_fail_at(n);
            status = ask_packs(&study, i < 2, &table, &err);
            attn_alloc_fail_off();
            attn_items_free(study.items);
            ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
            ck_assert(status == ATTN_OK || table == NULL);
        }
        ck_assert_uint_ge(attn_table_n_row(table), 1);
        attn_table_free(table);
    }
    close_host();
}
END_TEST

/* Surveys ITEMS, and writes the atlas. */
static enum attn_status ask_cards(struct attn_items *items, struct attn_error *err)
{
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_heads_args heads = ATTN_HEADS_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    const struct attn_question_call asked = {"heads", host, &request, &heads};
    struct attn_table_picture picture = {.n_label = 0};
    const struct attn_picture_options options = ATTN_PICTURE_OPTIONS_DEFAULT;
    struct attn_output output = {.format = attn_format_find("html")};
    struct attn_table *table = NULL;
    enum attn_status status;

    heads.study = &study;
    study.items = items;
    status = attn_head_cards_create(&heads.cards, err);
    if (status == ATTN_OK)
        status = attn_sink_create_memory(&output.sink, err);
    if (status == ATTN_OK)
        status = attn_heads(host, &request, &heads, &table, err);
    if (status == ATTN_OK)
        status = attn_question_picture(&asked, table, &picture, err);
    picture.cards = heads.cards;
    if (status == ATTN_OK)
        status = attn_table_picture_write(table, &picture, &options, &output, err);
    if (status == ATTN_OK)
        status = attn_sink_commit(output.sink, err);
    attn_table_free(table);
    attn_sink_free(output.sink);
    attn_head_cards_free(heads.cards);
    return status;
}

START_TEST(a_failing_allocation_leaves_nothing_of_cards)
{
    static const char lines[] = "{\"text\": \"The keys to\"}\n{\"text\": \"The dog near\"}\n"
                                "{\"text\": \"The\"}\n";

    enum attn_status status = ATTN_NO_MEMORY;

    open_host();
    for (long n = 0; status != ATTN_OK; n += 1 + n / 32) {
        struct attn_items *items = open_items(lines);
        struct attn_error err = {0};

        attn_alloc_fail_at(n);
        status = ask_cards(items, &err);
        attn_alloc_fail_off();
        attn_items_free(items);
        ck_assert_msg(status == ATTN_OK || status == ATTN_NO_MEMORY, "%ld: %s", n, err.message);
    }
    close_host();
}
END_TEST

/* --- What callers do wrong -------------------------------------------------------------------- */

START_TEST(mistakes_are_said)
{
    struct attn_study_args study = ATTN_STUDY_ARGS_DEFAULT;
    struct attn_ablate_args args = ATTN_ABLATE_ARGS_DEFAULT;
    struct attn_request request = ATTN_REQUEST_DEFAULT;
    struct attn_ablate_sum unused = ATTN_ABLATE_SUM_DEFAULT;
    struct attn_table *table = NULL;
    struct attn_error err = {0};

    open_host();
    args.study = &study;
    ck_assert(attn_ablate(host, &request, &args, &table, &unused, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "items"));
    args.is_cumulative = true;
    err = (struct attn_error){0};
    ck_assert(attn_ablate(host, &request, &args, &table, &unused, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "items"));
    args.is_cumulative = false;
    study.items = open_items(data);
    study.interval = 100;
    err = (struct attn_error){0};
    ck_assert(attn_ablate(host, &request, &args, &table, &unused, &err) == ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    ck_assert_ptr_nonnull(strstr(err.message, "interval"));
    attn_items_free(study.items);
    close_host();
}
END_TEST

ATTN_SUITE("study", right_is_the_share_of_items_above_0, means_are_those_of_single_runs,
           heads_of_packs_are_those_of_single_runs, groups_are_in_the_order_of_their_first_items,
           pairs_are_differences_of_partners, intervals_are_of_the_same_resamples,
           clusters_are_drawn_whole, groups_are_compared_with_the_first, notes_each_idle_edit_once,
           tells_progress_of_the_items_that_are_done,
           counts_the_runs_of_both_effects_of_some_heads_together,
           changed_runs_have_the_edits_of_the_run, counts_items_that_fail,
           a_failing_allocation_leaves_nothing_behind, a_failing_allocation_leaves_nothing_of_packs,
           a_failing_allocation_leaves_nothing_of_cards, mistakes_are_said)
