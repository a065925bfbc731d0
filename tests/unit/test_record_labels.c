/* test_record_labels.c - labels of a line of JSON: which keys are some, their values, and what
 * fails. */
#include "attn.h"
#include "stream/record_reader.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct attn_record_names names;
static struct attn_item record;

static void release(void)
{
    attn_item_release(&record);
    attn_record_names_release(&names);
}

static void read_bytes(const char *line, size_t size)
{
    char *copy = malloc(size > 0 ? size : 1); /* what is read beyond it is found by ASan */

    memcpy(copy, line, size);
    attn_item_release(&record);
    ck_assert_int_eq(attn_item_read_line(copy, size, &names, &record, NULL), ATTN_OK);
    free(copy);
}

static void read_line(const char *line)
{
    read_bytes(line, strlen(line));
}

static void name(const char *list)
{
    struct attn_error err = {0};

    attn_record_names_release(&names);
    ck_assert_int_eq(attn_record_names_parse(list, &names, &err), ATTN_OK);
}

static void expect_text(size_t i, const char *label, const char *text)
{
    ck_assert_uint_lt(i, record.n_label);
    ck_assert_str_eq(record.labels[i].name, label);
    ck_assert_int_eq(record.labels[i].value.type, ATTN_VALUE_TEXT);
    ck_assert_str_eq(record.labels[i].value.text, text); /* terminated, too */
    ck_assert_uint_eq(record.labels[i].value.size, strlen(text));
}

START_TEST(takes_all_that_mean_nothing_else)
{
    name("all");
    read_line(
        "{\"b\":\"x\\u00e9\",\"id\":1,\"text\":\"t\",\"source\":\"s\",\"next\":\" n\",\"ids\":"
        "null,\"a\":-7,\"c\":0.25,\"d\":false,\"e\":null,\"\\u0066\":\"\"}");
    ck_assert_int_eq(record.failure, ATTN_RECORD_FAILURE_NONE);
    ck_assert_uint_eq(record.n_label, 6);
    expect_text(0, "b", "x\xc3\xa9");
    ck_assert_int_eq(record.labels[1].value.type, ATTN_VALUE_INTEGER);
    ck_assert_int_eq(record.labels[1].value.integer, -7);
    ck_assert_int_eq(record.labels[2].value.type, ATTN_VALUE_REAL);
    ck_assert_double_eq(record.labels[2].value.real, 0.25);
    ck_assert_int_eq(record.labels[3].value.type, ATTN_VALUE_BOOLEAN);
    ck_assert_int_eq(record.labels[3].value.integer, 0);
    ck_assert_int_eq(record.labels[4].value.type, ATTN_VALUE_MISSING);
    expect_text(5, "f", "");
    read_line("{\"text\":\"t\",\"source_ids\":[5],\"types\":[0],\"image\":\"i\"}");
    ck_assert_int_eq(record.failure, ATTN_RECORD_FAILURE_NONE);
    ck_assert_uint_eq(record.n_label, 1);
    expect_text(0, "image", "i");
    release();
}
END_TEST

START_TEST(takes_named_ones_in_the_order_of_their_names)
{
    name("n,text,none");
    read_line("{\"text\":\"t\",\"list\":[1,{\"n\":2}],\"n\":18446744073709551615}");
    ck_assert_int_eq(record.failure, ATTN_RECORD_FAILURE_NONE);
    ck_assert_uint_eq(record.n_label, 3);
    ck_assert_double_eq(record.labels[0].value.real, 18446744073709551615.0);
    expect_text(1, "text", "t");
    ck_assert_int_eq(record.labels[2].value.type, ATTN_VALUE_MISSING);
    read_line("{\"text\":\"u\"}");
    ck_assert_int_eq(record.labels[0].value.type, ATTN_VALUE_MISSING);
    expect_text(1, "text", "u");
    release();
}
END_TEST

START_TEST(fails_by_the_name_of_a_label_that_is_none)
{
    static const char *const lines[] = {
        "{\"text\":\"t\",\"a\":[1,[2]],\"b\":\"x\"}",
        "{\"text\":\"t\",\"a\":{\"b\":[\"c\"]},\"b\":\"x\"}",
        "{\"text\":\"t\",\"a\":1e999,\"b\":\"x\"}",
    };

    name("all");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        read_line(lines[i]);
        ck_assert_int_eq(record.failure, ATTN_RECORD_FAILURE_BAD_VALUE);
        ck_assert_ptr_nonnull(strstr(record.err.message, "the label 'a' has"));
        expect_text(1, "b", "x"); /* what comes after is read */
    }
    release();
}
END_TEST

START_TEST(refuses_lists_of_names)
{
    static const char *const lists[] = {"", "a,", ",a", "a,b,a"};
    struct attn_error err = {0};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        attn_record_names_release(&names);
        ck_assert_int_eq(attn_record_names_parse(lists[i], &names, &err), ATTN_INVALID);
    }
    release();
}
END_TEST

/* Every line cut at every byte, and with every byte another one. */
START_TEST(takes_any_bytes)
{
    static const char line[] =
        "{\"id\":\"p\",\"text\":\"t\",\"a\":\"\\u00e9\\\"x\",\"b\":[1,2],\"c\":-1.5e3,\"d\":true}";

    for (int pass = 0; pass < 2; pass++) {
        name(pass == 0 ? "all" : "a,c,d");
        for (size_t size = 0; size < sizeof(line); size++)
            read_bytes(line, size);
        for (size_t i = 0; i + 1 < sizeof(line); i++)
            for (int c = 0; c < 256; c++) {
                char changed[sizeof(line)];

                memcpy(changed, line, sizeof(line));
                changed[i] = (char)c;
                read_bytes(changed, sizeof(line) - 1);
            }
    }
    release();
}
END_TEST

ATTN_SUITE("record_labels", takes_all_that_mean_nothing_else,
           takes_named_ones_in_the_order_of_their_names, fails_by_the_name_of_a_label_that_is_none,
           refuses_lists_of_names, takes_any_bytes)
