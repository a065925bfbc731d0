/* test_json_writer.c - JSON as it is pushed: commas, lines and values are in their places. */
#include "formats/json_writer.h"
#include "tests/support/suite.h"

#include <math.h>

/* That OUT holds TEXT; empties it. */
static void expect(struct attn_buffer *out, const char *text)
{
    attn_buffer_append_char(out, '\0');
    ck_assert(!out->has_failed);
    ck_assert_str_eq(out->data, text);
    attn_buffer_release(out);
}

START_TEST(separates_members_and_values)
{
    struct attn_buffer out = {0};
    struct attn_json_writer json = {.out = &out};

    attn_json_begin(&json, '{');
    attn_json_key(&json, "a");
    attn_json_begin(&json, '[');
    attn_json_end(&json);
    attn_json_key(&json, "b");
    attn_json_begin(&json, '[');
    attn_json_integer(&json, -3);
    attn_json_size(&json, 4);
    attn_json_bool(&json, true);
    attn_json_null(&json);
    attn_json_text(&json, "a\"b\n\033");
    attn_json_text(&json, NULL);
    attn_json_end(&json);
    attn_json_end(&json);
    expect(&out, "{\"a\": [], \"b\": [-3, 4, true, null, \"a\\\"b\\n\\u001b\", null]}");
}
END_TEST

START_TEST(begins_lines_where_it_is_told_to)
{
    struct attn_buffer out = {0};
    struct attn_json_writer json = {.out = &out, .indent = 2};

    attn_json_begin(&json, '{');
    attn_json_line(&json);
    attn_json_key(&json, "rows");
    attn_json_begin(&json, '[');
    for (int i = 0; i < 2; i++) {
        attn_json_line(&json);
        attn_json_begin(&json, '[');
        attn_json_integer(&json, i);
        attn_json_integer(&json, i);
        attn_json_end(&json);
    }
    attn_json_end(&json);
    attn_json_line(&json);
    attn_json_end(&json);
    expect(&out, "{\n  \"rows\": [\n    [0, 0],\n    [1, 1]]\n}");
}
END_TEST

START_TEST(separates_by_what_it_is_given)
{
    struct attn_buffer out = {0};
    struct attn_json_writer json = {.out = &out, .comma = ",", .colon = ":"};

    attn_json_begin(&json, '{');
    for (int i = 0; i < 2; i++) {
        attn_json_key(&json, i == 0 ? "a" : "b");
        attn_json_begin(&json, '[');
        attn_json_integer(&json, 1);
        attn_json_integer(&json, 2);
        attn_json_end(&json);
    }
    attn_json_line(&json);
    attn_json_key(&json, "c");
    attn_json_null(&json);
    attn_json_end(&json);
    expect(&out, "{\"a\":[1,2],\"b\":[1,2],\n\"c\":null}");
}
END_TEST

START_TEST(writes_numbers_that_read_back)
{
    struct attn_buffer out = {0};
    struct attn_json_writer json = {.out = &out};

    attn_json_begin(&json, '[');
    attn_json_double(&json, 0.1);
    attn_json_double(&json, 1.0 / 3);
    attn_json_double(&json, (double)NAN);
    attn_json_float(&json, 0.1F, -1);
    attn_json_float(&json, 0.1F, 3);
    attn_json_float(&json, -INFINITY, -1);
    attn_buffer_append_string(attn_json_value(&json), "1e9");
    attn_json_end(&json);
    expect(&out, "[0.1, 0.3333333333333333, null, 0.1, 0.100, null, 1e9]");
}
END_TEST

START_TEST(a_list_that_is_not_there_is_null)
{
    struct attn_buffer out = {0};
    struct attn_json_writer json = {.out = &out};

    attn_json_begin(&json, '[');
    ck_assert(!attn_json_begin_list(&json, false));
    ck_assert(attn_json_begin_list(&json, true));
    attn_json_integer(&json, 1);
    attn_json_end(&json);
    attn_json_end(&json);
    expect(&out, "[null, [1]]");
}
END_TEST

ATTN_SUITE("json_writer", separates_members_and_values, begins_lines_where_it_is_told_to,
           separates_by_what_it_is_given, writes_numbers_that_read_back,
           a_list_that_is_not_there_is_null)
