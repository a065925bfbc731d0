/*
 * vector_rows.c - softmax, layer norm and the other reductions of a row.
 *
 * Sums use struct sums (lanes.h), so that a row gives the same bits for every register width, and
 * trailing zeros change nothing.
 */
#include "base/elementary.h"
#include "kernels/elementary.h"
#include "kernels/vector.h"

#include <math.h>

static void fill(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++)
        x[i] = value;
}

static float largest(vf x)
{
    quad q[LANES / 4];
    float m;

    memcpy(q, &x, sizeof q);
    for (size_t i = 1; i < LANES / 4; i++)
        q[0] = q_max(q[i], q[0]);
    m = q[0][0];
    for (int i = 1; i < 4; i++)
        m = q[0][i] > m ? q[0][i] : m;
    return m;
}

/* Number of registers that are processed side by side; a multiple of N_PART. */
enum { N_CHAIN = 4 };

/* Returns the largest x * factor, ignoring NaN. Rounding keeps the order, so it finds the largest x
 * first and multiplies only that. */
static float find_largest(const float *x, size_t n, float factor)
{
    vf m[N_CHAIN];
    size_t i = 0;

    for (size_t c = 0; c < N_CHAIN; c++)
        m[c] = v_splat(-INFINITY);
    for (; n - i >= (size_t)N_CHAIN * LANES; i += (size_t)N_CHAIN * LANES)
#pragma GCC unroll 4
        for (size_t c = 0; c < N_CHAIN; c++)
            m[c] = v_max(v_load(x + i + c * LANES), m[c]);
    for (; n - i >= LANES; i += LANES)
        m[0] = v_max(v_load(x + i), m[0]);
    if (i < n)
        m[0] = v_max(v_select(v_first(n - i), v_load_first(x + i, n - i), m[0]), m[0]);
    return largest(v_max(v_max(m[0], m[1]), v_max(m[2], m[3]))) * factor;
}

/* Multiplies x by FACTOR in place; -inf stays -inf for any factor. Returns the largest result,
 * ignoring NaN. */
static float scale_and_find_largest(float *x, size_t n, float factor)
{
    const vf masked = v_splat(-INFINITY), factors = v_splat(factor);
    vf m = masked;

    for (size_t i = 0; i < n; i += LANES) {
        vf v = v_load_some(x + i, n - i);

        v = v_select(v == masked, masked, v * factors);
        v_store_some(x + i, v, n - i);
        if (n - i < LANES)
            v = v_select(v_first(n - i), v, masked);
        m = v_max(v, m);
    }
    return largest(m);
}

/* x = exp(x * factor - m) in place. M is the largest product. Returns the sum. Processes several
 * registers at a time, because each step of a single one would wait for the step before. */
static float exponentiate(float *x, size_t n, float factor, float m)
{
    const vf factors = v_splat(factor), shift = v_splat(m);
    struct sums sums = {0};
    size_t i = 0;

    for (; n - i >= (size_t)N_CHAIN * LANES; i += (size_t)N_CHAIN * LANES) {
        vf e[N_CHAIN];

#pragma GCC unroll 4
        for (size_t c = 0; c < N_CHAIN; c++)
            e[c] = v_exp_below(v_load(x + i + c * LANES) * factors - shift);
#pragma GCC unroll 4
        for (size_t c = 0; c < N_CHAIN; c++) {
            v_store(x + i + c * LANES, e[c]);
            sums.part[c % N_PART] += e[c];
        }
    }
    for (size_t c = 0; i < n; i += LANES, c++) {
        const vf e = v_exp_below(v_load_some(x + i, n - i) * factors - shift);

        v_store_some(x + i, e, n - i);
        sums.part[c % N_PART] += v_keep_some(e, n - i);
    }
    return sums_total(&sums);
}

/* Returns the maximum to subtract in exponents, the largest x * *factor. If FACTOR does not keep
 * the order, multiplies x in place and sets *factor to 1; otherwise x is unchanged. */
static float begin_softmax(float *x, size_t n, float *factor)
{
    float m;

    if (*factor > 0 && *factor < INFINITY) /* it keeps the order of scores, and -inf as it is */
        return find_largest(x, n, *factor);
    m = scale_and_find_largest(x, n, *factor);
    *factor = 1;
    return m;
}

/* Fills a row in which all keys are masked with 0, or, if it has a NaN, with NaN. Returns the sum
 * of the weights. */
static float fill_without_score(float *x, size_t n)
{
    bool has_nan = false;

    for (size_t i = 0; i < n; i++)
        has_nan = has_nan || isnan(x[i]);
    fill(x, n, has_nan ? NAN : 0);
    return has_nan ? NAN : 0;
}

/* s = x*scale, rounded like a traced score; m = max s; e = exp(s - m); p = e * (1/sum e). The
 * largest e is exactly 1, so the sum is at least 1, and a single key gets exactly 1. Multiplying by
 * the reciprocal instead of dividing costs half an ulp and saves most of the time of this pass. */
void ATTN_FOR_ISA(attn_vector_softmax)(float *x, size_t n_valid, size_t n, float scale)
{
    float m = begin_softmax(x, n_valid, &scale), sum;

    fill(x + n_valid, n - n_valid, 0);
    if (m == -INFINITY) {
        fill_without_score(x, n_valid);
        return;
    }
    sum = exponentiate(x, n_valid, scale, m);
    if (isnan(sum))
        fill(x, n_valid, NAN); /* all entries get the same NaN, whatever its bits were */
    else
        ATTN_FOR_ISA(attn_vector_scale)(x, 1.0f / sum, n_valid, x);
}

float ATTN_FOR_ISA(attn_vector_softmax_block)(float *x, size_t n_valid, size_t n, float scale,
                                              struct attn_running_softmax *running)
{
    float m = begin_softmax(x, n_valid, &scale), factor;

    fill(x + n_valid, n - n_valid, 0);
    m = running->max > m ? running->max : m;
    if (m == -INFINITY) {
        running->sum += fill_without_score(x, n_valid);
        return 1;
    }
    factor = v_exp(v_splat(running->max - m))[0];
    running->max = m;
    running->sum = running->sum * factor + exponentiate(x, n_valid, scale, m);
    return factor;
}

float ATTN_FOR_ISA(attn_vector_sum)(const float *x, size_t n)
{
    struct sums sums = {0};

    for (size_t i = 0; i < n; i += N_PARTIAL)
#pragma GCC unroll 4
        for (size_t p = 0; p < N_PART; p++) {
            size_t at = i + p * LANES;

            if (at >= n)
                break;
            sums.part[p] += v_load_some(x + at, n - at);
        }
    return sums_total(&sums);
}

/* Returns sum (x - mean)^2. Each square is added by one fma. */
static float squared_deviations(const float *x, size_t n, float mean)
{
    const vf shift = v_splat(mean);
    struct sums sums = {0};

    for (size_t i = 0; i < n; i += N_PARTIAL)
#pragma GCC unroll 4
        for (size_t p = 0; p < N_PART; p++) {
            size_t at = i + p * LANES;
            vf d;

            if (at >= n)
                break;
            d = v_keep_some(v_load_some(x + at, n - at) - shift, n - at);
            sums.part[p] = v_fma(d, d, sums.part[p]);
        }
    return sums_total(&sums);
}

/* Makes two passes, because sum x^2 - n mean^2 would cancel. y = fma((x - mean) * rstd, w, b);
 * without b, y is the product alone. */
void ATTN_FOR_ISA(attn_vector_layer_norm)(const float *x, const float *w, const float *b, size_t n,
                                          float eps, float *y)
{
    float mean = ATTN_FOR_ISA(attn_vector_sum)(x, n) / (float)n;
    float variance = squared_deviations(x, n, mean) / (float)n;
    const vf shift = v_splat(mean), rstd = v_splat(1.0f / sqrtf(variance + eps));

    for (size_t i = 0; i < n; i += LANES) {
        vf d = (v_load_some(x + i, n - i) - shift) * rstd;
        vf weight = v_load_some(w + i, n - i);

        d = b ? v_fma(d, weight, v_load_some(b + i, n - i)) : d * weight;
        v_store_some(y + i, d, n - i);
    }
}

/* The sum of x^2 is computed as sum (x - 0)^2. */
void ATTN_FOR_ISA(attn_vector_rms_norm)(const float *x, const float *w, size_t n, float eps,
                                        float *y)
{
    const float mean = squared_deviations(x, n, 0) / (float)n;
    const vf factor = v_splat(1.0f / sqrtf(mean + eps));

    for (size_t i = 0; i < n; i += LANES)
        v_store_some(y + i, v_load_some(x + i, n - i) * factor * v_load_some(w + i, n - i), n - i);
}

bool ATTN_FOR_ISA(attn_vector_is_finite)(const float *x, size_t n)
{
    vi bad = {0};

    for (size_t i = 0; i < n; i += LANES)
        bad |= v_not_finite(v_load_some(x + i, n - i));
    return !v_any(bad);
}

/* Loads the next LANES numbers of X, of which LEFT remain. Lanes beyond them are FILL. */
static vf load_or(const float *x, size_t left, float fill)
{
    return left < LANES ? v_select(v_first(left), v_load_first(x, left), v_splat(fill)) : v_load(x);
}

double ATTN_FOR_ISA(attn_vector_log_sum_exp)(const float *x, size_t n, struct attn_exp_sums *more)
{
    const float most = find_largest(x, n, 1);
    struct double_sums sums = {0}, masked = {0}, moment = {0};
    bool has_nan = false;
    double sum;

    for (size_t i = 0; isinf(most) && i < n; i++)
        has_nan = has_nan || isnan(x[i]);
    if (isinf(most) && more)
        more->masked = more->entropy = (double)NAN;
    if (isinf(most)) /* the differences from infinity would be NaN */
        return has_nan ? (double)NAN : (double)most;
    for (size_t i = 0; i < n; i += LANES) {
        const vf v = load_or(x + i, n - i, -INFINITY);

        for (size_t half = 0; half < 2; half++) {
            const size_t part = (i / LANES * 2 + half) % N_HALF_PART;
            const vd below = d_of_floats(v, half) - (double)most, term = d_exp(below);

            sums.part[part] += term;
            if (!more)
                continue;
            masked.part[part] += term * d_of_floats(load_or(more->mask + i, n - i, 0), half);
            moment.part[part] += d_select(term == 0, term, term * below);
        }
    }
    sum = double_sums_total(&sums);
    if (more) {
        more->masked = double_sums_total(&masked) / sum;
        more->entropy = attn_log(sum) - double_sums_total(&moment) / sum;
    }
    return attn_log(sum) + (double)most;
}

static void store_doubles(double *to, vd x, size_t left)
{
    if (left >= HALF)
        memcpy(to, &x, sizeof x);
    else
        memcpy(to, &x, left * sizeof *to);
}

double ATTN_FOR_ISA(attn_vector_entropy)(const float *p, size_t n, double *terms)
{
    struct double_sums sums = {0};

    for (size_t i = 0; i < n; i += LANES) {
        const vf v = v_load_some(p + i, n - i);

        for (size_t half = 0; half < 2 && half * HALF < n - i; half++) {
            const vd x = d_of_floats(v, half);
            /* NaN stays NaN because d_log keeps it. */
            const vd term = x * d_log(d_select(x > 0, x, d_splat(1)));

            if (terms)
                store_doubles(terms + i + half * HALF, term, n - i - half * HALF);
            sums.part[(i / LANES * 2 + half) % N_HALF_PART] -=
                d_select(x < 0, d_splat((double)NAN), term);
        }
    }
    return double_sums_total(&sums);
}

static vd load_doubles(const double *x)
{
    vd y;

    memcpy(&y, x, sizeof y);
    return y;
}

double ATTN_FOR_ISA(attn_vector_add_weighted)(const float *x, size_t n, double weight, double *y,
                                              double *sums)
{
    struct double_sums total = {0};
    size_t i = 0;

    for (; n - i >= HALF; i += HALF) {
        float part __attribute__((vector_size(4 * HALF)));

        memcpy(&part, x + i, sizeof part);
        const vd v = __builtin_convertvector(part, vd);
        const vd new_y = load_doubles(y + i) + weight * v, new_sums = load_doubles(sums + i) + v;

        memcpy(y + i, &new_y, sizeof new_y);
        memcpy(sums + i, &new_sums, sizeof new_sums);
        total.part[i / HALF % N_HALF_PART] += v;
    }
    for (; i < n; i++) {
        y[i] += weight * (double)x[i];
        sums[i] += (double)x[i];
        total.part[i / HALF % N_HALF_PART][i % HALF] += (double)x[i];
    }
    return double_sums_total(&total);
}

void ATTN_FOR_ISA(attn_vector_add_product)(double factor, double a, const double *x, size_t n,
                                           double *y)
{
    size_t i = 0;

    for (; n - i >= HALF; i += HALF) {
        const vd sum = load_doubles(y + i) + factor * (a * load_doubles(x + i));

        memcpy(y + i, &sum, sizeof sum);
    }
    for (; i < n; i++)
        y[i] += factor * (a * x[i]);
}

double ATTN_FOR_ISA(attn_vector_divergence)(const float *x, double x_total, const float *y,
                                            double y_total, size_t n)
{
    struct double_sums sums = {0};
    double sum;

    for (size_t i = 0; i < n; i += LANES) {
        const vf v = load_or(x + i, n - i, -INFINITY), w = load_or(y + i, n - i, 0);

        for (size_t half = 0; half < 2; half++) {
            const vd log_p = d_of_floats(v, half) - x_total, log_q = d_of_floats(w, half) - y_total;
            const vd p = d_exp(log_p);

            sums.part[(i / LANES * 2 + half) % N_HALF_PART] +=
                d_select(p == 0, d_splat(0), p * (log_p - log_q));
        }
    }
    sum = double_sums_total(&sums);
    return sum < 0 ? 0 : sum; /* a result below 0 is a rounding error */
}

/*
 * --- Rows of a matrix ---------------------------------------------------------------------------
 *
 * Operations on a matrix that grows by outer products and is read by rows: the state of linear
 * attention. Each element is a separate chain of fma, in the order of the calls or of the rows, so
 * elements may be grouped into registers in any way.
 */

void ATTN_FOR_ISA(attn_vector_add_outer)(const float *a, size_t n_a, const float *b, size_t n_b,
                                         float *s)
{
    for (size_t i = 0; i < n_a; i++, s += n_b) {
        const vf factor = v_splat(a[i]);

        for (size_t j = 0; j < n_b; j += LANES)
            v_store_some(s + j,
                         v_fma(factor, v_load_some(b + j, n_b - j), v_load_some(s + j, n_b - j)),
                         n_b - j);
    }
}

/* Number of chains that run side by side: a single one would wait for each fma. */
enum { ABREAST = 4 };

void ATTN_FOR_ISA(attn_vector_multiply_row)(const float *x, size_t n_row, const float *s,
                                            size_t n_col, float *y)
{
    size_t j = 0;

    for (; n_col - j >= (size_t)ABREAST * LANES; j += (size_t)ABREAST * LANES) {
        vf sum[ABREAST] = {{0}};

        for (size_t i = 0; i < n_row; i++)
#pragma GCC unroll 4
            for (size_t r = 0; r < ABREAST; r++)
                sum[r] = v_fma(v_splat(x[i]), v_load(s + i * n_col + j + r * LANES), sum[r]);
        for (size_t r = 0; r < ABREAST; r++)
            v_store(y + j + r * LANES, sum[r]);
    }
    for (; j < n_col; j += LANES) {
        const size_t left = n_col - j;
        vf sum = {0};

        for (size_t i = 0; i < n_row; i++)
            sum = v_fma(v_splat(x[i]), v_load_some(s + i * n_col + j, left), sum);
        v_store_some(y + j, sum, left);
    }
}
