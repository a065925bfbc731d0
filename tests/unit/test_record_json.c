/* test_record_json.c - a line of JSON as an item: what is taken, and what each fault is called. */
#include "attn.h"
#include "base/buffer.h"
#include "formats/ndarray.h"
#include "run/run_internal.h"
#include "stream/record_reader.h"
#include "tests/support/suite.h"

#include <stdlib.h>
#include <string.h>

static struct attn_item record;

/* Reads LINE [size] into `record`. */
static void read_bytes(const char *line, size_t size)
{
    struct attn_error err = {0};
    char *copy = malloc(size > 0 ? size : 1); /* what is read behind it is found by ASan */

    memcpy(copy, line, size);
    attn_item_release(&record);
    record.number = 7;
    ck_assert_int_eq(attn_item_read_line(copy, size, &record, &err), ATTN_OK);
    ck_assert_uint_eq(record.number, 7);
    ck_assert_int_eq(record.failure == ATTN_REASON_NONE, record.err.message[0] == '\0');
    free(copy);
}

static void read_line(const char *line)
{
    read_bytes(line, strlen(line));
}

static void expect_text(const char *text, size_t size)
{
    ck_assert_str_eq(record.err.message, "");
    ck_assert_ptr_null(record.input.ids);
    ck_assert_uint_eq(record.input.n_text, size);
    ck_assert_mem_eq(record.input.text, text, size);
}

START_TEST(takes_a_text_and_leaves_other_keys)
{
    read_line("{\"label\":[{\"a\":[1,{}]}],\"text\":\"one \\u00e9\\n\",\"x\":null}");
    expect_text("one \xc3\xa9\n", 7);
    ck_assert_int_eq(record.id_kind, ATTN_RECORD_ID_NUMBER);
    read_line(" {\"text\":\"\"}\r");
    expect_text("", 0);
    read_line("{\"text\":\"a\\u0000b\",\"ids\":null}");
    expect_text("a\0b", 3);
    attn_item_release(&record);
}
END_TEST

START_TEST(takes_continuations)
{
    static const char *const bad[] = {
        "{\"text\":\"a\",\"next\":[]}",           "{\"text\":\"a\",\"next\":5}",
        "{\"text\":\"a\",\"next\":[\"b\",null]}", "{\"text\":\"a\",\"next\":{\"b\":\"c\"}}",
        "{\"text\":\"a\",\"next\":\"\\u0000\"}",  "{\"text\":\"a\",\"next\":[[\"b\"]]}",
    };

    read_line("{\"next\":[\" is\",\"\",\"\\u00e9\"],\"text\":\"a\"}");
    expect_text("a", 1);
    ck_assert_uint_eq(record.n_next, 3);
    ck_assert_str_eq(record.next[0], " is");
    ck_assert_str_eq(record.next[1], "");
    ck_assert_str_eq(record.next[2], "\xc3\xa9");
    read_line("{\"text\":\"a\",\"next\":\" was\"}");
    ck_assert_uint_eq(record.n_next, 1);
    ck_assert_str_eq(record.next[0], " was");
    read_line("{\"text\":\"a\",\"next\":null}");
    ck_assert_ptr_null(record.next);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        read_line(bad[i]);
        ck_assert_int_eq(record.failure, ATTN_REASON_BAD_VALUE);
        ck_assert_ptr_null(record.next);
    }
    attn_item_release(&record);
}
END_TEST

START_TEST(takes_ids)
{
    read_line("{\"ids\":[5,0,2147483647],\"text\":null}");
    ck_assert_ptr_null(record.input.text);
    ck_assert_uint_eq(record.input.n_id, 3);
    ck_assert_int_eq(record.input.ids[0], 5);
    ck_assert_int_eq(record.input.ids[2], 2147483647);
    read_line("{\"ids\":[]}");
    ck_assert_str_eq(record.err.message, "");
    ck_assert_ptr_nonnull(record.input.ids);
    ck_assert_uint_eq(record.input.n_id, 0);
    attn_item_release(&record);
}
END_TEST

START_TEST(takes_what_goes_with_a_text)
{
    const struct attn_input *input = &record.input;

    read_line("{\"key_mask\":[1,0],\"pair\":\"b\\u0000c\",\"text\":\"a\",\"types\":[0,1,1]}");
    ck_assert_str_eq(record.err.message, "");
    expect_text("a", 1);
    ck_assert_uint_eq(input->n_pair, 3);
    ck_assert_mem_eq(input->pair, "b\0c", 3);
    ck_assert_uint_eq(input->n_type, 3);
    ck_assert_int_eq(input->types[2], 1);
    ck_assert_uint_eq(input->n_key_mask, 2);
    ck_assert_int_eq(input->key_mask[1], 0);
    ck_assert_ptr_null(record.source.key_mask);
    read_line("{\"ids\":[1],\"key_mask\":[0,1,1],\"source\":[[1],[2],[3]]}");
    ck_assert_ptr_null(input->key_mask);
    ck_assert_uint_eq(record.source.n_key_mask, 3);
    ck_assert_int_eq(record.source.key_mask[0], 0);
    read_line("{\"ids\":[1],\"key_mask\":null,\"pair\":null,\"types\":null}");
    ck_assert_str_eq(record.err.message, "");
    ck_assert(!input->pair && !input->types && !input->key_mask);
    read_line("{\"text\":\"a\",\"pair\":\"\"}");
    ck_assert(input->pair && input->n_pair == 0);
    attn_item_release(&record);
}
END_TEST

START_TEST(keeps_the_id_as_it_is)
{
    static const struct {
        const char *line, *id;
        enum attn_record_id has;
    } rows[] = {
        {"{\"id\":\"p\\u0037\",\"text\":\"\"}", "p7", ATTN_RECORD_ID_TEXT},
        {"{\"id\":\"\",\"text\":\"\"}", "", ATTN_RECORD_ID_TEXT},
        {"{\"text\":\"\",\"id\":-5}", "-5", ATTN_RECORD_ID_INTEGER},
        {"{\"id\":123456789012345678901234567890,\"text\":\"\"}", "123456789012345678901234567890",
         ATTN_RECORD_ID_INTEGER},
        {"{\"id\":null,\"text\":\"\"}", "", ATTN_RECORD_ID_NUMBER},
        {"{\"id\":4,\"text\":5}", "4", ATTN_RECORD_ID_INTEGER}, /* of one that fails, too */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        read_line(rows[i].line);
        ck_assert_int_eq(record.id_kind, rows[i].has);
        ck_assert_uint_eq(record.n_id, strlen(rows[i].id));
        if (record.n_id > 0)
            ck_assert_mem_eq(record.id, rows[i].id, record.n_id);
    }
    attn_item_release(&record);
}
END_TEST

START_TEST(takes_a_source)
{
    read_line("{\"text\":\"a\",\"source\":\"to be\"}");
    ck_assert_uint_eq(record.source.n_text, 5);
    ck_assert_mem_eq(record.source.text, "to be", 5);
    read_line("{\"text\":\"a\",\"source\":[[1,2.5,-3],[4e1,5,6]]}");
    ck_assert_str_eq(record.err.message, "");
    ck_assert_ptr_nonnull(record.source.embeddings);
    ck_assert_int_eq(record.source.embeddings->rank, 2);
    ck_assert_uint_eq(record.source.embeddings->shape[0], 2);
    ck_assert_uint_eq(record.source.embeddings->shape[1], 3);
    ck_assert(record.source.embeddings->data[3] == 40);
    read_line("{\"text\":\"a\"}");
    ck_assert_ptr_null(record.source.embeddings);
    ck_assert_ptr_null(record.source.text);
    attn_item_release(&record);
}
END_TEST

START_TEST(says_what_is_wrong)
{
    static const struct {
        const char *line, *code, *message;
    } rows[] = {
        {"", "bad_json", "'line' ends at byte 0, expected a value"},
        {"[1]", "bad_json", "'line' has '[' at byte 0, expected an object"},
        {"{\"text\":\"a\"", "bad_json", "'line' ends at byte 11, expected ',' or '}'"},
        {"{\"text\":\"a\"} 1", "bad_json", NULL},
        {"{\"text\":\"a\",}", "bad_json", NULL},
        {"{\"text\":\"a\",\"te\\u0078t\":\"b\"}", "bad_json", NULL}, /* a key twice */
        {"{\"text\":\"\\ud800\"}", "bad_json", NULL},
        {"{\"text\":\"\\ud800\\u0041\"}", "bad_json", NULL},
        {"{\"text\":\"\xff\"}", "bad_json", NULL},
        {"\xef\xbb\xbf{\"text\":\"a\"}", "bad_json", NULL},
        {"{\"text\":\"a\tb\"}", "bad_json", NULL},
        {"{\"text\":\"a\",\"id\":1.5}", "bad_json",
         "'id' has '1.5' at byte 17, expected a string or an integer"},
        {"{\"text\":\"a\",\"id\":[1]}", "bad_json", NULL},
        {"{\"text\":[\"a\",{}]}", "bad_text", "'text' has '[' at byte 8, expected a string"},
        {"{\"ids\":\"1\"}", "bad_ids", NULL},
        {"{\"ids\":{\"a\":[1]}}", "bad_ids", NULL},
        {"{\"ids\":[1,2.0]}", "bad_ids",
         "'ids' has '2.0' at byte 10, expected a list of whole numbers from 0 to 2147483647"},
        {"{\"ids\":[-1]}", "bad_ids", NULL},
        {"{\"ids\":[2147483648]}", "bad_ids", NULL},
        {"{\"ids\":[1e2]}", "bad_ids", NULL},
        {"{\"ids\":[1,[2,[3]],4],\"x\":[5]}", "bad_ids", NULL},
        {"{\"text\":\"a\",\"source\":5}", "bad_source", NULL},
        {"{\"text\":\"a\",\"source\":[]}", "bad_source", NULL},
        {"{\"text\":\"a\",\"source\":[[]]}", "bad_source", NULL},
        {"{\"text\":\"a\",\"source\":[[1,2],[3]],\"x\":[[4]]}", "bad_source", NULL},
        {"{\"text\":\"a\",\"source\":[[1,{\"b\":[2]}],[3]]}", "bad_source", NULL},
        {"{\"text\":\"a\",\"source\":[[1,1e39]]}", "bad_source", NULL},
        {"{\"text\":\"a\",\"source\":[[1],2]}", "bad_source", NULL},
        {"{\"text\":\"a\",\"pair\":[\"b\"]}", "bad_text",
         "'pair' has '[' at byte 19, expected a string"},
        {"{\"text\":\"a\",\"types\":\"0 1\"}", "bad_value", NULL},
        {"{\"text\":\"a\",\"types\":[0,-1]}", "bad_value", NULL},
        {"{\"text\":\"a\",\"key_mask\":[true]}", "bad_value", NULL},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        read_line(rows[i].line);
        ck_assert_msg(strcmp(attn_reason_text(record.failure), rows[i].code) == 0,
                      "%s is %s, expected %s", rows[i].line, attn_reason_text(record.failure),
                      rows[i].code);
        if (rows[i].message != NULL)
            ck_assert_str_eq(record.err.message, rows[i].message);
    }
    attn_item_release(&record);
}
END_TEST

START_TEST(goes_on_behind_a_value_that_was_wrong)
{
    read_line("{\"ids\":[1,[2]],\"source\":[[1],{}],\"id\":\"x\"}");
    ck_assert_str_eq(attn_reason_text(record.failure), "bad_ids");
    ck_assert_mem_eq(record.id, "x", 1);
    attn_item_release(&record);
}
END_TEST

START_TEST(refuses_depth_without_bound)
{
    enum { DEPTH = 100000 };
    char *line = malloc(DEPTH + 16);

    memcpy(line, "{\"x\":", 5);
    memset(line + 5, '[', DEPTH);
    read_bytes(line, 5 + DEPTH);
    ck_assert_str_eq(attn_reason_text(record.failure), "bad_json");
    free(line);
    attn_item_release(&record);
}
END_TEST

START_TEST(takes_a_million_ids)
{
    enum { N = 1000000 };
    struct attn_buffer line = {0};

    attn_buffer_append_string(&line, "{\"ids\":[0");
    for (int i = 1; i < N; i++)
        attn_buffer_append_format(&line, ",%d", i);
    attn_buffer_append_string(&line, "]}");
    read_bytes(line.data, line.size);
    ck_assert_uint_eq(record.input.n_id, N);
    ck_assert_int_eq(record.input.ids[N - 1], N - 1);
    attn_buffer_release(&line);
    attn_item_release(&record);
}
END_TEST

/* Every line cut at every byte, and with every byte another one, is a record or a reason. */
START_TEST(takes_or_refuses_any_bytes)
{
    static const char line[] =
        "{\"id\":\"p7\",\"ids\":[1,20],\"source\":[[1,-2.5e1],[0,3]],\"next\":[\"a\",\"\\n\"],"
        "\"x\":{\"text\":true}}";

    for (size_t size = 0; size < sizeof(line); size++)
        read_bytes(line, size);
    for (size_t i = 0; i + 1 < sizeof(line); i++)
        for (int c = 0; c < 256; c++) {
            char changed[sizeof(line)];

            memcpy(changed, line, sizeof(line));
            changed[i] = (char)c;
            read_bytes(changed, sizeof(line) - 1);
        }
    attn_item_release(&record);
}
END_TEST

ATTN_SUITE("record_json", takes_a_text_and_leaves_other_keys, takes_continuations, takes_ids,
           takes_what_goes_with_a_text, keeps_the_id_as_it_is, takes_a_source, says_what_is_wrong,
           goes_on_behind_a_value_that_was_wrong, refuses_depth_without_bound, takes_a_million_ids,
           takes_or_refuses_any_bytes)
