/*
 * elementary.c - see elementary.h.
 *
 * A function reduces its argument to a short interval and sums a series there. Where a double is
 * not precise enough, a pair of doubles with about 100 bits is used. Products of pairs are exact by
 * Dekker's split (1971); fma is avoided, as a processor may lack it. Constants by
 * tests/tools/make_elementary.py --constants.
 */
#include "base/elementary.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __FAST_MATH__
#error "-ffast-math changes results: compile without it"
#endif

/* high + low, with |low| at most half an ulp of high. */
struct pair {
    double high, low;
};

/* Returns a + b exactly, for |a| >= |b| or a = 0. */
static struct pair add(double a, double b)
{
    const double sum = a + b;

    return (struct pair){sum, b - (sum - a)};
}

/* Returns a + b exactly, for any a and b (Knuth). */
static struct pair add_any(double a, double b)
{
    const double sum = a + b, part = sum - a;

    return (struct pair){sum, (a - (sum - part)) + (b - part)};
}

/* Returns A rounded to 26 bits. */
static double first_half(double a)
{
    const double wide = a * 0x1.0000002p27;

    return wide - (wide - a);
}

/* Returns a * b exactly. */
static struct pair multiply(double a, double b)
{
    const double product = a * b, a1 = first_half(a), b1 = first_half(b);
    const double a2 = a - a1, b2 = b - b1;

    return (struct pair){product, a2 * b2 - (((product - a1 * b1) - a2 * b1) - a1 * b2)};
}

static struct pair multiply_pairs(struct pair a, struct pair b)
{
    const struct pair product = multiply(a.high, b.high);

    return add(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static struct pair divide_pairs(struct pair a, struct pair b)
{
    const double quotient = a.high / b.high;
    const struct pair product = multiply(quotient, b.high);

    return add(quotient,
               (((a.high - product.high) - product.low) + (a.low - quotient * b.low)) / b.high);
}

/* Returns the sum of factors[i] x^i. Even and odd powers are summed separately, which hides
 * latency. */
static inline double polynomial(const double *factors, size_t n, double x)
{
    const double square = x * x;
    double sums[2] = {0, 0};

    for (size_t i = n; i-- > 0;)
        sums[i & 1] = sums[i & 1] * square + factors[i];
    return sums[0] + sums[1] * x;
}

#define N_OF(list) (sizeof(list) / sizeof *(list))

static uint64_t bits_of(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Returns 2^n for n in -1022 .. 1023. */
static double power_of_two(int n)
{
    return double_of((uint64_t)(n + 1023) << 52);
}

/* Returns x * 2^n for n in -1100 .. 1100; a denormal result is rounded once. */
static double scale(double x, int n)
{
    return x * power_of_two(n / 2) * power_of_two(n - n / 2);
}

/* Rounds x to an integer, for |x| < 2^51: the addition leaves no bits for a fraction. */
static double nearest(double x)
{
    return (x + 0x1.8p52) - 0x1.8p52;
}

/* --- Exponentials ----------------------------------------------------------------------------- */

/* e^x = 2^(k/8) (1 + p) with k = round(8 x / ln 2), p = e^r - 1 and |r| <= ln(2)/16. */
struct exponential {
    struct pair p;
    int k;
};

/* Reduces x, for |x| < 1100. */
static struct exponential reduce_exp(struct pair x)
{
    static const double factors[] = {1.0 / 2,   1.0 / 6,    1.0 / 24,    1.0 / 120,
                                     1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880};
    const double k = nearest(x.high * 0x1.71547652b82fep+3);
    const double r = x.high - k * 0x1.62e42fefa0000p-4; /* exact */
    const double low = x.low - k * 0x1.cf79abc9e3b3ap-43;
    const double whole = r + low, rest = (r - whole) + low;
    const double square = polynomial(factors, N_OF(factors), whole) * (whole * whole);

    return (struct exponential){add(whole, square + (rest + rest * whole)), (int)k};
}

/* Returns e^x / 2^n, between 1 and 2, and sets *N. */
static struct pair exp_pair(struct pair x, int *n)
{
    static const struct pair roots[] = {
        {0x1.0000000000000p+0, 0},
        {0x1.172b83c7d517bp+0, -0x1.19041b9d78a76p-55},
        {0x1.306fe0a31b715p+0, 0x1.6f46ad23182e4p-55},
        {0x1.4bfdad5362a27p+0, 0x1.d4397afec42e2p-56},
        {0x1.6a09e667f3bcdp+0, -0x1.bdd3413b26456p-54},
        {0x1.8ace5422aa0dbp+0, 0x1.6e9f156864b27p-54},
        {0x1.ae89f995ad3adp+0, 0x1.7a1cd345dcc81p-54},
        {0x1.d5818dcfba487p+0, 0x1.2ed02d75b3707p-55},
    };
    const struct exponential e = reduce_exp(x);
    const struct pair root = roots[e.k & 7], product = multiply_pairs(root, e.p);
    const struct pair sum = add(root.high, product.high);

    *n = (e.k - (e.k & 7)) / 8;
    return add(sum.high, sum.low + (product.low + root.low));
}

/* Returns the double nearest to e^x. */
static double exp_of_pair(struct pair x)
{
    struct pair e;
    int n;

    if (!(x.high > -746 && x.high < 710))
        return isnan(x.high) ? x.high : x.high > 0 ? HUGE_VAL : 0;
    e = exp_pair(x, &n);
    return scale(e.high, n);
}

double attn_exp(double x)
{
    return exp_of_pair((struct pair){x, 0});
}

/* Returns e^x - 1 for |x| < 64. */
static struct pair expm1_pair(double x)
{
    const struct pair argument = {x, 0};
    struct pair e, sum;
    int n;

    if (fabs(x) < 0.04)
        return reduce_exp(argument).p;
    e = exp_pair(argument, &n);
    sum = add_any(scale(e.high, n), -1);
    return add(sum.high, sum.low + scale(e.low, n));
}

double attn_expm1(double x)
{
    if (fabs(x) < 0x1p-54)
        return x;
    if (x >= 64 || isnan(x))
        return attn_exp(x);
    return x <= -64 ? -1 : expm1_pair(x).high;
}

double attn_tanh(double x)
{
    const double size = fabs(x);
    struct pair e, above;

    if (size < 0x1p-28 || isnan(x))
        return x;
    if (size > 22)
        return copysign(1, x);
    e = expm1_pair(2 * size); /* tanh x = (e^2x - 1) / (e^2x + 1) */
    above = add_any(2, e.high);
    return copysign(divide_pairs(e, add(above.high, above.low + e.low)).high, x);
}

/* --- Logarithms ------------------------------------------------------------------------------- */

/* Splits x = 2^n m, for finite x > 0. Returns m, between sqrt(1/2) and sqrt(2). */
static inline double split_power(double x, int *n)
{
    const bool is_denormal = x < 0x1p-1022;
    const uint64_t root = bits_of(0x1.6a09e667f3bcdp-1);
    const uint64_t bits = bits_of(is_denormal ? x * 0x1p54 : x),
                   mantissa = (bits - root) << 12 >> 12;

    *n = (int)((int64_t)(bits - root - mantissa) / 0x10000000000000) - (is_denormal ? 54 : 0);
    return double_of(mantissa + root);
}

/* Returns ln x = n ln 2 + ln m for finite x > 0. ln m = 2 atanh f is summed as a series, with f =
 * (m - 1) / (m + 1). */
static struct pair log_pair(struct pair x)
{
    static const struct pair two_thirds = {0x1.5555555555555p-1, 0x1.5555555555555p-55};
    static const double factors[] = {2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13, 2.0 / 15,
                                     2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23, 2.0 / 25};
    int n;
    const double m = split_power(x.high, &n), low = scale(x.low, -n);
    const struct pair above = add_any(1, m);
    const struct pair f = divide_pairs(add_any(m - 1, low), add(above.high, above.low + low));
    const struct pair square = multiply_pairs(f, f);
    const struct pair cube = multiply_pairs(multiply_pairs(f, square), two_thirds);
    const double s = square.high, rest = s * s * f.high * polynomial(factors, N_OF(factors), s);
    const struct pair sum = add(n * 0x1.62e42fefa3800p-1, 2 * f.high);
    const struct pair next = add(sum.high, cube.high);

    return add(next.high,
               next.low + (sum.low + (n * 0x1.ef35793c76730p-45 + 2 * f.low + cube.low + rest)));
}

/* Returns true if ln x is finite. Otherwise sets *VALUE to ln x. */
static bool has_log(double x, double *value)
{
    *value = x > 0 || isnan(x) ? x : x == 0 ? -HUGE_VAL : (double)NAN;
    return x > 0 && !isinf(x);
}

/* ln(1 + f) = f - (f^2 / 2 - s (f^2 / 2 + R)) with s = f / (2 + f), where R is the series of 2
 * atanh s after its first term (fdlibm). Faster than a pair; used for sums over whole patterns. */
double attn_log(double x)
{
    static const double factors[] = {2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11,
                                     2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21};
    struct pair half, part, sum;
    double value, f, s, rest;
    int n;

    if (!has_log(x, &value))
        return value;
    f = split_power(x, &n) - 1;
    half = multiply(f, 0.5 * f);
    s = f / (2 + f);
    rest = s * (half.high + s * s * polynomial(factors, N_OF(factors), s * s));
    part = add(f, -half.high);
    sum = add(n * 0x1.62e42fefa3800p-1, part.high);
    return sum.high + (sum.low + (part.low - half.low + n * 0x1.ef35793c76730p-45 + rest));
}

double attn_log1p(double x)
{
    double value;

    if (fabs(x) < 0x1p-54)
        return x;
    return has_log(1 + x, &value) ? log_pair(add_any(1, x)).high : value;
}

double attn_log10(double x)
{
    static const struct pair factor = {0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57}; /* 1 / ln 10 */
    double value;

    if (!has_log(x, &value))
        return value;
    return multiply_pairs(log_pair((struct pair){x, 0}), factor).high;
}

double attn_pow(double x, double y)
{
    struct pair ln = {0};
    double value;

    if (x == 1 || y == 0)
        return 1;
    if (isnan(y) || isnan(x) || x < 0)
        return (double)NAN;
    if (has_log(x, &value))
        ln = log_pair((struct pair){x, 0});
    else
        ln.high = value;
    if (!(fabs(ln.high * y) < 1000))
        return (x > 1) == (y > 0) ? HUGE_VAL : 0;
    return exp_of_pair(multiply_pairs(ln, (struct pair){y, 0}));
}

/* --- Sine and cosine -------------------------------------------------------------------------- */

/* Reduces x = k pi / 2 + r with |r| at most about pi / 4; *QUADRANT is k mod 4. For |x| <= 2^31. */
static struct pair reduce_angle(double x, int *quadrant)
{
    const double k = nearest(x * 0x1.45f306dc9c883p-1);
    const struct pair first = multiply(k, 0x1.921fb54442d18p+0);
    const struct pair second = multiply(k, 0x1.1a62633145c07p-54);
    struct pair r = add_any(x - first.high, -first.low), next = add_any(r.high, -second.high);

    *quadrant = (int)((int64_t)k & 3);
    r = add_any(next.high, next.low + r.low);
    return add_any(r.high, r.low - (second.low - k * 0x1.f1976b7ed8fbcp-110));
}

static double sine(struct pair r, bool is_cosine)
{
    static const struct pair sixth = {-0x1.5555555555555p-3, -0x1.5555555555555p-57};
    static const double odd[] = {
        1.0 / 120,        -1.0 / 5040,          1.0 / 362880,         -1.0 / 39916800,
        1.0 / 6227020800, -1.0 / 1307674368000, 1.0 / 355687428096000};
    static const double even[] = {
        1.0 / 24,        -1.0 / 720,         1.0 / 40320,          -1.0 / 3628800,
        1.0 / 479001600, -1.0 / 87178291200, 1.0 / 20922789888000, -1.0 / 6402373705728000};
    const struct pair square = multiply_pairs(r, r);
    struct pair term, sum;
    double rest;

    if (is_cosine) {
        rest = polynomial(even, N_OF(even), square.high) * square.high * square.high;
        sum = add(1, -0.5 * square.high);
        return sum.high + (sum.low - 0.5 * square.low + rest);
    }
    term = multiply_pairs(multiply_pairs(r, square), sixth);
    rest = polynomial(odd, N_OF(odd), square.high) * square.high * square.high * r.high;
    sum = add(r.high, term.high);
    return sum.high + (sum.low + (r.low + term.low + rest));
}

/* Returns the sine of X plus QUARTERS times pi / 2. */
static double turned_sine(double x, int quarters)
{
    int quadrant;
    struct pair r;
    double value;

    if (!(fabs(x) <= 0x1p31))
        return (double)NAN;
    r = reduce_angle(x, &quadrant);
    quadrant += quarters;
    value = sine(r, quadrant & 1);
    return quadrant & 2 ? -value : value;
}

double attn_sin(double x)
{
    return fabs(x) < 0x1p-27 ? x : turned_sine(x, 0);
}

double attn_cos(double x)
{
    return turned_sine(x, 1);
}

/* --- Floats ----------------------------------------------------------------------------------- */

/* The three functions below use the polynomials and the order of operations of Arm's optimized
 * routines (copyright 2017-2018 Arm Limited, MIT licence), which are in glibc since 2.28. */

float attn_float_log(float x)
{
    /* 1 / c and ln c, where c is the middle of each sixteenth */
    static const double table[][2] = {
        {0x1.661ec79f8f3bep+0, -0x1.57bf7808caadep-2},
        {0x1.571ed4aaf883dp+0, -0x1.2bef0a7c06ddbp-2},
        {0x1.49539f0f010bp+0, -0x1.01eae7f513a67p-2},
        {0x1.3c995b0b80385p+0, -0x1.b31d8a68224e9p-3},
        {0x1.30d190c8864a5p+0, -0x1.6574f0ac07758p-3},
        {0x1.25e227b0b8eap+0, -0x1.1aa2bc79c81p-3},
        {0x1.1bb4a4a1a343fp+0, -0x1.a4e76ce8c0e5ep-4},
        {0x1.12358f08ae5bap+0, -0x1.1973c5a611cccp-4},
        {0x1.0953f419900a7p+0, -0x1.252f438e10c1ep-5},
        {0x1p+0, 0x0p+0},
        {0x1.e608cfd9a47acp-1, 0x1.aa5aa5df25984p-5},
        {0x1.ca4b31f026aap-1, 0x1.c5e53aa362eb4p-4},
        {0x1.b2036576afce6p-1, 0x1.526e57720db08p-3},
        {0x1.9c2d163a1aa2dp-1, 0x1.bc2860d22477p-3},
        {0x1.886e6037841edp-1, 0x1.1058bc8a07ee1p-2},
        {0x1.767dcf5534862p-1, 0x1.4043057b6ee09p-2},
    };
    uint32_t bits, above;
    double r, square, whole;
    const double *row;

    memcpy(&bits, &x, sizeof bits);
    above = bits - 0x3f330000;
    row = table[above >> 19 & 15];
    bits -= above & 0xff800000;
    memcpy(&x, &bits, sizeof x);
    r = (double)x * row[0] - 1;
    square = r * r;
    whole = row[1] + (double)((int32_t)above >> 23) * 0x1.62e42fefa39efp-1;
    return (float)((-0x1.00ea348b88334p-2 * square +
                    (0x1.5575b0be00b6ap-2 * r + -0x1.ffffef20a4123p-2)) *
                       square +
                   (whole + r));
}

static float turned_float_sine(float x, int quarters)
{
    const int quadrant = (int)((double)x * 0x1.45f306dc9c883p-1 + 0.5);
    const double r = (double)x - quadrant * 0x1.921fb54442d18p0, s = r * r;
    const int turned = quadrant + quarters;
    double sum;

    if (turned & 1)
        sum = 1 + s * -0x1.ffffffd0c621cp-2 + s * s * 0x1.55553e1068f19p-5 +
              s * s * s * (-0x1.6c087e89a359dp-10 + s * 0x1.99343027bf8c3p-16);
    else
        sum = r + r * s * -0x1.555545995a603p-3 +
              r * s * s * (0x1.1107605230bc4p-7 + s * -0x1.994eb3774cf24p-13);
    return (float)(turned & 2 ? -sum : sum);
}

float attn_float_sin(float x)
{
    return turned_float_sine(x, 0);
}

float attn_float_cos(float x)
{
    return turned_float_sine(x, 1);
}
