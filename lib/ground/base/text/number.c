/*
 * number.c - see number.h.
 *
 * Decimal fractions are rounded by the C library's strtod, which is exact, in the "C" locale. It is
 * given only the digits that can matter and an exponent, so that numbers of any length are read
 * without allocation.
 */
#include "base/text/number.h"

#include "base/os/os.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool attn_parse_uint(const char *text, size_t size, uint64_t *value)
{
    uint64_t sum = 0;

    if (size == 0)
        return false;
    for (size_t i = 0; i < size; i++) {
        if (!is_digit(text[i]) || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(text[i] - '0'), &sum))
            return false;
    }
    *value = sum;
    return true;
}

bool attn_parse_int(const char *text, size_t size, int64_t min, int64_t max, int64_t *value)
{
    bool is_negative = size > 0 && text[0] == '-';
    uint64_t magnitude, limit = (uint64_t)INT64_MAX + is_negative;
    int64_t number;

    if (!attn_parse_uint(text + is_negative, size - is_negative, &magnitude) || magnitude > limit)
        return false;
    number = (int64_t)(is_negative ? 0 - magnitude : magnitude);
    if (number < min || number > max)
        return false;
    *value = number;
    return true;
}

/* The midpoint between two doubles, where rounding changes, has at most 768 significant digits; of
 * further digits it only matters whether one is not 0. */
enum { MAX_DIGITS = 768, MAX_EXPONENT = 1000000 };

/* A number as its digits d1 d2 d3 ... and a power of ten: 0.d1d2d3... * 10^exponent. */
struct decimal {
    /* without leading zeros; the last digit may stand for all that follow */
    char digits[MAX_DIGITS + 1];
    size_t n_digit;
    int64_t exponent;
};

/* Reads digits from *AT on. Returns false if there are none. */
static bool scan_digits(const char *text, size_t size, size_t *at, bool is_fraction,
                        struct decimal *decimal)
{
    size_t start = *at;

    for (; *at < size && is_digit(text[*at]); ++*at) {
        const char digit = text[*at];
        const bool is_leading = decimal->n_digit == 0 && digit == '0';

        if (!is_leading && decimal->n_digit < MAX_DIGITS) {
            decimal->digits[decimal->n_digit++] = digit;
        } else if (digit != '0') {
            decimal->digits[MAX_DIGITS] = '1';
            decimal->n_digit = MAX_DIGITS + 1;
        }
        if (!is_fraction && decimal->n_digit > 0)
            decimal->exponent++;
        else if (is_fraction && is_leading)
            decimal->exponent--;
    }
    return *at > start;
}

/* Parses JSON's number grammar: [-] (0 | 1-9 digits) [. digits] [eE [+-] digits], with nothing
 * after it. */
static bool scan_decimal(const char *text, size_t size, bool *is_negative, struct decimal *decimal)
{
    size_t at = 0, integer, first;
    int64_t exponent = 0;
    bool is_below = false;

    *is_negative = size > 0 && text[0] == '-';
    integer = at = *is_negative;
    if (!scan_digits(text, size, &at, false, decimal))
        return false;
    if (text[integer] == '0' && at - integer > 1)
        return false;
    if (at < size && text[at] == '.') {
        at++;
        if (!scan_digits(text, size, &at, true, decimal))
            return false;
    }
    if (at < size && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        is_below = at < size && text[at] == '-';
        at += at < size && (text[at] == '-' || text[at] == '+');
        first = at;
        for (; at < size && is_digit(text[at]); at++)
            if (exponent < INT64_MAX / 20) /* larger exponents make no difference */
                exponent = exponent * 10 + (text[at] - '0');
        if (at == first)
            return false;
    }
    decimal->exponent += is_below ? -exponent : exponent;
    return at == size;
}

bool attn_parse_double(const char *text, size_t size, double *value)
{
    struct decimal decimal = {.n_digit = 0};
    char normal[MAX_DIGITS + 32];
    bool is_negative;
    double number = 0;

    if (!scan_decimal(text, size, &is_negative, &decimal))
        return false;
    if (decimal.n_digit > 0) {
        if (decimal.exponent > MAX_EXPONENT)
            return false;
        if (decimal.exponent < -MAX_EXPONENT)
            decimal.exponent = -MAX_EXPONENT;
        snprintf(normal, sizeof normal, "0.%.*se%d", (int)decimal.n_digit, decimal.digits,
                 (int)decimal.exponent);
        if (!attn_os_strtod(normal, &number))
            return false;
    }
    if (!isfinite(number))
        return false;
    *value = is_negative ? -number : number;
    return true;
}

int attn_compare_numbers(double a, double b)
{
    if (isnan(a) || isnan(b))
        return !!isnan(a) - !!isnan(b);
    return (a > b) - (a < b);
}

/* --- Numbers for people ---------------------------------------------------------------------- */

enum { N_UNIT = 7 };

const char *attn_quantity_count(uint64_t number, char text[ATTN_QUANTITY_SIZE])
{
    char digits[ATTN_QUANTITY_SIZE];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, number);
    char *at = text;

    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

/* Formats NUMBER in the largest of UNITS that it reaches; each unit is STEP times the one
 * before. */
static const char *scale(uint64_t number, double step, const char *const units[N_UNIT],
                         char text[ATTN_QUANTITY_SIZE])
{
    double value = (double)number;
    int i = 0;

    while (value >= (i == 0 ? step : step - 0.05) && i < N_UNIT - 1) { /* avoids "1024.0 KiB" */
        value /= step;
        i++;
    }
    snprintf(text, ATTN_QUANTITY_SIZE, i == 0 ? "%.0f%s" : "%.1f%s", value, units[i]);
    return text;
}

const char *attn_quantity_bytes(uint64_t number, char text[ATTN_QUANTITY_SIZE])
{
    static const char *const units[N_UNIT] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};

    return scale(number, 1024, units, text);
}

const char *attn_quantity_operations(uint64_t number, char text[ATTN_QUANTITY_SIZE])
{
    static const char *const units[N_UNIT] = {"", " k", " M", " G", " T", " P", " E"};

    return scale(number, 1000, units, text);
}
