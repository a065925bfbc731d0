/* difference.c - the measure `difference`. The two rows are merged by key, so that the cost of
 * sparse rows grows with their number of cells. A key that a row lacks has weight 0 in it. */
#include "measures/analysis_internal.h"

#include "base/elementary.h"
#include "kernels/kernels.h"
#include "measures/metric.h"

#include <assert.h>
#include <math.h>

/* The keys of a row with the largest weights, the largest first. */
struct top {
    size_t n, n_most;
    struct top_key {
        size_t key;
        float weight;
    } keys[ATTN_MOST_RECALLED];
};

/* Returns the key of the first cell of ROW that was not read; SIZE_MAX after the last one. */
static size_t next_key(const struct attn_row *row)
{
    return row->at == row->n ? SIZE_MAX : row->keys ? (size_t)row->keys[row->at] : row->at;
}

bool attn_difference_next(struct attn_row *exact, struct attn_row *other,
                          struct attn_compared_key *found)
{
    const size_t key = next_key(exact), other_key = next_key(other);

    found->key = key < other_key ? key : other_key;
    found->is_lost = key < other_key;
    found->exact = key == found->key && key < SIZE_MAX ? exact->values[exact->at++] : 0;
    found->other = other_key == found->key && other_key < SIZE_MAX ? other->values[other->at++] : 0;
    return found->key < SIZE_MAX;
}

static void add_to_top(struct top *top, size_t key, float weight)
{
    size_t i;

    if (!(weight > 0) || (top->n == top->n_most && weight <= top->keys[top->n - 1].weight))
        return;
    if (top->n < top->n_most)
        top->n++;
    for (i = top->n - 1; i > 0 && top->keys[i - 1].weight < weight; i--)
        top->keys[i] = top->keys[i - 1];
    top->keys[i] = (struct top_key){key, weight};
}

static double recall_of(const struct top *exact, const struct top *other)
{
    size_t n = 0;

    for (size_t i = 0; i < exact->n; i++)
        for (size_t j = 0; j < other->n; j++)
            n += exact->keys[i].key == other->keys[j].key;
    return (double)n / (double)exact->n;
}

/* Returns p ln(p/q) - p + q, which is >= 0 except for rounding. LOG_RATIO is ln(p/q). */
static double divergence(double p, double q, double log_ratio)
{
    return fmax(p * log_ratio - p + q, 0);
}

/* The terms summed over rows: first those of pattern rows, then those of context vectors. */
enum {
    N_ROW,
    N_KL_INFINITE,
    TV,
    TV_MOST,
    KL,
    KL_BACK,
    RECALL,
    MASS_LOST,
    N_VECTOR,
    Z_SQUARE,
    Z_SQUARE_ERROR,
    Z_COSINE,
    N_TERM
};

/* Adds the terms of one key. A and B are its weights in the two rows. */
static void add_key(double *terms, double a, double b)
{
    terms[TV] += 0.5 * fabs(a - b);
    if (a > 0 && b > 0) {
        const double log_ratio = attn_log(a / b);

        terms[KL] += divergence(a, b, log_ratio);
        terms[KL_BACK] += divergence(b, a, -log_ratio);
    } else {
        terms[KL] += a > 0 ? (double)INFINITY : b;
        terms[KL_BACK] += b > 0 ? (double)INFINITY : a;
    }
}

static bool compare_pattern(const struct attn_row *exact, const struct attn_row *other, size_t k,
                            double *terms)
{
    struct top top = {.n_most = k}, other_top = {.n_most = k};
    struct attn_row rest = *exact, other_rest = *other;
    struct attn_compared_key next;

    assert(k >= 1 && k <= ATTN_MOST_RECALLED);
    while (attn_difference_next(&rest, &other_rest, &next)) {
        add_key(terms, (double)next.exact, (double)next.other);
        if (next.is_lost)
            terms[MASS_LOST] += (double)next.exact;
        /* keys with weight 0 and keys that a row lacks are not added */
        add_to_top(&top, next.key, next.exact);
        add_to_top(&other_top, next.key, next.other);
    }
    if (top.n == 0)
        return false;
    terms[N_ROW] = 1;
    terms[N_KL_INFINITE] = isinf(terms[KL]) ? 1 : 0;
    terms[TV_MOST] = terms[TV];
    terms[RECALL] = recall_of(&top, &other_top);
    return true;
}

static void compare_vectors(const struct attn_row *exact, const struct attn_row *other,
                            double *terms)
{
    double square = 0, other_square = 0, product = 0;

    for (size_t i = 0; i < exact->n; i++) {
        const double a = (double)exact->values[i], b = (double)other->values[i];

        square += a * a;
        other_square += b * b;
        product += a * b;
        terms[Z_SQUARE_ERROR] += (a - b) * (a - b);
    }
    terms[N_VECTOR] = 1;
    terms[Z_SQUARE] = square;
    if (square > 0 && other_square > 0)
        terms[Z_COSINE] = product / (sqrt(square) * sqrt(other_square));
    else
        terms[Z_COSINE] = square > 0 || other_square > 0 ? 0 : 1;
}

static bool find_terms(const struct attn_metric_row *row, double *terms)
{
    if (row->site == ATTN_SITE_PATTERN)
        return compare_pattern(&row->exact, &row->cells, row->settings->n_recalled, terms);
    compare_vectors(&row->exact, &row->cells, terms);
    return true;
}

static void add_terms(double *sums, const double *terms)
{
    for (int i = 0; i < N_TERM; i++)
        sums[i] = i == TV_MOST ? fmax(sums[i], terms[i]) : sums[i] + terms[i];
}

static double mean(double sum, double n)
{
    return n > 0 ? sum / n : (double)NAN;
}

static double length_ratio(const double *sums)
{
    if (!(sums[N_VECTOR] > 0))
        return (double)NAN;
    if (!(sums[Z_SQUARE] > 0))
        return sums[Z_SQUARE_ERROR] > 0 ? (double)INFINITY : 0;
    return sqrt(sums[Z_SQUARE_ERROR] / sums[Z_SQUARE]);
}

static void find_values(const double *sums, double *values)
{
    const double n_row = sums[N_ROW];

    values[ATTN_DIFFERENCE_TV] = mean(sums[TV], n_row);
    values[ATTN_DIFFERENCE_TV_MOST] = n_row > 0 ? sums[TV_MOST] : (double)NAN;
    values[ATTN_DIFFERENCE_KL] = mean(sums[KL], n_row);
    values[ATTN_DIFFERENCE_KL_BACK] = mean(sums[KL_BACK], n_row);
    values[ATTN_DIFFERENCE_RECALL] = mean(sums[RECALL], n_row);
    values[ATTN_DIFFERENCE_MASS_LOST] = mean(sums[MASS_LOST], n_row);
    values[ATTN_DIFFERENCE_Z_ERROR] = length_ratio(sums);
    values[ATTN_DIFFERENCE_Z_COSINE] = mean(sums[Z_COSINE], sums[N_VECTOR]);
    values[ATTN_DIFFERENCE_ROWS] = n_row;
    values[ATTN_DIFFERENCE_ROWS_KL_INFINITE] = sums[N_KL_INFINITE];
}

const struct attn_metric attn_metric_difference = {
    .name = "difference",
    .n_value = ATTN_N_DIFFERENCE,
    .n_term = N_TERM,
    .row = find_terms,
    .add = add_terms,
    .finish = find_values,
};

double attn_logits_kl(const float *exact, const float *other, size_t n)
{
    const struct attn_kernels *kernels = attn_kernels_find(ATTN_ISA_BEST);

    return kernels->divergence(exact, kernels->log_sum_exp(exact, n), other,
                               kernels->log_sum_exp(other, n), n);
}
