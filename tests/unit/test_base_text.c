/* UTF-8, escaping, globs, numbers from text and in order, names of element types and notes. */
#include "base/note.h"
#include "base/text/escape.h"
#include "base/text/glob.h"
#include "base/text/list.h"
#include "base/text/number.h"
#include "base/text/utf8.h"
#include "predict/answer_internal.h"
#include "predict/logits.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Check writes to a pipe at every assertion: loops over all characters ask first. */
#define ASSERT_IN_LOOP(condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition))                                                                          \
            ck_abort_msg(__VA_ARGS__);                                                             \
    } while (0)

START_TEST(every_character_survives_encoding)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        char bytes[4];
        size_t length = attn_utf8_encode(c, bytes);
        bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
        uint32_t found = 0;

        ASSERT_IN_LOOP(attn_utf8_decode(bytes, length, &found) == (is_surrogate ? 0 : length),
                       "U+%04X", c);
        ASSERT_IN_LOOP(is_surrogate || found == c, "U+%04X is read as U+%04X", c, found);
        for (size_t shorter = 1; shorter < length && !is_surrogate; shorter++)
            ASSERT_IN_LOOP(attn_utf8_decode(bytes, shorter, &found) == 0 && found == shorter,
                           "U+%04X cut to %zu bytes", c, shorter);
    }
}
END_TEST

/* A second opinion: take the bits first, ask what they may be afterwards. */
static size_t plain_decode(const unsigned char *bytes, uint32_t *code_point)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = bytes[0] < 0x80           ? 1
                    : (bytes[0] >> 5) == 0x06 ? 2
                    : (bytes[0] >> 4) == 0x0e ? 3
                    : (bytes[0] >> 3) == 0x1e ? 4
                                              : 0;
    uint32_t value = length < 2 ? bytes[0] : bytes[0] & (0x7fu >> length);

    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
        value = value << 6 | (bytes[i] & 0x3f);
    }
    if (length == 0 || value < smallest[length] || value > 0x10ffff ||
        (value >= 0xd800 && value <= 0xdfff))
        return 0;
    *code_point = value;
    return length;
}

START_TEST(what_is_no_character_is_refused)
{
    static const unsigned char edges[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f,
                                          0xa0, 0xbf, 0xc0, 0xe0, 0xff};
    const size_t n = sizeof edges;

    for (size_t i = 0; i < 256 * n * n * n; i++) {
        unsigned char bytes[4] = {(unsigned char)(i % 256), edges[i / 256 % n],
                                  edges[i / 256 / n % n], edges[i / 256 / n / n]};
        uint32_t expected = 0, found = 0;
        size_t length = plain_decode(bytes, &expected);

        ASSERT_IN_LOOP(attn_utf8_decode((char *)bytes, 4, &found) == length &&
                           (length > 0 ? found == expected : found >= 1 && found <= 3),
                       "%02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3]);
    }
}
END_TEST

/* The examples of Unicode 3.9, tables 3-8 to 3-11: bytes, and how many each U+FFFD replaces. */
START_TEST(maximal_subparts_are_those_of_the_standard)
{
    static const struct {
        const char *bytes;
        const char *lengths; /* a digit a step; 0 stands for a character of one byte */
    } cases[] = {
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", "111111110"},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", "111111110"},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", "111110110"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", "21320"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = cases[i].bytes, *end = at + strlen(at);

        for (const char *expected = cases[i].lengths; *expected; expected++) {
            uint32_t code_point;
            size_t length = attn_utf8_decode(at, (size_t)(end - at), &code_point);

            ck_assert_uint_eq(length > 0 ? 0 : code_point, (uint32_t)(*expected - '0'));
            at += length > 0 ? length : code_point;
        }
        ck_assert_ptr_eq(at, end);
    }
}
END_TEST

START_TEST(valid_length_stops_at_the_first_bad_byte)
{
    ck_assert_uint_eq(attn_utf8_valid_length("", 0), 0);
    ck_assert_uint_eq(attn_utf8_valid_length("a\xc3\xa9z", 4), 4);
    ck_assert_uint_eq(attn_utf8_valid_length("a\xc3\xa9\xc3", 4), 3);
    ck_assert_uint_eq(attn_utf8_valid_length("ab\xff", 3), 2);
    ck_assert_uint_eq(attn_utf8_valid_length("a\0b", 3), 3);
}
END_TEST

START_TEST(hidden_characters_are_not_printable)
{
    static const uint32_t hidden[] = {
        0x00,   0x1b,    0x1f,    0x7f,    0x80,     0x9f,     0xad,   0x61c,  0x180e,
        0x200b, 0x200d,  0x200e,  0x200f,  0x2028,   0x2029,   0x202a, 0x202e, 0x2060,
        0x2066, 0x2069,  0x3164,  0xd800,  0xdfff,   0xfdd0,   0xfeff, 0xfff9, 0xfffe,
        0xffff, 0x1fffe, 0xe0001, 0xe007f, 0x10ffff, 0x110000,
    };
    static const uint32_t shown[] = {
        ' ',    'a',    '~',    0xa0,   0xac,   0xae,   0xe9,   0x301,  0x2027,
        0x202f, 0x2010, 0x3000, 0x6f22, 0xe000, 0xfe0f, 0xfffc, 0xfffd, 0x1f600,
    };

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        ck_assert_msg(!attn_utf8_is_printable(hidden[i]), "U+%04X", hidden[i]);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        ck_assert_msg(attn_utf8_is_printable(shown[i]), "U+%04X", shown[i]);
}
END_TEST

START_TEST(widths_are_those_of_terminals)
{
    static const uint32_t zero[] = {0x300, 0x301, 0x36f, 0x20dd, 0x1160, 0x302a, 0xfe0f, 0x1d167};
    static const uint32_t one[] = {'a',    '~',    0xe9,   0x2ff,   0x370,   0x10ff,
                                   0x2702, 0xff61, 0xffe8, 0x1f1e6, 0x10ffff};
    static const uint32_t two[] = {0x1100, 0x231a,  0x3000,  0x3042,  0x6f22,  0xac00, 0xff01,
                                   0xffe6, 0x1f600, 0x1f92f, 0x20000, 0x2a6ff, 0x3fffd};

    for (size_t i = 0; i < sizeof zero / sizeof *zero; i++)
        ck_assert_msg(attn_utf8_width(zero[i]) == 0, "U+%04X", zero[i]);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        ck_assert_msg(attn_utf8_width(one[i]) == 1, "U+%04X", one[i]);
    for (size_t i = 0; i < sizeof two / sizeof *two; i++)
        ck_assert_msg(attn_utf8_width(two[i]) == 2, "U+%04X", two[i]);
}
END_TEST

/* Each text begins with one cluster of so many bytes. */
START_TEST(clusters_are_what_readers_see_as_one_character)
{
    static const struct {
        const char *text;
        size_t n;
    } texts[] = {
        {"ab", 1},
        {"e\xcc\x81x", 3},                                     /* e with an acute accent */
        {"\xe4\xbd\xa0\xe5\xa5\xbd", 3},                       /* two characters */
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa6z", 11}, /* woman, joiner, boy */
        {"\xf0\x9f\x8f\xb3\xef\xb8\x8f\xe2\x80\x8d\xf0\x9f\x8c\x88", 14}, /* a flag of colors */
        {"\xf0\x9f\x91\x8d\xf0\x9f\x8f\xbf\xf0\x9f\x91\x8d", 8},          /* a dark thumb */
        {"\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa\xf0\x9f\x87\xab", 8},          /* D and E, not F */
        {"\xd9\x85\xe2\x80\x8c\xd9\x85", 5}, /* two letters that are kept apart */
        {"\xff\xcc\x81", 1},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        ck_assert_uint_eq(attn_utf8_cluster(texts[i].text, strlen(texts[i].text)), texts[i].n);
}
END_TEST

START_TEST(joiners_stay_between_characters_alone)
{
    static const char *const texts[][2] = {
        {"\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa6", NULL},
        {"a\xe2\x80\x8d\xf0\x9f\x91\xa6", "a\\xe2\\x80\\x8d\xf0\x9f\x91\xa6"},
        {"\xd9\x85\xe2\x80\x8c", "\xd9\x85\\xe2\\x80\\x8c"},
        {"\xd9\x85\xe2\x80\x8c\xe2\x80\x8c\xd9\x85",
         "\xd9\x85\\xe2\\x80\\x8c\\xe2\\x80\\x8c\xd9\x85"},
        {"\xd9\x85 \xe2\x80\x8c\xd9\x85", "\xd9\x85 \\xe2\\x80\\x8c\xd9\x85"},
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *expected = texts[i][1] ? texts[i][1] : texts[i][0];
        char *escaped;

        ck_assert(attn_escape(texts[i][0], strlen(texts[i][0]), &escaped, NULL) == ATTN_OK);
        ck_assert_str_eq(escaped, expected);
        attn_free(escaped);
    }
}
END_TEST

START_TEST(punctuation_is_what_unicode_calls_so)
{
    static const uint32_t marks[] = {'!',    '#',    '%',    '*',    ',',    '/',    ':',    ';',
                                     '?',    '@',    '[',    ']',    '_',    '{',    '}',    0xa7,
                                     0xbf,   0x5be,  0x60c,  0x964,  0x2014, 0x201c, 0x2026, 0x3001,
                                     0x3002, 0x300c, 0xff0c, 0xff1a, 0xff5d, 0x1e95f};
    static const uint32_t others[] = {0,      ' ',    '$',    '+',     '0',     '<',    '=',
                                      '>',    'A',    '^',    '`',     'z',     '|',    '~',
                                      0xa0,   0xa9,   0xb4,   0x2044,  0x2052,  0x2581, 0x3000,
                                      0x3004, 0x6f22, 0xff04, 0x1f600, 0x10ffff};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        ck_assert_msg(attn_utf8_is_punctuation(marks[i]), "U+%04X", marks[i]);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        ck_assert_msg(!attn_utf8_is_punctuation(others[i]), "U+%04X", others[i]);
}
END_TEST

START_TEST(escapes_what_cannot_be_shown)
{
    static const struct {
        const char *text;
        size_t size;
        const char *escaped;
    } cases[] = {
        {"Life is short", 13, "Life is short"},
        {"", 0, ""},
        {"a\\n", 3, "a\\\\n"},
        {"\n\t\r", 3, "\\n\\t\\r"},
        {"\0x", 2, "\\x00x"},
        {"\x1b[31m", 5, "\\x1b[31m"},
        {"\x7f", 1, "\\x7f"},
        {"\xc2\x9b"
         "0m",
         4, "\\xc2\\x9b0m"}, /* C1 as UTF-8 */
        {"\xe2\x80\xae"
         "abc",
         6, "\\xe2\\x80\\xaeabc"}, /* bidi override */
        {"\xf0\x9f\x98\x80\xf0\x9f", 6, "\xf0\x9f\x98\x80\\xf0\\x9f"},
        {"\xff\xc3\xa9", 3, "\\xff\xc3\xa9"},
    };
    struct attn_buffer out = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_buffer_reset(&out);
        attn_escape_append(&out, cases[i].text, cases[i].size);
        ck_assert_str_eq(attn_buffer_string(&out), cases[i].escaped);
        ck_assert_str_eq(attn_quote(cases[i].text, cases[i].size).text, cases[i].escaped);
    }
    attn_buffer_release(&out);
}
END_TEST

START_TEST(a_string_of_json_is_the_text)
{
    static const struct {
        const char *text;
        size_t size;
        const char *string;
    } cases[] = {
        {"", 0, "\"\""},
        {"Life", 4, "\"Life\""},
        {"\"\\/", 3, "\"\\\"\\\\/\""},
        {"\b\f\n\r\t", 5, "\"\\b\\f\\n\\r\\t\""},
        {"\0x\x1b\x7f", 4, "\"\\u0000x\\u001b\\u007f\""},
        {"\xc2\x9b\xe2\x80\xae\xe2\x80\xa8", 8, "\"\\u009b\\u202e\\u2028\""},
        {"\xf3\xa0\x80\x81\xf0\x9f\x98\x80", 8, "\"\\udb40\\udc01\xf0\x9f\x98\x80\""},
        {"\xc3\xa9\xe7\x8c\xab", 5, "\"\xc3\xa9\xe7\x8c\xab\""},
        {"\xff\xc3", 2, "\"\\\\xff\\\\xc3\""}, /* bytes that are no character */
        {"\\xff", 4, "\"\\\\xff\""},           /* and four characters */
    };
    struct attn_buffer out = {0};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        attn_buffer_reset(&out);
        attn_json_append_string(&out, cases[i].text, cases[i].size);
        ck_assert_str_eq(attn_buffer_string(&out), cases[i].string);
    }
    attn_buffer_release(&out);
}
END_TEST

/* Undoes the escaping of TEXT in place; returns the number of bytes. */
static size_t unescape(char *text, size_t size)
{
    static const char letters[] = "\\ntr", plain[] = "\\\n\t\r";
    size_t n = 0;

    for (size_t at = 0; at < size; at++) {
        const char *letter;

        if (text[at] != '\\') {
            text[n++] = text[at];
            continue;
        }
        at++;
        ASSERT_IN_LOOP(at < size, "a lone backslash");
        letter = strchr(letters, text[at]);
        if (letter) {
            text[n++] = plain[letter - letters];
        } else {
            char digits[3] = {text[at + 1], text[at + 2], '\0'};

            ASSERT_IN_LOOP(text[at] == 'x', "\\%c", text[at]);
            text[n++] = (char)strtol(digits, NULL, 16);
            at += 2;
        }
    }
    return n;
}

static void random_text(char *out, size_t size, unsigned *seed)
{
    for (size_t i = 0; i < size; i++) {
        unsigned r = *seed = *seed * 1664525u + 1013904223u;

        /* One in four is any byte, the others often make up characters. */
        out[i] = (r >> 30) == 0 ? (char)(r >> 20) : "a\\\xc3\xa9\xe2\x80\xae\n"[(r >> 24) % 8];
    }
}

START_TEST(escaped_text_is_printable_and_can_be_undone)
{
    unsigned seed = 1;
    struct attn_buffer out = {0};
    char text[97];

    for (int round = 0; round < 3000; round++) {
        size_t size = (size_t)round % sizeof text, n;

        random_text(text, size, &seed);
        attn_buffer_reset(&out);
        attn_escape_append(&out, text, size);
        for (size_t at = 0, length; at < out.size; at += length) {
            uint32_t code_point;

            length = attn_utf8_decode(out.data + at, out.size - at, &code_point);
            ASSERT_IN_LOOP(length > 0 && attn_utf8_is_printable(code_point), "byte %zu", at);
        }
        n = out.size > 0 ? unescape(out.data, out.size) : 0;
        ck_assert_uint_eq(n, size);
        ck_assert(n == 0 || memcmp(out.data, text, size) == 0);
    }
    attn_buffer_release(&out);
}
END_TEST

START_TEST(quotes_are_cut_between_escapes)
{
    unsigned seed = 2;
    struct attn_buffer full = {0};
    char text[300];

    for (int round = 0; round < 3000; round++) {
        size_t size = (size_t)round % sizeof text, length;
        struct attn_quote quote;

        random_text(text, size, &seed);
        attn_buffer_reset(&full);
        attn_escape_append(&full, text, size);
        quote = attn_quote(text, size);
        length = strlen(quote.text);
        if (full.size < ATTN_QUOTE_SIZE) {
            ck_assert_str_eq(quote.text, attn_buffer_string(&full));
            continue;
        }
        /* No more than the longest escape is given away. */
        ck_assert(length < ATTN_QUOTE_SIZE && length >= ATTN_QUOTE_SIZE - 16);
        ck_assert_str_eq(quote.text + length - 3, "...");
        length -= 3;
        ck_assert_mem_eq(quote.text, full.data, length);
        length = unescape(quote.text, length);
        ck_assert_mem_eq(quote.text, text, length);
    }
    attn_buffer_release(&full);
    ck_assert_str_eq(attn_quote_string(NULL).text, "(null)");
}
END_TEST

START_TEST(escaping_without_memory_sticks)
{
    struct attn_buffer out = {0};

    attn_alloc_fail_from(0);
    attn_escape_append(&out, "abc", 3);
    attn_alloc_fail_off();
    ck_assert_int_eq(attn_buffer_check(&out, NULL), ATTN_NO_MEMORY);
}
END_TEST

static bool parse_int(const char *text, int64_t min, int64_t max, int64_t *value)
{
    return attn_parse_int(text, strlen(text), min, max, value);
}

START_TEST(globs_match_whole_names)
{
    static const struct {
        const char *glob, *name;
        bool matches;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"**", "abc", true},
        {"?", "", false},
        {"a", "ab", false},
        {"a*", "a", true},
        {"*ab", "aab", true},
        {"*ab", "aba", false},
        {"*a?c*", "abaxcb", true},
        {"a*b*c", "abcb", false},
        {"d?", "d12", false},
        {"resid_*", "resid_pre", true},
        {"[a]", "a", false},
        {"*.*", "a.b", true},
    };
    char many[201] = "", name[20001];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg(attn_glob_matches(cases[i].glob, strlen(cases[i].glob), cases[i].name) ==
                          cases[i].matches,
                      "'%s' and '%s'", cases[i].glob, cases[i].name);
    ck_assert(attn_glob_matches("d*,x", 2, "d1"));
    /* A matcher that tries each place of each * never ends. */
    for (size_t i = 0; i < 100; i++)
        memcpy(many + 2 * i, "*a", 3);
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert(attn_glob_matches(many, 200, name));
    many[199] = 'b';
    ck_assert(!attn_glob_matches(many, 200, name));
}
END_TEST

START_TEST(a_list_is_cut_at_commas)
{
    static const struct {
        const char *list, *items; /* each item in brackets */
    } cases[] = {{NULL, ""},        {"", "[]"},          {",", "[][]"},       {"a", "[a]"},
                 {"a,b", "[a][b]"}, {",abc", "[][abc]"}, {"abc,", "[abc][]"}, {"a,,b", "[a][][b]"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char found[16] = "";
        size_t used = 0;

        for (struct attn_list_item item = {.rest = cases[i].list}; attn_list_next(&item);)
            attn_fixed_text_append(found, sizeof found, &used, "[%.*s]", (int)item.size, item.text);
        ck_assert_str_eq(found, cases[i].items);
    }
}
END_TEST

START_TEST(integers_are_parsed_whole_and_in_range)
{
    static const char *const bad[] = {"",
                                      "-",
                                      "+1",
                                      " 1",
                                      "1 ",
                                      "1.0",
                                      "1e3",
                                      "0x1",
                                      "--1",
                                      "1-",
                                      "٣",
                                      "a",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999"};
    int64_t value = 77;
    uint64_t big = 77;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!parse_int(bad[i], INT64_MIN, INT64_MAX, &value), "%s", bad[i]);
    ck_assert(!parse_int("8", 0, 7, &value));
    ck_assert(!parse_int("-1", 0, 7, &value));
    ck_assert(!attn_parse_int("1\0", 2, 0, 7, &value));
    ck_assert_int_eq(value, 77);

    ck_assert(parse_int("-9223372036854775808", INT64_MIN, INT64_MAX, &value));
    ck_assert(value == INT64_MIN);
    ck_assert(parse_int("9223372036854775807", INT64_MIN, INT64_MAX, &value));
    ck_assert(value == INT64_MAX);
    ck_assert(parse_int("-0", 0, 7, &value) && value == 0);
    ck_assert(parse_int("007", 0, 7, &value) && value == 7);
    ck_assert(attn_parse_int("123456", 3, 0, 1000, &value) && value == 123);

    ck_assert(!attn_parse_uint("18446744073709551616", 20, &big));
    ck_assert(!attn_parse_uint("-1", 2, &big) && !attn_parse_uint("", 0, &big));
    ck_assert(big == 77);
    ck_assert(attn_parse_uint("18446744073709551615", 20, &big) && big == UINT64_MAX);
}
END_TEST

static bool parse_double(const char *text, double *value)
{
    return attn_parse_double(text, strlen(text), value);
}

START_TEST(fractions_follow_the_grammar_of_json)
{
    static const char *const bad[] = {
        "",
        "-",
        "+1",
        "01",
        "-01",
        "1.",
        ".5",
        "-.5",
        "1e",
        "1e+",
        "1e-",
        "1.e3",
        " 1",
        "1 ",
        "0x1",
        "0x1p3",
        "nan",
        "inf",
        "Infinity",
        "1,5",
        "1.5.2",
        "1e5.5",
        "1e400",
        "-1e400",
        "1.7976931348623159e308",
        "1e99999999999999999999999",
    };
    double value = 77;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(!parse_double(bad[i], &value), "%s", bad[i]);
    ck_assert(!attn_parse_double("1\0", 2, &value));
    ck_assert(value == 77);
}
END_TEST

START_TEST(fractions_are_rounded_correctly)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"1", 1},
        {"-2.5", -2.5},
        {"0.1", 0.1},
        {"1e0", 1},
        {"10e-1", 1},
        {"0.001E+3", 1},
        {"123456789.125", 123456789.125},
        {"1e23", 1e23},
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740993.0000000000000001", 9007199254740994.0},
        {"1152921504606847104", 0x1p60},
        {"1152921504606847105", 0x1.0000000000001p60},
        {"1.7976931348623157e308", 0x1.fffffffffffffp1023},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"2.4703282292062327e-324", 0},
        {"2.4703282292062328e-324", 0x1p-1074},
        {"1e-400", 0},
        {"1e-99999999999999999999999", 0},
        {"0e99999999999999999999999", 0},
        {"0.00000e5", 0},
    };
    double value = 77;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_msg(parse_double(cases[i].text, &value), "%s", cases[i].text);
        ck_assert_msg(value == cases[i].value, "%s is %a", cases[i].text, value);
    }
    ck_assert(parse_double("-0", &value) && value == 0 && signbit(value));
}
END_TEST

START_TEST(fractions_of_any_length_are_exact)
{
    volatile long double one = 1;
    struct attn_buffer text = {0};
    double value = 0;

    attn_buffer_append_format(&text, "9007199254740993.%01500d", 0);
    ck_assert(attn_parse_double(text.data, text.size, &value) && value == 9007199254740992.0);
    attn_buffer_append_char(&text, '1'); /* the smallest thing above the middle */
    ck_assert(attn_parse_double(text.data, text.size, &value) && value == 9007199254740994.0);

    /* The longest middle between two doubles has 768 digits, and the last one counts. valgrind
     * computes long doubles as doubles, which have no middle. */
    if (one + LDBL_EPSILON > one) {
        attn_buffer_reset(&text);
        attn_buffer_append_format(&text, "%.767Le", 0x1.fffffffffffff8p-1022L);
        ck_assert_msg(text.data[768] == '5', "long double is too short for this test");
        ck_assert(attn_parse_double(text.data, text.size, &value) && value == 0x1p-1021);
        text.data[768] = '4';
        ck_assert(attn_parse_double(text.data, text.size, &value) &&
                  value == 0x1.fffffffffffffp-1022);
    }

    attn_buffer_reset(&text);
    attn_buffer_append_format(&text, "0.%01000d1e1001", 0);
    ck_assert(attn_parse_double(text.data, text.size, &value) && value == 1);
    attn_buffer_reset(&text);
    attn_buffer_append_format(&text, "7%02000d.5e-2000", 0);
    ck_assert(attn_parse_double(text.data, text.size, &value) && value == 7);
    attn_buffer_release(&text);
}
END_TEST

START_TEST(printed_fractions_read_back_the_same)
{
    uint64_t state = 1;

    for (int i = 0; i < 100000; i++) {
        double number, value = 0;
        char text[40];

        state = state * 6364136223846793005u + 1442695040888963407u;
        memcpy(&number, &state, sizeof number);
        if (!isfinite(number))
            continue;
        snprintf(text, sizeof text, "%.17g", number);
        ASSERT_IN_LOOP(parse_double(text, &value) && value == number, "%s", text);
    }
}
END_TEST

/* Only where such a locale is installed. */
START_TEST(a_decimal_comma_plays_no_part)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8"};
    double value = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names && !setlocale(LC_ALL, names[i]); i++)
        continue;
    ck_assert(parse_double("1.5", &value) && value == 1.5);
    ck_assert(!parse_double("1,5", &value));
    setlocale(LC_ALL, "C");
}
END_TEST

START_TEST(element_types_have_names_and_bits)
{
    for (int i = 0; i < ATTN_N_PLAIN_DTYPE; i++)
        ck_assert(attn_dtype_bits((enum attn_dtype)i) >= 4);
    ck_assert_int_eq(ATTN_N_PLAIN_DTYPE, 22);
    ck_assert_str_eq(attn_dtype_name(ATTN_DTYPE_BF16), "BF16");
    ck_assert_uint_eq(attn_dtype_bits(ATTN_DTYPE_BF16), 16);
    ck_assert_uint_eq(attn_dtype_bits(ATTN_DTYPE_F6_E2M3), 6);
}
END_TEST

START_TEST(nan_stands_after_every_number)
{
    static const double sorted[] = {-HUGE_VAL, -1, 0, 1e-300, 2, HUGE_VAL, (double)NAN};
    enum { N = sizeof sorted / sizeof *sorted };

    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            const int order = attn_compare_numbers(sorted[i], sorted[j]);

            ck_assert_int_eq((order > 0) - (order < 0), (i > j) - (i < j));
        }
    ck_assert_int_eq(attn_compare_numbers(-0.0, 0.0), 0);
    ck_assert_int_eq(attn_compare_numbers((double)-NAN, (double)NAN), 0);
    ck_assert_int_gt(attn_compare_numbers((double)-NAN, 1), 0);
}
END_TEST

/* A comparison without a place for NaN leaves the order to the sort, and the numbers among it. */
START_TEST(logits_that_are_nan_come_last)
{
    static const float logits[] = {NAN, 1, NAN, 3, NAN, 2, 3, NAN, -INFINITY, 4, NAN};
    static const int32_t expected[] = {9, 3, 6, 5, 1, 8, 0, 2, 4, 7, 10};
    enum { N = sizeof logits / sizeof *logits };
    struct attn_scored ranked[2 * N];

    attn_logits_rank(logits, N, ranked);
    for (int i = 0; i < N; i++)
        ck_assert_int_eq(ranked[i].id, expected[i]);
    ck_assert_int_eq(attn_logits_first(logits, N), 9);
    ck_assert_int_eq(attn_logits_first(logits, 1), 0);
    ck_assert(attn_logits_place(logits, N, 9) == 1);
    ck_assert(attn_logits_place(logits, N, 8) == 6);
    ck_assert(attn_logits_place(logits, N, 2) == 9); /* the mean of 7 to 11 */
}
END_TEST

START_TEST(ties_have_their_mean_rank)
{
    static const float logits[] = {2, 1, 2, 0, 2, 2};

    ck_assert(attn_logits_place(logits, 6, 4) == 2.5);
    ck_assert(attn_logits_place(logits, 6, 0) == 2.5);
    ck_assert(attn_logits_place(logits, 6, 1) == 5);
}
END_TEST

START_TEST(rounding_decides_nothing)
{
    ck_assert(attn_verdict(2, 1) == 1 && attn_verdict(1, 2) == 0);
    ck_assert(isnan(attn_verdict(1, 1)) && isnan(attn_verdict(0.5, 0.500001)));
    ck_assert(isnan(attn_verdict(-100.0001, -100)) && attn_verdict(-100, -100.01) == 1);
    ck_assert(isnan(attn_verdict((double)NAN, 1)));
}
END_TEST

/* Every sign and exponent, zeros of both signs, infinities, and many that are equal. */
START_TEST(logits_are_ranked_by_their_numbers_and_then_their_ids)
{
    enum { N = 5000 };
    static float logits[N];
    static struct attn_scored ranked[2 * N];
    static bool is_seen[N];
    uint32_t bits = 1;

    for (int i = 0; i < N; i++) {
        bits = bits * 1664525 + 1013904223;
        memcpy(&logits[i], &bits, sizeof bits);
        if (i % 3 == 0)
            logits[i] = (float)(i % 7 - 3) * (i % 2 ? 1.0F : -1.0F);
        if (i % 100 == 0)
            logits[i] = i % 200 ? INFINITY : -INFINITY;
    }
    attn_logits_rank(logits, N, ranked);
    for (int i = 0; i < N; i++) {
        const struct attn_scored *x = &ranked[i], *y = &ranked[i + 1];
        const int order = i + 1 < N ? attn_compare_numbers(-x->logit, -y->logit) : -1;
        const double logit = (double)logits[x->id];

        ck_assert_msg(order < 0 || (order == 0 && x->id < y->id), "%a %d before %a %d", x->logit,
                      (int)x->id, y->logit, (int)y->id);
        ck_assert(!is_seen[x->id] && (isnan(logit) ? isnan(x->logit) : x->logit == logit));
        is_seen[x->id] = true;
    }
}
END_TEST

START_TEST(codes_of_notes_have_names)
{
    static const int codes[] = {
#define CODE(identifier, number, name) ATTN_NOTE_##identifier,
        ATTN_NOTE_MAP(CODE)
#undef CODE
    };
    const size_t n = sizeof codes / sizeof *codes;

    ck_assert_str_eq(attn_note_name(ATTN_NOTE_SPACES), "spaces");
    for (size_t i = 0; i < n; i++) {
        ck_assert_int_lt(codes[i], 64); /* item_notes.c has a bit for each */
        for (size_t k = 0; k < i; k++) {
            ck_assert_int_lt(codes[k], codes[i]); /* numbers go up in the list */
            ck_assert_str_ne(attn_note_name((enum attn_note)codes[i]),
                             attn_note_name((enum attn_note)codes[k]));
        }
    }
    ck_assert_str_eq(attn_note_name((enum attn_note)0), "");
    ck_assert_str_eq(attn_note_name((enum attn_note)99), "");
    ck_assert_str_eq(attn_note_name((enum attn_note) - 1), "");
}
END_TEST

ATTN_SUITE("base text", every_character_survives_encoding, what_is_no_character_is_refused,
           maximal_subparts_are_those_of_the_standard, valid_length_stops_at_the_first_bad_byte,
           hidden_characters_are_not_printable, widths_are_those_of_terminals,
           clusters_are_what_readers_see_as_one_character, joiners_stay_between_characters_alone,
           punctuation_is_what_unicode_calls_so, escapes_what_cannot_be_shown,
           a_string_of_json_is_the_text, escaped_text_is_printable_and_can_be_undone,
           quotes_are_cut_between_escapes, escaping_without_memory_sticks, globs_match_whole_names,
           a_list_is_cut_at_commas, integers_are_parsed_whole_and_in_range,
           fractions_follow_the_grammar_of_json, fractions_are_rounded_correctly,
           fractions_of_any_length_are_exact, printed_fractions_read_back_the_same,
           a_decimal_comma_plays_no_part, element_types_have_names_and_bits,
           codes_of_notes_have_names, nan_stands_after_every_number, logits_that_are_nan_come_last,
           ties_have_their_mean_rank, rounding_decides_nothing,
           logits_are_ranked_by_their_numbers_and_then_their_ids)
