/*
 * float_text.c - float32 as decimal text.
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
#include "output/float_text.h"

#include "output/float_powers.h"
#include "output/output.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

__extension__ typedef unsigned __int128 uint128;

enum { FRACTION_BITS = 23, EXPONENT_MAX = 255, EXPONENT_BIAS = 127 + FRACTION_BITS };

/* The finite value c * 2^q. */
struct binary {
    uint32_t c;
    int q;
    bool is_edge; /* a power of two: its neighbour below is only half as far as the one above */
};

/* digits * 10^exponent */
struct decimal {
    uint32_t digits;
    int exponent;
};

static struct binary take_apart(uint32_t bits)
{
    uint32_t fraction = bits & ((UINT32_C(1) << FRACTION_BITS) - 1);
    int exponent = (int)(bits >> FRACTION_BITS & EXPONENT_MAX);

    if (exponent == 0)
        return (struct binary){.c = fraction, .q = 1 - EXPONENT_BIAS};
    return (struct binary){.c = fraction | UINT32_C(1) << FRACTION_BITS,
                           .q = exponent - EXPONENT_BIAS,
                           .is_edge = fraction == 0 && exponent > 1};
}

/* The high 32 bits of power * x / 2^64; the last bit is set when anything but an error of the
 * rounded power was cut off. */
static uint32_t multiply_sticky(uint64_t power, uint32_t x)
{
    uint64_t product = (power >> 32) * x + ((power & UINT32_MAX) * x >> 32);

    return (uint32_t)(product >> 32) | ((uint32_t)product > 1);
}

/* The shortest, then nearest, decimal in the rounding interval of V, which is not 0. */
static struct decimal shortest(struct binary v)
{
    /* floor(log10(2^q)) or, at an edge, floor(log10(3/4 * 2^q)); floor(log2(10^-k)) */
    int k = (v.q * 1262611 - (v.is_edge ? 524031 : 0)) >> 22;
    int shift = v.q + (-k * 1741647 >> 19) + 1;
    uint64_t power = powers[-k - POWER_FIRST];
    /* in quarters of 10^k: the interval's ends, made inclusive, and the value */
    uint32_t is_odd = v.c & 1;
    uint32_t low = multiply_sticky(power, (4 * v.c - 2 + v.is_edge) << shift) + is_odd;
    uint32_t high = multiply_sticky(power, (4 * v.c + 2) << shift) - is_odd;
    uint32_t value = multiply_sticky(power, (4 * v.c) << shift);
    uint32_t floor = value / 4;
    uint32_t short_floor = floor / 10;
    bool fits_down = low <= 40 * short_floor;
    bool fits_up = 40 * short_floor + 40 <= high;

    if (floor >= 10 && fits_down != fits_up)
        return (struct decimal){short_floor + fits_up, k + 1};
    fits_down = low <= 4 * floor;
    fits_up = 4 * floor + 4 <= high;
    if (fits_down == fits_up) /* both: the nearest, a tie to the even one */
        fits_up = value % 4 > 2 || (value % 4 == 2 && floor % 2 == 1);
    return (struct decimal){floor + fits_up, k};
}

static bool is_integer(struct binary v)
{
    return v.q <= 0 && v.q > -FRACTION_BITS - 1 && (v.c & ((UINT32_C(1) << -v.q) - 1)) == 0;
}

/* Digits of X < 10^9; X = 0 has one. */
static int count_digits(uint32_t x)
{
    if (x >= 10000)
        return x < 1000000 ? 5 + (x >= 100000) : 7 + (x >= 10000000) + (x >= 100000000);
    return x < 100 ? 1 + (x >= 10) : 3 + (x >= 1000);
}

/* Writes the last N digits of X so that they end before END. */
static void write_digits(char *end, uint32_t x, int n)
{
    static const char pairs[] = "00010203040506070809101112131415161718192021222324"
                                "25262728293031323334353637383940414243444546474849"
                                "50515253545556575859606162636465666768697071727374"
                                "75767778798081828384858687888990919293949596979899";

    for (; n >= 2; n -= 2, x /= 100)
        memcpy(end -= 2, pairs + (size_t)(x % 100) * 2, 2);
    if (n == 1)
        end[-1] = (char)('0' + x % 10);
}

/* d.ddde-xx */
static size_t write_scientific(char *out, uint32_t digits, int n, int exponent)
{
    char *at = out + n + (n > 1);

    write_digits(at, digits, n);
    out[0] = n > 1 ? out[1] : out[0];
    if (n > 1)
        out[1] = '.';
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    write_digits(at + 2, (uint32_t)(exponent < 0 ? -exponent : exponent), 2);
    return (size_t)(at + 2 - out);
}

static size_t write_decimal(char *out, struct decimal d)
{
    enum { FIXED_FROM = -4, FIXED_BELOW = 16 }; /* as Python's repr: 1e-4 <= x < 1e16 */
    int n, point;

    while (d.digits % 10 == 0)
        d.digits /= 10, d.exponent++;
    n = count_digits(d.digits);
    point = n + d.exponent; /* digits before the decimal point */
    if (point <= FIXED_FROM || point > FIXED_BELOW)
        return write_scientific(out, d.digits, n, point - 1);
    if (point <= 0) {
        memcpy(out, "0.000", 5);
        write_digits(out + 2 - point + n, d.digits, n);
        return (size_t)(2 - point + n);
    }
    if (d.exponent >= 0) {
        write_digits(out + n, d.digits, n);
        memset(out + n, '0', (size_t)d.exponent);
        return (size_t)point;
    }
    write_digits(out + n + 1, d.digits, n);
    memmove(out, out + 1, (size_t)point);
    out[point] = '.';
    return (size_t)n + 1;
}

/* Infinities and NaN; VALUE is not finite. */
static size_t write_special(float value, char *out)
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
        return write_special(value, out);
    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 31;
    out[0] = '-'; /* overwritten when positive */
    v = take_apart(bits);
    if (v.c == 0) {
        out[sign] = '0';
        return sign + 1;
    }
    /* the interval of a small integer may hold a shorter number that is not it: 2^24 is exact */
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

/* x / 2^shift, ties to even; x < 2^82. */
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

size_t attn_float_text_fixed(float value, int precision, char out[ATTN_FIXED_TEXT_SIZE])
{
    uint128 whole, fraction = 0;
    uint64_t unit = 1;
    uint32_t bits;
    struct binary v;
    size_t size = 0;

    if (!isfinite(value))
        return write_special(value, out);
    memcpy(&bits, &value, sizeof bits);
    v = take_apart(bits);
    for (int i = 0; i < precision; i++)
        unit *= 10;
    if (v.q >= 0) {
        whole = (uint128)v.c << v.q;
    } else {
        whole = divide_rounded((uint128)v.c * unit, -v.q);
        fraction = whole % unit;
        whole /= unit;
    }
    if (bits >> 31)
        out[size++] = '-';
    size += write_integer(out + size, whole, 1);
    if (precision > 0) {
        out[size++] = '.';
        size += write_integer(out + size, fraction, precision);
    }
    return size;
}
