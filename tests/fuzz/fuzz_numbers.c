/*
 * fuzz_numbers.c - the numbers that options and files hold.
 *
 * What is accepted is what the C library's strtol family makes of it in the C locale; what is
 * refused breaks the grammar or the range. Numbers that are printed read back as the same bits.
 */
#include "base/text/number.h"
#include "formats/float_text.h"
#include "tensors/output.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of digits at TEXT. */
static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* JSON's grammar of a number; true with *is_integer when there are only digits. */
static bool is_number(const char *text, bool *is_integer)
{
    size_t n = digits(text += text[0] == '-');

    *is_integer = n > 0 && text[n] == '\0'; /* leading zeros are allowed for integers */
    if (n == 0 || (text[0] == '0' && n > 1))
        return false;
    text += n;
    if (*text == '.') {
        n = digits(text + 1);
        if (n == 0)
            return false;
        text += n + 1;
    }
    if (*text == 'e' || *text == 'E') {
        text += text[1] == '+' || text[1] == '-' ? 2 : 1;
        n = digits(text);
        if (n == 0)
            return false;
        text += n;
    }
    return *text == '\0';
}

static void check_int(const char *text, bool is_integer)
{
    int64_t value = 7;
    long long expected;
    char *end;

    errno = 0;
    expected = strtoll(text, &end, 10);
    if (attn_parse_int(text, strlen(text), INT64_MIN, INT64_MAX, &value)) {
        FUZZ_CHECK(is_integer && errno == 0 && *end == '\0' && value == expected);
        FUZZ_CHECK(attn_parse_int(text, strlen(text), value, value, &value));
        if (value < INT64_MAX)
            FUZZ_CHECK(!attn_parse_int(text, strlen(text), value + 1, INT64_MAX, &value));
    } else {
        FUZZ_CHECK(value == 7);
        FUZZ_CHECK(!is_integer || errno == ERANGE);
    }
}

static void check_uint(const char *text, bool is_integer)
{
    uint64_t value = 7;
    unsigned long long expected;

    errno = 0;
    expected = strtoull(text, NULL, 10);
    if (attn_parse_uint(text, strlen(text), &value)) {
        FUZZ_CHECK(is_integer && text[0] != '-' && errno == 0 && value == expected);
    } else {
        FUZZ_CHECK(value == 7);
        FUZZ_CHECK(!is_integer || text[0] == '-' || errno == ERANGE);
    }
}

static bool is_same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_double(const char *text, bool is_json)
{
    double value = 7, expected = strtod(text, NULL);

    if (attn_parse_double(text, strlen(text), &value)) {
        FUZZ_CHECK(is_json && is_same(value, expected));
    } else {
        FUZZ_CHECK(value == 7);
        FUZZ_CHECK(!is_json || !isfinite(expected));
    }
}

/* The first bytes of the input as numbers: printed and read back. */
static void check_printed(const uint8_t *data)
{
    char text[64];
    int64_t integer, integer_back = 0;
    uint64_t natural_back = 0;
    double number, number_back = 0;
    float single;

    memcpy(&integer, data, sizeof integer);
    memcpy(&number, data, sizeof number);
    memcpy(&single, data, sizeof single);
    snprintf(text, sizeof text, "%" PRId64, integer);
    FUZZ_CHECK(attn_parse_int(text, strlen(text), INT64_MIN, INT64_MAX, &integer_back));
    FUZZ_CHECK(integer_back == integer);
    snprintf(text, sizeof text, "%" PRIu64, (uint64_t)integer);
    FUZZ_CHECK(attn_parse_uint(text, strlen(text), &natural_back));
    FUZZ_CHECK(natural_back == (uint64_t)integer);
    snprintf(text, sizeof text, "%.17g", number);
    FUZZ_CHECK(attn_parse_double(text, strlen(text), &number_back) == !!isfinite(number));
    FUZZ_CHECK(!isfinite(number) || is_same(number_back, number));
    if (isfinite(single)) {
        size_t size = attn_format_float(single, text);

        FUZZ_CHECK(attn_parse_double(text, size, &number_back));
        FUZZ_CHECK(is_same((double)(float)number_back, (double)single));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = attn_fuzz_string(data, size);
    bool is_integer, is_json = is_number(text, &is_integer);

    check_int(text, is_integer);
    check_uint(text, is_integer);
    check_double(text, is_json);
    free(text);
    if (size >= sizeof(double))
        check_printed(data);
    return 0;
}
