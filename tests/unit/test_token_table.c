/* Tokens and training pairs as tables. */
#include "attn.h"
#include "tests/support/alloc_fail.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <string.h>

static struct attn_tokenizer *open_tokenizer(const char *directory)
{
    const struct attn_source source = {.directory = directory};
    struct attn_tokenizer *tokenizer;
    struct attn_error err = {0};

    ck_assert_msg(attn_tokenizer_open(&source, &tokenizer, &err) == ATTN_OK, "%s", err.message);
    return tokenizer;
}

/* TABLE as JSON lines, beside EXPECTED. */
static void expect(const struct attn_table *table, const char *expected)
{
    struct attn_sink *sink;
    size_t size;

    ck_assert(attn_sink_create_memory(&sink, NULL) == ATTN_OK);
    ck_assert(attn_table_write(table, ATTN_TABLE_JSON_LINES, -1, sink, NULL) == ATTN_OK);
    attn_sink_write(sink, "", 1);
    ck_assert_str_eq(attn_sink_bytes(sink, &size), expected);
    attn_sink_free(sink);
}

START_TEST(a_token_is_a_row)
{
    struct attn_tokenizer *tokenizer = open_tokenizer("models/life-is-short");
    struct attn_encoding encoding = {0};
    struct attn_table *table;

    ck_assert(attn_tokenizer_encode(tokenizer, "Life is  short", 14, &ATTN_ENCODE_DEFAULT,
                                    &encoding, NULL) == ATTN_OK);
    ck_assert(attn_token_table(tokenizer, &encoding, NULL, &table, NULL) == ATTN_OK);
    expect(table,
           "{\"position\": 0, \"id\": 0, \"begin\": 0, \"end\": 4, \"token\": \"Life\"}\n"
           "{\"position\": 1, \"id\": 4, \"begin\": 5, \"end\": 7, \"token\": \"is\"}\n"
           "{\"position\": 2, \"id\": 5, \"begin\": 9, \"end\": 14, \"token\": \"short\"}\n");
    attn_table_free(table);

    encoding.n_front = 1, encoding.n_back = 1; /* as if the tokenizer had added two of them */
    encoding.texts[0] = encoding.texts[2] = ATTN_TEXT_NONE;
    ck_assert(attn_token_table(tokenizer, &encoding, NULL, &table, NULL) == ATTN_OK);
    expect(table, "{\"position\": 0, \"id\": 0, \"begin\": 0, \"end\": 4, \"token\": \"Life\", "
                  "\"added\": \"added\"}\n"
                  "{\"position\": 1, \"id\": 4, \"begin\": 5, \"end\": 7, \"token\": \"is\", "
                  "\"added\": null}\n"
                  "{\"position\": 2, \"id\": 5, \"begin\": 9, \"end\": 14, \"token\": \"short\", "
                  "\"added\": \"added\"}\n");
    attn_table_free(table);

    encoding.n = 2, encoding.n_back = 0, encoding.types[1] = 1; /* and the next one of a pair */
    encoding.texts[1] = ATTN_TEXT_SECOND;
    ck_assert(attn_token_table(tokenizer, &encoding, NULL, &table, NULL) == ATTN_OK);
    expect(table, "{\"position\": 0, \"id\": 0, \"begin\": 0, \"end\": 4, \"token\": \"Life\", "
                  "\"added\": \"added\", \"type\": 0, \"text\": null}\n"
                  "{\"position\": 1, \"id\": 4, \"begin\": 5, \"end\": 7, \"token\": \"is\", "
                  "\"added\": null, \"type\": 1, \"text\": \"pair\"}\n");
    attn_table_free(table);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(a_pair_has_what_came_before_and_the_next)
{
    struct attn_tokenizer *tokenizer = open_tokenizer("models/life-is-short");
    const int32_t ids[] = {0, 4, 5};
    struct attn_table *table;

    ck_assert(attn_pair_table(&table, NULL) == ATTN_OK);
    ck_assert(attn_pair_table_append(table, tokenizer, ids, 1, NULL) == ATTN_OK);
    ck_assert(attn_pair_table_append(table, tokenizer, ids, 2, NULL) == ATTN_OK);
    expect(table,
           "{\"input_ids\": [0], \"target_id\": 4, \"input\": \"Life\", \"target\": \"is\"}\n"
           "{\"input_ids\": [0, 4], \"target_id\": 5, \"input\": \"Life is\", "
           "\"target\": \"short\"}\n");
    attn_table_free(table);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(a_pair_of_an_unknown_id_is_refused)
{
    struct attn_tokenizer *tokenizer = open_tokenizer("models/life-is-short");
    const int32_t ids[] = {0, 6};
    struct attn_table *table;
    struct attn_error err = {0};

    ck_assert(attn_pair_table(&table, NULL) == ATTN_OK);
    ck_assert_int_eq(attn_pair_table_append(table, tokenizer, ids, 1, &err), ATTN_INVALID);
    ck_assert_uint_eq(attn_table_n_row(table), 0);
    attn_table_free(table);
    attn_tokenizer_free(tokenizer);
}
END_TEST

START_TEST(failures_are_reported)
{
    struct attn_tokenizer *tokenizer = open_tokenizer("models/tiny-gpt2");
    struct attn_encoding encoding = {0};
    enum attn_status status = ATTN_NO_MEMORY;

    ck_assert(attn_tokenizer_encode(tokenizer, "The cat sat", 11, &ATTN_ENCODE_DEFAULT, &encoding,
                                    NULL) == ATTN_OK);
    for (long n = 0; status != ATTN_OK; n++) {
        struct attn_table *table = NULL, *pairs = NULL;

        attn_alloc_fail_at(n);
        status = attn_token_table(tokenizer, &encoding, NULL, &table, NULL);
        if (status == ATTN_OK)
            status = attn_pair_table(&pairs, NULL);
        if (status == ATTN_OK)
            status = attn_pair_table_append(pairs, tokenizer, encoding.ids, 2, NULL);
        attn_alloc_fail_off();
        ck_assert(status == ATTN_OK || status == ATTN_NO_MEMORY);
        attn_table_free(table);
        attn_table_free(pairs);
    }
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
}
END_TEST

ATTN_SUITE("token_table", a_token_is_a_row, a_pair_has_what_came_before_and_the_next,
           a_pair_of_an_unknown_id_is_refused, failures_are_reported)
