/*
 * test_float_text.c - float32 as text: reads back, no digit too many, and the form of Python's repr
 * without ".0". The samples are every 65521st bit pattern; all 2^31 positive values were once
 * compared with std::to_chars.
 */
#include "formats/float_text.h"
#include "tensors/output.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEP = 65521 }; /* a prime, so that all low bits occur */

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static const char *shortest(float value, char text[ATTN_FLOAT_TEXT_SIZE + 1])
{
    memset(text, '#', ATTN_FLOAT_TEXT_SIZE);
    text[attn_format_float(value, text)] = '\0';
    return text;
}

/* Digits without sign, point, exponent, and zeros at the ends. */
static size_t digits_of(const char *text, char digits[40])
{
    size_t n = 0;

    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n > 0 || *text != '0'))
            digits[n++] = *text;
    while (n > 0 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    return n;
}

START_TEST(takes_the_form_of_python_without_a_point_zero)
{
    static const struct {
        float value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0F, "-0"},
        {1, "1"},
        {-1, "-1"},
        {0.1F, "0.1"},
        {0.3F, "0.3"},
        {-1.5F, "-1.5"},
        {100, "100"},
        {120.5F, "120.5"},
        {123456.79F, "123456.79"},
        {1e-4F, "0.0001"},
        {0.00012345678F, "0.00012345678"},
        {9.9999e-5F, "9.9999e-05"},
        {1e-7F, "1e-07"},
        {9.5367431640625e-07F, "9.536743e-07"},
        {16777216, "16777216"},
        {33554432, "33554432"},
        {2e10F, "20000000000"},
        {-9.007199e15F, "-9007199000000000"},
        {9.999999e15F, "9999999000000000"},
        {1e16F, "1e+16"},
        {3.4028235e38F, "3.4028235e+38"},
        {1.17549435e-38F, "1.1754944e-38"},
        {1e-45F, "1e-45"},
        {-1e-45F, "-1e-45"},
        {INFINITY, "inf"},
        {-INFINITY, "-inf"},
        {NAN, "nan"},
        {-NAN, "nan"},
    };
    char text[ATTN_FLOAT_TEXT_SIZE + 1];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(shortest(cases[i].value, text), cases[i].text);
}
END_TEST

START_TEST(reads_back_as_the_same_float)
{
    char text[ATTN_FLOAT_TEXT_SIZE + 1];

    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STEP) {
        float value = float_of((uint32_t)bits);

        if (isnan(value))
            continue;
        ck_assert_msg(bits_of(strtof(shortest(value, text), NULL)) == bits, "%a is '%s'",
                      (double)value, text);
    }
}
END_TEST

START_TEST(has_as_few_digits_as_possible_and_the_nearest)
{
    char text[ATTN_FLOAT_TEXT_SIZE + 1], ours[40], theirs[40], printed[40];

    for (uint32_t bits = 1; bits < UINT32_C(0x7f800000); bits += STEP) {
        float value = float_of(bits);
        size_t n = digits_of(shortest(value, text), ours), least;
        int precision = 0;

        do /* the fewest digits that read back, by trying */
            snprintf(printed, sizeof printed, "%.*e", precision++, (double)value);
        while (strtof(printed, NULL) != value);
        least = digits_of(printed, theirs);
        ck_assert_msg(n <= least, "%a is '%s', '%s' is enough", (double)value, text, printed);
        if (n == least)
            ck_assert_msg(strcmp(ours, theirs) == 0, "%a is '%s', '%s' is nearer", (double)value,
                          text, printed);
    }
}
END_TEST

START_TEST(powers_of_two_read_back)
{
    char text[ATTN_FLOAT_TEXT_SIZE + 1];

    for (int e = -149; e < 128; e++) {
        float values[] = {ldexpf(1, e), nextafterf(ldexpf(1, e), 0),
                          nextafterf(ldexpf(1, e), INFINITY)};

        for (int i = 0; i < 3; i++)
            ck_assert(strtof(shortest(values[i], text), NULL) == values[i]);
    }
}
END_TEST

START_TEST(fixed_digits_are_those_of_printf)
{
    char text[ATTN_FIXED_TEXT_SIZE], expected[100];

    for (uint64_t bits = 0; bits <= UINT32_MAX; bits += STEP) {
        float value = float_of((uint32_t)bits);
        int precision = (int)(bits / STEP % (ATTN_FIXED_PRECISION_MAX + 1));
        size_t n = attn_float_text_fixed(value, precision, text);

        if (isnan(value))
            snprintf(expected, sizeof expected, "nan");
        else
            snprintf(expected, sizeof expected, "%.*f", precision, (double)value);
        ck_assert_msg(n == strlen(expected) && memcmp(text, expected, n) == 0,
                      "%a with %d digits is '%.*s', expected '%s'", (double)value, precision,
                      (int)n, text, expected);
    }
}
END_TEST

START_TEST(fixed_digits_round_ties_to_even)
{
    static const struct {
        float value;
        int precision;
        const char *text;
    } cases[] = {
        {0.5F, 0, "0"},          {1.5F, 0, "2"},          {2.5F, 0, "2"},
        {0.125F, 2, "0.12"},     {0.375F, 2, "0.38"},     {-0.00001F, 4, "-0.0000"},
        {0.99995F, 4, "0.9999"}, {0.99996F, 4, "1.0000"}, {1e-45F, 17, "0.00000000000000000"},
    };
    char text[ATTN_FIXED_TEXT_SIZE];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        text[attn_float_text_fixed(cases[i].value, cases[i].precision, text)] = '\0';
        ck_assert_str_eq(text, cases[i].text);
    }
}
END_TEST

ATTN_SUITE("float_text", takes_the_form_of_python_without_a_point_zero,
           reads_back_as_the_same_float, has_as_few_digits_as_possible_and_the_nearest,
           powers_of_two_read_back, fixed_digits_are_those_of_printf,
           fixed_digits_round_ties_to_even)
