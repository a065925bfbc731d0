/*
 * test_host.c - hosts that are opened by the name of a model.
 */
#include "extra.h"
#include "model/config_fields.h"
#include "tests/support/suite.h"

#include <string.h>

/* What the model is called that NAME opens, with the folders of CATALOG to look in. */
static void check_opens(const char *name, const struct attn_catalog *catalog, size_t n_layer)
{
    struct attn_host_options options = ATTN_HOST_OPTIONS_DEFAULT;
    struct attn_host *host;
    struct attn_error err = {0};

    options.catalog = catalog;
    ck_assert_msg(attn_host_open(name, &options, &host, &err) == ATTN_OK, "%s", err.message);
    ck_assert_str_eq(attn_model_name(attn_host_model(host)), name);
    ck_assert_uint_eq(attn_model_config(attn_host_model(host))->n_layer, n_layer);
    attn_host_free(host);
}

START_TEST(a_name_is_a_directory_or_in_a_folder_or_built_in)
{
    static const char *const folders[] = {"/nowhere", "tests/", "models"};
    struct attn_catalog catalog = ATTN_CATALOG_DEFAULT;

    check_opens("models/tiny-gpt2", NULL, 3);
    check_opens("fable", NULL, 4);
    catalog.folders = folders, catalog.n_folder = 1;
    check_opens("fable", &catalog, 4);
    catalog.n_folder = 3;
    check_opens("tiny-gpt2", &catalog, 3);
    check_opens("models/tiny-gpt2", &catalog, 3);
}
END_TEST

START_TEST(an_unknown_name_is_a_failure_of_the_model)
{
    static const char *const names[] = {"tiny-gpt2", "no/fable", "", "fabl"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct attn_host *host = NULL;
        struct attn_error err = {0};

        ck_assert(attn_host_open(names[i], NULL, &host, &err) != ATTN_OK);
        ck_assert_int_eq(err.stage, ATTN_STAGE_MODEL);
        ck_assert_ptr_nonnull(strstr(err.message, names[i]));
        ck_assert_ptr_null(host);
    }
}
END_TEST

START_TEST(options_and_requests_without_a_size_are_refused)
{
    const struct attn_host_options options = {0};
    const struct attn_request request = {0};
    struct attn_host *host = NULL;
    struct attn_run *run = NULL;
    struct attn_error err = {0};

    ck_assert(attn_host_open("fable", &options, &host, &err) == ATTN_INVALID);
    ck_assert(attn_host_create(NULL, &options, &host, &err) == ATTN_INVALID);
    ck_assert(attn_host_open("fable", NULL, &host, NULL) == ATTN_OK);
    ck_assert(attn_run_prepare(host, &request, &run, &err) == ATTN_INVALID);
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    attn_host_free(host);
}
END_TEST

ATTN_SUITE("host", a_name_is_a_directory_or_in_a_folder_or_built_in,
           an_unknown_name_is_a_failure_of_the_model,
           options_and_requests_without_a_size_are_refused)
