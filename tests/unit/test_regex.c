/*
 * test_regex.c - properties in patterns have the characters of ATTN_UNICODE_VERSION, whatever
 * version PCRE2 has: every code point, by the numbers that patterns get then, and by PCRE2's names
 * where its version is ours. Within planes that hold nothing, or private characters alone, one in
 * 64 is tried, and of the properties every third; with TORTURE=full all.
 */
#include "base/version.h"
#include "tests/support/suite.h"
#include "tokenizer/regex_syntax.h"
#include "tokenizer/unicode/unicode_internal.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

enum { N_CODE_POINT = 0x110000 };

static bool is_tried[N_CODE_POINT];
static char text[4 * N_CODE_POINT]; /* every character that is tried, in order */
static uint32_t owner[sizeof text]; /* the character at a byte */
static size_t n_byte;

static void fill_text(void)
{
    const uint32_t step = (uint32_t)attn_one_in(64);

    if (n_byte > 0)
        return;
    for (uint32_t c = 0; c < N_CODE_POINT; c++) {
        const size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

        if (c >= 0xd800 && c < 0xe000)
            continue;
        if (((c >= 0x40000 && c < 0xe0000) || c >= 0xf0000) && c % step != 0 &&
            (c + 16) % 65536 >= 32)
            continue;
        is_tried[c] = true;
        for (size_t i = 0; i < size; i++) {
            const uint32_t part = c >> 6 * (size - 1 - i);
            const uint32_t lead = size == 1 ? part : (0xf00 >> size & 0xff) | part;

            owner[n_byte] = c;
            text[n_byte++] = (char)(i > 0 ? 0x80 | (part & 0x3f) : lead);
        }
    }
}

/* Sets has[c] for the characters C that PATTERN matches. */
static void find_characters(const char *pattern, enum attn_property_form form, bool *has)
{
    struct attn_buffer rewritten = {0};
    struct attn_error err = {0};
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    int code = 0;
    size_t at = 0;
    pcre2_code *compiled;

    ck_assert_int_eq(attn_regex_rewrite(pattern, strlen(pattern), "a test", form, &rewritten, &err),
                     ATTN_OK);
    compiled = pcre2_compile((PCRE2_SPTR)rewritten.data, rewritten.size, PCRE2_UTF | PCRE2_UCP,
                             &code, &at, NULL);
    ck_assert_msg(compiled != NULL, "'%s' is not compiled: %d", pattern, code);
    (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);
    memset(has, 0, N_CODE_POINT * sizeof *has);
    at = 0;
    while (pcre2_match(compiled, (PCRE2_SPTR)text, n_byte, at, PCRE2_NO_UTF_CHECK, data, NULL) >
           0) {
        const size_t *range = pcre2_get_ovector_pointer(data);

        for (size_t i = range[0]; i < range[1]; i++)
            has[owner[i]] = true;
        at = range[1];
    }
    pcre2_code_free(compiled);
    pcre2_match_data_free(data);
    attn_buffer_release(&rewritten);
}

/* Fails where PATTERN matches other characters than those with has[c] == IS_SET. */
static void assert_characters(const char *pattern, const bool *has, bool is_set)
{
    static bool found[N_CODE_POINT];
    const enum attn_property_form forms[] = {ATTN_PROPERTY_CHARACTERS, attn_property_form_find()};

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        find_characters(pattern, forms[i], found);
        for (uint32_t c = 0; c < N_CODE_POINT; c++)
            if (is_tried[c] && found[c] != (has[c] == is_set))
                ck_abort_msg("%s in form %d: U+%04X is wrong", pattern, (int)forms[i], (unsigned)c);
    }
}

static void set_property(const char *name, bool *has)
{
    const struct attn_unicode_property *property = attn_unicode_property_find(name);

    ck_assert_msg(property != NULL, "no property '%s'", name);
    for (uint32_t i = property->begin; i < property->end; i++)
        for (uint32_t c = attn_property_ranges[i].first; c <= attn_property_ranges[i].last; c++)
            has[c] = true;
}

START_TEST(properties_have_the_characters_of_the_table)
{
    static const char *const names[] = {"L",           "Lu",
                                        "Ll",          "Lt",
                                        "LC",          "Lm",
                                        "Lo",          "M",
                                        "Mn",          "Mc",
                                        "Me",          "N",
                                        "Nd",          "Nl",
                                        "No",          "P",
                                        "Pc",          "Pd",
                                        "Ps",          "Pe",
                                        "Pi",          "Pf",
                                        "Po",          "S",
                                        "Sm",          "Sc",
                                        "Sk",          "So",
                                        "Z",           "Zs",
                                        "Zl",          "Zp",
                                        "C",           "Cc",
                                        "Cf",          "Co",
                                        "Cn",          "Han",
                                        "Hiragana",    "Latin",
                                        "Thai",        "Alphabetic",
                                        "Upper",       "Lower",
                                        "Emoji",       "Extended_Pictographic",
                                        "White_Space", "Any"};
    static bool has[N_CODE_POINT];

    fill_text();
    for (size_t i = 0; i < sizeof names / sizeof *names; i += attn_one_of(6)) {
        char name[32] = "", pattern[64];
        size_t n = 0;

        for (const char *c = names[i]; *c; c++)
            if (*c != '_')
                name[n++] = (char)(*c | 0x20);
        memset(has, 0, sizeof has);
        set_property(name, has);
        snprintf(pattern, sizeof pattern, "\\p{%s}+", names[i]);
        assert_characters(pattern, has, true);
        snprintf(pattern, sizeof pattern, "[\\p{^%s}]+", names[i]);
        if (strcmp(name, "any") == 0)
            continue;
        assert_characters(pattern, has, false);
        snprintf(pattern, sizeof pattern, "\\P{%s}+", names[i]);
        assert_characters(pattern, has, false);
        snprintf(pattern, sizeof pattern, "[^\\p{%s}]+", names[i]);
        assert_characters(pattern, has, false);
    }
}
END_TEST

/* Characters that came with Unicode 15 and 16, or come with 17. */
START_TEST(properties_are_those_of_unicode_16)
{
    static const struct {
        const char *name;
        uint32_t code_point;
        bool is_in;
    } known[] = {{"l", 0x31350, true},  {"lu", 0x1c89, true},     {"nd", 0x10d40, true},
                 {"n", 0x11de0, false}, {"garay", 0x10d50, true}, {"gara", 0x10d50, true},
                 {"cn", 0x1f6d8, true}};
    static bool has[N_CODE_POINT];

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        memset(has, 0, sizeof has);
        set_property(known[i].name, has);
        ck_assert_msg(has[known[i].code_point] == known[i].is_in, "%s of U+%04X is wrong",
                      known[i].name, (unsigned)known[i].code_point);
    }
}
END_TEST

START_TEST(escapes_have_the_characters_of_the_table)
{
    static const char *const word[] = {"l", "m", "nd", "nl", "pc"};
    static bool has[N_CODE_POINT];

    fill_text();
    set_property("nd", has);
    assert_characters("\\d+", has, true);
    assert_characters("[\\D]+", has, false);
    for (size_t i = 0; i < sizeof word / sizeof *word; i++)
        set_property(word[i], has);
    for (uint32_t c = 0x24b6; c <= 0x24e9; c++)
        has[c] = true;
    for (uint32_t c = 0x1f130; c <= 0x1f189; c++)
        has[c] = has[c] || c <= 0x1f149 || (c >= 0x1f150 && c <= 0x1f169) || c >= 0x1f170;
    assert_characters("[\\w]+", has, true);
    memset(has, 0, sizeof has);
    set_property("whitespace", has);
    assert_characters("\\s+", has, true);
    assert_characters("[\\S]+", has, false);
}
END_TEST

START_TEST(properties_that_are_not_known_are_refused)
{
    struct attn_buffer rewritten = {0};
    struct attn_error err = {0};

    ck_assert_int_eq(
        attn_regex_rewrite("\\p{Klingon}", 11, "a test", ATTN_PROPERTY_NAME, &rewritten, &err),
        ATTN_UNSUPPORTED);
    ck_assert_str_eq(err.message, "the pattern '\\\\p{Klingon}' in 'a test' has a property that is "
                                  "not known, which is not supported");
    attn_buffer_release(&rewritten);
}
END_TEST

ATTN_SUITE("regex", properties_have_the_characters_of_the_table, properties_are_those_of_unicode_16,
           escapes_have_the_characters_of_the_table, properties_that_are_not_known_are_refused)
