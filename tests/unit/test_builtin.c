/*
 * test_builtin.c - the models that are part of the library.
 */
#include "tests/support/suite.h"
#include "tool.h"

#include <string.h>

START_TEST(every_built_in_model_opens_with_its_tokenizer)
{
    const char *last = "", *name;

    for (size_t i = 0; (name = attn_builtin_name(i)) != NULL; i++) {
        struct attn_source source = {0};
        struct attn_model *model;
        struct attn_tokenizer *tokenizer;
        struct attn_error err = {0};

        ck_assert(strcmp(last, name) < 0);
        last = name;
        ck_assert(attn_builtin_find(name, &source));
        ck_assert_str_eq(source.name, name);
        ck_assert_msg(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err) ==
                              ATTN_OK &&
                          attn_tokenizer_open(&source, &tokenizer, &err) == ATTN_OK,
                      "%s: %s", name, err.message);
        attn_tokenizer_free(tokenizer);
        attn_model_free(model);
    }
    ck_assert_str_eq(last, "life-is-short");
}
END_TEST

START_TEST(the_default_is_built_in)
{
    struct attn_source source = {0};

    ck_assert(attn_builtin_find(ATTN_BUILTIN_DEFAULT, &source));
}
END_TEST

START_TEST(an_unknown_name_leaves_the_source_as_it_was)
{
    struct attn_source source = {.directory = "somewhere"};

    ck_assert(!attn_builtin_find("fable2", &source));
    ck_assert(!attn_builtin_find("", &source));
    ck_assert_str_eq(source.directory, "somewhere");
    ck_assert_ptr_null(source.blobs);
}
END_TEST

ATTN_SUITE("builtin", every_built_in_model_opens_with_its_tokenizer, the_default_is_built_in,
           an_unknown_name_leaves_the_source_as_it_was)
