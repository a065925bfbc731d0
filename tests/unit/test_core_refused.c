/*
 * test_core_refused.c - the core alone names in one line what it has no row for: a family, a file
 * of another program, a vocabulary.
 */
#include "tests/support/suite.h"
#include "tool.h"

START_TEST(models_without_a_row_are_refused_by_name)
{
    static const struct {
        const char *directory;
        enum attn_status status;
        const char *message;
    } rows[] = {
        {"tests/fixtures/family-qwen3", ATTN_UNSUPPORTED,
         "'model_type' in 'tests/fixtures/family-qwen3/config.json' is 'qwen3', which is not read: "
         "no row of a family has this name"},
        {"tests/fixtures/gguf/tiny.gguf", ATTN_UNSUPPORTED,
         "'tests/fixtures/gguf/tiny.gguf' has no config.json; readers of other files are not "
         "linked"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct attn_source source = {.directory = rows[i].directory};
        struct attn_model *model = NULL;
        struct attn_error err = {0};

        ck_assert_int_eq(attn_model_open(&source, &ATTN_MODEL_OPTIONS_DEFAULT, &model, &err),
                         rows[i].status);
        ck_assert_str_eq(err.message, rows[i].message);
        ck_assert_ptr_null(model);
    }
}
END_TEST

START_TEST(a_vocabulary_without_a_row_is_refused)
{
    const struct attn_source source = {.directory = "tests/fixtures/gpt2-wide"};
    struct attn_tokenizer *tokenizer = NULL;
    struct attn_error err = {0};

    ck_assert_int_eq(attn_tokenizer_open(&source, &tokenizer, &err), ATTN_IO);
    ck_assert_str_eq(
        err.message,
        "'tests/fixtures/gpt2-wide' has no tokenizer, expected tokenizer.json or vocab.json; "
        "readers of other files are not linked");
    ck_assert_ptr_null(tokenizer);
}
END_TEST

ATTN_SUITE("refusals of the core", models_without_a_row_are_refused_by_name,
           a_vocabulary_without_a_row_is_refused)
