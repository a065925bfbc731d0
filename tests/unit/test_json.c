/* test_json.c - trees of JSON files and their typed getters. */
#include "base/memory.h"
#include "formats/json.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"

#include <string.h>

/* A file of TEXT in memory, called m/config.json; close it. */
static struct attn_file file_of(const char *text)
{
    return (struct attn_file){.data = (const unsigned char *)text,
                              .size = strlen(text),
                              .storage = ATTN_FILE_BORROWED,
                              .path = attn_strndup("m/config.json", 13, NULL)};
}

static struct attn_json *parse(const char *text)
{
    struct attn_file file = file_of(text);
    struct attn_json *json = NULL;
    struct attn_error err = {0};

    ck_assert_msg(attn_json_parse(&file, &json, &err) == ATTN_OK, "%s", err.message);
    attn_file_release(&file);
    return json;
}

START_TEST(refuses_what_a_tree_cannot_hold)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"[1]", "'m/config.json' has '[' at byte 0, expected an object"},
        {" \"a\"", "'m/config.json' has 'a' at byte 1, expected an object"},
        {"{\"a\":1", "'m/config.json' ends at byte 6, expected ',' or '}'"},
        {"{\"a\":1,\"a\":2}", "'m/config.json' has the key 'a' a second time at byte 7, expected "
                              "each key once in an object"},
        {"{\"a\\u0000b\":1}",
         "'m/config.json' has 'a\\\\u0000b' at byte 1, expected a string without NUL"},
        {"{\"a\":[\"\\u0000\"]}",
         "'m/config.json' has '\\\\u0000' at byte 6, expected a string without NUL"},
        {"{\"a\":1e999,\"b\":[}", "'m/config.json' has '}' at byte 16, expected a value or ']'"},
        {"{\"a\":1e999}", "'m/config.json' has '1e999' at byte 5, expected a number below 1.8e308"},
        {"{\"a\":0."
         "00000000000000000000000000000000000000000000000000000000000001}",
         "'m/config.json' has "
         "'0.00000000000000000000000000000000000000000000000000000000000001' at byte 5, expected "
         "a number of at most 63 characters"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_file file = file_of(rows[i].text);
        struct attn_json *json = NULL;
        struct attn_error err = {0};

        ck_assert_int_eq(attn_json_parse(&file, &json, &err), ATTN_FORMAT);
        ck_assert_str_eq(err.message, rows[i].message);
        ck_assert_ptr_null(json);
        attn_file_release(&file);
    }
}
END_TEST

START_TEST(refuses_more_than_64_mib_before_reading)
{
    struct attn_file file = file_of("{}");
    struct attn_json *json = NULL;
    struct attn_error err = {0};

    file.size = ATTN_JSON_MAX_SIZE + 1;
    ck_assert_int_eq(attn_json_parse(&file, &json, &err), ATTN_FORMAT);
    ck_assert_str_eq(err.message, "'m/config.json' has 67108865 bytes, expected at most 67108864");
    attn_file_release(&file);
}
END_TEST

START_TEST(keeps_the_longest_number_that_fits)
{
    struct attn_json *json =
        parse("{\"a\": 0.0000000000000000000000000000000000000000000000000000000000005, \"b\": 7}");
    struct attn_error err = {0};
    double a = 0, b = 0;

    ck_assert_int_eq(attn_json_get_double(json, attn_json_root(json), "a", 0, 1, &a, &err), 0);
    ck_assert_int_eq(attn_json_get_double(json, attn_json_root(json), "b", 0, 9, &b, &err), 0);
    ck_assert_double_eq(a, 5e-61);
    ck_assert_double_eq(b, 7);
    attn_json_free(json);
}
END_TEST

START_TEST(gives_typed_members)
{
    struct attn_json *json = parse("{\"n_head\": 12, \"eps\": 1e-5, \"is_tied\": true, \"act\": "
                                   "\"gelu \\u00e9\", \"size\": 4e2, \"off\": false}");
    const struct attn_node *root = attn_json_root(json);
    struct attn_error err = {0};
    int64_t n_head = 0;
    size_t size = 0;
    double eps = 0;
    bool is_tied = false, is_off = true;
    const char *act = NULL;

    ck_assert_int_eq(attn_json_get_int(json, root, "n_head", 12, 12, &n_head, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_size(json, root, "size", 0, SIZE_MAX, &size, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_double(json, root, "eps", 0, 1, &eps, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_bool(json, root, "is_tied", &is_tied, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_bool(json, root, "off", &is_off, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_string(json, root, "act", &act, &err), ATTN_OK);
    ck_assert_int_eq(n_head, 12);
    ck_assert_uint_eq(size, 400);
    ck_assert_double_eq(eps, 1e-5);
    ck_assert(is_tied && !is_off);
    ck_assert_str_eq(act, "gelu \xc3\xa9");
    ck_assert_str_eq(attn_json_name(json), "m/config.json");
    attn_json_free(json);
}
END_TEST

START_TEST(keeps_the_default_of_what_is_absent_or_null)
{
    struct attn_json *json = parse("{\"N_HEAD\": 3, \"n_inner\": null}");
    const struct attn_node *root = attn_json_root(json);
    struct attn_error err = {0};
    int64_t n_head = 5, n_inner = 6;
    double eps = 7;
    bool is_tied = true;
    const char *act = "relu";

    ck_assert_int_eq(attn_json_get_int(json, root, "n_head", 0, 9, &n_head, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_int(json, root, "n_inner", 0, 9, &n_inner, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_double(json, root, "n_inner", 0, 9, &eps, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_bool(json, root, "n_inner", &is_tied, &err), ATTN_OK);
    ck_assert_int_eq(attn_json_get_string(json, root, "n_inner", &act, &err), ATTN_OK);
    ck_assert_int_eq(n_head, 5); /* case matters */
    ck_assert_int_eq(n_inner, 6);
    ck_assert_double_eq(eps, 7);
    ck_assert(is_tied);
    ck_assert_str_eq(act, "relu");
    attn_json_free(json);
}
END_TEST

enum getter { GET_INT, GET_SIZE, GET_DOUBLE, GET_BOOL, GET_STRING };

/* Asks for member "a" of TEXT, which must be refused; returns the message in ERR. */
static void refuse_member(const char *text, enum getter getter, struct attn_error *err)
{
    struct attn_json *json = parse(text);
    const struct attn_node *root = attn_json_root(json);
    enum attn_status status = ATTN_OK;
    int64_t integer = 77;
    size_t size = 77;
    double number = 77;
    bool is_true = true;
    const char *string = "77";

    *err = (struct attn_error){0};
    if (getter == GET_INT)
        status = attn_json_get_int(json, root, "a", 1, 65536, &integer, err);
    else if (getter == GET_SIZE)
        status = attn_json_get_size(json, root, "a", 1, 64, &size, err);
    else if (getter == GET_DOUBLE)
        status = attn_json_get_double(json, root, "a", 0, 0.5, &number, err);
    else if (getter == GET_BOOL)
        status = attn_json_get_bool(json, root, "a", &is_true, err);
    else
        status = attn_json_get_string(json, root, "a", &string, err);
    ck_assert_int_eq(status, ATTN_FORMAT);
    ck_assert(integer == 77 && size == 77 && is_true);
    ck_assert_double_eq(number, 77);
    ck_assert_str_eq(string, "77");
    attn_json_free(json);
}

START_TEST(says_what_a_wrong_member_is)
{
    static const struct {
        const char *text;
        enum getter getter;
        const char *message; /* behind "'a' in 'm/config.json' is " */
    } rows[] = {
        {"{\"a\":-3}", GET_INT, "-3, expected an integer from 1 to 65536"},
        {"{\"a\":2.5}", GET_INT, "2.5, expected an integer from 1 to 65536"},
        {"{\"a\":9007199254740993}", GET_INT,
         "9.00719925474099e+15, expected an integer from 1 to 65536"},
        {"{\"a\":4294967297}", GET_INT, "4294967297, expected an integer from 1 to 65536"},
        {"{\"a\":\"12\"}", GET_INT, "the string '12', expected an integer from 1 to 65536"},
        {"{\"a\":\"\\u001b[2J\"}", GET_INT,
         "the string '\\x1b[2J', expected an integer from 1 to 65536"},
        {"{\"a\":true}", GET_SIZE, "true, expected an integer from 1 to 64"},
        {"{\"a\":0}", GET_SIZE, "0, expected an integer from 1 to 64"},
        {"{\"a\":0.75}", GET_DOUBLE, "0.75, expected a number from 0 to 0.5"},
        {"{\"a\":{}}", GET_DOUBLE, "an object, expected a number from 0 to 0.5"},
        {"{\"a\":1}", GET_BOOL, "1, expected true or false"},
        {"{\"a\":[]}", GET_BOOL, "an array, expected true or false"},
        {"{\"a\":false}", GET_STRING, "false, expected a string"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *start = "'a' in 'm/config.json' is ";
        struct attn_error err;

        refuse_member(rows[i].text, rows[i].getter, &err);
        ck_assert_mem_eq(err.message, start, strlen(start));
        ck_assert_str_eq(err.message + strlen(start), rows[i].message);
    }
}
END_TEST

START_TEST(takes_integers_below_2_to_the_53)
{
    struct attn_json *json = parse("{\"a\":[9007199254740991, -9007199254740991, 2147483648, "
                                   "9007199254740992, 0.5, \"1\"]}");
    const struct attn_node *node = attn_node_first(attn_node_find(attn_json_root(json), "a"));
    const int64_t expected[] = {9007199254740991, -9007199254740991, 2147483648};
    int64_t value = 0;

    for (int i = 0; i < 3; i++, node = attn_node_next(node)) {
        ck_assert(attn_node_int(node, &value));
        ck_assert_int_eq(value, expected[i]);
    }
    for (; node != NULL; node = attn_node_next(node))
        ck_assert(!attn_node_int(node, &value));
    ck_assert_int_eq(value, expected[2]);
    attn_json_free(json);
}
END_TEST

START_TEST(iterates_members_in_the_order_of_the_file)
{
    struct attn_json *json = parse("{\"b\":1,\"B\":[],\"\":{},\"a\":null}");
    const struct attn_node *node = attn_node_first(attn_json_root(json));
    static const char *const keys[] = {"b", "B", "", "a"};

    for (int i = 0; i < 4; i++, node = attn_node_next(node)) {
        ck_assert_str_eq(attn_node_key(node), keys[i]);
        ck_assert_int_eq(attn_node_is_array(node), i == 1);
        ck_assert_int_eq(attn_node_is_object(node), i == 2);
        ck_assert_int_eq(attn_node_is_null(node), i == 3);
        ck_assert_ptr_null(attn_node_string(node));
    }
    ck_assert_ptr_null(node);
    ck_assert_ptr_null(attn_node_find(attn_json_root(json), "A"));
    ck_assert_ptr_null(attn_node_find(attn_node_find(attn_json_root(json), "b"), "x"));
    ck_assert_ptr_null(attn_node_first(attn_node_find(attn_json_root(json), "")));
    attn_json_free(json);
}
END_TEST

/* What NAMES leave of TEXT, as cJSON prints it: compared as a tree. */
START_TEST(empties_lists_and_objects_that_are_not_named)
{
    static const char text[] =
        "{ \"a\" : [1, [2], {\"b\": 3}] , \"b\":{\"a\":[4]},\"c\":[],\"d\":{},"
        "\"\\u0061b\":[5,\"]\"],\"e\":6,\"f\":\"[\",\"\":[7] }";
    static const struct {
        const char *names[3];
        size_t n_child[8]; /* of a, b, c, d, ab, e, f and the empty key */
    } rows[] = {
        {{NULL}, {0}},
        {{"a", NULL}, {3}},
        {{"ab", "b", NULL}, {0, 1, 0, 0, 2}},
        {{"", "c", NULL}, {0, 0, 0, 0, 0, 0, 0, 1}},
        {{"e", "none", NULL}, {0}},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct attn_file file = file_of(text);
        struct attn_json *json = NULL;
        struct attn_error err = {0};
        const struct attn_node *member;
        size_t n = 0;

        ck_assert_int_eq(attn_json_parse_named(&file, rows[i].names, &json, &err), ATTN_OK);
        for (member = attn_node_first(attn_json_root(json)); member != NULL;
             member = attn_node_next(member), n++) {
            size_t n_child = 0;

            for (const struct attn_node *child = attn_node_first(member); child != NULL;
                 child = attn_node_next(child))
                n_child++;
            ck_assert_uint_eq(n_child, rows[i].n_child[n]);
            ck_assert_int_eq(attn_node_is_object(member), n == 1 || n == 3);
            ck_assert_int_eq(attn_node_is_array(member), n == 0 || n == 2 || n == 4 || n == 7);
        }
        ck_assert_uint_eq(n, 8);
        ck_assert_str_eq(attn_node_string(attn_node_find(attn_json_root(json), "f")), "[");
        attn_json_free(json);
        attn_file_release(&file);
    }
}
END_TEST

START_TEST(takes_a_list_where_any_root_is_wanted)
{
    struct attn_file file = file_of("[{\"a\":[7]},null]");
    bool value = false;
    struct attn_json *json = NULL;
    struct attn_error err = {0};
    const struct attn_node *node;

    ck_assert_int_eq(attn_json_parse_named(&file, attn_json_any, &json, &err), ATTN_OK);
    ck_assert(attn_node_is_array(attn_json_root(json)));
    node = attn_node_first(attn_json_root(json));
    ck_assert(attn_node_is_null(attn_node_next(node)));
    ck_assert_ptr_nonnull(attn_node_first(attn_node_find(node, "a")));
    attn_json_free(json);
    attn_file_release(&file);
    file = file_of("true");
    ck_assert_int_eq(attn_json_parse_named(&file, attn_json_any, &json, &err), ATTN_OK);
    ck_assert(attn_node_is_bool(attn_json_root(json), &value) && value);
    attn_json_free(json);
    attn_file_release(&file);
}
END_TEST

START_TEST(checks_what_it_does_not_keep)
{
    static const char *const names[] = {NULL}, *const texts[] = {
                                                   "{\"a\":[1,]}", "{\"a\":{\"b\":1,\"b\":2}}",
                                                   "{\"a\":[1e999]}", "{\"a\":[\"\\u0000\"]}"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct attn_file file = file_of(texts[i]);
        struct attn_json *json = NULL;

        ck_assert_int_eq(attn_json_parse_named(&file, names, &json, NULL), ATTN_FORMAT);
        ck_assert_ptr_null(json);
        attn_file_release(&file);
    }
}
END_TEST

START_TEST(reports_every_failed_allocation)
{
    static const char *const names[] = {"a", NULL};
    struct attn_file file = file_of("{\"a\":{\"b\":[1,2]}}");
    struct attn_json *json = NULL;
    struct attn_error err;
    enum attn_status status;
    long n = 0;

    for (;; n++) {
        attn_alloc_fail_at(n);
        err = (struct attn_error){0};
        status = attn_json_parse_named(&file, names, &json, &err);
        attn_alloc_fail_off();
        if (status == ATTN_OK)
            break;
        ck_assert_int_eq(status, ATTN_NO_MEMORY);
        ck_assert_ptr_null(json);
    }
    ck_assert_int_ge(n, 4);
    attn_json_free(json);
    attn_file_release(&file);
}
END_TEST

ATTN_SUITE("json", refuses_what_a_tree_cannot_hold, refuses_more_than_64_mib_before_reading,
           keeps_the_longest_number_that_fits, gives_typed_members,
           keeps_the_default_of_what_is_absent_or_null, says_what_a_wrong_member_is,
           takes_integers_below_2_to_the_53, iterates_members_in_the_order_of_the_file,
           empties_lists_and_objects_that_are_not_named, takes_a_list_where_any_root_is_wanted,
           checks_what_it_does_not_keep, reports_every_failed_allocation)
