/*
 * test_json_reader.c - the strict reader: what it takes, what it refuses and how it says so.
 *
 * Every text is read from a block of exactly its size, so that ASan sees a read past the end.
 */
#include "base/memory.h"
#include "formats/json_reader.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Literals may hold NUL. */
#define TEXT(literal) literal, sizeof literal - 1

static enum attn_status check(const char *text, size_t size, struct attn_error *err)
{
    char *copy = malloc(size + (size == 0));
    enum attn_status status;

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, size);
    *err = (struct attn_error){0};
    status = attn_json_check_keys(attn_json_reader_init(copy, size, "a.json"), NULL, err);
    free(copy);
    return status;
}

/* The first token of TEXT, which must be there. */
static struct attn_json_token first_token(const char *text)
{
    struct attn_json_reader reader = attn_json_reader_init(text, strlen(text), "a.json");
    struct attn_json_token token;
    struct attn_error err = {0};

    ck_assert_msg(attn_json_next(&reader, &token, &err) == ATTN_OK, "%s", err.message);
    return token;
}

static const char document[] =
    " {\"a\": [1, -0.5e+3, true, false, null, \"x\\u00e9\\ud83d\\ude00\\n\"],\r\n"
    "\t\"\xc3\xa9\": {}, \"\": [[], {\"b\": 0}], \"z\": 12E-7} ";

START_TEST(accepts_what_the_grammar_allows)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "-0.0e-00",
        "1.25",
        "1e5",
        "123456789012345678901234567890",
        "\"\"",
        "true",
        " \t\r\nnull \t\r\n",
        "[]",
        "{}",
        "[ ]",
        "{ }",
        "[[[]]]",
        "[1 , 2]",
        "{\"a\":{\"a\":{\"a\":1}},\"b\":[{\"a\":1},{\"a\":2}]}",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\uFfFf\"",
        "\"\\uD834\\uDd1e\"",
        "\"\x7f\"",
        "\"\xc2\x80 \xef\xbf\xbf \xf4\x8f\xbf\xbf \xef\xbb\xbf\"",
        document,
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct attn_error err;

        ck_assert_msg(check(texts[i], strlen(texts[i]), &err) == ATTN_OK, "%s: %s", texts[i],
                      err.message);
    }
}
END_TEST

START_TEST(refuses_everything_else_and_says_where)
{
    static const struct {
        const char *text;
        size_t size;
        const char *message; /* behind "'a.json' " */
    } rows[] = {
        {TEXT(""), "ends at byte 0, expected a value"},
        {TEXT("  "), "ends at byte 2, expected a value"},
        {TEXT("[1,"), "ends at byte 3, expected a value"},
        {TEXT("[1,]"), "has ']' at byte 3, expected a value"},
        {TEXT("[,1]"), "has ',' at byte 1, expected a value or ']'"},
        {TEXT("[1 2]"), "has '2' at byte 3, expected ',' or ']'"},
        {TEXT("[1}"), "has '}' at byte 2, expected ',' or ']'"},
        {TEXT("]"), "has ']' at byte 0, expected a value"},
        {TEXT("{\"a\":1,}"), "has '}' at byte 7, expected a key in quotes"},
        {TEXT("{a:1}"), "has 'a' at byte 1, expected a key in quotes or '}'"},
        {TEXT("{'a':1}"), "has ''' at byte 1, expected a key in quotes or '}'"},
        {TEXT("{\"a\" 1}"), "has '1' at byte 5, expected ':'"},
        {TEXT("{\"a\":}"), "has '}' at byte 5, expected a value"},
        {TEXT("{\"a\":1]"), "has ']' at byte 6, expected ',' or '}'"},
        {TEXT("{\"a\":1 \"b\":2}"), "has '\"' at byte 7, expected ',' or '}'"},
        {TEXT("{} {}"), "has '{' at byte 3, expected the end of the text"},
        {TEXT("{}\0"), "has '\\x00' at byte 2, expected the end of the text"},
        {TEXT("{}\f"), "has '\\x0c' at byte 2, expected the end of the text"},
        {TEXT("[] // end"), "has '/' at byte 3, expected the end of the text"},
        {TEXT("\xef\xbb\xbf{}"), "has a byte order mark at byte 0, expected a value"},
        {TEXT("NaN"), "has 'NaN' at byte 0, expected a value"},
        {TEXT("[-Infinity]"), "has 'Infinity' at byte 2, expected a digit"},
        {TEXT("True"), "has 'True' at byte 0, expected a value"},
        {TEXT("tru"), "has 'tru' at byte 0, expected a value"},
        {TEXT("nulll"), "has 'l' at byte 4, expected the end of the text"},
        {TEXT("01"), "has '1' at byte 1, expected the end of the text"},
        {TEXT("[-01]"), "has '1' at byte 3, expected ',' or ']'"},
        {TEXT("+1"), "has '+' at byte 0, expected a value"},
        {TEXT(".5"), "has '.' at byte 0, expected a value"},
        {TEXT("2."), "ends at byte 2, expected a digit"},
        {TEXT("2.e3"), "has 'e3' at byte 2, expected a digit"},
        {TEXT("1e"), "ends at byte 2, expected a digit"},
        {TEXT("1e+x"), "has 'x' at byte 3, expected a digit"},
        {TEXT("-"), "ends at byte 1, expected a digit"},
        {TEXT("0x10"), "has 'x10' at byte 1, expected the end of the text"},
        {TEXT("\""), "ends at byte 1, expected '\"' at the end of a string"},
        {TEXT("\"\\\""), "ends at byte 3, expected '\"' at the end of a string"},
        {TEXT("\"a\nb\""), "has '\\n' at byte 2, expected no control character in a string"},
        {TEXT("\"\0\""), "has '\\x00' at byte 1, expected no control character in a string"},
        {TEXT("\"\x1f\""), "has '\\x1f' at byte 1, expected no control character in a string"},
        {TEXT("\"\\x41\""), "has 'x41' at byte 2, expected one of \"\\/bfnrtu after a backslash"},
        {TEXT("\"\\\0\""), "has '\\x00' at byte 2, expected one of \"\\/bfnrtu after a backslash"},
        {TEXT("\"\\u12g4\""), "has 'g4' at byte 5, expected four hexadecimal digits after '\\u'"},
        {TEXT("\"\\ud83d\""),
         "has 'ud83d' at byte 2, expected a high and a low surrogate as a pair"},
        {TEXT("\"\\ude00\\ud83d\""),
         "has 'ude00' at byte 2, expected a high and a low surrogate as a pair"},
        {TEXT("\"\\ud83d\\n\""),
         "has 'ud83d' at byte 2, expected a high and a low surrogate as a pair"},
        {TEXT("\"\\ud83d\\u0041\""),
         "has 'ud83d' at byte 2, expected a high and a low surrogate as a pair"},
        {TEXT("\"\xff\""), "has '\\xff' at byte 1, expected valid UTF-8"},
        {TEXT("\"\xc0\xaf\""), "has '\\xc0' at byte 1, expected valid UTF-8"},
        {TEXT("\"\xed\xa0\x80\""), "has '\\xed' at byte 1, expected valid UTF-8"},
        {TEXT("\"\xf4\x90\x80\x80\""), "has '\\xf4' at byte 1, expected valid UTF-8"},
        {TEXT("\"\xe2\x82\""), "has '\\xe2' at byte 1, expected valid UTF-8"},
        {TEXT("\xe2\x80\x8b[]"), "has '\\xe2\\x80\\x8b' at byte 0, expected a value"},
        {TEXT("[\xc3\xa9]"), "has '\xc3\xa9' at byte 1, expected a value or ']'"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_error err;
        char expected[200];

        snprintf(expected, sizeof expected, "'a.json' %s", rows[i].message);
        ck_assert_int_eq(check(rows[i].text, rows[i].size, &err), ATTN_FORMAT);
        ck_assert_str_eq(err.message, expected);
    }
}
END_TEST

START_TEST(refuses_a_text_cut_anywhere)
{
    size_t last = strlen(document) - 1; /* the closing brace; a blank follows */
    struct attn_error err;

    for (size_t size = 0; size < last; size++) {
        ck_assert_msg(check(document, size, &err) == ATTN_FORMAT, "accepted %zu bytes", size);
        ck_assert_ptr_nonnull(strstr(err.message, "at byte "));
    }
    ck_assert_int_eq(check(document, last, &err), ATTN_OK);
}
END_TEST

START_TEST(survives_any_byte_in_any_place)
{
    char text[sizeof document];
    struct attn_error err;
    size_t n_accepted = 0;

    for (size_t i = 0; i < strlen(document); i++) {
        memcpy(text, document, sizeof text);
        for (int byte = 0; byte < 256; byte++) {
            text[i] = (char)byte;
            n_accepted += check(text, strlen(document), &err) == ATTN_OK;
        }
    }
    ck_assert_uint_gt(n_accepted, 1000); /* letters in strings, digits, blanks */
    ck_assert_uint_lt(n_accepted, 128 * strlen(document));
}
END_TEST

START_TEST(pulls_slices_of_the_text_in_order)
{
    static const struct {
        enum attn_json_type type;
        const char *text;
        size_t offset;
    } expected[] = {
        {ATTN_JSON_OBJECT_BEGIN, "{", 1}, {ATTN_JSON_KEY, "a\\n", 2},
        {ATTN_JSON_ARRAY_BEGIN, "[", 9},  {ATTN_JSON_NUMBER, "-1.5", 10},
        {ATTN_JSON_STRING, "", 16},       {ATTN_JSON_TRUE, "true", 19},
        {ATTN_JSON_ARRAY_END, "]", 23},   {ATTN_JSON_KEY, "b", 25},
        {ATTN_JSON_NULL, "null", 29},     {ATTN_JSON_OBJECT_END, "}", 33},
        {ATTN_JSON_END, "", 35},          {ATTN_JSON_END, "", 35},
    };
    static const char text[] = " {\"a\\n\" :[-1.5, \"\",true],\"b\":null} ";
    struct attn_json_reader reader = attn_json_reader_init(text, strlen(text), "a.json");
    struct attn_error err = {0};

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct attn_json_token token;

        ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
        ck_assert_int_eq(token.type, expected[i].type);
        ck_assert_uint_eq(token.offset, expected[i].offset);
        ck_assert_uint_eq(token.size, strlen(expected[i].text));
        ck_assert_mem_eq(token.text, expected[i].text, token.size);
        ck_assert_int_eq(token.has_escape, i == 1);
    }
}
END_TEST

START_TEST(leaves_the_token_alone_on_failure)
{
    struct attn_json_reader reader = attn_json_reader_init("[1,x]", 5, "a.json");
    struct attn_json_token token;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_FORMAT);
    ck_assert_int_eq(token.type, ATTN_JSON_NUMBER);
}
END_TEST

START_TEST(counts_levels_up_to_64)
{
    char text[2 * ATTN_JSON_MAX_DEPTH + 2];
    struct attn_error err;

    memset(text, '[', ATTN_JSON_MAX_DEPTH + 1);
    memset(text + ATTN_JSON_MAX_DEPTH + 1, ']', ATTN_JSON_MAX_DEPTH + 1);
    ck_assert_int_eq(check(text + 1, 2 * ATTN_JSON_MAX_DEPTH, &err), ATTN_OK);
    ck_assert_int_eq(check(text, sizeof text, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'a.json' has '[' at byte 64, expected at most 64 levels");
}
END_TEST

START_TEST(remembers_which_levels_are_objects)
{
    struct attn_error err;
    static const char text[] = "{\"a\":[{\"b\":[[{\"c\":[]}],1],\"d\":2},3],\"e\":4}";

    ck_assert_int_eq(check(text, strlen(text), &err), ATTN_OK);
    ck_assert_int_eq(check(TEXT("{\"a\":[1],2}"), &err), ATTN_FORMAT);
    ck_assert_int_eq(check(TEXT("[{\"a\":1},\"b\":2]"), &err), ATTN_FORMAT);
}
END_TEST

/* What attn_json_read_count must give, pulled; false where the next two tokens are no such member.
 */
static bool pull_count(struct attn_json_reader *reader, struct attn_buffer *key, uint64_t *count)
{
    struct attn_json_token token;

    if (attn_json_next(reader, &token, NULL) != ATTN_OK || token.type != ATTN_JSON_KEY)
        return false;
    attn_buffer_reset(key);
    attn_json_unescape(&token, key);
    return attn_json_next(reader, &token, NULL) == ATTN_OK && attn_json_uint(&token, count);
}

/* Takes the member that comes next into a block of ROOM bytes; either it is what is pulled, or the
 * reader stays where it is. */
static bool take_count(struct attn_json_reader *reader, size_t room)
{
    const struct attn_json_reader before = *reader;
    struct attn_json_reader pulled = *reader;
    struct attn_buffer key = {0};
    char *to = malloc(room + 1);
    size_t size = 0;
    uint32_t count = 0;
    uint64_t expected = 0;
    bool is_taken;

    to[room] = '!';
    is_taken = attn_json_read_count(reader, to, room, &size, &count);
    ck_assert_int_eq(to[room], '!');

    if (is_taken) {
        ck_assert(pull_count(&pulled, &key, &expected));
        ck_assert_uint_eq(count, expected);
        ck_assert_uint_eq(size, key.size);
        ck_assert(size == 0 || memcmp(to, key.data, size) == 0);
    } else {
        pulled = before;
    }
    ck_assert_uint_eq(reader->offset, pulled.offset);
    ck_assert_int_eq(reader->state, pulled.state);
    ck_assert_int_eq(reader->depth, pulled.depth);
    attn_buffer_release(&key);
    free(to);
    return is_taken;
}

/* A reader of TEXT [size] in memory of its own, so that ASan sees what is read behind it. */
static struct attn_json_reader read_copy(const char *text, size_t size, char **copy)
{
    *copy = malloc(size + (size == 0));
    memcpy(*copy, text, size);
    return attn_json_reader_init(*copy, size, "a.json");
}

/* Takes all members of the object TEXT [size] that it can, in blocks of ROOM bytes, and pulls past
 * the others; returns how many it took. */
static int take_all(const char *text, size_t size, size_t room)
{
    char *copy;
    struct attn_json_reader reader = read_copy(text, size, &copy);
    struct attn_json_token token;
    int n = 0;

    while (attn_json_next(&reader, &token, NULL) == ATTN_OK && token.type != ATTN_JSON_END)
        while (take_count(&reader, room))
            n++;
    free(copy);
    return n;
}

static const char members[] =
    "{\"a\": 0, \"\\u0120the\": 12 ,\"\xc4\xa0the \": 999999999\n, \"\\u0120\\u0120\":3,"
    "\t\"\": 10, \"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\": 100, \"\\ud83d\\ude00-\xf0\x9f\x98\x80\": "
    "7, \r"
    "\"\xe2\x82\xac, a long key of plain letters, and \\u00e9\xc3\xa9\" : 50256, \"\\u0121\": 1,"
    "\"\\u012\x30\": 2, \"x\\u0120y\": 3, \"{\": 4, \"seven..\\ud83d\\ude00\": 6, \"last\": 5}     "
    "      ";

START_TEST(takes_members_as_they_are_pulled)
{
    enum { N_MEMBER = 14, LONGEST = 64 };

    ck_assert_int_eq(take_all(members, sizeof members - 1, LONGEST), N_MEMBER);
    for (size_t room = 0; room < LONGEST; room++)
        ck_assert_int_le(take_all(members, sizeof members - 1, room), N_MEMBER);
    for (size_t size = 0; size < sizeof members; size++)
        ck_assert_int_le(take_all(members, size, LONGEST), N_MEMBER);
}
END_TEST

START_TEST(takes_no_member_that_is_something_else)
{
    static const struct {
        const char *text;
        size_t size;
        int n; /* members that are taken */
    } cases[] = {
        {TEXT("[\"a\", 1, 2, 3, 4, 5, 6]"), 0},
        {TEXT("{\"a\": 01, \"b\": 1}     "), 0},
        {TEXT("{\"a\": -1, \"b\": 1}     "), 1},
        {TEXT("{\"a\": 1.5, \"b\": 1}    "), 1},
        {TEXT("{\"a\": 1e5, \"b\": 1}    "), 1},
        {TEXT("{\"a\": 1E5, \"b\": 1}    "), 1},
        {TEXT("{\"a\": \"1\", \"b\": 1}      "), 1},
        {TEXT("{\"a\": {\"b\": 1}, \"c\": 1}     "), 2},
        {TEXT("{\"a\": [1], \"c\": 1}     "), 1},
        {TEXT("{\"a\": 1234567890, \"b\": 1}     "), 1},
        {TEXT("{\"a\": 1, \"b\" 1}       "), 1},
        {TEXT("{\"a\": 1 \"b\": 1}       "), 1},
        {TEXT("{\"a\": 1,, \"b\": 1}     "), 1},
        {TEXT("{, \"b\": 1}             "), 0},
        {TEXT("{\"a\x01\": 1}            "), 0},
        {TEXT("{\"a\0\": 1}              "), 0},
        {TEXT("{\"\\x\": 1}              "), 0},
        {TEXT("{\"\\u01g0\": 1}          "), 0},
        {TEXT("{\"\\ud83d\": 1}          "), 0},
        {TEXT("{\"\\ude00\": 1}          "), 0},
        {TEXT("{\"\xc4\": 1}             "), 0},
        {TEXT("{\"\xa0\": 1}             "), 0},
        {TEXT("{\"\xc0\xa0\": 1}          "), 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int n = take_all(cases[i].text, cases[i].size, 64);

        ck_assert_msg(n == cases[i].n, "%s: %d", cases[i].text, n);
    }
}
END_TEST

/* Skips the elements of TEXT that it can in one go, each as a skipped value, and pulls past the
 * others; returns how many it skipped. */
static int skip_all(const char *text, size_t size)
{
    char *copy;
    struct attn_json_reader reader = read_copy(text, size, &copy);
    struct attn_json_token token;
    int n = 0;

    do {
        struct attn_json_reader skipped = reader;

        while (attn_json_skip_strings(&reader)) {
            ck_assert_int_eq(attn_json_skip(&skipped, NULL), ATTN_OK);
            ck_assert_uint_eq(reader.offset, skipped.offset);
            ck_assert_int_eq(reader.state, skipped.state);
            n++;
        }
        ck_assert_uint_eq(reader.offset, skipped.offset);
        ck_assert_int_eq(reader.state, skipped.state);
    } while (attn_json_next(&reader, &token, NULL) == ATTN_OK && token.type != ATTN_JSON_END);
    free(copy);
    return n;
}

START_TEST(skips_strings_as_other_values)
{
    static const struct {
        const char *text;
        int n; /* elements that are skipped */
    } cases[] = {
        {"[\"a b\", \"\xc4\xa0 \\u0120\\\"\"\n, \"\"]", 3},
        {"[[\"a\", \"b\"],\n[\"]\"] , [ \"[\",\"\\n\" , \"\xf0\x9f\x98\x80\" ]]", 3},
        {"[1, \"a\", true, [\"a\", 1], [\"b\"], {\"a\": [\"c\"]}, \"d\"]", 5},
        {"[[[\"a\"]], [], [[], \"b\"]]", 2},
        {"{\"a\": \"b\", \"c\": \"d\"}", 0},
        {"\"a\"", 0},
        {"[\"a\" \"b\"]", 1},
        {"[\"a\",, \"b\"]", 1},
        {"[, \"b\"]", 0},
        {"[\"a\", ]", 1},
        {"[[\"a\", ], \"b\"]", 1},
        {"[[\"a\" \"b\"]]", 1},
        {"[\"\\x\"]", 0},
        {"[\"\xc4\"]", 0},
        {"[\"a\x01\"]", 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t size = strlen(cases[i].text);
        const int n = skip_all(cases[i].text, size);

        ck_assert_msg(n == cases[i].n, "%s: %d", cases[i].text, n);
        for (size_t cut = 0; cut < size; cut++)
            skip_all(cases[i].text, cut);
    }
}
END_TEST

START_TEST(skips_strings_down_to_the_last_level)
{
    struct attn_json_reader reader;
    struct attn_json_token token;
    char text[80];

    for (int level = 62; level <= 64; level++) {
        const int size = snprintf(text, sizeof text, "%.*s[\"a\"]", level,
                                  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["
                                  "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");

        reader = attn_json_reader_init(text, (size_t)size, "a.json");
        for (int i = 0; i < level; i++)
            ck_assert_int_eq(attn_json_next(&reader, &token, NULL), ATTN_OK);
        ck_assert_int_eq(attn_json_skip_strings(&reader), level < 64);
    }
}
END_TEST

START_TEST(skips_a_value_with_everything_in_it)
{
    static const char text[] = "[{\"a\":[1,{\"b\":[]}]}, [[]], \"s\", 7]";
    struct attn_json_reader reader = attn_json_reader_init(text, strlen(text), "a.json");
    struct attn_json_token token;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(attn_json_skip(&reader, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
    ck_assert_int_eq(*token.text, '7');
}
END_TEST

START_TEST(unescapes_strings)
{
    static const char expected[] = "\"\\/\b\f\n\r\t|A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80|\0.";
    struct attn_json_token token =
        first_token("\"\\\"\\\\\\/\\b\\f\\n\\r\\t|\\u0041\\u00E9\\u20aC\\uD83D\\uDE00|\\u0000.\"");
    struct attn_buffer out = {0};
    struct attn_error err = {0};

    attn_buffer_append_string(&out, ">");
    attn_json_unescape(&token, &out);
    ck_assert_int_eq(attn_buffer_check(&out, &err), ATTN_OK);
    ck_assert_uint_eq(out.size, sizeof expected);
    ck_assert_mem_eq(out.data + 1, expected, sizeof expected - 1);
    attn_buffer_release(&out);
}
END_TEST

START_TEST(compares_strings_without_their_escapes)
{
    static const char *const strings[] = {"\"\"",          "\"\\u0000\"", "\"a\"",
                                          "\"a\\u0000b\"", "\"ab\"",      "\"b\"",
                                          "\"\xc3\xa9\"",  "\"\\uFFFF\"", "\"\xf0\x90\x80\x80\""};
    struct attn_json_token escaped = first_token("\"\\u0061b\""), plain = first_token("\"ab\"");
    int n = sizeof strings / sizeof *strings;

    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            struct attn_json_token a = first_token(strings[i]), b = first_token(strings[j]);
            int order = attn_json_compare(&a, &b);

            ck_assert_msg((order > 0) - (order < 0) == (i > j) - (i < j), "%s, %s", strings[i],
                          strings[j]);
        }
    }
    ck_assert_int_eq(attn_json_compare(&escaped, &plain), 0);
    ck_assert_uint_eq(attn_json_hash(&escaped), attn_json_hash(&plain));
    ck_assert(attn_json_equals(&escaped, "ab") && attn_json_equals(&plain, "ab"));
    ck_assert(!attn_json_equals(&escaped, "a") && !attn_json_equals(&escaped, "abc"));
    ck_assert(!attn_json_equals(&plain, "a") && !attn_json_equals(&plain, "abc"));
}
END_TEST

START_TEST(does_not_take_nul_for_the_end_of_a_string)
{
    struct attn_json_token nul = first_token("\"a\\u0000\""), none = first_token("\"\\\\u0000\"");

    ck_assert(!attn_json_equals(&nul, "a"));
    ck_assert(attn_json_has_nul(&nul));
    ck_assert(!attn_json_has_nul(&none)); /* an escaped backslash, then letters */
}
END_TEST

START_TEST(reads_integers_exactly)
{
    static const struct {
        const char *text;
        uint64_t value;
    } rows[] = {
        {"0", 0}, {"9007199254740993", 9007199254740993}, {"18446744073709551615", UINT64_MAX}};
    static const char *const others[] = {"18446744073709551616",       "-1",    "-0",  "1.0", "1e2",
                                         "99999999999999999999999999", "\"1\"", "true"};
    uint64_t value;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_json_token token = first_token(rows[i].text);

        ck_assert(attn_json_uint(&token, &value));
        ck_assert_uint_eq(value, rows[i].value);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct attn_json_token token = first_token(others[i]);

        ck_assert_msg(!attn_json_uint(&token, &value), "%s", others[i]);
    }
}
END_TEST

/* Who wants each key once asks for that. */
START_TEST(pulls_a_key_twice_as_the_grammar_allows)
{
    static const char *const texts[] = {"{\"a\":\"b\",\"a\":\"c\"}", "{\"a\":\"b\",\"a\":\"b\"}"};
    struct attn_error err = {0};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct attn_json_reader reader =
            attn_json_reader_init(texts[i], strlen(texts[i]), "a.json");
        struct attn_json_token token;

        ck_assert_msg(attn_json_skip(&reader, &err) == ATTN_OK, "%s", err.message);
        ck_assert_int_eq(attn_json_next(&reader, &token, &err), ATTN_OK);
        ck_assert_int_eq(token.type, ATTN_JSON_END);
        ck_assert_int_eq(check(texts[i], strlen(texts[i]), &err), ATTN_FORMAT);
    }
}
END_TEST

START_TEST(refuses_a_key_twice_in_one_object)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"{\"a\":1,\"a\":1}", "'a.json' has the key 'a' a second time at byte 7, expected each key "
                              "once in an object"},
        {"{\"a\":1,\"b\":{},\"\\u0061\":2}",
         "'a.json' has the key '\\\\u0061' a second time at byte 14, expected each key once in an "
         "object"},
        {"[{\"x\":{\"\":0,\"a\":[{}],\"\":0}}]",
         "'a.json' has the key '' a second time at byte 21, expected each key once in an object"},
        {"{\"a\":1,\"b\":{\"c\":1},\"a\":{\"c\":1}}",
         "'a.json' has the key 'a' a second time at byte 19, expected each key once in an object"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_error err;

        ck_assert_int_eq(check(rows[i].text, strlen(rows[i].text), &err), ATTN_FORMAT);
        ck_assert_str_eq(err.message, rows[i].message);
    }
}
END_TEST

/* The same for text that need not be copied. */
static enum attn_status check_buffer(const struct attn_buffer *text, struct attn_error *err)
{
    *err = (struct attn_error){0};
    return attn_json_check_keys(attn_json_reader_init(text->data, text->size, "a.json"), NULL, err);
}

/* {"0":0, ..., "N-1":0, LAST:0} */
static struct attn_buffer many_keys(int n, const char *last)
{
    struct attn_buffer text = {0};

    for (int i = 0; i < n; i++)
        attn_buffer_append_format(&text, "%c\"%d\":0", i == 0 ? '{' : ',', i);
    attn_buffer_append_format(&text, ",\"%s\":0}", last);
    return text;
}

/* These two have the same FNV-1a hash of 64 bits. */
START_TEST(takes_different_keys_with_the_same_hash)
{
    static const char apart[] = "{\"8yn0iYCKYHlIj4-BwPqk\":1,\"GReLUrM4wMqfg9yzV3KQ\":2}";
    static const char twice[] = "{\"8yn0iYCKYHlIj4-BwPqk\":1,\"GReLUrM4wMqfg9yzV3KQ\":2,"
                                "\"8yn0iYCKYHlIj4-BwPqk\":3}";
    struct attn_error err;

    ck_assert_int_eq(check(TEXT(apart), &err), ATTN_OK);
    ck_assert_int_eq(check(TEXT(twice), &err), ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "'8yn0iYCKYHlIj4-BwPqk' a second time at byte 51"));
}
END_TEST

START_TEST(finds_one_double_among_a_million_keys)
{
    struct attn_buffer unique = many_keys(1000000, "last"), twice = many_keys(1000000, "77777");
    struct attn_error err = {0};

    attn_alloc_fail_off(); /* counts from 0 */
    ck_assert_int_eq(check_buffer(&unique, &err), ATTN_OK);
    ck_assert_int_lt(attn_alloc_count(), 32); /* a few doublings, not one a key */
    ck_assert_int_eq(check_buffer(&twice, &err), ATTN_FORMAT);
    ck_assert_ptr_nonnull(strstr(err.message, "the key '77777' a second time"));
    attn_buffer_release(&unique);
    attn_buffer_release(&twice);
}
END_TEST

START_TEST(looks_for_keys_in_at_most_4_gib)
{
    struct attn_json_reader reader = attn_json_reader_init("{}", 2, "a.json");
    struct attn_error err = {0};

    reader.size = (size_t)UINT32_MAX + 1;
    ck_assert_int_eq(attn_json_check_keys(reader, NULL, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'a.json' has 4294967296 bytes, expected at most 4294967295");
}
END_TEST

START_TEST(reports_every_failed_allocation)
{
    struct attn_buffer text = many_keys(300, "last");
    struct attn_error err;
    enum attn_status status;
    long n = 0;

    for (;; n++) {
        attn_alloc_fail_at(n);
        status = check_buffer(&text, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_str_eq(err.message, "out of memory");
    }
    ck_assert_int_gt(n, 3);
    attn_buffer_release(&text);
}
END_TEST

ATTN_SUITE("json_reader", accepts_what_the_grammar_allows, refuses_everything_else_and_says_where,
           refuses_a_text_cut_anywhere, survives_any_byte_in_any_place,
           pulls_slices_of_the_text_in_order, leaves_the_token_alone_on_failure,
           counts_levels_up_to_64, remembers_which_levels_are_objects,
           takes_members_as_they_are_pulled, takes_no_member_that_is_something_else,
           skips_strings_as_other_values, skips_strings_down_to_the_last_level,
           skips_a_value_with_everything_in_it, unescapes_strings,
           compares_strings_without_their_escapes, does_not_take_nul_for_the_end_of_a_string,
           reads_integers_exactly, pulls_a_key_twice_as_the_grammar_allows,
           refuses_a_key_twice_in_one_object, looks_for_keys_in_at_most_4_gib,
           takes_different_keys_with_the_same_hash, finds_one_double_among_a_million_keys,
           reports_every_failed_allocation)
