/*
 * test_questions.c - questions by their names: the columns that a table can have are known before
 * it is made.
 */
#include "extra.h"
#include "tests/support/open.h"
#include "tests/support/suite.h"

#include <string.h>

static const char text[] = "The keys are";

/* Checks that the columns of TABLE are among SCHEMA [n], in that order. */
static void check_columns(const struct attn_table *table, const struct attn_column *schema,
                          size_t n, const char *question)
{
    size_t at = 0;

    for (size_t i = 0; i < attn_table_n_column(table); i++, at++) {
        const char *name = attn_table_column(table, i)->name;

        while (at < n && strcmp(schema[at].name, name) != 0)
            at++;
        ck_assert_msg(at < n, "%s: the column '%s' is not in the schema, or out of order", question,
                      name);
    }
}

START_TEST(tables_have_the_columns_of_the_schema)
{
    static const char *const names[] = {"attribute", "heads", "lens",
                                        "ablate",    "score", "similarity"};
    struct attn_host *host = attn_open_host("fable", NULL);
    struct attn_request request = ATTN_REQUEST_DEFAULT;

    request.input.text = text, request.input.n_text = strlen(text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct attn_attribute_args attribute = ATTN_ATTRIBUTE_ARGS_DEFAULT;
        struct attn_ablate_args ablate = ATTN_ABLATE_ARGS_DEFAULT;
        struct attn_ablate_sum ablated = ATTN_ABLATE_SUM_DEFAULT;
        struct attn_score_sum scored = ATTN_SCORE_SUM_DEFAULT;
        struct attn_question_call asked = {names[i], host, &request, NULL};
        struct attn_error err = {0};
        struct attn_table *table;
        const char *name;
        size_t n;

        attribute.answer.target = ablate.answer.target = " are";
        if (strcmp(names[i], "attribute") == 0)
            asked.args = &attribute;
        if (strcmp(names[i], "ablate") == 0)
            asked.args = &ablate;
        const struct attn_column *schema = attn_question_schema(&asked, &name, &n);

        ck_assert_msg(schema && n > 0, "%s", names[i]);
        ck_assert_msg(attn_question_ask(&asked, &table,
                                        strcmp(names[i], "score") == 0 ? (void *)&scored : &ablated,
                                        &err) == ATTN_OK,
                      "%s: %s", names[i], err.message);
        check_columns(table, schema, n, names[i]);
        ck_assert_str_eq(attn_table_name(table), name);
        attn_table_free(table);
    }
    attn_host_free(host);
}
END_TEST

START_TEST(an_unknown_question_has_no_schema)
{
    const struct attn_question_call unknown = {.question = "x"};
    const char *name = "x";
    size_t n = 7;

    ck_assert_ptr_null(attn_question_schema(&unknown, &name, &n));
    ck_assert_ptr_null(name);
    ck_assert_uint_eq(n, 0);
    ck_assert_ptr_null(attn_question_schema(NULL, &name, &n));
    ck_assert_ptr_null(attn_question_schema(&unknown, NULL, &n));
    ck_assert_ptr_null(attn_question_schema(&unknown, &name, NULL));
}
END_TEST

ATTN_SUITE("questions", tables_have_the_columns_of_the_schema, an_unknown_question_has_no_schema)
