#include "measures/decompose.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* --- QR --------------------------------------------------------------------------------------- */

/* Makes the vector of the reflection that clears column K of A below row K. Returns its factor. */
static double reflect_column(double *a, size_t m, size_t n, size_t k)
{
    double largest = 0, sum = 0, length, first;

    for (size_t i = k; i < m; i++)
        largest = fmax(largest, fabs(a[i * n + k]));
    if (largest == 0)
        return 0;
    for (size_t i = k; i < m; i++)
        sum += a[i * n + k] / largest * (a[i * n + k] / largest);
    length = largest * sqrt(sum);
    first = a[k * n + k] + copysign(length, a[k * n + k]);
    for (size_t i = k + 1; i < m; i++)
        a[i * n + k] /= first;
    a[k * n + k] = -copysign(length, a[k * n + k]);
    return first / -a[k * n + k];
}

void attn_qr(double *a, size_t m, size_t n, double *tau)
{
    double *sums = tau + n;

    for (size_t k = 0; k < n; k++) {
        const double *top = a + k * n;

        tau[k] = k < m ? reflect_column(a, m, n, k) : 0;
        if (tau[k] == 0)
            continue;
        memcpy(sums, top, n * sizeof *sums);
        for (size_t i = k + 1; i < m; i++) /* row by row, as they lie */
            for (size_t j = k + 1; j < n; j++)
                sums[j] += a[i * n + k] * a[i * n + j];
        for (size_t j = k + 1; j < n; j++)
            a[k * n + j] -= tau[k] * sums[j];
        for (size_t i = k + 1; i < m; i++)
            for (size_t j = k + 1; j < n; j++)
                a[i * n + j] -= tau[k] * sums[j] * a[i * n + k];
    }
}

void attn_qr_triangle(const double *a, size_t m, size_t n, double *r)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            r[i * n + j] = i < m && j >= i ? a[i * n + j] : 0;
}

void attn_qr_apply(const double *a, size_t m, size_t n, const double *tau, double *x)
{
    for (size_t k = m < n ? m : n; k-- > 0;) { /* the last reflection first */
        double sum = x[k];

        for (size_t i = k + 1; i < m; i++)
            sum += a[i * n + k] * x[i];
        x[k] -= tau[k] * sum;
        for (size_t i = k + 1; i < m; i++)
            x[i] -= tau[k] * sum * a[i * n + k];
    }
}

/* --- Singular values -------------------------------------------------------------------------- */

enum { MOST_SWEEPS = 60, MOST_STEPS = 60 };

double attn_dot(const double *a, const double *b, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void rotate(double *a, double *b, size_t n, double c, double s)
{
    for (size_t i = 0; i < n; i++) {
        const double x = a[i], y = b[i];

        a[i] = c * x - s * y;
        b[i] = s * x + c * y;
    }
}

/* Makes rows P and Q of COLUMNS orthogonal, and turns those of V along. Returns whether they were
 * not. */
static bool make_orthogonal(double *columns, double *v, size_t n, size_t p, size_t q)
{
    double *a = columns + p * n, *b = columns + q * n;
    const double aa = attn_dot(a, a, n), bb = attn_dot(b, b, n), ab = attn_dot(a, b, n);
    double zeta, t, c;

    if (ab == 0 || fabs(ab) <= DBL_EPSILON * sqrt(aa) * sqrt(bb))
        return false;
    zeta = (bb - aa) / (2 * ab);
    t = copysign(1, zeta) / (fabs(zeta) + sqrt(1 + zeta * zeta));
    c = 1 / sqrt(1 + t * t);
    rotate(a, b, n, c, c * t);
    if (v)
        rotate(v + p * n, v + q * n, n, c, c * t);
    return true;
}

static void swap_rows(double *a, size_t n, size_t i, size_t j)
{
    for (size_t k = 0; a && i != j && k < n; k++) {
        const double x = a[i * n + k];

        a[i * n + k] = a[j * n + k];
        a[j * n + k] = x;
    }
}

/* Exchanges rows and columns of A [n, n]. */
static void transpose(double *a, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            const double x = a[i * n + j];

            a[i * n + j] = a[j * n + i];
            a[j * n + i] = x;
        }
}

void attn_svd(double *k, size_t n, double *s, double *u, double *v)
{
    bool is_turned = true;

    transpose(k, n); /* its columns lie side by side */
    for (size_t i = 0; v && i < n * n; i++)
        v[i] = i % (n + 1) == 0;
    for (int sweep = 0; sweep < MOST_SWEEPS && is_turned; sweep++) {
        is_turned = false;
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                is_turned |= make_orthogonal(k, v, n, p, q);
    }
    for (size_t i = 0; i < n; i++)
        s[i] = sqrt(attn_dot(k + i * n, k + i * n, n));
    for (size_t i = 0; i < n; i++) {
        size_t most = i;
        double value;

        for (size_t j = i + 1; j < n; j++)
            most = s[j] > s[most] ? j : most;
        swap_rows(k, n, i, most);
        swap_rows(v, n, i, most);
        value = s[most];
        s[most] = s[i];
        s[i] = value;
    }
    for (size_t i = 0; u && i < n; i++)
        for (size_t j = 0; j < n; j++)
            u[i * n + j] = s[i] > 0 ? k[i * n + j] / s[i] : 0;
}

/* --- Eigenvalues ------------------------------------------------------------------------------ */

/* Makes K a Hessenberg matrix with the same eigenvalues, by elimination with pivots. */
static void make_hessenberg(double *k, size_t n)
{
    for (size_t m = 1; m + 1 < n; m++) {
        size_t pivot = m;

        for (size_t i = m + 1; i < n; i++)
            if (fabs(k[i * n + m - 1]) > fabs(k[pivot * n + m - 1]))
                pivot = i;
        if (k[pivot * n + m - 1] == 0)
            continue;
        swap_rows(k, n, pivot, m);
        for (size_t i = 0; pivot != m && i < n; i++) {
            const double x = k[i * n + pivot];

            k[i * n + pivot] = k[i * n + m];
            k[i * n + m] = x;
        }
        for (size_t i = m + 1; i < n; i++) {
            const double factor = k[i * n + m - 1] / k[m * n + m - 1];

            if (factor == 0)
                continue;
            for (size_t j = m - 1; j < n; j++)
                k[i * n + j] -= factor * k[m * n + j];
            for (size_t j = 0; j < n; j++)
                k[j * n + m] += factor * k[j * n + i];
        }
    }
}

/* The block of a Hessenberg matrix that is not yet diagonal: rows and columns low to high. */
struct block {
    double *k;
    size_t n, low, high;
    double norm, shift; /* of the whole matrix; what was subtracted from its diagonal */
};

/* Returns the first row of the lowest block that no small element divides. */
static size_t find_low(const struct block *b)
{
    size_t low = b->high;

    for (; low > 0; low--) {
        double size = fabs(b->k[(low - 1) * b->n + low - 1]) + fabs(b->k[low * b->n + low]);

        if (size == 0)
            size = b->norm;
        if (fabs(b->k[low * b->n + low - 1]) <= DBL_EPSILON * size)
            break;
    }
    return low;
}

/* Writes the eigenvalues of the last two rows of the block. */
static void solve_two(const struct block *b, double *real, double *imaginary)
{
    const double *above = b->k + (b->high - 1) * b->n + b->high - 1, *last = above + b->n;
    const double y = above[0], x = last[1], product = above[1] * last[0];
    const double p = (y - x) / 2, q = p * p + product, root = sqrt(fabs(q));

    if (q >= 0) {
        const double z = p + copysign(root, p);

        real[0] = x + b->shift + z;
        real[1] = z != 0 ? x + b->shift - product / z : real[0];
        imaginary[0] = imaginary[1] = 0;
    } else {
        real[0] = real[1] = x + b->shift + p;
        imaginary[0] = root;
        imaginary[1] = -root;
    }
}

/* Computes the first column of the product of two shifted matrices, from row *FIRST on, where two
 * small elements let the step begin. */
static void begin_step(const struct block *b, double x, double y, double w, size_t *first,
                       double *column)
{
    const double *k = b->k;
    const size_t n = b->n;
    size_t m = b->high - 2;

    for (;; m--) {
        const double z = k[m * n + m], r = x - z, s = y - z;
        double size;

        column[0] = (r * s - w) / k[(m + 1) * n + m] + k[m * n + m + 1];
        column[1] = k[(m + 1) * n + m + 1] - z - r - s;
        column[2] = k[(m + 2) * n + m + 1];
        size = fabs(column[0]) + fabs(column[1]) + fabs(column[2]);
        for (int i = 0; i < 3 && size > 0; i++)
            column[i] /= size;
        if (m == b->low)
            break;
        if (fabs(k[m * n + m - 1]) * (fabs(column[1]) + fabs(column[2])) <=
            DBL_EPSILON * fabs(column[0]) *
                (fabs(k[(m - 1) * n + m - 1]) + fabs(z) + fabs(k[(m + 1) * n + m + 1])))
            break;
    }
    *first = m;
    for (size_t i = m + 2; i <= b->high; i++) {
        b->k[i * n + i - 2] = 0;
        if (i > m + 2)
            b->k[i * n + i - 3] = 0;
    }
}

/* Applies the reflection of COLUMN to rows and columns I to I + 2 of the block, or I + 1. */
static void reflect(const struct block *b, size_t i, const double *column, double s)
{
    const size_t n = b->n, n_row = i + 1 < b->high ? 3 : 2;
    const size_t last = i + 3 < b->high ? i + 3 : b->high;
    double *k = b->k;
    const double p = column[0] + s, u[3] = {p / s, column[1] / s, column[2] / s};
    const double v[3] = {1, column[1] / p, column[2] / p};

    for (size_t j = i; j <= b->high; j++) {
        double sum = 0;

        for (size_t r = 0; r < n_row; r++)
            sum += v[r] * k[(i + r) * n + j];
        for (size_t r = 0; r < n_row; r++)
            k[(i + r) * n + j] -= u[r] * sum;
    }
    for (size_t r = b->low; r <= last; r++) {
        double sum = 0;

        for (size_t j = 0; j < n_row; j++)
            sum += u[j] * k[r * n + i + j];
        for (size_t j = 0; j < n_row; j++)
            k[r * n + i + j] -= v[j] * sum;
    }
}

/* Makes one step with two shifts, whose sum and product are those of the last two rows, or of
 * exceptional numbers. */
static void step(struct block *b, int n_step)
{
    double *k = b->k;
    const size_t n = b->n, high = b->high;
    double x = k[high * n + high], y = k[(high - 1) * n + high - 1];
    double w = k[high * n + high - 1] * k[(high - 1) * n + high], column[3];
    size_t first;

    if (n_step > 0 && n_step % 10 == 0) { /* the shifts go round in a circle */
        const double size = fabs(k[high * n + high - 1]) + fabs(k[(high - 1) * n + high - 2]);

        b->shift += x;
        for (size_t i = 0; i <= high; i++)
            k[i * n + i] -= x;
        x = y = 0.75 * size;
        w = -0.4375 * size * size;
    }
    begin_step(b, x, y, w, &first, column);
    for (size_t i = first; i < high; i++) {
        double size = 1, s;

        if (i > first) {
            column[0] = k[i * n + i - 1];
            column[1] = k[(i + 1) * n + i - 1];
            column[2] = i + 1 < high ? k[(i + 2) * n + i - 1] : 0;
            size = fabs(column[0]) + fabs(column[1]) + fabs(column[2]);
            if (size == 0)
                continue;
            for (int j = 0; j < 3; j++)
                column[j] /= size;
        }
        if (i + 1 == high)
            column[2] = 0;
        s = copysign(sqrt(attn_dot(column, column, 3)), column[0]);
        if (s == 0)
            continue;
        if (i > first)
            k[i * n + i - 1] = -s * size;
        else if (first > b->low)
            k[i * n + i - 1] = -k[i * n + i - 1];
        reflect(b, i, column, s);
    }
}

bool attn_eigenvalues(double *k, size_t n, double *real, double *imaginary)
{
    struct block b = {.k = k, .n = n, .high = n};
    int n_step = 0;

    make_hessenberg(k, n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = i > 0 ? i - 1 : 0; j < n; j++)
            b.norm += fabs(k[i * n + j]);
    for (size_t left = n; left > 0;) {
        b.high = left - 1;
        b.low = find_low(&b);
        if (b.low == b.high) {
            real[b.high] = k[b.high * n + b.high] + b.shift;
            imaginary[b.high] = 0;
            left -= 1, n_step = 0;
        } else if (b.low + 1 == b.high) {
            solve_two(&b, real + b.low, imaginary + b.low);
            left -= 2, n_step = 0;
        } else {
            if (n_step == MOST_STEPS)
                return false;
            step(&b, n_step++);
        }
    }
    return true;
}
