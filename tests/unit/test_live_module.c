/* Where the module of live pages is looked for. */
#include "base/memory.h"
#include "base/os/system.h"
#include "live/live_module.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const folders[] = {
    "usr", "usr/bin", "usr/lib", "usr/lib/x86_64-linux-gnu", "usr/share", "usr/share/attn-cli"};
enum { N_FOLDER = sizeof folders / sizeof *folders };

static char root[PATH_MAX]; /* of the test that runs */

static void enter(void)
{
    attn_folder_enter();
    ck_assert_ptr_nonnull(getcwd(root, sizeof root));
    for (int i = 0; i < N_FOLDER; i++)
        ck_assert_int_eq(mkdir(folders[i], 0700), 0);
}

static void leave(void)
{
    for (int i = N_FOLDER; i-- > 0;)
        ck_assert_int_eq(rmdir(folders[i]), 0);
    attn_folder_leave();
}

/* Asserts that a library in the file CODE, below the root, takes EXPECTED; NULL: none. */
static void assert_near(const char *code, const char *expected, struct attn_error *err)
{
    char own[PATH_MAX], *path = NULL;

    ck_assert_int_lt(snprintf(own, sizeof own, "%.2000s/%s", root, code), PATH_MAX);
    ck_assert_int_eq(attn_live_module_find_near(own, &path, err), expected ? ATTN_OK : ATTN_IO);
    if (expected)
        ck_assert_str_eq(path + strlen(root) + 1, expected);
    else
        ck_assert_ptr_null(path);
    attn_free(path);
}

START_TEST(an_installation_shares_it)
{
    enter();
    attn_folder_write("usr/share/attn-cli/attn.wasm", "", 0);
    assert_near("usr/bin/attn-cli", "usr/share/attn-cli/attn.wasm", NULL);
    assert_near("usr/lib/libattn.so.1", "usr/share/attn-cli/attn.wasm", NULL);
    assert_near("usr/lib/x86_64-linux-gnu/libattn.so.1", "usr/share/attn-cli/attn.wasm", NULL);
    attn_folder_write("usr/lib/attn.wasm", "", 0); /* as in a wheel */
    assert_near("usr/lib/libattn.so", "usr/lib/attn.wasm", NULL);
    unlink("usr/lib/attn.wasm");
    unlink("usr/share/attn-cli/attn.wasm");
    leave();
}
END_TEST

START_TEST(what_was_built_here_takes_what_was_built_here)
{
    struct attn_error err = {0};

    enter();
    attn_folder_write("usr/bin/attn-cli.source", "../..\n", 6);
    attn_folder_write("usr/share/attn-cli/attn.wasm", "", 0);
    assert_near("usr/bin/attn-cli", NULL, &err);
    ck_assert_ptr_nonnull(strstr(err.message, "/usr/wasm'"));
    ck_assert_ptr_null(strstr(err.message, "share"));
    ck_assert_int_eq(mkdir("usr/wasm", 0700), 0);
    attn_folder_write("usr/wasm/attn.wasm", "", 0);
    assert_near("usr/bin/attn-cli", "usr/wasm/attn.wasm", NULL);
    unlink("usr/wasm/attn.wasm");
    rmdir("usr/wasm");
    unlink("usr/bin/attn-cli.source");
    unlink("usr/share/attn-cli/attn.wasm");
    leave();
}
END_TEST

START_TEST(where_there_is_none_the_places_are_named)
{
    struct attn_error err = {0};

    enter();
    ck_assert_int_eq(mkdir("usr/bin/attn.wasm", 0700), 0); /* no file */
    assert_near("usr/bin/attn-cli", NULL, &err);
    ck_assert_ptr_nonnull(strstr(err.message, "'make wasm'"));
    ck_assert_ptr_nonnull(strstr(err.message, "/usr/bin' nor in '"));
    ck_assert_ptr_nonnull(strstr(err.message, "/usr/share/attn-cli'"));
    ck_assert_int_eq(err.stage, ATTN_STAGE_OUTPUT);
    rmdir("usr/bin/attn.wasm");
    leave();
}
END_TEST

START_TEST(a_given_path_is_taken_or_refused)
{
    struct attn_error err = {0};
    char *path = NULL;

    enter();
    ck_assert_int_eq(attn_live_module_find("mine.wasm", &path, &err), ATTN_IO);
    ck_assert_str_eq(err.message,
                     "'mine.wasm' is no file, expected the WebAssembly module 'attn.wasm'");
    ck_assert_int_eq(err.stage, ATTN_STAGE_OPTIONS);
    ck_assert_ptr_null(path);
    attn_folder_write("mine.wasm", "", 0);
    ck_assert_int_eq(attn_live_module_find("mine.wasm", &path, NULL), ATTN_OK);
    ck_assert_str_eq(path, "mine.wasm");
    attn_free(path);
    unlink("mine.wasm");
    leave();
}
END_TEST

START_TEST(the_code_is_in_this_program)
{
    char program[PATH_MAX] = "", path[PATH_MAX], few[4];

    ck_assert_int_gt(readlink("/proc/self/exe", program, sizeof program - 1), 0);
    ck_assert(attn_path_of_code(path, sizeof path));
    ck_assert_str_eq(path, program);
    ck_assert(!attn_path_of_code(few, sizeof few));
}
END_TEST

ATTN_SUITE("live module", an_installation_shares_it, what_was_built_here_takes_what_was_built_here,
           where_there_is_none_the_places_are_named, a_given_path_is_taken_or_refused,
           the_code_is_in_this_program)
