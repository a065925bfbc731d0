/*
 * test_options.c - options structs of callers that were compiled with another version.
 */
#include "attn.h"
#include "base/text/given.h"
#include "tests/support/suite.h"
#include "tool.h"

#include <string.h>

/* A struct as this version knows it, ... */
struct options {
    size_t size;
    int first;
    int second;
    double third;
};
static const struct options defaults = {sizeof defaults, 1, 2, 3};

/* ... as an older one did, ... */
struct older {
    size_t size;
    int first;
    int second;
};

/* ... and as a newer one will. */
struct newer {
    struct options known;
    void *fourth;
};

START_TEST(what_an_older_caller_does_not_know_has_its_default)
{
    const struct older given = {sizeof given, 10, 20};
    struct options options = defaults;

    ck_assert(attn_options_read(&given, &options, NULL) == ATTN_OK);
    ck_assert_int_eq(options.first, 10);
    ck_assert_int_eq(options.second, 20);
    ck_assert_double_eq(options.third, 3);
    ck_assert_uint_eq(options.size, sizeof options);
}
END_TEST

START_TEST(a_newer_caller_is_served_unless_it_uses_what_is_new)
{
    struct newer given = {{sizeof given, 10, 20, 30}, NULL};
    struct options options = defaults;
    struct attn_error err = {0};

    ck_assert(attn_options_read(&given, &options, &err) == ATTN_OK);
    ck_assert_double_eq(options.third, 30);
    given.known.third = 40;
    given.fourth = &given;
    ck_assert(attn_options_read(&given, &options, &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "'32' bytes"));
    ck_assert_double_eq(options.third, 30);
}
END_TEST

START_TEST(sizes_that_no_struct_has_are_refused)
{
    static const size_t sizes[] = {0, 1, sizeof(size_t) - 1, 4097, SIZE_MAX};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct options given = {sizes[i], 10, 20, 30};
        struct options options = defaults;
        struct attn_error err = {0};

        ck_assert(attn_options_read(&given, &options, &err) == ATTN_INVALID);
        ck_assert_ptr_nonnull(strstr(err.message, "its initializer sets"));
        ck_assert_mem_eq(&options, &defaults, sizeof options);
    }
}
END_TEST

START_TEST(without_options_there_are_the_defaults)
{
    struct options options = defaults;

    ck_assert(attn_options_read(NULL, &options, NULL) == ATTN_OK);
    ck_assert_mem_eq(&options, &defaults, sizeof options);
}
END_TEST

START_TEST(results_fill_what_the_caller_has_room_for)
{
    const struct options results = {0, 10, 20, 30};
    struct older older = {sizeof older, 1, 2};
    struct newer newer = {{sizeof newer, 1, 2, 3}, &older};
    struct attn_error err = {0};

    attn_results_write(&results, sizeof results, &older);
    ck_assert_uint_eq(older.size, sizeof older);
    ck_assert(older.first == 10 && older.second == 20);
    attn_results_write(&results, sizeof results, &newer);
    ck_assert_uint_eq(newer.known.size, sizeof newer);
    ck_assert_double_eq(newer.known.third, 30);
    ck_assert_ptr_null(newer.fourth);
    older.size = 7;
    ck_assert(attn_results_check(&newer, "sum", &err) == ATTN_OK);
    ck_assert(attn_results_check(&older, "sum", &err) == ATTN_INVALID);
    ck_assert_ptr_nonnull(strstr(err.message, "'sum' has the size '7'"));
}
END_TEST

/* The first fields of options of this library, as its callers may have been compiled. */
struct old_model_options {
    size_t size;
    enum attn_load load;
    bool reuse;
};
struct old_session_options {
    size_t size;
    size_t n_max;
};
struct long_session_options {
    struct attn_session_options known;
    size_t unknown;
};

static struct attn_session *run(const struct attn_model *model, const void *options,
                                struct attn_error *err)
{
    const int32_t ids[3] = {1, 2, 3};
    struct attn_session *session = NULL;

    if (attn_session_create(model, options, &session, err) == ATTN_OK)
        ck_assert(attn_session_feed(session, ids, 3, err) == ATTN_OK);
    return session;
}

START_TEST(old_and_new_callers_run_a_model)
{
    const struct attn_source source = {.directory = "models/tiny-gpt2"};
    const struct old_model_options old_model = {sizeof old_model, ATTN_READ, true};
    const struct old_session_options old_session = {sizeof old_session, 3};
    struct long_session_options new_session = {ATTN_SESSION_OPTIONS_DEFAULT, 0};
    struct attn_session *session;
    struct attn_model *model;
    struct attn_error err = {0};

    ck_assert(attn_model_open(&source, (const void *)&old_model, &model, &err) == ATTN_OK);
    session = run(model, &old_session, &err);
    ck_assert_ptr_nonnull(session);
    attn_session_free(session);

    new_session.known.size = sizeof new_session;
    new_session.known.n_max = 3;
    session = run(model, &new_session, &err);
    ck_assert_ptr_nonnull(session);
    attn_session_free(session);
    new_session.unknown = 1;
    ck_assert_ptr_null(run(model, &new_session, &err));
    ck_assert_int_eq(err.status, ATTN_INVALID);
    attn_model_free(model);
}
END_TEST

START_TEST(every_call_with_options_refuses_the_size_0)
{
    const struct attn_source source = {.directory = "models/tiny-gpt2"};
    const struct attn_model_options model_options = {0};
    const struct attn_session_options session_options = {0};
    const struct attn_encode_options encode_options = {0};
    const struct attn_init_options init_options = {0};
    const struct attn_attend_args attend_args = {0};
    struct attn_model *model;
    struct attn_session *session;
    struct attn_tokenizer *tokenizer;
    struct attn_encoding encoding = {0};
    struct attn_init *init;
    struct attn_error err = {0};

    ck_assert(attn_model_open(&source, &model_options, &model, &err) == ATTN_INVALID);
    ck_assert(attn_model_open(&source, NULL, &model, &err) == ATTN_OK);
    ck_assert(attn_session_create(model, &session_options, &session, &err) == ATTN_INVALID);
    ck_assert(attn_attend(&attend_args, &err) == ATTN_INVALID);
    ck_assert(attn_init_create(&init_options, &init, &err) == ATTN_INVALID);
    ck_assert(attn_tokenizer_open(&source, &tokenizer, NULL) == ATTN_OK);
    ck_assert(attn_tokenizer_encode(tokenizer, "a", 1, &encode_options, &encoding, &err) ==
              ATTN_INVALID);
    ck_assert(attn_tokenizer_encode(tokenizer, "a", 1, NULL, &encoding, NULL) == ATTN_OK);
    attn_encoding_release(&encoding);
    attn_tokenizer_free(tokenizer);
    attn_model_free(model);
}
END_TEST

ATTN_SUITE("options", what_an_older_caller_does_not_know_has_its_default,
           a_newer_caller_is_served_unless_it_uses_what_is_new,
           sizes_that_no_struct_has_are_refused, without_options_there_are_the_defaults,
           results_fill_what_the_caller_has_room_for, old_and_new_callers_run_a_model,
           every_call_with_options_refuses_the_size_0)
