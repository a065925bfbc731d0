/*
 * test_cli_attend.c - attention on arrays as users run it: the numbers of the articles, and what is
 * the same whichever way it is asked for.
 */
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/npy.h"
#include "tests/support/suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char root[2048]; /* the repository, while a test is in a folder of its own */

static void enter(void)
{
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    attn_folder_enter();
}

enum { N_ARG = 16, N_SITE = 4 };

static const char *const sites[N_SITE] = {"qk", "attn_scores", "pattern", "z"};

/* A folder of tests/golden/attend, which holds the inputs; the sites that are expected are
 * FOLDER.SITE in expected.npz beside it. */
struct golden {
    const char *folder;
    const char *options[8]; /* further ones, as many as there are */
};

static const struct golden goldens[] = {
    {"000_causal_none", {NULL}},
    {"000_cross_attention", {NULL}},
    {"002_mask4", {NULL}},
    {"004_cross_attention", {NULL}},
    {"004_score_table", {NULL}},
    {"004_simple_attention", {NULL}},
    {"000_causal_inf", {"--mask", "causal"}},
    {"000_causal_renormalize", {"--mask", "causal", "--attention", "masking=renormalize"}},
    {"000_causal_zero", {"--mask", "causal", "--attention", "masking=zero"}},
    {"003_simplified", {"--mask", "causal", "--attention", "scale=off"}},
    {"004_simple_attention_causal", {NULL}},
    {"004_simple_attention_padding", {NULL}},
};

/* Options for every input that lies in the folder; their paths go into PATHS. */
static size_t find_inputs(const char *folder, char paths[][4096], const char **args)
{
    static const char *const inputs[][2] = {{"--q", "q"},           {"--k", "k"},
                                            {"--v", "v"},           {"--x", "x"},
                                            {"--scores", "scores"}, {"--mask", "mask"}};
    size_t n = 0;

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        snprintf(paths[i], 4096, "%s/tests/golden/attend/%s/%s.npy", root, folder, inputs[i][1]);
        if (access(paths[i], F_OK) != 0)
            continue;
        args[n++] = inputs[i][0];
        args[n++] = paths[i];
    }
    ck_assert_uint_gt(n, 0);
    return n;
}

/* Compares out/SITE.npy, which is removed, where the folder expects it; returns the number of
 * values. */
static size_t compare_site(const struct golden *golden, const char *site, double *worst)
{
    struct attn_npy actual, expected;
    char path[4096];
    size_t n;

    snprintf(path, sizeof path, "%s/tests/golden/attend/expected.npz/%s.%s.npy", root,
             golden->folder, site);
    if (!attn_npy_read(path, &expected))
        return 0;
    snprintf(path, sizeof path, "out/%s.npy", site);
    ck_assert_msg(attn_npy_read(path, &actual), "%s: no %s", golden->folder, site);
    ck_assert_int_eq(actual.rank, expected.rank);
    for (int d = 0; d < expected.rank; d++)
        ck_assert_uint_eq(actual.shape[d], expected.shape[d]);
    for (size_t i = 0; i < expected.n; i++) {
        const double a = actual.values[i], e = expected.values[i];
        const double error = a == e ? 0 : fabs(a - e) / fmax(1, fabs(e));

        ck_assert_msg(error <= 2e-6, "%s, %s, element %zu: %.9g, expected %.17g", golden->folder,
                      site, i, a, e);
        *worst = fmax(*worst, error);
    }
    n = expected.n;
    attn_npy_release(&actual);
    attn_npy_release(&expected);
    return n;
}

static void check_golden(const struct golden *golden)
{
    const char *args[N_ARG + 12] = {"attend", "--sites", "*", "--npy", "out"};
    static char paths[6][4096];
    size_t n_arg = 5, n_value = 0;
    double worst = 0;
    struct attn_ran ran;

    n_arg += find_inputs(golden->folder, paths, args + n_arg);
    for (size_t i = 0; golden->options[i] != NULL; i++)
        args[n_arg++] = golden->options[i];
    ran = attn_command(args);
    ck_assert_msg(ran.exit == 0, "%s: %s", golden->folder, ran.err);
    ck_assert_str_eq(ran.err, "");
    attn_ran_release(&ran);
    for (int i = 0; i < N_SITE; i++) {
        char path[64];

        n_value += compare_site(golden, sites[i], &worst);
        snprintf(path, sizeof path, "out/%s.npy", sites[i]);
        unlink(path);
    }
    ck_assert_int_eq(unlink("out/run.json") | rmdir("out"), 0); /* there was nothing else */
    ck_assert_uint_gt(n_value, 0);
    printf("%s: %zu values, largest difference from float64 %.2e\n", golden->folder, n_value,
           worst);
}

START_TEST(gives_the_numbers_of_the_articles)
{
    enter();
    for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++)
        check_golden(&goldens[i]);
    attn_folder_leave();
}
END_TEST

ATTN_SUITE("cli_attend", gives_the_numbers_of_the_articles)
