/*
 * test_nfc.c - normal forms, where their characters came from, and lower case.
 *
 * tests/tools/check_tokenizers.py compares every code point with the library tokenizers. Here are
 * the cases that differ in kind.
 */
#include "base/memory.h"
#include "tests/support/suite.h"
#include "tokenizer/unicode/unicode_internal.h"

#include <string.h>

#define N(array) (sizeof(array) / sizeof *(array))

static const struct {
    const char *text, *normal;
    size_t at;     /* a place in the normal form */
    size_t origin; /* what it came from */
} cases[] = {
    {"e\xcc\x81x", "\xc3\xa9x", 2, 3},                      /* composed */
    {"ab\xe2\x84\xab", "ab\xc3\x85", 2, 2},                 /* another character */
    {"q\xcc\x87\xcc\xa3", "q\xcc\xa3\xcc\x87", 3, 3},       /* sorted */
    {"\xe1\xb8\x8b\xcc\xa3", "\xe1\xb8\x8d\xcc\x87", 3, 3}, /* taken apart, sorted, composed */
    {"\xe1\x84\x80\xe1\x85\xa1\xe1\x86\xa8", "\xea\xb0\x81", 0, 0}, /* Hangul */
    {"\xea\xb0\x80\xe1\x86\xa8z", "\xea\xb0\x81z", 3, 6},           /* a syllable and its tail */
    {"\xe0\xa5\x98", "\xe0\xa4\x95\xe0\xa4\xbc", 3, 0},             /* never composed */
    {"a\xcc\x95\xcc\x80", "\xc3\xa0\xcc\x95", 2, 3}, /* past a mark of another class */
    {"a\xcc\x80\xcc\x80", "\xc3\xa0\xcc\x80", 2, 3}, /* not past one of its own */
    {"\xcc\x81"
     "e",
     "\xcc\x81"
     "e",
     2, 2},                                           /* nothing to join */
    {"\xcd\x84x", "\xcc\x88\xcc\x81x", 4, 2},         /* one mark becomes two */
    {"\xff\x65\xcc\x81", "\xff\xc3\xa9", 1, 1},       /* no character */
    {"a\xdf\xbd\xcc\x81", "a\xdf\xbd\xcc\x81", 3, 3}, /* U+07FD is a mark since Unicode 11 */
};

START_TEST(composes_and_knows_where_from)
{
    for (size_t i = 0; i < N(cases); i++) {
        const char *text = cases[i].text;
        const struct attn_layer given = {.text = text, .size = strlen(text)};
        struct attn_layer layer = {.n_left = SIZE_MAX};
        struct attn_error err = {0};

        attn_layer_begin(&layer, (struct attn_slice){&given, 0, given.size});
        ck_assert(attn_normal_form_apply(ATTN_NFC, &layer, given.size, &err) == ATTN_OK);
        ck_assert_msg(layer.copy.size == strlen(cases[i].normal) &&
                          memcmp(layer.copy.data, cases[i].normal, layer.copy.size) == 0,
                      "case %zu is '%.*s', expected '%s'", i, (int)layer.copy.size, layer.copy.data,
                      cases[i].normal);
        ck_assert_msg(attn_layer_origin(&layer, cases[i].at) == cases[i].origin,
                      "byte %zu of case %zu came from %zu, expected %zu", cases[i].at, i,
                      attn_layer_origin(&layer, cases[i].at), cases[i].origin);
        attn_buffer_release(&layer.copy);
        attn_free(layer.splices);
    }
}
END_TEST

START_TEST(sees_what_needs_no_work)
{
    static const char *const normal[] = {"",
                                         "plain text",
                                         "caf\xc3\xa9",
                                         "\xe6\x97\xa5\xe6\x9c\xac",
                                         "\xea\xb0\x81",
                                         "\xf0\x9f\x98\x80",
                                         "\xff"};
    static const char *const doubtful[] = {"e\xcc\x81", "\xe2\x84\xab", "\xe1\x86\xa8",
                                           "x\xe0\xa5\x98"};

    for (size_t i = 0; i < N(normal); i++)
        ck_assert(attn_normal_form_is_given(ATTN_NFC, normal[i], strlen(normal[i])));
    for (size_t i = 0; i < N(doubtful); i++)
        ck_assert(!attn_normal_form_is_given(ATTN_NFC, doubtful[i], strlen(doubtful[i])));
}
END_TEST

static const struct {
    const char *text, *nfkc, *nfd;
} forms[] = {
    {"\xef\xbc\xa1\xc3\xa9", "A\xc3\xa9",
     "\xef\xbc\xa1"
     "e\xcc\x81"},
    {"\xe3\x88\x80", "(\xe1\x84\x80)", "\xe3\x88\x80"},
    /* U+1F23B is of Unicode 9; U+32FF, U+A7F2 and U+11938 are of 12.1, 14 and 13 */
    {"\xf0\x9f\x88\xbb", "\xe9\x85\x8d", "\xf0\x9f\x88\xbb"},
    {"\xe3\x8b\xbf", "\xe3\x8b\xbf", "\xe3\x8b\xbf"},
    {"\xea\x9f\xb2", "\xea\x9f\xb2", "\xea\x9f\xb2"},
    {"\xf0\x91\xa4\xb8", "\xf0\x91\xa4\xb8", "\xf0\x91\xa4\xb8"},
};

static void assert_form(enum attn_normal_form form, const char *text, const char *expected)
{
    const struct attn_layer given = {.text = text, .size = strlen(text)};
    struct attn_layer layer = {.n_left = SIZE_MAX};
    struct attn_error err = {0};

    attn_layer_begin(&layer, (struct attn_slice){&given, 0, given.size});
    ck_assert(attn_normal_form_apply(form, &layer, given.size, &err) == ATTN_OK);
    ck_assert_msg(layer.copy.size == strlen(expected) &&
                      memcmp(layer.copy.data, expected, layer.copy.size) == 0,
                  "form %d of '%s' is '%.*s', expected '%s'", (int)form, text, (int)layer.copy.size,
                  layer.copy.data, expected);
    attn_buffer_release(&layer.copy);
    attn_free(layer.splices);
}

START_TEST(knows_the_characters_of_unicode_9)
{
    for (size_t i = 0; i < N(forms); i++) {
        assert_form(ATTN_NFKC, forms[i].text, forms[i].nfkc);
        assert_form(ATTN_NFD, forms[i].text, forms[i].nfd);
    }
}
END_TEST

START_TEST(lowers_single_characters)
{
    static const uint32_t pairs[][2] = {{'A', 'a'},
                                        {'z', 'z'},
                                        {0xc9, 0xe9},
                                        {0x3a3, 0x3c3},
                                        {0x178, 0xff},
                                        {0x100, 0x101},
                                        {0x101, 0x101},
                                        {0x1e9e, 0xdf},
                                        {0x10400, 0x10428},
                                        {0x2126, 0x3c9},
                                        {0x4e00, 0x4e00},
                                        /* of Unicode 16 and 17 */
                                        {0xa7da, 0xa7db},
                                        {0xa7ce, 0xa7cf},
                                        {0x16ea0, 0x16ebb}};
    uint32_t lower[2];

    for (size_t i = 0; i < N(pairs); i++) {
        ck_assert_uint_eq(attn_lowercase(pairs[i][0], lower), 1);
        ck_assert_uint_eq(lower[0], pairs[i][1]);
    }
    ck_assert_uint_eq(attn_lowercase(0x130, lower), 2);
    ck_assert_uint_eq(lower[0], 'i');
    ck_assert_uint_eq(lower[1], 0x307);
}
END_TEST

ATTN_SUITE("nfc", composes_and_knows_where_from, sees_what_needs_no_work,
           knows_the_characters_of_unicode_9, lowers_single_characters)
