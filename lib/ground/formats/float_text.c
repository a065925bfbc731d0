/*
 * float_text.c - float32 as decimal text, and at the end of the file doubles.
 *
 * Shortest: Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles", 2020). All reals
 * that round to v = c * 2^q form an interval. With the right k it is so wide that it always holds a
 * multiple of 10^k and holds a multiple of 10^(k+1) at most once; so at most four candidates are
 * compared, with integers, and the one that is shortest, then nearest, wins. Interval ends are
 * computed as quarters of 10^k with one 32 x 64 bit product each and a sticky last bit, which is
 * enough to order them exactly. All 2^32 values were compared with another implementation.
 *
 * Fixed: v * 10^precision is an integer or a fraction of two that fit 128 bits, so plain integer
 * arithmetic rounds it exactly.
 */
#include "formats/float_text.h"

#include "formats/float_powers.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

enum { FRACTION_BITS = 23, EXPONENT_MAX = 255, EXPONENT_BIAS = 127 + FRACTION_BITS };

/* The finite number c * 2^q. */
struct binary {
    uint32_t c;
    int q;
    /* c * 2^q is a power of two: the next number below is half as far away as that above */
    bool is_edge;
};

/* digits * 10^exponent */
struct decimal {
    uint32_t digits;
    int exponent;
};

static struct binary split_float(uint32_t bits)
{
    uint32_t fraction = bits & ((UINT32_C(1) << FRACTION_BITS) - 1);
    int exponent = (int)(bits >> FRACTION_BITS & EXPONENT_MAX);

    if (exponent == 0)
        return (struct binary){.c = fraction, .q = 1 - EXPONENT_BIAS};
    return (struct binary){.c = fraction | UINT32_C(1) << FRACTION_BITS,
                           .q = exponent - EXPONENT_BIAS,
                           .is_edge = fraction == 0 && exponent > 1};
}

/* Returns the high 32 bits of power * x / 2^64; the last bit is set if any lower bit is. */
static uint32_t multiply_sticky(uint64_t power, uint32_t x)
{
    uint64_t product = (power >> 32) * x + ((power & UINT32_MAX) * x >> 32);

    return (uint32_t)(product >> 32) | ((uint32_t)product > 1);
}

/* Returns FIRST or SECOND without a branch, since the processor could not predict it. */
static uint32_t choose(bool is_first, uint32_t first, uint32_t second)
{
    return second ^ ((first ^ second) & -(uint32_t)is_first);
}

/* Returns the shortest decimal in the rounding interval of V, and of those the nearest. V is not
 * 0. */
static struct decimal shortest(struct binary v)
{
    /* k = floor(log10(2^q)) or, at an edge, floor(log10(3/4 * 2^q)); shift contains
     * floor(log2(10^-k)) */
    int k = (v.q * 1262611 - (v.is_edge ? 524031 : 0)) >> 22;
    int shift = v.q + (-k * 1741647 >> 19) + 1;
    uint64_t power = powers[-k - POWER_FIRST];
    /* the ends of the interval, made inclusive, and the value itself, in quarters of 10^k */
    uint32_t is_odd = v.c & 1;
    uint32_t low = multiply_sticky(power, (4 * v.c - 2 + v.is_edge) << shift) + is_odd;
    uint32_t high = multiply_sticky(power, (4 * v.c + 2) << shift) - is_odd;
    uint32_t value = multiply_sticky(power, (4 * v.c) << shift);
    uint32_t floor = value / 4, short_floor = floor / 10;
    bool fits_below = low <= 40 * short_floor, fits_above = 40 * short_floor + 40 <= high;
    bool is_short = (floor >= 10) & (fits_below ^ fits_above);
    uint32_t shorter = short_floor + fits_above;
    uint32_t nearest = (value + 1 + floor % 2) / 4; /* a tie goes to the even one */

    fits_below = low <= 4 * floor;
    fits_above = 4 * floor + 4 <= high;
    nearest = choose(fits_below ^ fits_above, floor + fits_above, nearest);
    return (struct decimal){choose(is_short, shorter, nearest), k + is_short};
}

static bool is_integer(struct binary v)
{
    return v.q <= 0 && v.q > -FRACTION_BITS - 1 && (v.c & ((UINT32_C(1) << -v.q) - 1)) == 0;
}

static const uint32_t powers_of_ten[] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
};

/* Returns the number of digits of X, 0 < X < 10^9. 1233 / 4096 is slightly more than log10(2). */
static int count_digits(uint32_t x)
{
    int n = ((32 - __builtin_clz(x)) * 1233) >> 12;

    return n + (x >= powers_of_ten[n]);
}

enum { DIGITS_MAX = 9, TEXT_SIZE = sizeof(uint128) };

/* Returns the last N digits of X < 10^9 as characters, the first in the lowest byte; other bytes
 * are 0. Eight digits are computed at once: two lanes of four digits are split into four lanes of
 * two, and these into eight of one. Lanes are divided by 100 and 10 with multiplications by 5243 /
 * 2^19 and 103 / 2^10, rounded down. */
static uint128 spell(uint32_t x, int n)
{
    uint32_t first = x / 100000000, rest = x % 100000000;
    uint64_t lanes = (uint64_t)(rest % 10000) << 32 | rest / 10000;
    uint64_t high = (lanes * 5243 >> 19) & UINT64_C(0x0000007f0000007f);

    lanes = (lanes - high * 100) << 16 | high;
    high = (lanes * 103 >> 10) & UINT64_C(0x000f000f000f000f);
    lanes = ((lanes - high * 10) << 8 | high) + UINT64_C(0x3030303030303030);
    return ((uint128)lanes << 8 | ('0' + first)) >> 8 * (DIGITS_MAX - n);
}

static void put_text(char *out, uint128 text)
{
    memcpy(out, &text, TEXT_SIZE);
}

/* Writes N digits as d.ddde-xx. */
static size_t write_scientific(char *out, uint128 digits, int n, int exponent)
{
    char *at = out + n + (n > 1);
    int e = exponent < 0 ? -exponent : exponent;

    put_text(out + 1, digits);
    out[0] = (char)digits;
    if (n > 1)
        out[1] = '.';
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    *at++ = (char)('0' + e / 10);
    *at++ = (char)('0' + e % 10);
    return (size_t)(at - out);
}

/* Writes D to OUT and returns its length. All TEXT_SIZE bytes are written, so that no branch
 * depends on the number of digits. */
static size_t write_decimal(char *out, struct decimal d)
{
    /* the range of Python's repr without exponent: 1e-4 <= x < 1e16 */
    enum { FIXED_FROM = -4, FIXED_BELOW = 16 };
    uint128 digits;
    uint64_t rest;
    int n, point;

    while (d.digits % 10 == 0)
        d.digits /= 10, d.exponent++;
    n = count_digits(d.digits);
    point = n + d.exponent; /* number of digits before the decimal point */
    digits = spell(d.digits, n);
    if (point <= FIXED_FROM || point > FIXED_BELOW)
        return write_scientific(out, digits, n, point - 1);
    if (point <= 0) {
        memcpy(out, "0.000", 5);
        put_text(out + 2 - point, digits);
        return (size_t)(2 - point + n);
    }
    put_text(out, digits);
    if (d.exponent >= 0) {
        memset(out + n, '0', (size_t)d.exponent);
        return (size_t)point;
    }
    out[point] = '.';
    rest = (uint64_t)(digits >> 8 * point);
    memcpy(out + point + 1, &rest, sizeof rest);
    return (size_t)n + 1;
}

/* Writes VALUE, which is infinite or NaN, whose sign is left out: it depends on the compiler. */
static size_t write_special(double value, char *out)
{
    const char *text = isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
    size_t size = strlen(text);

    memcpy(out, text, size);
    return size;
}

size_t attn_format_float(float value, char out[ATTN_FLOAT_TEXT_SIZE])
{
    uint32_t bits;
    struct binary v;
    size_t sign;

    if (!isfinite(value))
        return write_special((double)value, out);
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 31;
    out[0] = '-'; /* overwritten if the number is positive */
    v = split_float(bits);
    if (v.c == 0) {
        out[sign] = '0';
        return sign + 1;
    }
    /* not with shortest(): the interval of an integer may hold a shorter number, but 2^24 must be
     * exact */
    if (is_integer(v))
        return sign + write_decimal(out + sign, (struct decimal){v.c >> -v.q, 0});
    return sign + write_decimal(out + sign, shortest(v));
}

static size_t write_integer(char *out, uint128 x, int min_digits)
{
    char digits[40]; /* 2^128 has 39 */
    int n = 0;

    do {
        digits[n++] = (char)('0' + (int)(x % 10));
        x /= 10;
    } while (x != 0);
    while (n < min_digits)
        digits[n++] = '0';
    for (int i = 0; i < n; i++)
        out[i] = digits[n - 1 - i];
    return (size_t)n;
}

/* Returns x / 2^shift, ties to even; x < 2^82. */
static uint128 divide_rounded(uint128 x, int shift)
{
    uint128 quotient, rest, half;

    if (shift > 100)
        return 0;
    quotient = x >> shift;
    rest = x - (quotient << shift);
    half = (uint128)1 << (shift - 1);
    return quotient + (rest > half || (rest == half && quotient % 2 == 1));
}

static size_t write_digits(char *out, uint32_t x, int n)
{
    put_text(out, spell(x, n));
    return (size_t)n;
}

/* Writes |v| < 2^24 with at most nine decimals, so that 64 bits are enough. */
static size_t write_small(char *out, struct binary v, int precision)
{
    uint32_t unit = powers_of_ten[precision], whole;
    uint64_t x = (uint64_t)v.c * unit;
    uint64_t quotient = x >> -v.q, rest = x & ((UINT64_C(1) << -v.q) - 1);
    uint64_t half = UINT64_C(1) << (-v.q - 1);
    size_t size;

    quotient += (rest > half) | ((rest == half) & (quotient % 2 == 1));
    whole = quotient < unit ? 0 : (uint32_t)(quotient / unit);
    size = write_digits(out, whole, whole == 0 ? 1 : count_digits(whole));
    if (precision == 0)
        return size;
    out[size++] = '.';
    return size +
           write_digits(out + size, (uint32_t)(quotient - (uint64_t)whole * unit), precision);
}

static size_t write_large(char *out, struct binary v, int precision)
{
    uint128 whole, fraction = 0;
    uint64_t unit = 1;
    size_t size;

    for (int i = 0; i < precision; i++)
        unit *= 10;
    if (v.q >= 0) {
        whole = (uint128)v.c << v.q;
    } else {
        whole = divide_rounded((uint128)v.c * unit, -v.q);
        fraction = whole % unit;
        whole /= unit;
    }
    size = write_integer(out, whole, 1);
    if (precision == 0)
        return size;
    out[size++] = '.';
    return size + write_integer(out + size, fraction, precision);
}

size_t attn_float_text_fixed(float value, int precision, char out[ATTN_FIXED_TEXT_SIZE])
{
    uint32_t bits;
    struct binary v;
    size_t sign;

    if (!isfinite(value))
        return write_special((double)value, out);
    memcpy(&bits, &value, sizeof bits);
    v = split_float(bits);
    sign = bits >> 31;
    out[0] = '-'; /* overwritten if the number is positive */
    if (precision <= DIGITS_MAX && v.q < 0 && v.q > -64)
        return sign + write_small(out + sign, v, precision);
    return sign + write_large(out + sign, v, precision);
}

enum { DOUBLE_TEXT_SIZE = 352 }; /* a sign, 309 digits of the largest double, a point, 17 digits */

static bool is_part_of_number(char c)
{
    return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == 'e';
}

/* Appends a number that printf wrote; the locale's decimal separator becomes a point. */
static void append_number(struct attn_buffer *out, const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (is_part_of_number(*at))
            attn_buffer_append_char(out, *at);
        else if (is_part_of_number(at[1]))
            attn_buffer_append_char(out, '.');
}

/* --- The shortest text of a double ------------------------------------------------------------ */

/* A double of the range below as an exact integer: N / 2^shift is its absolute value times
 * 10^power, which has 17 digits before the point. Half of the distance to its neighbours is HALF
 * / 2. */
struct exact {
    uint128 n, half;
    int shift, power;
    bool is_even; /* its last bit is 0, so that ties are read as this double */
};

/* Sets EXACT to VALUE; false for numbers whose integers do not fit, and for powers of two, whose
 * neighbours are not at equal distances. */
static bool find_exact(double value, struct exact *exact)
{
    static const double least = 1e-15, most = 1e15;
    int exponent;
    const double fraction = frexp(fabs(value), &exponent);
    const uint64_t mantissa = (uint64_t)ldexp(fraction, DBL_MANT_DIG);
    int e10 = (int)floor((exponent - 1) * 0.30102999566398120);

    if (!(fabs(value) >= least && fabs(value) < most) || fraction == 0.5)
        return false;
    for (;; e10++) { /* the estimate is right or one too small */
        exact->power = 16 - e10;
        exact->shift = DBL_MANT_DIG - exponent - exact->power;
        exact->half = 1;
        for (int i = 0; i < exact->power; i++)
            exact->half *= 5;
        exact->n = mantissa * exact->half;
        if (exact->shift <= 0 || exact->shift > 127)
            return false;
        if ((uint64_t)(exact->n >> exact->shift) < UINT64_C(100000000000000000))
            break;
    }
    exact->is_even = mantissa % 2 == 0;
    return true;
}

/* Rounds EXACT to DIGITS digits, ties to even: *number times UNIT. Returns true if that is read
 * back as the same double. */
static bool round_exact(const struct exact *exact, uint64_t unit, uint64_t *number)
{
    const uint128 divisor = (uint128)unit << exact->shift, rest = exact->n % divisor;
    const uint128 other = divisor - rest;
    uint128 difference = rest;

    *number = (uint64_t)(exact->n / divisor);
    if (rest > other || (rest == other && *number % 2 == 1)) {
        ++*number;
        difference = other;
    }
    return 2 * difference < exact->half || (2 * difference == exact->half && exact->is_even);
}

static char *put(char *to, const char *from, int n)
{
    for (int i = 0; i < n; i++)
        *to++ = from[i];
    return to;
}

/* Writes VALUE, of the range of find_exact, as "%.*g" with the fewest digits. */
static void write_shortest(double value, const struct exact *exact, char text[DOUBLE_TEXT_SIZE])
{
    enum { MOST_DIGIT = 20 };
    static const char zeros[] = "0.0000000000000000";
    char digits[MOST_DIGIT], *first = digits + MOST_DIGIT;
    uint64_t unit = 1, number, shorter;
    int e10 = 16 - exact->power, n, n_whole;

    round_exact(exact, unit, &number);
    while (unit < UINT64_C(10000000000000000) && round_exact(exact, unit * 10, &shorter)) {
        unit *= 10;
        number = shorter;
    }
    for (uint64_t all = number * unit; all >= UINT64_C(100000000000000000); all /= 10)
        e10++; /* 9.99 became 10.0 */
    while (number % 10 == 0)
        number /= 10;
    for (; number > 0; number /= 10)
        *--first = (char)('0' + number % 10);
    n = (int)(digits + MOST_DIGIT - first);
    if (value < 0)
        *text++ = '-';
    if (e10 < -4) {
        text = put(text, first, 1);
        text = put(text, ".", n > 1);
        text = put(text, first + 1, n - 1);
        text = put(text, "e-", 2);
        *text++ = (char)('0' - e10 / 10);
        *text++ = (char)('0' - e10 % 10);
        *text = '\0';
        return;
    }
    n_whole = e10 < 0 ? 0 : e10 + 1 < n ? e10 + 1 : n; /* digits before the point */
    text = put(text, zeros, e10 < 0 ? 1 - e10 : 0);
    text = put(text, first, n_whole);
    text = put(text, zeros + 2, e10 + 1 - n > 0 ? e10 + 1 - n : 0);
    text = put(text, ".", e10 >= 0 && n > n_whole);
    text = put(text, first + n_whole, n - n_whole);
    *text = '\0';
}

/* Writes VALUE to TEXT with DIGITS significant digits. Returns true if TEXT reads back as VALUE. */
static bool reads_back(double value, int digits, char text[DOUBLE_TEXT_SIZE])
{
    snprintf(text, DOUBLE_TEXT_SIZE, "%.*g", digits, value);
    return strtod(text, NULL) == value;
}

/* Numbers beyond the range of find_exact: tries more and more digits. If some number of digits
 * reads back, so does any larger one. */
void attn_double_append(struct attn_buffer *out, double value)
{
    char text[DOUBLE_TEXT_SIZE];
    struct exact exact;
    int digits;

    if (!isfinite(value)) {
        attn_buffer_append(out, text, write_special(value, text));
        return;
    }
    if (find_exact(value, &exact)) {
        write_shortest(value, &exact, text);
        attn_buffer_append_string(out, text);
        return;
    }
    digits = reads_back(value, DBL_DIG, text) ? 1 : DBL_DIG + 1;
    while (!reads_back(value, digits, text) && digits < DBL_DECIMAL_DIG)
        digits++;
    /* 870, which %g writes as 8.7e+02 with two digits */
    if (fabs(value) < 1e16 && strstr(text, "e+"))
        snprintf(text, sizeof text, "%.0f", value);
    append_number(out, text);
}

void attn_double_append_as(struct attn_buffer *out, char notation, int digits, double value)
{
    char text[DOUBLE_TEXT_SIZE];

    if (!isfinite(value)) {
        attn_buffer_append(out, text, write_special(value, text));
        return;
    }
    snprintf(text, sizeof text,
             notation == 'f'   ? "%.*f"
             : notation == 'e' ? "%.*e"
                               : "%.*g",
             digits, value);
    append_number(out, text);
}
