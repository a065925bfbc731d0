/*
 * difference.c - the measures. The two rows are merged by key, so that sparse ones cost what they
 * hold; a key that a row lacks has weight 0 there.
 */
#include "analysis/difference.h"

#include <assert.h>
#include <math.h>

/* The keys with the largest weights of a row, the largest first. */
struct top {
    size_t n, n_most;
    struct top_key {
        size_t key;
        float weight;
    } keys[ATTN_MOST_RECALLED];
};

static size_t key_of(const struct attn_weight_row *row, size_t i)
{
    return row->keys != NULL ? (size_t)row->keys[i] : i;
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

/* p ln(p/q) - p + q, which is >= 0 but for rounding; LOG_RATIO is ln(p/q). */
static double divergence(double p, double q, double log_ratio)
{
    return fmax(p * log_ratio - p + q, 0);
}

/* One key of both rows: the terms of every sum. */
static void add_terms(struct attn_row_difference *sum, double a, double b)
{
    sum->tv += 0.5 * fabs(a - b);
    if (a > 0 && b > 0) {
        const double log_ratio = log(a / b);

        sum->kl += divergence(a, b, log_ratio);
        sum->kl_back += divergence(b, a, -log_ratio);
    } else {
        sum->kl += a > 0 ? (double)INFINITY : b;
        sum->kl_back += b > 0 ? (double)INFINITY : a;
    }
}

const char *attn_difference_name(enum attn_difference_measure measure)
{
#define NAME(id, name) [ATTN_DIFFERENCE_##id] = (name),
    static const char *const names[] = {ATTN_DIFFERENCE_MAP(NAME)};
#undef NAME
    return names[measure];
}

bool attn_row_difference_find(const struct attn_weight_row *exact,
                              const struct attn_weight_row *other, size_t k,
                              struct attn_row_difference *difference)
{
    struct attn_row_difference sum = {0};
    struct top top = {.n_most = k}, other_top = {.n_most = k};
    size_t i = 0, j = 0;

    assert(k >= 1 && k <= ATTN_MOST_RECALLED);
    while (i < exact->n || j < other->n) {
        const size_t key = i < exact->n ? key_of(exact, i) : SIZE_MAX;
        const size_t other_key = j < other->n ? key_of(other, j) : SIZE_MAX;
        const float a = key <= other_key ? exact->weights[i] : 0;
        const float b = other_key <= key ? other->weights[j] : 0;

        add_terms(&sum, (double)a, (double)b);
        if (key < other_key)
            sum.mass_lost += (double)a;
        add_to_top(&top, key, a); /* weights of 0 do not count, nor do keys a row lacks */
        add_to_top(&other_top, other_key, b);
        i += key <= other_key;
        j += other_key <= key;
    }
    if (top.n == 0)
        return false;
    sum.recall = recall_of(&top, &other_top);
    *difference = sum;
    return true;
}

void attn_difference_add_row(struct attn_difference_sums *sums,
                             const struct attn_row_difference *row)
{
    sums->n_row++;
    sums->n_kl_infinite += isinf(row->kl);
    sums->tv += row->tv;
    sums->tv_most = fmax(sums->tv_most, row->tv);
    sums->kl += row->kl;
    sums->kl_back += row->kl_back;
    sums->recall += row->recall;
    sums->mass_lost += row->mass_lost;
}

void attn_difference_add_vector(struct attn_difference_sums *sums, const float *exact,
                                const float *other, size_t n)
{
    double square = 0, other_square = 0, product = 0;

    for (size_t i = 0; i < n; i++) {
        const double a = (double)exact[i], b = (double)other[i];

        square += a * a;
        other_square += b * b;
        product += a * b;
        sums->z_square_error += (a - b) * (a - b);
    }
    sums->n_vector++;
    sums->z_square += square;
    if (square > 0 && other_square > 0)
        sums->z_cosine += product / (sqrt(square) * sqrt(other_square));
    else
        sums->z_cosine += square > 0 || other_square > 0 ? 0 : 1;
}

void attn_difference_add(struct attn_difference_sums *sums,
                         const struct attn_difference_sums *other)
{
    sums->n_row += other->n_row;
    sums->n_kl_infinite += other->n_kl_infinite;
    sums->n_vector += other->n_vector;
    sums->tv += other->tv;
    sums->tv_most = fmax(sums->tv_most, other->tv_most);
    sums->kl += other->kl;
    sums->kl_back += other->kl_back;
    sums->recall += other->recall;
    sums->mass_lost += other->mass_lost;
    sums->z_square += other->z_square;
    sums->z_square_error += other->z_square_error;
    sums->z_cosine += other->z_cosine;
}

static double mean(double sum, size_t n)
{
    return n > 0 ? sum / (double)n : (double)NAN;
}

static double length_ratio(const struct attn_difference_sums *sums)
{
    if (sums->n_vector == 0)
        return (double)NAN;
    if (!(sums->z_square > 0))
        return sums->z_square_error > 0 ? (double)INFINITY : 0;
    return sqrt(sums->z_square_error / sums->z_square);
}

void attn_difference_finish(const struct attn_difference_sums *sums,
                            struct attn_difference *difference)
{
    double *values = difference->values;

    difference->n_row = sums->n_row;
    difference->n_kl_infinite = sums->n_kl_infinite;
    values[ATTN_DIFFERENCE_TV] = mean(sums->tv, sums->n_row);
    values[ATTN_DIFFERENCE_TV_MOST] = sums->n_row > 0 ? sums->tv_most : (double)NAN;
    values[ATTN_DIFFERENCE_KL] = mean(sums->kl, sums->n_row);
    values[ATTN_DIFFERENCE_KL_BACK] = mean(sums->kl_back, sums->n_row);
    values[ATTN_DIFFERENCE_RECALL] = mean(sums->recall, sums->n_row);
    values[ATTN_DIFFERENCE_MASS_LOST] = mean(sums->mass_lost, sums->n_row);
    values[ATTN_DIFFERENCE_Z_ERROR] = length_ratio(sums);
    values[ATTN_DIFFERENCE_Z_COSINE] = mean(sums->z_cosine, sums->n_vector);
}

/* ln sum exp(x), from the maximum so that nothing overflows. */
static double log_sum_exp(const float *x, size_t n)
{
    double most = -(double)INFINITY, sum = 0;

    for (size_t i = 0; i < n; i++)
        most = fmax(most, (double)x[i]);
    for (size_t i = 0; i < n; i++)
        sum += exp((double)x[i] - most);
    return most + log(sum);
}

double attn_logits_kl(const float *exact, const float *other, size_t n)
{
    const double exact_total = log_sum_exp(exact, n), other_total = log_sum_exp(other, n);
    double kl = 0;

    for (size_t i = 0; i < n; i++) {
        const double log_p = (double)exact[i] - exact_total, log_q = (double)other[i] - other_total;

        kl += divergence(exp(log_p), exp(log_q), log_p - log_q);
    }
    return kl;
}
