/* suite.c - runs the tests of one file under Check. */
#include "tests/support/suite.h"

#include <stdlib.h>

int attn_run_suite(const char *name, const TTest *const *tests, int n)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create("all");
    SRunner *runner;
    int n_failed;

    tcase_set_timeout(tcase, 120);
    for (int i = 0; i < n; i++)
        tcase_add_test(tcase, tests[i]);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
