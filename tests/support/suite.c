/* suite.c - see suite.h. */
#include "tests/support/suite.h"

#include "base/text/number.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A test is cut by the time of the processor that it takes, so that a busy machine cuts none; a
 * hang, which takes none, by a clock that is ten times as long. CK_TIMEOUT_MULTIPLIER stretches
 * both. */
enum { MOST_SECONDS = 120, MOST_SECONDS_OF_A_HANG = 10 * MOST_SECONDS };

/* In the process of the test. */
static void limit_processor(void)
{
    const char *multiplier = getenv("CK_TIMEOUT_MULTIPLIER");
    double factor = 1;
    struct rlimit limit;

    if (multiplier)
        attn_parse_double(multiplier, strlen(multiplier), &factor);
    if (getrlimit(RLIMIT_CPU, &limit) == 0 && factor * MOST_SECONDS < (double)limit.rlim_cur) {
        limit.rlim_cur = (rlim_t)(factor * MOST_SECONDS);
        setrlimit(RLIMIT_CPU, &limit);
    }
}

/* A case of its own, called as the test is: CK_RUN_CASE chooses cases by name. */
static void add_test(Suite *suite, const TTest *test, bool has_process)
{
    TCase *tcase = tcase_create(test->name);

    tcase_set_timeout(tcase, MOST_SECONDS_OF_A_HANG);
    if (has_process)
        tcase_add_checked_fixture(tcase, limit_processor, NULL);
    tcase_add_test(tcase, test);
    suite_add_tcase(suite, tcase);
}

size_t attn_one_in(size_t n)
{
    const char *torture = getenv("TORTURE");

    return torture != NULL && strcmp(torture, "full") == 0 ? 1 : n;
}

size_t attn_one_of(size_t n)
{
    return getenv("TORTURE") != NULL ? 1 : n;
}

void attn_skip_test(const char *why)
{
    fprintf(stderr, "skipped %s: %s\n", tcase_name(), why);
}

/* Whether NAME is one of the words of ATTN_SKIP_TESTS: of what cannot run under an emulator, say.
 */
static bool is_left_out(const char *name)
{
    const char *words = getenv("ATTN_SKIP_TESTS");
    const size_t size = strlen(name);

    for (const char *at = words; at != NULL && (at = strstr(at, name)) != NULL; at += size)
        if ((at == words || at[-1] == ' ') && (at[size] == ' ' || at[size] == '\0'))
            return true;
    return false;
}

enum { LARGE_BLOCK = 1 << 25 };

int attn_run_suite(const char *name, const TTest *const *tests, int n)
{
    Suite *suite = suite_create(name);
    SRunner *runner;
    int n_run, n_failed, n_left_out = 0;

    mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK); /* large blocks come again, without a page fault each */
    mallopt(M_TRIM_THRESHOLD, LARGE_BLOCK);
    runner = srunner_create(suite);
    for (int i = 0; i < n; i++)
        if (is_left_out(tests[i]->name))
            n_left_out++;
        else
            add_test(suite, tests[i], srunner_fork_status(runner) == CK_FORK);
    srunner_run_all(runner, CK_ENV);
    n_run = srunner_ntests_run(runner);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    if (n_run == 0 && n_left_out == 0) {
        fprintf(stderr,
                "%s: no test has the name that CK_RUN_CASE or CK_RUN_SUITE asks for; it has\n",
                name);
        for (int i = 0; i < n; i++)
            fprintf(stderr, "  %s\n", tests[i]->name);
    }
    return n_run + n_left_out > 0 && n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static struct attn_suite *suites;

void attn_add_suite(struct attn_suite *suite)
{
    suite->next = suites;
    suites = suite;
}

/* Whether FILE is, apart from folders and .c, the name that the program was called by. */
static bool has_name_of_program(const char *file)
{
    const char *name = strrchr(file, '/') != NULL ? strrchr(file, '/') + 1 : file;
    const size_t size = strlen(program_invocation_short_name);

    return strncmp(name, program_invocation_short_name, size) == 0 &&
           strcmp(name + size, ".c") == 0;
}

int main(void)
{
    for (const struct attn_suite *suite = suites; suite != NULL; suite = suite->next)
        if (has_name_of_program(suite->file))
            return suite->run();
    fprintf(stderr, "%s: no file of tests has this name; call it by that of one, as test_json\n",
            program_invocation_name);
    return EXIT_FAILURE;
}
